"""Where lines stand in a file: exactly, then by and by more forgiving."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

# What editors and models exchange for one another: dashes, quotes, spaces.
PLAIN: Final = {
    **dict.fromkeys(map(ord, "‐‑‒–—―−"), "-"),
    **dict.fromkeys(map(ord, "‘’‚‛"), "'"),
    **dict.fromkeys(map(ord, "“”„‟"), '"'),
    0xFEFF: "",  # a file's byte order mark, where it is repeated with the first line
    **dict.fromkeys([0xA0, *range(0x2002, 0x200B), 0x202F, 0x205F, 0x3000], " "),
}


def _plain(line: str) -> str:
    return line.strip().translate(PLAIN)


def _same(line: str) -> str:
    return line


LOOSER: Final[Sequence[Callable[[str], str]]] = (_same, str.rstrip, str.strip, _plain)


class Seeker:
    """The lines of one file, to be searched often; each way to look at them is worked out once."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._views: dict[int, list[str]] = {}

    def find(self, wanted: Sequence[str], start: int, *, last: bool = False) -> int | None:
        """Where `wanted` begins, at `start` or after it; with `last`, only as the end of the file."""
        end = len(self._lines) - len(wanted)
        if last:
            start = max(start, end)
        if start > end:
            return None
        for level, loosen in enumerate(LOOSER):
            at = _search(self._view(level), [loosen(line) for line in wanted], start)
            if at is not None:
                return at
        return None

    def _view(self, level: int) -> list[str]:
        if level not in self._views:
            self._views[level] = [LOOSER[level](line) for line in self._lines]
        return self._views[level]


def _search(lines: list[str], wanted: list[str], at: int) -> int | None:
    end = len(lines) - len(wanted) + 1
    try:
        while True:
            at = lines.index(wanted[0], at, end)
            if lines[at : at + len(wanted)] == wanted:
                return at
            at += 1
    except ValueError:
        return None
