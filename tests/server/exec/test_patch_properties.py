"""What holds for all trees and texts: apply(diff(a, b), a) = b, and nonsense changes nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.server.exec.patching import WHOLE, contents, emit, lay, lines_of, patch, prints, raw, wrapped
from tests.support.counts import count

from threadloom.exec.patch import Changes, PatchError, parse, plan
from threadloom.exec.patch.diff import hunks

LINE = st.one_of(
    st.sampled_from(["", "a", "b", "  a", "a ", "@@", "*** End of File", "*** End Patch", "+a", "-a", "“a”", "\\ No"]),
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r\n"), max_size=8),
)
TEXT = st.tuples(st.lists(LINE, max_size=12), st.booleans()).map(lambda it: "\n".join(it[0]) + "\n" * it[1])
NAME = st.sampled_from(["f", "g", "d/f", "d/e/f", "é ß", "x.py"])
TREE = st.dictionaries(NAME, TEXT, max_size=4)
CONTEXT = st.sampled_from([1, 3, WHOLE])
MANY = settings(max_examples=count(1000), deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])


@MANY
@given(TREE, TREE, CONTEXT)
def test_a_patch_from_a_to_b_makes_b_of_a(a: dict[str, str], b: dict[str, str], context: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        lay(root, a)
        if a != b:
            assert patch(root, emit(a, b, context)) == []
        assert contents(root) == raw(b)


@MANY
@given(TEXT, TEXT, CONTEXT)
def test_line_ends_of_a_file_stay(a: str, b: str, context: int) -> None:
    if a == b or "\n" not in a:
        return
    before, after = (text.replace("\n", "\r\n").encode() for text in (a, b))
    made = plan(parse(emit({"f": a}, {"f": b}, context)), "/nowhere", lambda path: before)
    assert made.overlay.after == {"/nowhere/f": after}


@MANY
@given(TEXT, TEXT, st.integers(0, 4))
def test_hunks_say_what_differs(a: str, b: str, context: int) -> None:
    assert replayed(a, hunks(a, b, context)) == b
    assert (hunks(a, b, context) == "") == (a == b)


@MANY
@given(st.lists(TREE, min_size=2, max_size=5))
def test_a_turn_is_the_way_from_its_beginning_to_its_end(trees: list[dict[str, str]]) -> None:
    changes = Changes("/nowhere")
    for a, b in pairwise(trees):
        if a != b:
            changes.add(plan(parse(emit(a, b)), "/nowhere", reader(a)))
    first, last = trees[0], trees[-1]
    diff = changes.diff()
    touched = [name for name in sorted(first | last) if first.get(name) != last.get(name)]
    assert diff.count("diff --git ") >= len(touched)
    assert all(f"diff --git a/{name} b/{name}\n" in diff for name in touched)
    if not touched:
        assert diff == ""


FILE = ["*** Add File: f", "*** Add File: d/n", "*** Delete File: g", "*** Update File: f", "*** Move to: h"]
FRAME = ["*** Begin Patch", "*** End Patch", "*** End of File", "\\ No newline at end of file"]
PIECE = st.sampled_from([*FILE, *FRAME, "@@", "@@ a", "+a", "-a", " a", "", "a"])


@MANY
@given(st.lists(PIECE, max_size=9), st.booleans())
def test_any_text_is_a_patch_or_an_error_and_an_error_changes_nothing(pieces: list[str], framed: bool) -> None:
    text = "\n".join(pieces)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        lay(root, {"f": "a\nb\na\n", "g": "a"})
        before = prints(root)
        try:
            patch(root, wrapped(text) if framed else text)
        except PatchError:
            assert prints(root) == before
        assert not [name for name in contents(root) if name.endswith(".tmp")]


def reader(tree: dict[str, str]) -> Callable[[str], bytes]:
    def read(path: str) -> bytes:
        name = path.removeprefix("/nowhere/")
        if name not in tree:
            raise FileNotFoundError(path)
        return tree[name].encode()

    return read


def replayed(a: str, diff: str) -> str:
    """The hunks carried out by line numbers alone."""
    old, out, at = a.split("\n"), [], 0
    lines = lines_of(diff)
    bare_end = False
    for index, line in enumerate(lines):
        if line.startswith("@@ -") and _is_head(lines, index):
            start, size = _range(line)
            to = start - 1 if size else start
            out += old[at:to]
            at = to
        elif line == "\\ No newline at end of file":
            bare_end = bare_end or lines[index - 1][0] != "-"
        elif line[0] in " -":
            assert old[at] == line[1:]
            at += 1
            out += [line[1:]] if line[0] == " " else []
        else:
            out.append(line[1:])
    rest = old[at:]
    if rest:  # the tail, with its own end
        return "\n".join([*out, *rest]) if not bare_end or rest != [""] else "\n".join(out)
    return "\n".join(out) + ("" if bare_end or not out else "\n")


def _is_head(lines: list[str], index: int) -> bool:
    return lines[index].endswith(" @@") and lines[index][0] == "@"


def _range(line: str) -> tuple[int, int]:
    start, _, size = line.split(" ")[1][1:].partition(",")
    return int(start), int(size or 1)
