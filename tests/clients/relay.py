"""A relay between a client and a server that listens: WebSocket messages are judged on their way.

Bytes go through as they are, but for the name of the host, which is the relay's and would not be let in.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.abc import ByteStream, SocketAttribute
from tests.support.conformance import Conformance
from tests.support.flow import Flow
from websockets.frames import Frame, Opcode
from websockets.streams import StreamReader

MAX_LINE = 1 << 16
GONE = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError)


class Side:
    """What one end says: the head of an HTTP message, then frames."""

    def __init__(self, tell: Callable[[bytes], None], *, masked: bool) -> None:
        self._tell = tell
        self._masked = masked
        self._reader = StreamReader()
        self._reading = self._read()
        next(self._reading)

    def feed(self, data: bytes) -> None:
        """More bytes."""
        self._reader.feed_data(data)
        next(self._reading)

    def _read(self) -> Generator[None]:
        first = yield from self._reader.read_line(MAX_LINE)
        while (yield from self._reader.read_line(MAX_LINE)) != b"\r\n":
            pass
        while first.startswith(b"HTTP/1.1") and b" 101 " not in first:
            yield from self._reader.read_exact(1)  # a refusal, and why
        text = b""
        while True:
            frame: Frame = yield from Frame.parse(self._reader.read_exact, mask=self._masked)
            if frame.opcode in (Opcode.TEXT, Opcode.CONT):
                text += frame.data
                if frame.fin:
                    self._tell(text)
                    text = b""


class Relay:
    """The way to a server; it may be lengthened to another one while clients are there."""

    def __init__(self, upstream: str, conformance: Conformance) -> None:
        self.upstream = upstream  # `ws://IP:PORT` or `unix://PATH`
        self.url = ""
        self.connections = 0
        self._conformance = conformance

    async def serve(self, client: ByteStream) -> None:
        """One connection; where nobody is behind the relay, it is closed again."""
        self.connections += 1
        flow = Flow(self._conformance)
        async with client:
            with suppress(OSError, *GONE):
                head = await self._head(client)
                async with await self._dial() as server:
                    asked = Side(flow.sent, masked=True)
                    asked.feed(head)
                    await server.send(head)
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(self._pass, client, server, asked)
                        tasks.start_soon(self._pass, server, client, Side(flow.received, masked=False))

    async def _dial(self) -> ByteStream:
        scheme, _, place = self.upstream.partition("://")
        if scheme == "unix":
            return await anyio.connect_unix(place)
        host, _, port = place.rpartition(":")
        return await anyio.connect_tcp(host, int(port))

    async def _head(self, client: ByteStream) -> bytes:
        """The head of the request, and what came with it, in the name of the server."""
        head = b""
        while b"\r\n\r\n" not in head:
            head += await client.receive()
        return head.replace(self.url.partition("://")[2].encode(), self.upstream.partition("://")[2].encode(), 1)

    async def _pass(self, source: ByteStream, sink: ByteStream, side: Side) -> None:
        """One direction; its end is passed on too, so that the other one ends by itself."""
        with suppress(*GONE):
            async for data in source:
                side.feed(data)
                await sink.send(data)
        with suppress(OSError, *GONE):
            await sink.send_eof()


@asynccontextmanager
async def relayed(upstream: str, conformance: Conformance, *, socket: str = "") -> AsyncIterator[Relay]:
    """A relay to a server; with `socket`, it listens on a socket file there."""
    relay = Relay(upstream, conformance)
    if socket:
        listener = await anyio.create_unix_listener(socket)
        relay.url = f"unix://{socket}"
    else:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        relay.url = f"ws://127.0.0.1:{listener.extra(SocketAttribute.local_port)}"
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, relay.serve)
        yield relay
        tasks.cancel_scope.cancel()
