"""A server of few words, for tests of the client: it says what the test tells it to."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import orjson

from threadloom.transports.memory import MemoryTransport, pair
from threadloom_client import Client
from threadloom_protocol.spec import Surface

SECONDS = 20.0  # for a machine that is busy with something else


class FakeServer:
    """The server's end of an in-memory pair."""

    def __init__(self, transport: MemoryTransport) -> None:
        self._transport = transport
        self._values: deque[Any] = deque()

    async def read(self) -> Any:
        """The next message of the client, parsed."""
        with anyio.fail_after(SECONDS):
            while not self._values:
                self._values.extend(orjson.loads(frame) for frame in await self._transport.receive())
        return self._values.popleft()

    async def say(self, *messages: Any) -> None:
        """Send messages, all in one go: values become JSON, bytes go as they are."""
        await self._transport.send([it if isinstance(it, bytes) else orjson.dumps(it) for it in messages])

    async def answer(self, result: Any) -> Any:
        """Answer the next request, and give it back."""
        request = await self.read()
        await self.say({"id": request["id"], "result": result})
        return request

    async def leave(self) -> None:
        """Close the connection."""
        await self._transport.aclose()


class Broken:
    """A transport whose parts can be replaced by faults."""

    def __init__(self, inner: MemoryTransport) -> None:
        self.inner = inner
        self.on_send: Exception | None = None
        self.on_receive: Exception | None = None

    async def receive(self) -> Sequence[object]:
        if self.on_receive is not None:
            raise self.on_receive
        return await self.inner.receive()

    async def send(self, messages: Sequence[bytes]) -> None:
        if self.on_send is not None:
            raise self.on_send
        await self.inner.send(messages)

    async def aclose(self) -> None:
        await self.inner.aclose()


@asynccontextmanager
async def faked(
    surface: Surface, *, tagged: bool = False, timeout: float = SECONDS
) -> AsyncIterator[tuple[Client, FakeServer]]:
    """A client that has not shaken hands, and the fake at its other end."""
    ours, theirs = pair()
    try:
        async with Client(ours, surface=surface, tagged=tagged, timeout=timeout).running() as client:
            yield client, FakeServer(theirs)
    finally:
        await theirs.aclose()
