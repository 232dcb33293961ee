"""Bytes → lines: the framing of stdio, without the stdio."""

from __future__ import annotations

from threadloom.transports.base import MAX_MESSAGE, Frame, too_long


class Lines:
    """Bytes → lines. A line past the limit is reported once and skipped to its end."""

    def __init__(self, limit: int = MAX_MESSAGE) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False

    def feed(self, data: bytes) -> list[Frame]:
        """The lines that end in `data`; blank ones are left out."""
        *ended, rest = data.split(b"\n")
        frames: list[Frame] = []
        for line in ended:
            self._end(line, frames)
        self._hold(rest)
        return frames

    def end(self) -> list[Frame]:
        """The last line, where the stream ended without a line end."""
        frames: list[Frame] = []
        self._end(b"", frames)
        return frames

    def _end(self, line: bytes, frames: list[Frame]) -> None:
        if self._parts or self._skipping:
            self._hold(line)
            line = b"".join(self._parts)
        if self._skipping or len(line) > self._limit:
            frames.append(too_long(self._limit))
        elif line and not line.isspace():
            frames.append(line)
        self._parts, self._size, self._skipping = [], 0, False

    def _hold(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._limit:
            self._skipping = True
            self._parts = []
        elif part:
            self._parts.append(part)
