"""HTTP/1.1 as a client reads it: the head of an answer and the framing of its body. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from threadloom.digits import number

LONGEST: Final = 64 << 10  # bytes of a head, or of the line before a chunk

Header = tuple[bytes, bytes]


class Malformed(Exception):
    """This is not HTTP."""


@dataclass(frozen=True, slots=True)
class Head:
    """The head of an answer."""

    version: bytes
    status: int
    headers: list[Header]

    def get(self, name: bytes) -> bytes:
        """The value of a header, in lower case; nothing where there is none."""
        return b", ".join(value for key, value in self.headers if key.lower() == name).lower()

    @property
    def keeps(self) -> bool:
        """Whether the connection may be used again once the body is read."""
        return self.version == b"HTTP/1.1" and b"close" not in self.get(b"connection")


def head(data: bytes) -> tuple[Head, bytes] | None:
    """The head and what follows it; none while it is not whole."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        if len(data) > LONGEST:
            raise Malformed("a head without an end")
        return None
    first, *lines = data[:end].split(b"\r\n")
    version, _, rest = first.partition(b" ")
    status = rest[:3]
    if not version.startswith(b"HTTP/1.") or not status.isdigit():
        raise Malformed(f"no status line: {first[:40]!r}")
    return Head(version, int(status), [_header(line) for line in lines]), data[end + 4 :]


def _header(line: bytes) -> Header:
    name, colon, value = line.partition(b":")
    if not colon or not name or name != name.strip():
        raise Malformed(f"no header: {line[:40]!r}")
    return name, value.strip()


class Framing(Protocol):
    """How a body is wrapped. `done` once it is whole; `sized` tells whether a body that was cut short shows."""

    done: bool
    sized: bool

    def feed(self, data: bytes) -> bytes:
        """What is in these bytes."""
        ...


def framing(top: Head, method: str) -> Framing:
    """How the body behind a head is wrapped."""
    if method == "HEAD" or top.status in (204, 304):
        return Sized(0)
    if b"chunked" in top.get(b"transfer-encoding"):
        return Chunked()
    length = top.get(b"content-length")
    if not length:
        return Open()
    size = number(length)
    if size is None:
        raise Malformed(f"no length: {length[:40]!r}")
    return Sized(size)


class Sized:
    """So many bytes."""

    sized = True

    def __init__(self, size: int) -> None:
        self._left = size
        self.done = size == 0

    def feed(self, data: bytes) -> bytes:
        """As they come, and none that is not part of it."""
        data = data[: self._left]
        self._left -= len(data)
        self.done = self._left == 0
        return data


class Open:
    """All that comes until the connection ends, as HTTP/1.0 has it."""

    sized = False
    done = False

    def feed(self, data: bytes) -> bytes:
        """As they come."""
        return data


class Chunked:
    """Pieces with their size before them."""

    sized = True

    def __init__(self) -> None:
        self.done = False
        self._buffer = b""
        self._left = 0  # bytes of the chunk that are due
        self._closing = False  # the line end behind a chunk is due
        self._trailing = False  # past the last chunk

    def feed(self, data: bytes) -> bytes:
        """The pieces in these bytes, joined: what one read brought stays one."""
        data = self._buffer + data if self._buffer else data
        pieces: list[bytes] = []
        at = 0
        while not self.done:
            if self._left:
                pieces.append(data[at : at + self._left])
                at += self._left
                self._left = max(0, at - len(data))
                if self._left:
                    break
                if data[at : at + 2] == b"\r\n":  # as nearly always
                    self._closing = False
                    at += 2
            end = data.find(b"\r\n", at)
            if end < 0:
                break
            self._line(data[at:end])
            at = end + 2
        self._buffer = data[at:]
        if not self._left and len(self._buffer) > LONGEST:
            raise Malformed("a chunk without a size")
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _line(self, line: bytes) -> None:
        if self._closing:
            if line:
                raise Malformed("a chunk that is longer than its size")
            self._closing = False
        elif self._trailing:
            self.done = not line
        elif (size := _size(line)) > 0:
            self._left, self._closing = size, True
        else:
            self._trailing = True


def _size(line: bytes) -> int:
    try:
        size = int(line if b";" not in line else line.partition(b";")[0], 16)
    except ValueError:
        size = -1
    if size < 0:
        raise Malformed(f"no size: {line[:40]!r}")
    return size
