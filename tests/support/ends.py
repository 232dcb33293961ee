"""Both ends of each transport: the server's, and a far end in the hands of a test."""

from __future__ import annotations

import fcntl
import os
import tty
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Protocol

import anyio
from websockets.asyncio.client import ClientConnection, connect, unix_connect
from websockets.exceptions import ConnectionClosed

from threadloom.transports.auth import Gate
from threadloom.transports.base import Closed, Transport
from threadloom.transports.listener import Listener
from threadloom.transports.memory import MemoryTransport, pair
from threadloom.transports.stdio import StdioTransport
from threadloom.transports.unix import UnixListener
from threadloom.transports.websocket import WebSocketListener

KINDS = ("memory", "pipes", "terminal", "websocket", "unix")


class FarEnd(Protocol):
    """The peer of a transport."""

    async def say(self, messages: Sequence[bytes]) -> None:
        """Send messages, all in one go."""

    async def say_in_pieces(self, message: bytes, size: int) -> None:
        """Send one message, as many writes as it takes."""

    async def hear(self) -> bytes:
        """The next message; raises `Closed` when there will be none."""

    async def leave(self) -> None:
        """Go, both ways."""


class MemoryEnd:
    """The other half of a pair; messages are never split here."""

    def __init__(self, transport: MemoryTransport) -> None:
        self._transport = transport
        self._heard: deque[bytes] = deque()

    async def say(self, messages: Sequence[bytes]) -> None:
        await self._transport.send(messages)

    async def say_in_pieces(self, message: bytes, size: int) -> None:
        await self.say([message])

    async def hear(self) -> bytes:
        if not self._heard:
            self._heard.extend(it for it in await self._transport.receive() if isinstance(it, bytes))
        return self._heard.popleft()

    async def leave(self) -> None:
        await self._transport.aclose()


class DescriptorEnd:
    """The far ends of two pipes, or of a terminal."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._text = b""
        for descriptor in (source, sink):
            fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_NONBLOCK)

    async def say(self, messages: Sequence[bytes]) -> None:
        await self._write(b"".join(message + b"\n" for message in messages))

    async def say_in_pieces(self, message: bytes, size: int) -> None:
        text = message + b"\n"
        for at in range(0, len(text), size):
            await self._write(text[at : at + size])
            await anyio.lowlevel.checkpoint()

    async def _write(self, text: bytes) -> None:
        rest = memoryview(text)
        while rest:
            try:
                rest = rest[os.write(self._sink, rest) :]
            except BlockingIOError:
                await anyio.wait_writable(self._sink)

    async def hear(self) -> bytes:
        chunks = [self._text]
        while b"\n" not in chunks[-1]:
            chunks.append(await self._read())
        message, _, self._text = b"".join(chunks).partition(b"\n")
        return message

    async def _read(self) -> bytes:
        while True:
            try:
                if chunk := os.read(self._source, 1 << 20):
                    return chunk
                raise Closed
            except BlockingIOError:
                await anyio.wait_readable(self._source)
            except OSError:
                raise Closed from None

    async def leave(self) -> None:
        for descriptor in {self._source, self._sink}:
            with suppress(OSError):
                os.close(descriptor)


class SocketEnd:
    """A WebSocket client."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def say(self, messages: Sequence[bytes]) -> None:
        for message in messages:
            await self._socket.send(message, text=True)

    async def say_in_pieces(self, message: bytes, size: int) -> None:
        await self._socket.send([message[at : at + size] for at in range(0, len(message), size)], text=True)

    async def hear(self) -> bytes:
        try:
            return await self._socket.recv(decode=False)
        except ConnectionClosed:
            raise Closed from None

    async def leave(self) -> None:
        await self._socket.close()


@asynccontextmanager
async def both_ends(kind: str, place: Path) -> AsyncIterator[tuple[Transport, FarEnd]]:
    """A server's transport and its peer, connected."""
    if kind == "memory":
        ours, theirs = pair(buffer=16)
        yield ours, MemoryEnd(theirs)
        await theirs.aclose()
        await ours.aclose()
    elif kind in ("pipes", "terminal"):
        with (_pipes if kind == "pipes" else _terminal)() as (ours_in, theirs_out, theirs_in, ours_out):
            end = DescriptorEnd(theirs_in, theirs_out)
            transport = StdioTransport(ours_in, ours_out)
            yield transport, end
            await end.leave()
            await transport.aclose()
    else:
        listener = WebSocketListener("127.0.0.1", 0, Gate()) if kind == "websocket" else UnixListener(place / "s")
        async with _accepted(listener) as (server_end, url):
            if kind == "websocket":
                dialling = connect(url, compression=None, max_size=None, close_timeout=1, proxy=None)
            else:
                dialling = unix_connect(
                    str(place / "s"), "ws://localhost/", compression=None, max_size=None, close_timeout=1
                )
            async with dialling as socket:
                yield await server_end(), SocketEnd(socket)


@contextmanager
def _pipes() -> Iterator[tuple[int, int, int, int]]:
    ours_in, theirs_out = os.pipe()
    theirs_in, ours_out = os.pipe()
    yield ours_in, theirs_out, theirs_in, ours_out
    os.close(ours_in)
    os.close(ours_out)


@contextmanager
def _terminal() -> Iterator[tuple[int, int, int, int]]:
    far, near = os.openpty()
    tty.setraw(near)
    yield near, far, far, near
    os.close(near)


@asynccontextmanager
async def _accepted(listener: Listener) -> AsyncIterator[tuple[object, str]]:
    arrived, done = anyio.Event(), anyio.Event()
    accepted: list[Transport] = []

    async def accept(transport: Transport) -> None:
        accepted.append(transport)
        arrived.set()
        await done.wait()

    async def server_end() -> Transport:
        with anyio.fail_after(5):
            await arrived.wait()
        return accepted[0]

    async with listener.serving(accept) as address:
        try:
            yield server_end, address.url
        finally:
            done.set()
