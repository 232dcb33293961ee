"""What a patch is shown as: the changes of an item, and the running diff of a turn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.server.exec.patching import contents, lay, raw, wrapped

from threadloom.exec.patch import Changes, apply, inside, parse, plan
from threadloom.exec.patch.diff import hunks, quoted, unified

SIX = "one\ntwo\nthree\nfour\nfive\nsix\n"


def shown(root: Path, body: str) -> list[tuple[str, dict[str, object], str]]:
    changes = plan(parse(wrapped(body)), str(root)).changes
    return [(str(Path(it.path).relative_to(root)), it.kind.model_dump(by_alias=True), it.diff) for it in changes]


class Turn:
    """Patches one after the other, and their diff."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.changes = Changes(str(root))

    def patch(self, body: str) -> str:
        made = plan(parse(wrapped(body)), str(self.root))
        apply(made, inside([str(self.root)]))
        self.changes.add(made)
        return self.changes.diff()


def update(name: str, old: str, new: str, move: str = "") -> str:
    return f"*** Update File: {name}\n" + (f"*** Move to: {move}\n" if move else "") + f"@@\n-{old}\n+{new}"


def test_changes_are_what_codex_shows(tmp_path: Path) -> None:
    """Recorded from its app-server, for this very patch."""
    lay(tmp_path, {"f": SIX, "g": "old\n", "nonl": "a\nb", "sub/m": "x\ny\n"})
    body = (
        "*** Add File: new.txt\n+hello\n+world\n*** Update File: f\n@@\n two\n-three\n+THREE\n four\n@@\n-six\n+SIX\n"
        "*** Delete File: g\n*** Update File: sub/m\n*** Move to: sub/n\n@@\n-x\n+X\n*** Update File: nonl\n@@\n-b\n+c"
    )
    moved = str(tmp_path / "sub/n")
    assert shown(tmp_path, body) == [
        ("f", _update(), "@@ -2,5 +2,5 @@\n two\n-three\n+THREE\n four\n five\n-six\n+SIX\n"),
        ("g", {"type": "delete"}, "old\n"),
        ("new.txt", {"type": "add"}, "hello\nworld\n"),
        ("nonl", _update(), "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"),
        ("sub/m", _update(moved), f"@@ -1,2 +1,2 @@\n-x\n+X\n y\n\n\nMoved to: {moved}"),
    ]


def _update(move: str | None = None) -> dict[str, object]:
    return {"type": "update", "move_path": move}


def test_a_new_file_over_an_old_one_is_shown_whole(tmp_path: Path) -> None:
    lay(tmp_path, {"f": SIX})
    assert shown(tmp_path, "*** Add File: f\n+over") == [("f", {"type": "add"}, "over\n")]


def test_a_binary_file_is_not_spelled_out(tmp_path: Path) -> None:
    lay(tmp_path, {"f": b"\xff\xfe", "g": b"\xff\xfe"})
    body = "*** Delete File: f\n*** Update File: g\n*** Move to: h"
    moved = str(tmp_path / "h")
    assert shown(tmp_path, body) == [
        ("f", {"type": "delete"}, "Binary file, 2 bytes"),
        ("g", _update(moved), f"\n\nMoved to: {moved}"),
    ]


def test_several_changes_of_a_file_are_shown_as_one(tmp_path: Path) -> None:
    lay(tmp_path, {"f": "a\n", "g": "b\n"})
    body = "\n".join([
        update("f", "a", "b", "x"), update("x", "b", "c", "y"), "*** Add File: f\n+new",
        "*** Add File: n\n+n", "*** Delete File: n", "*** Add File: m\n+m", update("m", "m", "M", "z"),
    ])  # fmt: skip
    moved = str(tmp_path / "y")
    assert shown(tmp_path, body) == [
        ("f", _update(moved), f"@@ -1 +1 @@\n-a\n+c\n\n\nMoved to: {moved}"),
        ("f", {"type": "add"}, "new\n"),
        ("z", {"type": "add"}, "M\n"),
    ]


def test_a_file_made_after_a_move_is_not_the_one_that_moved(tmp_path: Path) -> None:
    lay(tmp_path, {"f": "a\n"})
    body = f"{update('f', 'a', 'b', 'g')}\n*** Add File: f\n+new\n{update('f', 'new', 'newer', 'h')}"
    assert [(path, kind["type"]) for path, kind, _ in shown(tmp_path, body)] == [("f", "update"), ("h", "add")]


def test_the_model_is_told_what_was_done(tmp_path: Path) -> None:
    lay(tmp_path, {"f": "a\n", "g": "b\n", "h": "c\n"})
    body = "\n".join(
        ["*** Add File: ./n\n+n", update("f", "a", "A", "d/f"), "*** Delete File: g", update("h", "c", "C")]
    )
    made = plan(parse(wrapped(body)), str(tmp_path))
    assert made.summary() == "Applied the patch:\nA ./n\nD g\nM d/f\nM h"


def test_a_turn_is_shown_as_codex_shows_it(tmp_path: Path) -> None:
    """Headers, ids, context and order are as its app-server sent them for such a turn."""
    lay(tmp_path, {"f": SIX, "g": "old\n", "nonl": "a\nb", "sub/m": "x\ny\n"})
    turn = Turn(tmp_path)
    body = "*** Add File: new.txt\n+hello\n*** Delete File: g\n*** Update File: sub/m\n*** Move to: sub/n\n@@\n-x\n+X"
    assert turn.patch(body) == (
        "diff --git a/g b/g\ndeleted file mode 100644\n"
        "index 3367afdbbf91e638efe983616377c60477cc6612..0000000000000000000000000000000000000000\n"
        "--- a/g\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n"
        "diff --git a/new.txt b/new.txt\nnew file mode 100644\n"
        "index 0000000000000000000000000000000000000000..ce013625030ba8dba906f756967f9e9ca394464a\n"
        "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+hello\n"
        "diff --git a/sub/m b/sub/n\n"
        "index b77b4eb1d946f923f61785536da9ca5af6909f06..215c42fc8ae61f0cb15b48fa4100e0386f1505fc\n"
        "--- a/sub/m\n+++ b/sub/n\n@@ -1,2 +1,2 @@\n-x\n+X\n y\n"
    )


def test_what_comes_back_to_its_beginning_is_no_diff(tmp_path: Path) -> None:
    lay(tmp_path, {"f": "a\n", "g": "b\n"})
    turn = Turn(tmp_path)
    assert "+c" in turn.patch(update("f", "a", "c"))
    assert turn.patch(update("f", "c", "a")) == ""
    assert "+++ b/n" in turn.patch("*** Add File: n\n+n")
    assert turn.patch("*** Delete File: n") == ""
    assert "+++ b/h" in turn.patch(update("g", "b", "B", "h"))
    assert turn.patch(update("h", "B", "b", "g")) == ""
    assert "+++ /dev/null" in turn.patch("*** Delete File: f")
    assert turn.patch("*** Add File: f\n+a") == ""


def test_moves_in_a_row_are_one_move(tmp_path: Path) -> None:
    lay(tmp_path, {"a": "1\n2\n"})
    turn = Turn(tmp_path)
    turn.patch(update("a", "1", "one", "b"))
    turn.patch(update("b", "2", "two"))
    diff = turn.patch("*** Update File: b\n*** Move to: c")
    assert diff.startswith("diff --git a/a b/c\n")
    assert diff.endswith("--- a/a\n+++ b/c\n@@ -1,2 +1,2 @@\n-1\n-2\n+one\n+two\n")
    assert turn.patch("*** Delete File: c").count("diff --git a/a b/a\ndeleted file mode") == 1


def test_a_file_that_moved_unchanged_is_a_rename(tmp_path: Path) -> None:
    lay(tmp_path, {"a": "1\n"})
    diff = Turn(tmp_path).patch("*** Update File: a\n*** Move to: b")
    assert diff == "diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n"


def test_a_file_out_of_the_root_has_its_whole_path(tmp_path: Path) -> None:
    made = plan(parse(wrapped("*** Add File: ../out\n+x")), str(tmp_path / "in"))
    changes = Changes(str(tmp_path / "in"))
    changes.add(made)
    assert f"+++ b/{tmp_path}/out\n" in changes.diff()


STEPS = [
    update("f", "three", "THREE"),
    "*** Add File: dir/new\n+1\n+2\n\\ No newline at end of file",
    update("g", "b", "B", "dir/g"),
    "*** Delete File: bare",
    "*** Add File: empty",
    "*** Update File: over\n*** Move to: target",
    "*** Add File: g\n+another",
    update("dir/new", "1", "one"),
    "*** Update File: dir/g\n*** Move to: last",
    '*** Add File: odd "name"\té\n+x',
]


@pytest.mark.parametrize("many", range(1, len(STEPS) + 1))
def test_git_makes_of_the_diff_what_the_patches_made(many: int, tmp_path: Path) -> None:
    files = {"f": SIX, "g": "a\nb\n", "bare": "x", "over": "o\n", "target": "t\n"}
    work, copy = tmp_path / "work", tmp_path / "copy"
    lay(work, files)
    lay(copy, files)
    turn = Turn(work)
    for step in STEPS[:many]:
        diff = turn.patch(step)
    subprocess.run(["git", "apply", "-"], cwd=copy, input=diff.encode(), check=True, capture_output=True, timeout=30)
    assert contents(copy) == contents(work)
    subprocess.run(["git", "apply", "-R", "-"], cwd=copy, input=diff.encode(), check=True, timeout=30)
    assert contents(copy) == raw(files)


def test_headers_name_both_sides() -> None:
    assert unified("a\n", "b\n", "x", "y") == "--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n"
    assert unified(None, "b\n", "x").startswith("--- /dev/null\n+++ b/x\n")
    assert unified("b\n", None, "x").startswith("--- a/x\n+++ /dev/null\n")
    assert unified("b\n", "b\n", "x") == ""
    assert quoted('a "b"\n') == '"a \\"b\\"\\012"'


def test_a_file_changed_all_over_is_shown_at_once() -> None:
    old, new = ("\n".join(f"{word} {at % 7}" for at in range(20_000)) for word in ("old", "new"))
    assert hunks(old, new).count("\n-") == 20_000


def test_difflib_is_not_loaded_before_it_is_needed() -> None:
    code = "import sys, threadloom.exec.patch; sys.exit('difflib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
