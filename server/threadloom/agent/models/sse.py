"""Server-sent events out of bytes that come in pieces of any size."""

from __future__ import annotations

from typing import Final

MOST: Final = 64 << 20  # bytes of one event: an image in base64 fits, an endless line does not
_BOM: Final = b"\xef\xbb\xbf"

SseEvent = tuple[bytes, bytes]  # its name, or nothing, and its data


class TooLong(Exception):
    """An event without an end."""


class Splitter:
    """Cuts at blank lines, whatever ends a line: \\n, \\r\\n or \\r. A line separator inside the JSON is none here."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0  # bytes of the buffer that are known to hold no blank line
        self._after_cr = False  # a \n that comes first belongs to the \r that came last
        self._begun = False

    def feed(self, data: bytes) -> list[SseEvent]:
        """The events that are whole now."""
        self._buffer += self._lines(data)
        if not self._begun and len(self._buffer) >= len(_BOM):
            self._begun = True
            if self._buffer.startswith(_BOM):
                del self._buffer[: len(_BOM)]
        last = self._buffer.rfind(b"\n\n", max(0, self._searched - 1))
        if last < 0:
            self._searched = len(self._buffer)
            if self._searched > MOST:
                raise TooLong
            return []
        blocks = bytes(self._buffer[:last]).split(b"\n\n")
        del self._buffer[: last + 2]
        self._searched = len(self._buffer)
        return [event for block in blocks if (event := _event(block)) is not None]

    def end(self) -> list[SseEvent]:
        """What is left: some servers spare the last blank line."""
        rest, self._buffer = bytes(self._buffer), bytearray()
        return [event for block in [rest] if (event := _event(block)) is not None]

    def _lines(self, data: bytes) -> bytes:
        if self._after_cr and data:
            self._after_cr = False
            data = data.removeprefix(b"\n")
        if b"\r" in data:
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data


def _event(block: bytes) -> SseEvent | None:
    head, found, data = block.partition(b"\ndata: ")
    if found and head.startswith(b"event: ") and b"\n" not in head and b"\n" not in data:  # as nearly always
        return head[7:], data
    name, pieces = b"", list[bytes]()
    for line in block.split(b"\n"):
        if line.startswith(b"data:"):
            pieces.append(line[5:].removeprefix(b" "))
        elif line.startswith(b"event:"):
            name = line[6:].removeprefix(b" ")
    return (name, b"\n".join(pieces)) if pieces else None
