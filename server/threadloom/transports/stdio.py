"""Lines on stdin and stdout: one JSON message each, nothing else on stdout, ever."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import anyio

from threadloom.transports.base import Closed, Frame
from threadloom.transports.lines import Lines
from threadloom.transports.pipes import reader, writer

# Bytes that may wait to be taken before the pipe is left to fill up, and with it the sender to wait.
MAX_UNTAKEN: Final = 4 * 1024 * 1024

# Bytes of a message that is not copied to be joined with others.
LARGE: Final = 1024 * 1024


class StdioTransport:
    """A peer behind two descriptors: for a server, its own stdin and stdout. Something may have been read already."""

    name = "stdio"

    def __init__(self, source: int, sink: int, read: bytes = b"") -> None:
        self._lines = Lines()
        self._frames: list[Frame] = []
        self._untaken = 0
        self._ended = False
        self._closed = False
        self._arrived = anyio.Event()
        self._reader = reader(source, self._deliver)
        self._writer = writer(sink)
        if read:
            self._deliver(read)

    async def receive(self) -> Sequence[Frame]:
        """See `Transport.receive`."""
        while not self._frames:
            if self._ended:
                raise Closed
            self._arrived = anyio.Event()
            await self._arrived.wait()
        frames, self._frames = self._frames, []
        if self._untaken > MAX_UNTAKEN and not self._closed:
            self._reader.resume()
        self._untaken = 0
        return frames

    async def send(self, messages: Sequence[bytes]) -> None:
        """See `Transport.send`."""
        if max(map(len, messages)) < LARGE:
            await self._writer.write(b"\n".join(messages) + b"\n")
            return
        for message in messages:
            await self._writer.write(message)
            await self._writer.write(b"\n")

    async def aclose(self) -> None:
        """See `Transport.aclose`. The descriptors are the process's own, and end with it."""
        self._reader.pause()
        self._writer.close()
        self._ended = self._closed = True
        self._arrived.set()

    def _deliver(self, data: bytes) -> None:
        frames = self._lines.feed(data) if data else self._lines.end()
        self._ended = self._ended or not data
        self._frames.extend(frames)
        self._untaken += len(data)
        # While a long line is still coming there is nothing to take: waiting for that would be for ever.
        if self._frames and self._untaken > MAX_UNTAKEN:
            self._reader.pause()
        if frames or self._ended:
            self._arrived.set()
