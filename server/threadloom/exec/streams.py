"""The ends of a command's pipes or of its terminal that the server holds."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import suppress
from errno import EIO
from typing import Final, Literal

import anyio
from anyio.lowlevel import checkpoint

from threadloom.exec.base import Order, Output
from threadloom.exec.pty import open_pty, set_size

CHUNK: Final = 64 * 1024
# After the command has ended, for what it started and left behind to say a last word.
LINGER: Final = 0.1  # seconds
# What pipes can still hold then; a process in the background that goes on and on is heard no longer.
LEFTOVER: Final = 1024 * 1024
END_OF_INPUT: Final = b"\x04"  # what Ctrl+D sends


class Streams:
    """Input and output of one command, without a buffer of their own: who does not read holds the command up."""

    def __init__(self, tty: bool, sink: int | None, sources: dict[int, Literal["stdout", "stderr"]]) -> None:
        self._tty = tty
        self._sink = sink
        self._sources = sources
        self._writing = anyio.Lock()
        self._reading = False
        self._ended = False
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def __del__(self) -> None:
        """A command that nobody listened to has pipes that nobody closed."""
        for descriptor in {*self._sources, *(() if self._sink is None else (self._sink,))}:
            with suppress(OSError):
                os.close(descriptor)

    async def read(self) -> AsyncGenerator[Output, None]:
        """See `Process.output`."""
        if self._reading:
            raise RuntimeError("the output of a command has one reader")
        self._reading = True
        leftover = 0
        try:
            while self._sources:
                pieces = [piece for piece in map(self._piece, list(self._sources)) if piece is not None]
                for piece in pieces:
                    leftover += len(piece.data) if self._ended else 0
                    yield piece
                if leftover > LEFTOVER:
                    return
                if pieces:
                    await checkpoint()  # a command that always has more to say must not keep everyone else waiting
                elif not await self._readable():
                    return
        finally:
            self.close_output()

    async def write(self, data: bytes) -> None:
        """See `Process.write`."""
        async with self._writing:
            rest = memoryview(data)
            while rest:
                rest = rest[self._put(rest) :]
                if rest:
                    await self._writable()

    async def end_input(self) -> None:
        """See `Process.close_stdin`."""
        if self._tty:
            with suppress(BrokenPipeError):
                await self.write(END_OF_INPUT)
        else:
            self.close_input()

    def resize(self, rows: int, cols: int) -> None:
        """See `Process.resize`."""
        if self._tty and self._sources:
            set_size(next(iter(self._sources)), rows, cols)

    def ended(self) -> None:
        """The command ended: it reads no more, and only a little may still come."""
        self._ended = True
        self._news.set()
        self.close_input()

    def close(self) -> None:
        """Nothing of the command is left; what nobody began to read is dropped."""
        self.close_input()
        if not self._reading:
            self.close_output()

    def close_input(self) -> None:
        """Close our end of its stdin."""
        sink, self._sink = self._sink, None
        if sink is not None:
            self._loop.remove_writer(sink)
            self._room.set()
            if not self._tty:
                os.close(sink)

    def close_output(self) -> None:
        """Close our end of its output."""
        if self._tty:
            self.close_input()
        for source in self._sources:
            os.close(source)
        self._sources.clear()

    def _piece(self, source: int) -> Output | None:
        """What can be read now; None when there is nothing."""
        stream = self._sources[source]
        try:
            data = os.read(source, CHUNK)
        except BlockingIOError:
            return None
        except OSError as fault:
            if fault.errno != EIO:  # how a terminal says that nobody has it open any more
                raise
            data = b""
        if not data:
            self._shut(source)
            return None
        return Output(stream, data)

    def _shut(self, source: int) -> None:
        if self._tty:
            self.close_input()
        del self._sources[source]
        os.close(source)

    async def _readable(self) -> bool:
        """Wait for more; False when the command has ended and nothing came for a while."""
        if not self._sources:
            return False
        self._news.clear()
        patience = LINGER if self._ended else None
        for source in self._sources:
            self._loop.add_reader(source, self._news.set)
        try:
            with anyio.move_on_after(patience) as waiting:
                await self._news.wait()
        finally:
            for source in self._sources:
                self._loop.remove_reader(source)
        return not waiting.cancelled_caught

    def _put(self, data: memoryview) -> int:
        if self._sink is None:
            raise BrokenPipeError("the command reads no input")
        try:
            return os.write(self._sink, data)
        except BlockingIOError:
            return 0
        except OSError as fault:
            raise BrokenPipeError("the command reads no input") from fault

    async def _writable(self) -> None:
        """Wait until more can be written, or until nothing can any more: the next attempt tells."""
        if self._sink is None:
            return
        self._room.clear()
        self._loop.add_writer(self._sink, self._room.set)
        try:
            await self._room.wait()
        finally:
            if self._sink is not None:
                self._loop.remove_writer(self._sink)


def open_streams(order: Order) -> tuple[Streams, list[int]]:
    """Our ends, and those that the command gets as stdin, stdout and stderr, which the caller closes."""
    if order.tty:
        ours, theirs = open_pty(*order.size)
        return Streams(True, ours, {ours: "stdout"}), [theirs] * 3
    opened: list[int] = []
    try:
        for _ in range(2 + order.stdin):
            opened += os.pipe()
        if not order.stdin:
            opened.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        for descriptor in opened:
            os.close(descriptor)
        raise
    out, their_out, err, their_err, their_in, *rest = opened
    for descriptor in (out, err, *rest):
        os.set_blocking(descriptor, False)
    return Streams(False, rest[0] if rest else None, {out: "stdout", err: "stderr"}), [their_in, their_out, their_err]
