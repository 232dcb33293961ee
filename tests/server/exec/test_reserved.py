"""Places that are kept free while commands run: nobody can settle there, and nothing is left of it afterwards."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.exec_rooms import KINDS, Workplace, host_of, run

from threadloom.exec.base import Fence, LaunchError
from threadloom.exec.launch import Host
from threadloom.exec.sandbox.guards import SETTINGS, settings
from threadloom.exec.sandbox.reserved import MODE, Reserved


@pytest.fixture(params=KINDS)
async def host(request: pytest.FixtureRequest) -> AsyncIterator[Host]:
    host = host_of(request.param)
    yield host
    await host.close()


async def test_nothing_is_left_behind_a_command_however_many_there_were(host: Host, tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    first = await host.launch(place.order(["sleep", "100"]))
    code, _, _ = await run(host, place.order(["sh", "-c", "mkdir -p .threadloom && touch .threadloom/file"]))
    assert (code != 0) == host.guards_git
    assert (place.work / "tree" / SETTINGS).is_dir()  # the first one still runs, or nothing kept it from being made
    await first.end(0)
    assert (place.work / "tree" / SETTINGS).exists() != host.guards_git


async def test_a_command_that_cannot_start_leaves_nothing_either(host: Host, tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    script = place.work / "tree" / "broken"
    script.write_text("#!/no/such/program\n")
    script.chmod(0o755)
    with suppress(LaunchError):  # bubblewrap says it with an exit code
        await run(host, place.order(["./broken"]))
    assert not (place.work / "tree" / SETTINGS).exists()


def test_what_one_server_needs_another_does_not_take_away(tmp_path: Path) -> None:
    path = tmp_path / SETTINGS
    one, other = Reserved().hold([str(path)]), Reserved().hold([str(path)])
    one()
    one()  # again is once
    assert path.is_dir()
    other()
    assert not path.exists()


def test_what_a_killed_server_left_is_taken_away_with_the_next_command(tmp_path: Path) -> None:
    path = tmp_path / SETTINGS
    path.mkdir(MODE)
    path.chmod(MODE)
    Reserved().hold([str(path)])()
    assert not path.exists()


@pytest.mark.parametrize("what", ["a folder", "an empty folder", "a file", "a link"])
def test_what_is_somebodys_own_stays(tmp_path: Path, what: str) -> None:
    path = tmp_path / SETTINGS
    if what == "a file":
        path.write_text("")
    elif what == "a link":
        path.symlink_to(tmp_path)
    else:
        path.mkdir()
    if what == "a folder":
        (path / "config.toml").write_text("")
        path.chmod(MODE)
    before = path.lstat().st_ino
    Reserved().hold([str(path)])()
    assert path.lstat().st_ino == before


def test_what_somebody_has_put_inside_stays(tmp_path: Path) -> None:
    release = Reserved().hold([str(tmp_path / SETTINGS)])
    (tmp_path / SETTINGS / "config.toml").write_text("")
    release()
    assert os.listdir(tmp_path / SETTINGS) == ["config.toml"]


def test_settings_are_looked_for_up_to_the_repository_and_not_where_all_is_empty(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    fence = Fence("workspace-write", (str(tmp_path),))
    assert list(settings(fence, str(deep))) == []
    (deep / "file").touch()
    assert list(settings(fence, str(deep))) == [str(deep / SETTINGS)]
    (tmp_path / "a" / ".git").mkdir()
    assert list(settings(fence, str(deep))) == [str(it / SETTINGS) for it in (deep, deep.parent, deep.parent.parent)]
    assert list(settings(Fence("workspace-write", (str(tmp_path / "no"),)), str(deep))) == []
