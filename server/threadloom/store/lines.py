"""Bytes as lines: read piece by piece from an offset on, and found by seq. Never the whole file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from threadloom.seal import is_sealed
from threadloom.store.codec import decode_line, is_whole, seq_of

CHUNK: Final = 64 * 1024  # bytes read at once
PROBE: Final = 4 * 1024  # bytes for a single line, as most are shorter; what is left of a bisection to read through

Read = Callable[[int, int], bytes]  # so many bytes, from an offset


def split(read: Read, start: int, stop: int, step: int = CHUNK) -> Iterator[tuple[int, bytes]]:
    """Lines with their offsets, newlines left off. `start` is the start of a line; one without an end is left out."""
    size, rest, at = step, b"", start
    while start < stop:
        data = read(min(size, stop - start), start)
        if not data:
            return
        start += len(data)
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            yield at, line
            at += len(line) + 1
        size = step if whole else size * 2  # a line of many chunks is not copied once for each


def line_at(read: Read, offset: int, stop: int) -> bytes:
    """The line that starts at an offset, newline left off; what there is of it where it has no end."""
    size, data = PROBE, b""
    while True:
        data = read(min(size, stop - offset), offset)
        found = data.find(b"\n")
        if found >= 0 or len(data) < size:
            return data[:found] if found >= 0 else data
        size *= 4


def whole_end(read: Read, stop: int) -> int:
    """The offset behind the last newline before `stop`; 0 where there is none."""
    while stop > 0:
        start = max(0, stop - CHUNK)
        found = read(stop - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        stop = start
    return 0


def is_unended(read: Read, start: int, stop: int) -> bool:
    """Whether these bytes are one line as it was written, but for its newline: that is another byte."""
    raw = read(stop - start, start)[:-1]
    return is_sealed(raw) and is_whole(raw)


class Place(NamedTuple):
    """Where a seq is in a log."""

    behind: int  # the end of the last line up to this seq
    greater: int  # the start of the first line with a greater one: only lines without a seq lie between


def seek(read: Read, first: int, end: int, seq: int) -> Place:
    """Find a seq by bisection. Lines without one, and damaged ones, are passed over."""
    low, high = first, end  # lines that start before low are up to the seq, those with a seq from high on are greater
    while high - low > PROBE:
        middle = (low + high) // 2
        found = _numbered(read, middle, high, end)
        if found is not None and found[1] <= seq:
            low = found[0]
        else:
            high = middle
    behind = low
    for at, raw in split(read, low, end, PROBE):
        number = seq_of(raw)
        if number > seq:
            return Place(behind, at)
        if number:
            behind = at + len(raw) + 1
    return Place(behind, end)


def _numbered(read: Read, start: int, high: int, end: int) -> tuple[int, int] | None:
    """End and seq of the first line with a seq that starts between two offsets; `start` is anywhere in a line."""
    begin = start + len(line_at(read, start, end)) + 1
    if begin >= high:
        return None
    for at, raw in split(read, begin, end, PROBE):
        if at >= high:
            return None
        number = seq_of(raw)
        if number:
            return at + len(raw) + 1, number
    return None


def last_seq(read: Read, first: int, end: int) -> tuple[int, int]:
    """The last seq in a log, 0 where it has none, and how many damaged lines come behind it; read from the end."""
    lost = 0
    while end > first:
        start = max(first, whole_end(read, max(first, end - PROBE)))
        top, behind = 0, 0
        for at, raw in split(read, start, end):
            line = decode_line(at, raw)
            if line is None:
                behind += 1
            elif line.seq and line.seq >= top:  # one damaged number does not make the others smaller
                top, behind = line.seq, 0
        lost += behind
        if top:
            return top, lost
        end = start
    return 0, lost
