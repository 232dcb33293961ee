"""The text of a file with the chunks of an update in it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final, NamedTuple

from threadloom.exec.patch.base import Chunk, PatchError
from threadloom.exec.patch.seek import Seeker

BREAK: Final = re.compile(r"(\r\n|\r|\n)")
MARK: Final = "\ufeff"  # the byte order mark: part of the file, not of its first line
MOST_SHOWN: Final = 12  # lines of a chunk that an error repeats


class _Splice(NamedTuple):
    at: int
    size: int
    lines: list[str]  # with their line ends


def revise(text: str, chunks: tuple[Chunk, ...], path: str) -> str:
    """The text after all chunks, which follow one another from the top. Raises PatchError with every one that fails.

    As with Codex, the file ends with a newline afterwards; a chunk that says otherwise is the one exception.
    """
    mark = MARK if text.startswith(MARK) else ""
    page = _Page(text[len(mark) :], path)
    for chunk in chunks:
        page.take(chunk)
    if page.problems:
        raise PatchError(*page.problems)
    revised = page.text()
    return mark + (revised.removeprefix(MARK) if mark else revised)


class _Page:
    """A file's lines while chunks are matched against them; nothing moves before all have found their place."""

    def __init__(self, text: str, path: str) -> None:
        parts = BREAK.split(text)
        self._lines, self._ends = parts[::2], parts[1::2]
        if not self._lines[-1]:
            self._lines.pop()
        self._newline = _newline(self._ends)
        self._ends += [self._newline] * (len(self._lines) - len(self._ends))
        self._seeker = Seeker(self._lines)
        self._path = path
        self._at = 0  # the next chunk is here or below
        self._splices: list[_Splice] = []
        self._bare = False
        self.problems: list[str] = []

    def take(self, chunk: Chunk) -> None:
        """Find the place of a chunk and note what it does there."""
        if not self._go_past(chunk):
            return
        if not chunk.old:  # nothing says where, so it goes to the end
            self._note(chunk, len(self._lines))
            return
        at, chunk = self._find(chunk)
        if at is None:
            self._missing(chunk)
            return
        self._note(chunk, at)
        self._at = at + len(chunk.old)

    def text(self) -> str:
        """The lines with everything in its place."""
        out: list[str] = []
        at = 0
        for splice in sorted(self._splices, key=lambda it: it.at):
            out += self._kept(at, splice.at)
            out += splice.lines
            at = splice.at + splice.size
        out += self._kept(at, len(self._lines))
        if self._bare:
            out[-1] = out[-1].rstrip("\r\n")
        return "".join(out)

    def _go_past(self, chunk: Chunk) -> bool:
        for line in chunk.seek:
            found = self._seeker.find([line], self._at)
            if found is None:
                hint = " Line numbers are no part of this format." if re.match(r"-\d+(,\d+)? \+\d", line) else ""
                self._wrong(chunk, f"'@@ {line}' was not found{self._below()}.{hint}")
                return False
            self._at = found + 1
        return True

    def _find(self, chunk: Chunk) -> tuple[int | None, Chunk]:
        at = self._seeker.find(chunk.old, self._at, last=chunk.last)
        if at is not None or chunk.old[-1] or len(chunk.lines) == 1:
            return at, chunk
        shorter = _without_blank(chunk)  # a blank line at the end is often only the patch's own
        if shorter.old:
            at = self._seeker.find(shorter.old, self._at, last=chunk.last)
        elif chunk.lines[-1] == (" ", ""):
            at = self._at  # as Codex has it: here, and not at the end
        return at, shorter if at is not None else chunk

    def _note(self, chunk: Chunk, at: int) -> None:
        size = len(chunk.old)
        if chunk.bare:
            if at + size != len(self._lines):
                self._wrong(chunk, "it says that the file ends here, but more lines follow.")
            self._bare = True
        kept = iter(self._kept(at, at + size))
        lines: list[str] = []
        for sign, text in chunk.lines:
            if sign == "+":
                lines.append(text + self._newline)
            elif sign == "-":
                next(kept)
            else:  # as the file has it, not as the patch remembers it
                lines.append(next(kept))
        self._splices.append(_Splice(at, size, lines))

    def _kept(self, start: int, end: int) -> list[str]:
        return [line + end for line, end in zip(self._lines[start:end], self._ends[start:end], strict=True)]

    def _missing(self, chunk: Chunk) -> None:
        elsewhere = self._seeker.find(chunk.old, 0)
        if elsewhere is None:
            why = f"these lines were not found{self._below()}:"
        elif elsewhere < self._at:
            why = f"these lines were found at line {elsewhere + 1} only, above the place of what came before them:"
        else:
            why = f"these lines were found at line {elsewhere + 1}, but that is not the end of the file:"
        shown = chunk.old[:MOST_SHOWN]
        more = [f"… and {len(chunk.old) - MOST_SHOWN} more"] * (len(chunk.old) > MOST_SHOWN)
        self._wrong(chunk, "\n".join([why, *shown, *more]))

    def _below(self) -> str:
        return f" from line {self._at + 1} on" if self._at else ""

    def _wrong(self, chunk: Chunk, why: str) -> None:
        self.problems.append(f"{self._path}, chunk at line {chunk.number} of the patch: {why}")


def _newline(ends: list[str]) -> str:
    """What new lines end with: as the first line does. A lone \\r counts only where nothing else ends a line."""
    return next((end for end in ends if end != "\r"), ends[0] if ends else "\n")


def _without_blank(chunk: Chunk) -> Chunk:
    lines = list(chunk.lines)
    at = max(at for at, line in enumerate(lines) if line.sign != "+")
    gone = lines.pop(at)
    if gone.sign == "-" and lines[-1] == ("+", ""):
        lines.pop()
    return replace(chunk, lines=tuple(lines))
