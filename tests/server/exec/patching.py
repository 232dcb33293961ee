"""For tests of patches: trees on disk, their fingerprints, and patches made from two trees."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from difflib import SequenceMatcher
from pathlib import Path

from threadloom.exec.patch import apply, inside, parse, plan
from threadloom.exec.patch.parse import BARE, BEGIN, END

Tree = Mapping[str, str | bytes]
WHOLE = 1_000_000  # lines of context: all of them


def lay(root: Path, tree: Tree) -> None:
    """Make these files."""
    for name, content in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_bytes(content))


def contents(root: Path) -> dict[str, bytes]:
    """Every file and what is in it."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def raw(tree: Tree) -> dict[str, bytes]:
    """The same, of a tree that is only described."""
    return {name: _bytes(content) for name, content in tree.items()}


def prints(root: Path) -> dict[str, object]:
    """All that a failure must leave alone: names, bytes, modes, times, links."""
    return {str(path.relative_to(root)): _print(path) for path in [root, *root.rglob("*")]}


def _print(path: Path) -> object:
    found = path.lstat()
    if path.is_symlink():
        return "link", os.readlink(path)
    content = path.read_bytes() if path.is_file() else None
    return oct(found.st_mode), found.st_mtime_ns, content


def patch(root: Path, text: str, guard: Callable[[str], None] | None = None) -> list[str]:
    """Parse, plan, apply."""
    return apply(plan(parse(text), str(root)), guard or inside([str(root)]))


def wrapped(body: str) -> str:
    return f"{BEGIN}\n{body}\n{END}\n"


def emit(a: Mapping[str, str], b: Mapping[str, str], context: int = 3) -> str:
    """A patch from one tree of texts to another, with nothing of the product's in how it is made."""
    sections = [f"*** Delete File: {name}" for name in a if name not in b]
    sections += [_added(name, text) for name, text in b.items() if name not in a]
    sections += [_changed(name, a[name], text, context) for name, text in b.items() if a.get(name, text) != text]
    return wrapped("\n".join(sections))


def _added(name: str, text: str) -> str:
    return "\n".join([f"*** Add File: {name}", *(f"+{line}" for line in lines_of(text)), *_bare(text)])


def _changed(name: str, a: str, b: str, context: int) -> str:
    old, new = lines_of(a), lines_of(b)
    chunks = _chunks(old, new, context) if context < WHOLE and a.endswith("\n") == b.endswith("\n") else None
    if chunks is None or _bare(b):
        # A bare line is another than one with an end, so that what is bare comes last in the chunk.
        codes = SequenceMatcher(None, _ended(a), _ended(b)).get_opcodes()
        chunks = [_chunk(old, new, codes)]
    return "\n".join([f"*** Update File: {name}", *(line for chunk in chunks for line in ["@@", *chunk]), *_bare(b)])


def _chunks(old: list[str], new: list[str], context: int) -> list[list[str]] | None:
    """A chunk for each difference; None where the lines of one do not say for sure where it belongs."""
    chunks, at = [], 0
    for group in SequenceMatcher(None, old, new).get_grouped_opcodes(context):
        start, end = group[0][1], group[-1][2]
        if start == end or next(it for it in range(at, end) if old[it : it + end - start] == old[start:end]) != start:
            return None
        chunks.append(_chunk(old, new, group))
        at = end
    return chunks


def _chunk(old: list[str], new: list[str], codes: list[tuple[str, int, int, int, int]]) -> list[str]:
    lines = []
    for tag, a0, a1, b0, b1 in codes:
        if tag == "equal":
            lines += [f" {line}" for line in old[a0:a1]]
        else:
            lines += [f"-{line}" for line in old[a0:a1]] + [f"+{line}" for line in new[b0:b1]]
    return lines


def lines_of(text: str) -> list[str]:
    """The lines, split at newlines alone."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _ended(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _bare(text: str) -> list[str]:
    return [BARE] if text and not text.endswith("\n") else []


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content
