"""Files as they were and as they are to be, by where they really are; no file is touched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

Content = bytes | None  # None: no such file


class Shift(NamedTuple):
    """What became of one file. `source` is where it was; it differs from `place` when the file moved."""

    place: str
    source: str
    before: Content
    after: Content


class Overlay:
    """Before and after of every file that was touched, and where files that moved came from."""

    def __init__(self) -> None:
        self.before: dict[str, Content] = {}
        self.after: dict[str, Content] = {}
        self.origin: dict[str, str | None] = {}  # of files that stand elsewhere than they did; None: born anew

    def touch(self, place: str, content: Content) -> None:
        """A file comes into play, with the content that it has."""
        if place not in self.before:
            self.before[place] = self.after[place] = content

    def write(self, place: str, content: bytes) -> None:
        """The file has this content now; if it was gone, it is a new one."""
        if self.after[place] is None:
            self.origin[place] = None
        self.after[place] = content

    def delete(self, place: str) -> None:
        """The file is gone."""
        self.after[place] = None
        self.origin.pop(place, None)

    def move(self, source: str, place: str, content: bytes) -> None:
        """The file stands at `place` now, in place of what was there."""
        if source == place:
            self.write(place, content)
            return
        origin = self.origin.get(source, source)
        self.delete(source)
        self.delete(place)
        self.after[place] = content
        self.origin[place] = origin

    def absorb(self, later: Overlay) -> None:
        """What happened after this, added to it."""
        moved = {place: source and self.origin.get(source, source) for place, source in later.origin.items()}
        for place, content in later.before.items():
            self.touch(place, content)
        for place, content in later.after.items():
            if content is None:
                self.origin.pop(place, None)
            elif later.before[place] is None:
                self.origin[place] = None
            self.after[place] = content
        self.origin.update(moved)

    def shifts(self) -> Iterator[Shift]:
        """What became of each file, a move as one of them; files that came and went are none."""
        moves = {place: source for place, source in self.origin.items() if source and self._moved(place, source)}
        left = {source for source in moves.values() if self.after[source] is None}
        for place in sorted(self.before, key=lambda it: (moves.get(it, it), it not in moves)):
            if place in moves:
                source = moves[place]
                yield Shift(place, source, self.before[source], self.after[place])
            elif place not in left and (self.before[place], self.after[place]) != (None, None):
                yield Shift(place, place, self.before[place], self.after[place])

    def _moved(self, place: str, source: str) -> bool:
        return place != source and self.before[source] is not None and self.after[place] is not None
