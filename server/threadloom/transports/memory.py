"""Two ends in one process: for embedding, and for tests that want no sockets."""

from __future__ import annotations

import math
from collections.abc import Sequence

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from threadloom.transports.base import Closed, Frame


class MemoryTransport:
    """One end of a pair. A full buffer makes the sender wait, as a socket would."""

    name = "memory"

    def __init__(self, outgoing: MemoryObjectSendStream[bytes], incoming: MemoryObjectReceiveStream[bytes]) -> None:
        self._outgoing = outgoing
        self._incoming = incoming

    async def receive(self) -> Sequence[Frame]:
        """See `Transport.receive`."""
        try:
            frames: list[Frame] = [await self._incoming.receive()]
            while True:
                try:
                    frames.append(self._incoming.receive_nowait())
                except (anyio.WouldBlock, anyio.EndOfStream):
                    return frames
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            raise Closed from None

    async def send(self, messages: Sequence[bytes]) -> None:
        """See `Transport.send`."""
        try:
            for message in messages:
                await self._outgoing.send(message)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise Closed from None

    async def aclose(self) -> None:
        """See `Transport.aclose`."""
        self._outgoing.close()
        self._incoming.close()


def pair(buffer: float = math.inf) -> tuple[MemoryTransport, MemoryTransport]:
    """Two connected ends."""
    there = anyio.create_memory_object_stream[bytes](buffer)
    back = anyio.create_memory_object_stream[bytes](buffer)
    return MemoryTransport(there[0], back[1]), MemoryTransport(back[0], there[1])
