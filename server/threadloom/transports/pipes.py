"""How a file descriptor is read and written without holding up the loop.

Pipes and sockets are watched by the loop itself; files and terminals, which cannot be, get a thread each.
Flags of a descriptor are shared with whoever else holds it, so none are changed here.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Final, Protocol

from threadloom.transports.base import Closed

CHUNK: Final = 256 * 1024
ROOM: Final = 1024 * 1024  # in a pipe; by default no user may ask for more

Deliver = Callable[[bytes], None]  # on the loop; no bytes means the end


class Reader(Protocol):
    """Delivers bytes until the end. While paused, the other side is left to wait."""

    def pause(self) -> None:
        """Deliver nothing more, save what is under way."""
        ...

    def resume(self) -> None:
        """Go on."""
        ...


class Writer(Protocol):
    """Takes bytes, one call at a time; returns when they are with the system. Raises `Closed`."""

    async def write(self, data: bytes) -> None:
        """Write all of it."""
        ...

    def close(self) -> None:
        """Write no more; who waits hears of it."""
        ...


def reader(descriptor: int, deliver: Deliver) -> Reader:
    """The reader that fits a descriptor."""
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind):
        return WatchedReader(descriptor, deliver)
    return ThreadedReader(descriptor, deliver)


def writer(descriptor: int) -> Writer:
    """The writer that fits a descriptor."""
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISSOCK(kind):
        peer = socket.socket(fileno=os.dup(descriptor))
        return WatchedWriter(descriptor, lambda data: peer.send(data, socket.MSG_DONTWAIT), peer.close)
    if stat.S_ISFIFO(kind):
        try:  # opened anew, a pipe has flags of its own
            own = os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return ThreadedWriter(descriptor)
        _widen(own)
        return WatchedWriter(own, lambda data: os.write(own, data), lambda: os.close(own))
    return ThreadedWriter(descriptor)


def _widen(pipe: int) -> None:
    """Let more fit into a pipe than the usual 64 KiB: both sides then have to wake up less often."""
    with suppress(OSError):  # the system allows no more
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, ROOM)


class WatchedReader:
    """Read when the loop says there is something."""

    def __init__(self, descriptor: int, deliver: Deliver) -> None:
        self._descriptor = descriptor
        self._deliver = deliver
        self._loop = asyncio.get_running_loop()
        self._ended = False
        self.resume()

    def pause(self) -> None:
        """See `Reader.pause`."""
        self._loop.remove_reader(self._descriptor)

    def resume(self) -> None:
        """See `Reader.resume`."""
        if not self._ended:
            self._loop.add_reader(self._descriptor, self._ready)

    def _ready(self) -> None:
        data = _read(self._descriptor)
        if not data:
            self._ended = True
            self.pause()
        self._deliver(data)


class ThreadedReader:
    """Read in a thread, which ends with the process: nothing can wake it from a terminal."""

    def __init__(self, descriptor: int, deliver: Deliver) -> None:
        self._descriptor = descriptor
        self._deliver = deliver
        self._loop = asyncio.get_running_loop()
        self._open = threading.Event()
        self._open.set()
        threading.Thread(target=self._run, name="stdin", daemon=True).start()

    def pause(self) -> None:
        """See `Reader.pause`."""
        self._open.clear()

    def resume(self) -> None:
        """See `Reader.resume`."""
        self._open.set()

    def _run(self) -> None:
        data = b"-"
        while data:
            self._open.wait()
            data = _read(self._descriptor)
            if not _call(self._loop, self._deliver, data):
                return


class WatchedWriter:
    """Write what fits, and wait for room for the rest."""

    def __init__(self, descriptor: int, push: Callable[[memoryview], int], release: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._push = push
        self._release = release
        self._loop = asyncio.get_running_loop()
        self._there: asyncio.Future[None] | None = None
        self._closed = False

    async def write(self, data: bytes) -> None:
        """See `Writer.write`."""
        rest = memoryview(data)
        while not self._closed:
            try:
                rest = rest[self._push(rest) :]
            except BlockingIOError:
                pass
            except OSError:
                raise Closed from None
            if not rest:
                return
            await self._room()
        raise Closed

    async def _room(self) -> None:
        self._there = self._loop.create_future()
        self._loop.add_writer(self._descriptor, _settle, self._there)
        try:
            await self._there
        finally:
            self._loop.remove_writer(self._descriptor)
            self._there = None
            if self._closed:
                self._release()

    def close(self) -> None:
        """See `Writer.close`. What is being watched is let go by the one who watches."""
        if self._closed:
            return
        self._closed = True
        if self._there is None:
            self._release()
        else:
            _settle(self._there)


class ThreadedWriter:
    """Write in a thread."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = SimpleQueue()
        self._written: asyncio.Future[None] | None = None
        self._closed = False
        threading.Thread(target=self._run, name="stdout", daemon=True).start()

    async def write(self, data: bytes) -> None:
        """See `Writer.write`."""
        if self._closed:
            raise Closed
        self._written = self._loop.create_future()
        self._jobs.put((data, self._written))
        await self._written

    def close(self) -> None:
        """See `Writer.close`. A write under way cannot be called back; it ends with the other side, or the process."""
        self._closed = True
        self._jobs.put(None)
        if self._written is not None:
            _settle(self._written, Closed())

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            data, written = job
            rest, fault = memoryview(data), None
            try:
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
            except OSError:
                fault = Closed()
            if not _call(self._loop, _settle, written, fault):
                return


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, CHUNK)
    except OSError:
        return b""


def _settle(future: asyncio.Future[None], fault: Exception | None = None) -> None:
    if future.done():
        return
    if fault is None:
        future.set_result(None)
    else:
        future.set_exception(fault)


def _call(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *args: object) -> bool:
    """Run a function on the loop, from a thread; false when the loop has gone, and with it all who wait."""
    try:
        loop.call_soon_threadsafe(function, *args)
    except RuntimeError:
        return False
    return True
