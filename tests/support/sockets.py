"""A peer without manners: raw bytes over a socket, WebSocket frames built by hand."""

from __future__ import annotations

import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
from anyio.abc import SocketAttribute, SocketStream

from threadloom.transports.websocket import Address

SECONDS = 20.0  # what is waited for takes a few hundredths; this is for a machine that is busy with something else

UPGRADE = (
    ("Upgrade", "websocket"),
    ("Connection", "Upgrade"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ("Sec-WebSocket-Version", "13"),
)

TEXT, BINARY, CONT, CLOSE, PING, PONG = 1, 2, 0, 8, 9, 10


@dataclass
class Head:
    """The answer to a request."""

    status: int
    headers: dict[str, str]


def request(*headers: tuple[str, str], method: str = "GET", target: str = "/", host: str | None = "127.0.0.1") -> bytes:
    """The bytes of a request."""
    lines = [f"{method} {target} HTTP/1.1", *([f"Host: {host}"] if host else [])]
    lines += [f"{name}: {value}" for name, value in headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def frame(payload: bytes, opcode: int = TEXT, *, fin: bool = True) -> bytes:
    """The bytes of a frame, masked as a client's must be."""
    mask = b"\x17\x2a\x4c\x93"  # any will do; a fixed one gives tests the same names in every process
    size = len(payload)
    head = bytes([(0x80 if fin else 0) | opcode])
    if size < 126:
        head += bytes([0x80 | size])
    else:
        head += struct.pack("!BH", 0xFE, size) if size < 65536 else struct.pack("!BQ", 0xFF, size)
    key = (mask * (size // 4 + 1))[:size]
    masked = (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")
    return head + mask + masked


class Raw:
    """One connection."""

    def __init__(self, stream: SocketStream) -> None:
        self.stream = stream
        self._buffer = b""

    async def send(self, data: bytes) -> None:
        """Send these bytes."""
        with anyio.fail_after(SECONDS):
            await self.stream.send(data)

    async def head(self) -> Head:
        """Read the head of the answer."""
        with anyio.fail_after(SECONDS):
            while b"\r\n\r\n" not in self._buffer:
                self._buffer += await self.stream.receive()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        status, *lines = head.decode().split("\r\n")
        pairs = (line.split(": ", 1) for line in lines)
        return Head(int(status.split(" ")[1]), {name.lower(): value for name, value in pairs})

    async def upgrade(self, *headers: tuple[str, str], **rest: str | None) -> Head:
        """Shake hands."""
        await self.send(request(*UPGRADE, *headers, **rest))  # type: ignore[arg-type]
        return await self.head()

    async def read(self) -> tuple[int, bytes]:
        """The next frame: its opcode and what it holds."""
        with anyio.fail_after(SECONDS):
            first, size = await self._exactly(2)
            if size >= 126:
                size = int.from_bytes(await self._exactly(2 if size == 126 else 8), "big")
            return first & 15, await self._exactly(size)

    async def ends(self) -> bytes:
        """What comes until the other side closes, in whatever way."""
        rest, self._buffer = self._buffer, b""
        with anyio.fail_after(SECONDS):
            try:
                while True:
                    rest += await self.stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return rest

    async def half_close(self) -> None:
        """Send nothing more, but go on reading."""
        await self.stream.send_eof()

    async def reset(self) -> None:
        """Go without a word, as a machine does whose power fails."""
        raw = self.stream.extra(SocketAttribute.raw_socket)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await self.stream.aclose()

    async def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._buffer += await self.stream.receive()
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data


@asynccontextmanager
async def dialled(address: Address) -> AsyncIterator[Raw]:
    """A connection to a listener, closed at the end."""
    with anyio.fail_after(SECONDS):
        if address.port is None:
            stream: SocketStream = await anyio.connect_unix(address.url.removeprefix("unix://"))
        else:
            stream = await anyio.connect_tcp("127.0.0.1", address.port)
    async with stream:
        yield Raw(stream)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that tells nobody when it happens."""
    with anyio.fail_after(SECONDS):
        while not condition():  # noqa: ASYNC110 (neither the kernel nor the event loop rings a bell)
            await anyio.sleep(0.002)
