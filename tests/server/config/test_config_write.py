"""Writing the user's file: checked, whole or not at all, and nobody else's."""

from __future__ import annotations

import os
import stat
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.server.config.desk import Desk, change, edit

from threadloom.config import files, toml
from threadloom.config.layers import version
from threadloom_protocol.errors import InternalError, InvalidRequest, RpcError


def code(refused: pytest.ExceptionInfo[RpcError]) -> Any:
    return refused.value.data["config_write_error_code"]


async def test_what_is_written_is_read(desk: Desk) -> None:
    configuration = desk.configuration()
    answer = await configuration.write([edit("model", "m"), edit("agents.max_depth", 1)])
    assert (answer.status, answer.file_path) == ("ok", str(desk.file))
    loaded = await configuration.read()
    assert (loaded.config.model, loaded.config.agents.max_depth) == ("m", 1)
    assert answer.version == loaded.layers[0].version == version(toml.parse(desk.file.read_text()))


async def test_a_file_that_begins_with_a_mark_is_written_on(desk: Desk) -> None:
    desk.home.mkdir()
    desk.file.write_bytes(BOM_UTF8 + b'# mine\r\nmodel = "a"\r\n')
    await change(desk, edit("review_model", "b"))
    assert toml.parse(desk.file.read_bytes().decode()) == {"model": "a", "review_model": "b"}
    assert desk.file.read_bytes().startswith(b"# mine\r\n")


async def test_a_version_is_that_of_codex(desk: Desk) -> None:
    answer = await change(desk, edit("model", "gpt-x"))
    assert answer.version == "sha256:f27b2c653e06a2a260f73356ae027ef43e4fc1240759b1d17502c9a8c28a4490"
    assert desk.load().layers[0].version == answer.version
    assert version({}) == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


async def test_a_change_in_between_is_a_conflict(desk: Desk) -> None:
    first = await change(desk, edit("model", "a"), expected=version({}))
    desk.write('model = "theirs"\n')
    with pytest.raises(InvalidRequest) as refused:
        await change(desk, edit("model", "b"), expected=first.version)
    assert code(refused) == "configVersionConflict"
    assert desk.file.read_text() == 'model = "theirs"\n'
    assert (await change(desk, edit("model", "b"), expected=desk.load().layers[0].version)).status == "ok"


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("approval_policy", "bogus", "configValidationError"),
        ("model", 5, "configValidationError"),
        ("model_context_window", 1.5, "configValidationError"),
        ("mcp_servers.x", {"args": "no list"}, "configValidationError"),
        ("", 1, "configValidationError"),
        ("tui.notifications", [True, None], "configValidationError"),
    ],
)
async def test_what_does_not_fit_is_refused_with_all_that_came_along(
    desk: Desk, key: str, value: Any, why: str
) -> None:
    desk.write("# mine\n")
    with pytest.raises(InvalidRequest) as refused:
        await change(desk, edit("review_model", "r"), edit(key, value))
    assert code(refused) == why
    assert desk.file.read_text() == "# mine\n"


async def test_an_old_mistake_elsewhere_does_not_stand_in_the_way(desk: Desk) -> None:
    desk.write("model_context_window = -1\nodd = 1\n")
    await change(desk, edit("model", "m"))
    assert desk.file.read_text() == 'model_context_window = -1\nodd = 1\nmodel = "m"\n'


async def test_an_unknown_key_is_written_unless_strict(desk: Desk) -> None:
    await change(desk, edit("odd.key", 1))
    desk.file.unlink()
    desk.strict = True
    with pytest.raises(InvalidRequest, match=r"unknown configuration key `odd`"):
        await change(desk, edit("odd.key", 1))


async def test_strict_minds_what_is_written_and_not_what_was_there_before(desk: Desk) -> None:
    desk.write("odd = 1\n")
    desk.strict = True
    assert (await change(desk, edit("model", "m"))).status == "ok"


async def test_a_broken_file_is_left_alone(desk: Desk) -> None:
    for broken in (b"model = = 1\n", b"\xff"):
        desk.home.mkdir(exist_ok=True)
        desk.file.write_bytes(broken)
        with pytest.raises(InvalidRequest, match="Mend the file first"):
            await change(desk, edit("model", "m"))
        assert desk.file.read_bytes() == broken


@pytest.mark.parametrize("strategy", ["replace", "upsert"])
async def test_a_flag_that_says_otherwise_is_told(desk: Desk, strategy: str) -> None:
    answer = await change(desk, edit("model", "m", strategy), model="flag")
    assert answer.status == "okOverridden"
    assert answer.overridden_metadata is not None
    assert answer.overridden_metadata.effective_value == "flag"
    assert answer.overridden_metadata.overriding_layer.name.type == "sessionFlags"
    assert desk.load().config.model == "m", "it is written all the same"


async def test_a_profile_that_says_otherwise_is_told(desk: Desk) -> None:
    desk.write('profile = "p"\n[profiles.p]\nmodel = "of-p"\n')
    answer = await change(desk, edit("model", "m"))
    assert answer.overridden_metadata is not None
    assert answer.overridden_metadata.message == "Overridden by the profile p"


async def test_other_files_are_not_written(desk: Desk) -> None:
    configuration = desk.configuration()
    for name in (str(desk.room / "other.toml"), "../config.toml", "other.toml", "\0", "~nobody-here/x"):
        with pytest.raises(InvalidRequest) as refused:
            await configuration.write([edit("model", "m")], name)
        assert code(refused) == "configLayerReadonly"
    for name in (str(desk.file), "config.toml"):
        assert (await configuration.write([edit("model", "m")], name)).file_path == str(desk.file)
    assert sorted(path.name for path in desk.room.rglob("*.toml")) == ["config.toml"]


# ── the file ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_new_file_is_private_and_an_old_one_keeps_its_mode(desk: Desk) -> None:
    await change(desk, edit("model", "m"))
    assert stat.S_IMODE(desk.file.stat().st_mode) == 0o600
    desk.file.chmod(0o640)
    await change(desk, edit("model", "n"))
    assert stat.S_IMODE(desk.file.stat().st_mode) == 0o640


async def test_a_link_stays_a_link(desk: Desk) -> None:
    real = desk.write('model = "a"\n', desk.room / "dotfiles" / "config.toml")
    desk.home.mkdir()
    desk.file.symlink_to(real)
    await change(desk, edit("model", "b"))
    assert desk.file.is_symlink()
    assert real.read_text() == 'model = "b"\n'


@pytest.mark.parametrize("call", ["fsync", "replace"])
async def test_a_write_that_fails_changes_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    desk.write('model = "a"\n')

    def fail(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, call, fail)
    with pytest.raises(InternalError, match="No space left on device"):
        await change(desk, edit("model", "b"))
    assert desk.file.read_text() == 'model = "a"\n'
    assert {path.name for path in desk.home.iterdir()} == {"config.toml", "config.toml.lock"}


async def test_a_file_is_synced_before_it_takes_the_place(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    real = {name: getattr(os, name) for name in ("fsync", "replace")}
    for name in real:
        monkeypatch.setattr(files.os, name, lambda *args, name=name: (order.append(name), real[name](*args))[1])
    await change(desk, edit("model", "b"))
    assert order == ["fsync", "replace", "fsync"], "the file, its name, and the folder that has the name"


async def test_nothing_is_written_where_nothing_changes(desk: Desk) -> None:
    desk.write('model = "a"  # mine\n')
    before = desk.file.stat().st_ino
    await change(desk, edit("model", "a"), edit("missing", None))
    assert desk.file.stat().st_ino == before


async def test_writers_that_meet_lose_nothing(desk: Desk) -> None:
    """Several servers on one home, each with a lock of its own that the others do not see."""
    async with anyio.create_task_group() as tasks:
        for at in range(12):
            tasks.start_soon(change, desk, edit(f"mcp_servers.s{at}.command", f"c{at}"))
    assert len(desk.load().config.mcp_servers) == 12


async def test_a_lock_that_is_never_freed_is_an_error_in_bounded_time(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LOCK_SECONDS", 0.05)
    with files.alone(desk.file), anyio.fail_after(5), pytest.raises(InternalError, match="another process holds"):
        await change(desk, edit("model", "b"))


async def test_a_read_after_a_write_sees_it_without_waiting_for_the_answer(desk: Desk) -> None:
    configuration = desk.configuration()
    seen: list[str | None] = []

    async def write(model: str) -> None:
        await configuration.write([edit("model", model)])

    async def read() -> None:
        seen.append((await configuration.read()).config.model)

    async with anyio.create_task_group() as tasks:
        for at in range(5):
            tasks.start_soon(write, f"m{at}")
            tasks.start_soon(read)
    assert seen == [f"m{at}" for at in range(5)]


async def test_a_text_that_cannot_be_edited_is_laid_out_anew_and_a_copy_kept(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write('# mine\nmodel = "a"\n')
    monkeypatch.setattr("threadloom.config.edit.rewritten", lambda text, new: None)
    await change(desk, edit("tui.theme", "dark"))
    assert desk.file.read_text() == 'model = "a"\n\n[tui]\ntheme = "dark"\n'
    assert desk.file.with_name("config.toml.bak").read_text() == '# mine\nmodel = "a"\n'


# ── Codex's home ──────────────────────────────────────────────────────────────────────────────────────────────────────


def theirs(guest: Desk, text: str) -> Path:
    assert guest.foreign is not None
    return guest.write(text, guest.foreign / "config.toml")


async def test_codex_s_file_is_read_and_never_written(guest: Desk) -> None:
    codex = theirs(guest, '# theirs\nmodel = "codex"\nreview_model = "r"\n')
    before = codex.stat()
    answer = await change(guest, edit("model", "ours"))
    assert answer.file_path == str(guest.home / "config.toml")
    assert (guest.load().config.model, guest.load().config.review_model) == ("ours", "r")
    assert codex.stat() == before
    assert guest.file.read_text() == 'model = "ours"\n'


async def test_who_names_codex_s_file_writes_ours_in_its_place(guest: Desk) -> None:
    codex = theirs(guest, 'model = "codex"\n')
    configuration = guest.configuration()
    seen = version({"model": "codex"})
    answer = await configuration.write([edit("model", "ours")], str(codex), seen)
    assert answer.file_path == str(guest.file)
    assert codex.read_text() == 'model = "codex"\n'
    with pytest.raises(InvalidRequest) as refused:
        await configuration.write([edit("model", "again")], str(codex), version({}))
    assert code(refused) == "configVersionConflict"


async def test_what_cannot_be_taken_out_of_codex_s_file_is_told(guest: Desk) -> None:
    theirs(guest, 'model = "codex"\n[mcp_servers.docs]\ncommand = "x"\nargs = ["a"]\n')
    cleared = await change(guest, edit("model", None))
    assert (cleared.status, guest.load().config.model) == ("okOverridden", "codex")
    replaced = await change(guest, edit("mcp_servers.docs", {"command": "y"}))
    assert replaced.status == "okOverridden"
    added = await change(guest, edit("mcp_servers.docs", {"command": "z"}, "upsert"))
    assert added.status == "ok"


async def test_not_even_through_a_link(guest: Desk) -> None:
    codex = theirs(guest, 'model = "codex"\n')
    guest.home.mkdir()
    guest.file.symlink_to(codex)
    with pytest.raises(InvalidRequest) as refused:
        await change(guest, edit("model", "ours"))
    assert code(refused) == "configLayerReadonly"
    assert codex.read_text() == 'model = "codex"\n'
