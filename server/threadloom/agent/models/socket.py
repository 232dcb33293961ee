"""A connection to a model's server: bytes out, and in one piece whatever came since the last read.

The loop's own protocol, not a stream: a stream asks the system twice for every piece (to listen, and to stop), and many
thousand pieces a second come in here.
"""

from __future__ import annotations

import asyncio
import ipaddress
import select
import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final, cast

import anyio
from anyio.lowlevel import checkpoint

HIGH: Final = 256 << 10  # bytes that wait to be read, and end the listening until they are
Address = tuple[int, tuple[Any, ...]]  # family, and what a socket connects to

HEAD_START: Final = 0.25  # seconds that one address of a name has before the next is tried beside it (RFC 8305)


class Socket(asyncio.Protocol):
    """One connection. One task reads, one writes."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._came = bytearray()
        self._ended = False
        self._fault: Exception | None = None
        self._deaf = False  # too much waits to be read
        self._reader: asyncio.Future[None] | None = None
        self._since = 0.0  # the reader waits since
        self._alarm: asyncio.TimerHandle | None = None
        self._writer: asyncio.Future[None] | None = None
        self._stuck = False

    # ── the loop's side ───────────────────────────────────────────────────────────────────────────────────────────

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """There is a connection."""
        self._transport = cast("asyncio.Transport", transport)  # by its ways: uvloop's is none by its type

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        self._came += data
        if len(self._came) > HIGH and not self._deaf and self._transport is not None:
            self._deaf = True
            self._transport.pause_reading()
        _wake(self._reader)

    def eof_received(self) -> None:
        """No more will come."""
        self._ended = True
        _wake(self._reader)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is no more."""
        self._ended, self._fault, self._stuck = True, exc, False
        self._silence()
        _wake(self._reader)
        _wake(self._writer)

    def pause_writing(self) -> None:
        """The server reads more slowly than we write."""
        self._stuck = True

    def resume_writing(self) -> None:
        """There is room again."""
        self._stuck = False
        _wake(self._writer)

    # ── ours ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def read(self, most: int, seconds: float | None) -> bytes:
        """What has come, so many bytes of it; nothing at the end. Raises `TimeoutError`, `OSError`."""
        if self._came:
            await checkpoint()  # a server that is always ahead must not keep everyone else waiting
        elif not self._ended:
            await self._more(seconds)
        data = bytes(self._came[:most])
        del self._came[:most]
        if self._deaf and len(self._came) < HIGH and self._transport is not None:
            self._deaf = False
            self._transport.resume_reading()
        if not data and self._fault is not None:
            raise self._fault
        return data

    async def _more(self, seconds: float | None) -> None:
        self._reader = self._loop.create_future()
        self._since = self._loop.time()
        if seconds is not None:
            self._watch(seconds)
        try:
            await self._reader
        finally:
            self._reader = None

    def _watch(self, seconds: float) -> None:
        """One alarm for many waits: it is set anew when it rings, and rarely before."""
        if self._alarm is None or self._alarm.when() > self._since + seconds:
            self._silence()
            self._alarm = self._loop.call_at(self._since + seconds, self._look, seconds)

    def _look(self, seconds: float) -> None:
        self._alarm = None
        if self._reader is None or self._reader.done():
            return
        if self._loop.time() < self._since + seconds:
            self._watch(seconds)
        else:
            self._reader.set_exception(TimeoutError())

    def _silence(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    async def send(self, data: bytes) -> None:
        """Have it sent, and wait while the server does not take it. Raises `OSError`."""
        if self._ended or self._transport is None:
            raise self._fault or ConnectionResetError("The server closed the connection.")
        self._transport.write(data)
        if self._stuck:
            self._writer = self._loop.create_future()
            try:
                await self._writer
            finally:
                self._writer = None
            if self._fault is not None:
                raise self._fault

    @property
    def quiet(self) -> bool:
        """Whether it is open and nothing has come that nobody asked for; a goodbye may not have been noticed yet."""
        if self._ended or self._came or self._transport is None or self._transport.is_closing():
            return False
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket").fileno(), select.POLLIN)
        return not poll.poll(0)

    def abort(self) -> None:
        """Close it at once."""
        self._silence()
        self._ended = True
        if self._transport is not None:
            self._transport.abort()


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)


async def connect(host: str, port: int, context: ssl.SSLContext | None) -> Socket:
    """Connect, encrypted where there is a context. Raises `OSError`."""
    loop = asyncio.get_running_loop()
    name = host if context is not None else None
    addresses = await _addresses(host, port)
    if len(addresses) == 1:  # as nearly always: nothing to race
        at, *_ = addresses[0][1]
        _, made = await loop.create_connection(Socket, str(at), port, ssl=context, server_hostname=name)
        return made
    raw = await _dialled(host, addresses)
    try:
        _, made = await loop.create_connection(Socket, sock=raw, ssl=context, server_hostname=name)
    except BaseException:
        raw.close()
        raise
    return made


async def _dialled(host: str, addresses: Sequence[Address]) -> socket.socket:
    """A connection to any of the addresses of a name, whichever is there first."""
    found: list[socket.socket] = []
    faults: list[OSError] = []

    async def dial(family: int, address: tuple[Any, ...]) -> None:
        made = socket.socket(family, socket.SOCK_STREAM)
        try:
            made.setblocking(False)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await asyncio.get_running_loop().sock_connect(made, address)
        except OSError as fault:
            made.close()
            faults.append(fault)
            next_one.set()
        except BaseException:
            made.close()
            raise
        else:
            found.append(made)
            racing.cancel_scope.cancel()

    try:
        async with anyio.create_task_group() as racing:
            for family, address in addresses:
                next_one = anyio.Event()
                racing.start_soon(dial, family, address)
                with anyio.move_on_after(HEAD_START):
                    await next_one.wait()
        if found:
            return found.pop()
    finally:
        for spare in found:
            spare.close()
    raise faults[0] if faults else OSError(f"{host} has no address")


async def _addresses(host: str, port: int) -> list[Address]:
    if (family := _family(host)) is not None:
        return [(family, (host, port))]
    answers = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(family, address) for family, _, _, _, address in answers]


@lru_cache(maxsize=64)
def _family(host: str) -> int | None:
    """Of a host that is an address already, and no name."""
    with suppress(ValueError):
        return socket.AF_INET if ipaddress.ip_address(host).version == 4 else socket.AF_INET6
    return None
