"""Where a fence lets be written, after commands have moved folders and laid links in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.exec_rooms import KINDS, Workplace, host_of, run

from threadloom.exec.base import Fence, Order
from threadloom.exec.fence import fence_of
from threadloom.exec.launch import Host
from threadloom.exec.patch import PatchError, inside, outside, parse, plan
from threadloom.exec.roots import resolved
from threadloom_protocol.v2.values.policy import WorkspaceWriteSandboxPolicy


@pytest.fixture(params=KINDS)
async def host(request: pytest.FixtureRequest) -> AsyncIterator[Host]:
    host = host_of(request.param)
    yield host
    await host.close()


# What a command does with the workspace, and the root that lies in it; both write to that root by its name afterwards.
SWAPS = {
    "a root that was not there": ("ln -s {out} {work}/late", "late"),
    "a folder above a root": ("mv {work}/up {work}/away && mkdir {work}/up && ln -s {out} {work}/up/here", "up/here"),
    "the folder above it as a link": (
        "mv {work}/up {work}/away && ln -s {out} {work}/up",
        "up/here",
    ),
}


@pytest.mark.parametrize(("swap", "name"), SWAPS.values(), ids=SWAPS)
async def test_a_link_that_a_command_made_leads_no_later_one_out(
    host: Host, swap: str, name: str, tmp_path: Path
) -> None:
    place = Workplace(tmp_path)
    (place.work / "up/here").mkdir(parents=True)
    (place.outside / "here").mkdir()
    before = place.snapshot()
    fence = Fence("workspace-write", (str(place.work), str(place.work / name)))

    def order(script: str) -> Order:
        return Order(["sh", "-c", script], str(place.work), place.env, fence)

    await run(host, order(swap.format(work=place.work, out=place.outside)))
    assert (place.work / name).resolve().is_relative_to(place.outside)
    code, _, complaints = await run(host, order(f"echo escaped > {name}/new"))
    assert code != 0, complaints
    assert place.snapshot() == before


def test_only_the_outermost_roots_count_and_none_by_a_link_in_another(tmp_path: Path) -> None:
    work, other = tmp_path / "work", tmp_path / "other"
    for folder in (work / "inner", other):
        folder.mkdir(parents=True)
    (tmp_path / "alias").symlink_to("work")
    (tmp_path / "far").symlink_to(work / "out")
    (work / "out").symlink_to(other)
    (work / "loop").symlink_to("loop")
    assert resolved([str(work), str(work / "inner"), str(work)]) == [str(work)]
    assert resolved([str(tmp_path / "alias")]) == [str(work)]
    assert resolved([str(tmp_path / "alias"), str(work / "out")]) == [str(work)]
    assert resolved([str(work), str(tmp_path / "far")]) == [str(work)]
    assert resolved([str(tmp_path / "alias/../work/out"), str(work)]) == [str(work)]
    assert resolved([str(work), str(work / "loop/x")]) == [str(work)]
    assert resolved([str(other), str(work)]) == sorted([str(work), str(other)], key=len)
    assert resolved(["/", str(work)]) == ["/"]


def test_a_patch_follows_no_link_in_another_root_and_leaves_what_is_kept(tmp_path: Path) -> None:
    work, other, home = tmp_path / "work", tmp_path / "other", tmp_path / "work/home"
    for folder in (home, other):
        folder.mkdir(parents=True)
    (work / "out").symlink_to(other)
    planned = plan(
        parse(
            "*** Begin Patch\n*** Add File: out/a\n+x\n*** Add File: home/config.toml\n+x\n*** Add File: b\n+x\n"
            "*** End Patch\n"
        ),
        str(work),
    )
    roots = [str(work), str(work / "out")]
    assert outside(planned, roots, kept=[str(home)]) == [str(other / "a"), str(home / "config.toml")]
    guard = inside(roots, kept=[str(home)], also=[str(other / "a")])
    guard(str(work / "b"))
    guard(str(other / "a"))
    with pytest.raises(PatchError):
        guard(str(home / "config.toml"))


def test_the_homes_are_kept_unless_the_work_is_in_them() -> None:
    policy = WorkspaceWriteSandboxPolicy()
    own, codex = {"THREADLOOM_HOME": "/tmp/h", "CODEX_HOME": "/c"}, {"CODEX_HOME": "/srv/codex"}
    assert fence_of(policy, "/srv/work", own).kept == ("/tmp/h",)
    assert fence_of(policy, "/srv/work", codex).kept == ("/srv/codex/threadloom", "/srv/codex")
    assert fence_of(policy, "/tmp/h/trees/one", own).kept == ()
    assert fence_of(policy, "/srv", {"HOME": "/srv"}).kept == ("/srv/.threadloom",)
