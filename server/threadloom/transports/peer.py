"""One WebSocket connection: the library's protocol, with an inbox read in bulk and writes that are bounded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final

import anyio
from websockets.asyncio.server import Server, ServerConnection
from websockets.frames import Frame as WireFrame
from websockets.protocol import Event, State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from threadloom.transports.base import Closed, Frame
from threadloom.transports.inbox import Inbox
from threadloom.transports.skipping import DATA, SkippingProtocol

# All of a handshake. Browsers send a few hundred bytes, and cookies.
MAX_HEAD: Final = 64 * 1024

# Small messages are joined up to this size: one system call instead of many.
BLOCK: Final = 64 * 1024

# What may wait in memory for a peer that reads slowly, beyond one message.
WRITE_LIMIT: Final = 256 * 1024


class Bell:
    """Wakes the one task that waits for it."""

    __slots__ = ("_waiter",)

    def __init__(self) -> None:
        self._waiter: asyncio.Future[None] | None = None

    def ring(self) -> None:
        """Wake the one who waits, if there is one."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self, timeout: float | None = None) -> None:
        """Return at the next ring, or after so many seconds."""
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        alarm = None if timeout is None else loop.call_later(timeout, self.ring)
        try:
            await self._waiter
        finally:
            self._waiter = None
            if alarm is not None:
                alarm.cancel()


class Peer(ServerConnection):
    """The asyncio side: the event loop calls in here."""

    def __init__(
        self,
        protocol: ServerProtocol,
        server: Server,
        *,
        longest: int,
        made: Callable[[Peer], None],
        lost: Callable[[Peer], None],
        **limits: Any,
    ) -> None:
        self._skipping = SkippingProtocol(protocol, longest)
        super().__init__(self._skipping, server, **limits)
        self.inbox = Inbox(longest)
        self.readable = Bell()
        self.writable = Bell()
        self.ended = False
        self.stuck = False
        self._made = made
        self._lost = lost
        self._head = 0
        self._deaf = False
        self._heard = True
        self._asked = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """There is a connection; the library waits for a handshake."""
        super().connection_made(transport)
        self._made(self)

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        self._heard = True
        if self.request is None:
            self._head += len(data)
            if self._head > MAX_HEAD:
                self.transport.abort()
                return
        super().data_received(data)
        if self.protocol.close_expected():
            self.end()
        elif self.inbox.messages:
            if self.inbox.full and not self._deaf:
                self._deaf = True
                self.transport.pause_reading()
            self.readable.ring()

    def process_event(self, event: Event) -> None:
        """Keep messages here; leave the handshake and control frames to the library."""
        if isinstance(event, WireFrame) and event.opcode in DATA and self.request is not None:
            self.inbox.put(event)
        else:
            super().process_event(event)

    def eof_received(self) -> None:
        """The peer will send nothing more: to a WebSocket that is a goodbye."""
        super().eof_received()
        self.end()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is no more."""
        super().connection_lost(exc)
        self.end()
        self._lost(self)

    def pause_writing(self) -> None:
        """The peer reads more slowly than we write."""
        super().pause_writing()
        self.stuck = True

    def resume_writing(self) -> None:
        """There is room again."""
        super().resume_writing()
        self.stuck = False
        self.writable.ring()

    def admit(self, subprotocol: str | None) -> None:
        """Let the handshake succeed, with that subprotocol of those that were offered."""
        self._skipping.to_echo = None if subprotocol is None else Subprotocol(subprotocol)

    def end(self) -> None:
        """Nothing more is sent, and nothing more comes but what is in the inbox."""
        self.ended = True
        self.readable.ring()
        self.writable.ring()

    def listen_again(self) -> None:
        """There is room in the inbox."""
        if self._deaf:
            self._deaf = False
            if not self.transport.is_closing():
                self.transport.resume_reading()

    def keep_alive(self) -> None:
        """Called at intervals: ask a silent peer whether it is there; let one go that did not answer the last time.

        Any byte is an answer: a peer in the middle of a large message cannot send a pong.
        """
        if self._heard or self._deaf:
            self._heard = self._asked = False
        elif self._asked:
            self.transport.abort()
        elif self.protocol.state is State.OPEN and not self.stuck:
            self._asked = True
            self.protocol.send_ping(b"")
            self.send_data()


class WebSocketTransport:
    """See `Transport`. A peer that takes nothing for `stall_timeout` seconds is let go."""

    def __init__(self, peer: Peer, name: str, *, stall_timeout: float, close_timeout: float) -> None:
        self.name = name
        self._peer = peer
        self._stall_timeout = stall_timeout
        self._close_timeout = close_timeout

    async def receive(self) -> Sequence[Frame]:
        """See `Transport.receive`."""
        peer = self._peer
        while not peer.inbox.messages:
            if peer.ended:
                raise Closed
            await peer.readable.wait()
        messages = peer.inbox.take()
        peer.listen_again()
        return messages

    async def send(self, messages: Sequence[bytes]) -> None:
        """See `Transport.send`."""
        parts: list[bytes] = []
        size = 0
        for message in messages:
            parts.append(_head(len(message)))
            if len(message) < BLOCK:
                parts.append(message)
                size += len(message)
                if size < BLOCK:
                    continue
                await self._write(b"".join(parts))
            else:
                # A large one is not copied to be joined.
                await self._write(b"".join(parts), message)
            parts, size = [], 0
        if parts:
            await self._write(b"".join(parts))

    async def _write(self, *blocks: bytes) -> None:
        peer = self._peer
        if peer.ended or peer.protocol.state is not State.OPEN:
            raise Closed
        for block in blocks:
            peer.transport.write(block)
        while peer.stuck:
            left = peer.transport.get_write_buffer_size()
            await peer.writable.wait(self._stall_timeout)
            if peer.ended:
                raise Closed
            if peer.stuck and peer.transport.get_write_buffer_size() >= left:
                peer.transport.abort()
                raise Closed

    async def aclose(self, code: int = 1000) -> None:
        """See `Transport.aclose`."""
        peer = self._peer
        peer.end()
        peer.inbox.shut()
        peer.listen_again()
        with anyio.CancelScope(shield=True):
            with anyio.move_on_after(self._close_timeout):
                await peer.close(code)
            # The library's close waits for room to write its goodbye, however long that takes.
            if peer.protocol.state is not State.CLOSED:
                peer.transport.abort()
            await peer.wait_closed()


def _head(length: int) -> bytes:
    """The header of an unfragmented text frame from a server (RFC 6455, section 5.2)."""
    if length < 126:
        return bytes((0x81, length))
    if length < 65536:
        return b"\x81\x7e" + length.to_bytes(2, "big")
    return b"\x81\x7f" + length.to_bytes(8, "big")
