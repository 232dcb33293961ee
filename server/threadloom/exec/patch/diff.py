"""Differences between texts as unified diffs, of one file and of a whole turn."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from threadloom.exec.patch.overlay import Content, Overlay, Shift

if TYPE_CHECKING:
    from threadloom.exec.patch.plan import Plan

CONTEXT: Final = 3
NOWHERE: Final = "/dev/null"
BARE: Final = "\\ No newline at end of file\n"
MOST: Final = 4_000  # lines between the first and the last difference; matching more than these takes seconds

Block = tuple[bool, int, int, int, int]  # same?, from and to in a, from and to in b


def hunks(a: str, b: str, context: int = CONTEXT) -> str:
    """The hunks from `a` to `b`, without a header; empty if they are the same."""
    old, new = _lines(a), _lines(b)
    return "".join(part for group in _groups(_blocks(old, new), context) for part in _hunk(old, new, group))


def unified(a: str | None, b: str | None, path: str, new_path: str | None = None, *, context: int = CONTEXT) -> str:
    """The diff of a file with its `---` and `+++`; None is a file that is not there. Empty where nothing differs."""
    body = hunks(a or "", b or "", context)
    if not body:
        return ""
    old = NOWHERE if a is None else quoted(f"a/{path}")
    new = NOWHERE if b is None else quoted(f"b/{new_path or path}")
    return f"--- {old}\n+++ {new}\n{body}"


class Changes:
    """The running diff of a turn over its patches: each file as it was at its first touch, against what it is now."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)
        self._overlay = Overlay()

    def add(self, plan: Plan) -> None:
        """A patch was applied."""
        self._overlay.absorb(plan.overlay)

    def diff(self) -> str:
        """Everything as one diff in git's form; empty if all is as it was."""
        return "".join(self._file(part) for shift in self._overlay.shifts() for part in self._split(shift))

    def _split(self, shift: Shift) -> list[Shift]:
        """A move onto a file that was there is, to a diff, the end of one file and the change of another."""
        replaced = self._overlay.before[shift.place]
        if shift.place == shift.source or (replaced is None and self._overlay.after[shift.source] is None):
            return [shift]
        parts = [Shift(shift.place, shift.place, replaced, shift.after)]
        if self._overlay.after[shift.source] is None:
            parts.append(Shift(shift.source, shift.source, shift.before, None))
        return parts

    def _file(self, shift: Shift) -> str:
        place, source, before, after = shift
        if place == source and before == after:
            return ""
        old, new = self._shown(source), self._shown(place)
        head = f"diff --git {quoted(f'a/{old}')} {quoted(f'b/{new}')}\n"
        if before == after:
            return f"{head}similarity index 100%\nrename from {quoted(old)}\nrename to {quoted(new)}\n"
        mode = "new file mode 100644\n" if before is None else "deleted file mode 100644\n" if after is None else ""
        return f"{head}{mode}index {_blob(before)}..{_blob(after)}\n{_body(before, after, old, new)}"

    def _shown(self, place: str) -> str:
        relative = os.path.relpath(place, self._root)
        return place if relative.startswith("..") else relative


def text_of(content: bytes) -> str | None:
    """The text of a file; None if it is none."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def quoted(path: str) -> str:
    """A path as git writes it, in quotes where a sign in it would break the line."""
    if path.isprintable() and '"' not in path and "\\" not in path:
        return path
    signs = (char if char.isprintable() and char not in '"\\' else _escaped(char) for char in path)
    return f'"{"".join(signs)}"'


def _escaped(char: str) -> str:
    return f"\\{char}" if char in '"\\' else "".join(f"\\{byte:03o}" for byte in os.fsencode(char))


def _body(before: Content, after: Content, old: str, new: str) -> str:
    a, b = (None if content is None else text_of(content) for content in (before, after))
    if (before is None) == (a is None) and (after is None) == (b is None):
        return unified(a, b, old, new)
    names = (NOWHERE if before is None else quoted(f"a/{old}"), NOWHERE if after is None else quoted(f"b/{new}"))
    return f"Binary files {names[0]} and {names[1]} differ\n"


def _blob(content: Content) -> str:
    """The id that git gives to this content."""
    import hashlib

    if content is None:
        return "0" * 40
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + [last] * bool(last)


def _blocks(a: list[str], b: list[str]) -> Iterator[Block]:
    """What is the same and what is not, in turn. Only what lies between the ends that agree is searched."""
    most = min(len(a), len(b))
    head = next((at for at in range(most) if a[at] != b[at]), most)
    tail = next((at for at in range(most - head) if a[-1 - at] != b[-1 - at]), most - head)
    if head:
        yield True, 0, head, 0, head
    yield from _middle(a, b, head, tail)
    if tail:
        yield True, len(a) - tail, len(a), len(b) - tail, len(b)


def _middle(a: list[str], b: list[str], head: int, tail: int) -> Iterator[Block]:
    old, new = a[head : len(a) - tail], b[head : len(b) - tail]
    if not old or not new or len(old) + len(new) > MOST:
        if old or new:
            yield False, head, head + len(old), head, head + len(new)
        return
    from difflib import SequenceMatcher

    for tag, a0, a1, b0, b1 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        yield tag == "equal", head + a0, head + a1, head + b0, head + b1


def _groups(blocks: Iterator[Block], context: int) -> Iterator[list[Block]]:
    """The differences, with those together that share their context; what is the same is cut down to it."""
    group: list[Block] = []
    for same, a0, a1, b0, b1 in blocks:
        if not same:
            group.append((False, a0, a1, b0, b1))
            continue
        size = a1 - a0
        if group and any(not block[0] for block in group):
            if size <= 2 * context:
                group.append((True, a0, a1, b0, b1))
                continue
            yield [*group, (True, a0, a0 + context, b0, b0 + context)]
        keep = min(size, context)
        group = [(True, a1 - keep, a1, b1 - keep, b1)]
    if any(not block[0] for block in group):
        yield _trimmed(group, context)


def _trimmed(group: list[Block], context: int) -> list[Block]:
    same, a0, a1, b0, _ = group[-1]
    if same and a1 - a0 > context:
        group[-1] = (True, a0, a0 + context, b0, b0 + context)
    return group


def _hunk(a: list[str], b: list[str], group: list[Block]) -> Iterator[str]:
    (_, a0, _, b0, _), (_, _, a1, _, b1) = group[0], group[-1]
    yield f"@@ -{_range(a0, a1)} +{_range(b0, b1)} @@\n"
    for same, old, old_end, new, new_end in group:
        if same:
            yield from _signed(" ", a[old:old_end])
        else:
            yield from _signed("-", a[old:old_end])
            yield from _signed("+", b[new:new_end])


def _range(start: int, end: int) -> str:
    size = end - start
    return f"{start + 1}" if size == 1 else f"{start + (size > 0)},{size}"


def _signed(sign: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield sign + line if line.endswith("\n") else f"{sign}{line}\n{BARE}"
