"""A running command, as the server sees it: its streams, and the socket of the warden above it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from math import inf
from signal import SIGKILL

from threadloom.exec.base import LaunchError, Output
from threadloom.exec.streams import Streams


class WardedProcess:
    """See `Process`. Lines from the warden drive it; the end of its socket means that nothing is left."""

    def __init__(self, warden: socket.socket, streams: Streams, forget: Callable[[WardedProcess], None]) -> None:
        self.pid = 0
        self.returncode: int | None = None
        self._warden = warden
        self._streams = streams
        self._forget = forget
        self._fault: str | None = None
        self._heard = b""
        self._started = asyncio.Event()
        self._exited = asyncio.Event()
        self._gone = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._killed_at = inf
        self._loop.add_reader(warden.fileno(), self._hear)

    @property
    def gone(self) -> bool:
        """Whether neither the command nor anything that it started is left."""
        return self._gone.is_set()

    async def started(self) -> None:
        """Returns when the command runs; raises `LaunchError` if it cannot."""
        await self._started.wait()
        if self._fault is not None:
            await self._gone.wait()
            raise LaunchError(self._fault)

    def output(self) -> AsyncGenerator[Output, None]:
        """See `Process.output`."""
        return self._streams.read()

    async def write(self, data: bytes) -> None:
        """See `Process.write`."""
        await self._streams.write(data)

    async def close_stdin(self) -> None:
        """See `Process.close_stdin`."""
        await self._streams.end_input()

    def resize(self, rows: int, cols: int) -> None:
        """See `Process.resize`."""
        self._streams.resize(rows, cols)

    async def wait(self) -> int:
        """See `Process.wait`."""
        await self._exited.wait()
        assert self.returncode is not None
        return self.returncode

    def interrupt(self) -> None:
        """See `Process.interrupt`."""
        self._tell(b"I\n")

    async def end(self, grace: float = 2.0) -> None:
        """See `Process.end`."""
        if (killed_at := self._loop.time() + grace) < self._killed_at:  # else it has been told to end sooner
            self._killed_at = killed_at
            self._tell(b"T %.3f\n" % grace)
        await self._gone.wait()
        self._streams.close()

    def abort(self) -> None:
        """See `Process.abort`."""
        self._tell(b"K\n")

    def _tell(self, line: bytes) -> None:
        if not self._gone.is_set():
            with suppress(OSError):  # it is about to end by itself
                self._warden.send(line)

    def _hear(self) -> None:
        try:
            words = self._warden.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            words = b""
        *lines, self._heard = (self._heard + words).split(b"\n")
        for line in lines:
            self._take(line[:1], line[2:])
        if not words:
            self._end()

    def _take(self, word: bytes, rest: bytes) -> None:
        if word == b"S":
            self.pid = int(rest)
            self._started.set()
        elif word == b"E":
            self._fault = rest.decode(errors="replace")
            self._started.set()
        elif word == b"X":
            self._exit(int(rest))

    def _exit(self, code: int) -> None:
        if self.returncode is None:
            self.returncode = code
            self._streams.ended()
            self._exited.set()

    def _end(self) -> None:
        self._loop.remove_reader(self._warden.fileno())
        self._warden.close()
        if not self._started.is_set():
            self._fault = "what was to start the command was killed"
            self._started.set()
        self._exit(-SIGKILL)
        self._gone.set()
        self._forget(self)
