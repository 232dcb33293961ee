"""Patches on disk: all of it or nothing, through no link, over nobody else's work."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.server.exec.patching import contents, lay, patch, prints, raw, wrapped

from threadloom.exec.patch import PatchError, Plan, apply, inside, outside, parse, plan

FILES = {"f": "a\n", "g": "b\n", "h": "c\n", "sub/over": "old\n"}
MANY = wrapped(
    "*** Add File: new/deep/n\n+n\n*** Add File: m\n+m\n*** Update File: f\n@@\n-a\n+A\n*** Delete File: g\n"
    "*** Update File: h\n*** Move to: moved/h\n@@\n-c\n+C\n*** Add File: sub/over\n+over"
)
AFTER = {"new/deep/n": "n\n", "m": "m\n", "f": "A\n", "moved/h": "C\n", "sub/over": "over\n"}
# Everything that `apply` asks of the system, and that can say no.
CALLS = ["open", "write", "fstat", "fchmod", "link", "rename", "mkdir", "stat", "unlink"]


def planned(root: Path, text: str) -> Plan:
    return plan(parse(text), str(root))


class Fault:
    """The n-th call fails, once or from then on."""

    def __init__(self, at: int, *, forever: bool = False) -> None:
        self.at, self.forever = at, forever
        self.seen: list[str] = []

    def wrap(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **named: Any) -> Any:
            self.seen.append(name)
            number = len(self.seen) - 1
            if number == self.at or (self.forever and number > self.at):
                raise OSError(28, "the test's disk is full", "somewhere")
            return call(*args, **named)

        return run


def apply_with(fault: Fault, made: Plan, root: Path) -> list[str]:
    guard = inside([str(root)])
    with pytest.MonkeyPatch.context() as patching:
        for name in CALLS:
            patching.setattr(os, name, fault.wrap(name, getattr(os, name)))
        return apply(made, guard)


def calls_of_a_whole_run(root: Path) -> list[str]:
    lay(root, FILES)
    fault = Fault(-1)
    assert apply_with(fault, planned(root, MANY), root) == []
    return fault.seen


def test_a_failure_at_any_step_leaves_the_tree_as_it_was(tmp_path: Path) -> None:
    calls = calls_of_a_whole_run(tmp_path / "dry")
    assert set(calls) == set(CALLS)
    for at, name in enumerate(calls):
        root = tmp_path / str(at)
        lay(root, FILES)
        (root / "f").chmod(0o640)
        made, before = planned(root, MANY), prints(root)
        if name in ("link", "unlink"):  # it goes on another way, or only the clearing up fails
            kept = {str(Path(path).relative_to(root)) for path in apply_with(Fault(at), made, root)}
            assert len(kept) == (name == "unlink")
            assert {path: content for path, content in contents(root).items() if path not in kept} == raw(AFTER)
        else:
            with pytest.raises(PatchError, match="no file has changed"):
                apply_with(Fault(at), made, root)
            assert prints(root) == before, f"{name}, call {at}"


def test_what_cannot_be_put_back_is_told_with_where_it_is(tmp_path: Path) -> None:
    calls = calls_of_a_whole_run(tmp_path / "dry")
    last = len(calls) - 1 - calls[::-1].index("rename")
    root = tmp_path / "root"
    lay(root, FILES)
    with pytest.raises(PatchError) as caught:
        apply_with(Fault(last, forever=True), planned(root, MANY), root)
    assert "no file has changed" not in str(caught.value)
    assert "could not be put back" in str(caught.value)
    aside = next(line for line in caught.value.problems if line.startswith(f"{root}/g "))
    assert (root / aside.split("beside it as ")[1].split(")")[0]).read_text() == "b\n"


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    root = tmp_path / "root"
    lay(root, FILES)
    before = len(os.listdir("/dev/fd"))
    for at in range(0, 60, 7):
        with pytest.raises(PatchError):
            apply_with(Fault(at), planned(root, MANY), root)
    assert len(os.listdir("/dev/fd")) == before


def test_modes_stay_also_over_a_move(tmp_path: Path) -> None:
    lay(tmp_path, {"run": "a\n", "tool": "b\n"})
    (tmp_path / "run").chmod(0o755)
    (tmp_path / "tool").chmod(0o700)
    patch(
        tmp_path,
        wrapped("*** Update File: run\n@@\n-a\n+A\n*** Update File: tool\n*** Move to: bin/tool\n@@\n-b\n+B"),
    )
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "bin/tool").stat().st_mode) == 0o700


def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        patch(tmp_path, wrapped("*** Add File: d/n\n+x"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "d/n").stat().st_mode) == 0o640


def test_a_read_only_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(tmp_path, FILES)
    made, before = planned(tmp_path, MANY), prints(tmp_path)
    monkeypatch.setattr(os, "access", lambda name, mode, dir_fd: name != "f")  # who runs as root may write everything
    with pytest.raises(PatchError, match="f is read-only"):
        apply(made, inside([str(tmp_path)]))
    assert prints(tmp_path) == before


def test_a_file_that_nothing_changes_is_not_written(tmp_path: Path) -> None:
    lay(tmp_path, {"f": "a\n"})
    before = prints(tmp_path)
    patch(tmp_path, wrapped("*** Update File: f\n@@\n a"))
    assert prints(tmp_path) == before


def test_another_name_of_the_file_keeps_the_old_content(tmp_path: Path) -> None:
    lay(tmp_path, {"in/f": "a\n"})
    os.link(tmp_path / "in/f", tmp_path / "out")
    patch(tmp_path / "in", wrapped("*** Update File: f\n@@\n-a\n+b"))
    assert contents(tmp_path) == {"in/f": b"b\n", "out": b"a\n"}


SPOILT: dict[str, Callable[[Path], object]] = {
    "changed": lambda root: (root / "f").write_text("other\n"),
    "gone": lambda root: (root / "g").unlink(),
    "appeared": lambda root: (root / "m").write_text("somebody else's\n"),
    "a link to pass": lambda root: (root / "moved").symlink_to(root / "sub"),
    "a file to pass": lambda root: (root / "new").write_text("a file now\n"),
    "a link": lambda root: ((root / "f").unlink(), (root / "f").symlink_to(root / "g")),
    "a link to the same": lambda root: ((root / "f").rename(root / "x"), (root / "f").symlink_to(root / "x")),
    "a folder became a link": lambda root: ((root / "sub").rename(root / "b"), (root / "sub").symlink_to(root / "b")),
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_what_changed_since_the_plan_is_refused(spoil: Callable[[Path], object], tmp_path: Path) -> None:
    lay(tmp_path, FILES)
    made = planned(tmp_path, MANY)
    spoil(tmp_path)
    before = prints(tmp_path)
    with pytest.raises(PatchError, match="no file has changed"):
        apply(made, inside([str(tmp_path)]))
    assert prints(tmp_path) == before


def test_a_file_that_appears_while_the_patch_is_applied_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(tmp_path, FILES)
    made, mkdir = planned(tmp_path, MANY), os.mkdir

    def slow(name: str, dir_fd: int) -> None:  # when it makes folders for the first file, the second is still to come
        mkdir(name, dir_fd=dir_fd)
        (tmp_path / "m").write_text("somebody else's\n")

    monkeypatch.setattr(os, "mkdir", slow)
    with pytest.raises(PatchError, match="m has appeared"):
        apply(made, inside([str(tmp_path)]))
    assert contents(tmp_path) == raw(FILES | {"m": "somebody else's\n"})


def test_a_link_out_of_the_roots_is_not_followed(tmp_path: Path) -> None:
    lay(tmp_path, {"in/f": "a\n", "out/g": "b\n"})
    (tmp_path / "in/door").symlink_to(tmp_path / "out")
    (tmp_path / "in/window").symlink_to(tmp_path / "out/g")
    before = prints(tmp_path)
    for body in ("*** Add File: door/n\n+x", "*** Update File: window\n@@\n-b\n+x", "*** Delete File: door/g",
                 "*** Update File: f\n*** Move to: door/f\n@@\n a", "*** Add File: window\n+x",
                 "*** Add File: door/../n\n+x"):  # fmt: skip
        made = planned(tmp_path / "in", wrapped(body))
        assert outside(made, [str(tmp_path / "in")]) != []
        with pytest.raises(PatchError, match="outside"):
            apply(made, inside([str(tmp_path / "in")]))
    assert prints(tmp_path) == before


def test_a_link_inside_is_written_through_and_deleted_itself(tmp_path: Path) -> None:
    lay(tmp_path, {"f": "a\n", "g": "b\n"})
    (tmp_path / "to-f").symlink_to("f")
    (tmp_path / "to-g").symlink_to("g")
    patch(tmp_path, wrapped("*** Update File: to-f\n@@\n-a\n+A\n*** Delete File: to-g"))
    assert (tmp_path / "to-f").is_symlink()
    assert not (tmp_path / "to-g").exists()
    assert {name: (tmp_path / name).read_text() for name in "fg"} == {"f": "A\n", "g": "b\n"}


def test_a_link_that_moves_leaves_its_file_alone(tmp_path: Path) -> None:
    lay(tmp_path, {"in/x": "", "out/g": "b\n"})
    (tmp_path / "in/link").symlink_to(tmp_path / "out/g")
    patch(tmp_path / "in", wrapped("*** Update File: link\n*** Move to: here\n@@\n-b\n+B"))
    assert contents(tmp_path) == {"in/x": b"", "in/here": b"B\n", "out/g": b"b\n"}
    assert not (tmp_path / "in/link").is_symlink()


def test_a_link_gives_way_to_a_file(tmp_path: Path) -> None:
    lay(tmp_path, {"f": "a\n"})
    (tmp_path / "link").symlink_to("f")
    patch(tmp_path, wrapped("*** Delete File: link\n*** Add File: link\n+own"))
    assert not (tmp_path / "link").is_symlink()
    assert contents(tmp_path) == {"f": b"a\n", "link": b"own\n"}


def test_a_pipe_makes_nobody_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PatchError, match="not a regular file"):
        planned(tmp_path, wrapped("*** Update File: pipe\n@@\n-a"))


def test_outside_names_what_needs_leave(tmp_path: Path) -> None:
    root, other = tmp_path / "root", tmp_path / "other"
    lay(tmp_path, {"root/f": "a\n", "other/.git/config": "x\n"})
    names = ["f2", ".git/config", "sub/.GIT/x", ".codex/x", "a/.threadloom/x", ".gitignore", "../beside", f"{other}/y"]
    made = planned(root, wrapped("\n".join(f"*** Add File: {name}\n+x" for name in names)))
    wrong = [
        root / ".git/config",
        root / "sub/.GIT/x",
        root / ".codex/x",
        root / "a/.threadloom/x",
        tmp_path / "beside",
    ]
    assert outside(made, [str(root)]) == [str(path) for path in [*wrong, other / "y"]]
    assert outside(made, [str(root), str(other)]) == [str(path) for path in wrong]
    assert outside(made, []) == made.places
    assert outside(made, ["/"]) == [str(path) for path in wrong[:4]]


def test_a_root_may_be_a_link_or_lie_below_something_protected(tmp_path: Path) -> None:
    lay(tmp_path, {".codex/trees/w/f": "a\n"})
    (tmp_path / "way").symlink_to(tmp_path / ".codex/trees/w")
    made = planned(tmp_path / "way", wrapped("*** Update File: f\n@@\n-a\n+b"))
    assert outside(made, [str(tmp_path / "way")]) == []
    assert [change.path for change in made.changes] == [str(tmp_path / "way/f")]
    assert apply(made, inside([str(tmp_path / "way")])) == []
    assert (tmp_path / "way/f").read_text() == "b\n"


def test_what_somebody_allowed_by_name_goes_through(tmp_path: Path) -> None:
    made = planned(tmp_path, wrapped("*** Add File: .git/x\n+x"))
    apply(made, inside([str(tmp_path)], also=outside(made, [str(tmp_path)])))
    assert contents(tmp_path) == {".git/x": b"x\n"}
