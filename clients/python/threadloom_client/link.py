"""The two tasks between a client and its transport: one writes, one reads, and both end with the connection."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import anyio
from anyio.abc import TaskGroup

from threadloom_client.errors import Disconnected
from threadloom_client.transport import Transport
from threadloom_protocol.errors import ParseError
from threadloom_protocol.jsonrpc import Message, classify, loads

# Messages that wait for the transport; one more makes the sender wait.
OUTBOX: Final = 256
# For what is already on its way: messages out when the client leaves, answers in when the server does.
LAST_WORDS: Final = 2.0

Take = Callable[[Message], None]
Lost = Callable[[str], None]

log = logging.getLogger(__name__)


class Link:
    """One transport in use. `take` gets every message, `lost` the reason when the server has gone."""

    def __init__(self, transport: Transport, take: Take, lost: Lost) -> None:
        self._transport = transport
        self._take = take
        self._lost = lost
        self._outbox, self._outgoing = anyio.create_memory_object_stream[bytes](OUTBOX)
        self._written = anyio.Event()
        self._read = anyio.Event()
        self._why: str | None = None

    async def send(self, message: bytes) -> None:
        """Hand a message to the writer. Cancelling leaves it out as a whole: no message goes out by half."""
        try:
            await self._outbox.send(message)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            raise Disconnected(self._why or "the connection is closed") from None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[TaskGroup]:
        """Send and receive until the block ends; then what was said goes out, and the transport is closed."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._write_on)
                tasks.start_soon(self._read_on)
                try:
                    yield tasks
                finally:
                    await self._leave()
                    tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:  # the tasks raise nothing: this is the block's own, to be seen as it was
            if len(group.exceptions) == 1:
                raise group.exceptions[0] from group.exceptions[0].__cause__
            raise

    async def _leave(self) -> None:
        self._outbox.close()
        with anyio.CancelScope(shield=True):
            with anyio.move_on_after(LAST_WORDS):
                await self._written.wait()
            await self._transport.aclose()

    async def _write_on(self) -> None:
        try:
            with self._outgoing:
                async for message in self._outgoing:
                    await self._transport.send([message, *self._waiting()])
        except Exception as fault:  # a transport that raises has ended, whatever its word for it
            with anyio.move_on_after(LAST_WORDS):
                await self._read.wait()
            self._end(fault)
        finally:
            self._written.set()

    def _waiting(self) -> list[bytes]:
        """What else has been said by now: it goes out in the same write."""
        count = self._outgoing.statistics().current_buffer_used
        return [self._outgoing.receive_nowait() for _ in range(count)]

    async def _read_on(self) -> None:
        try:
            while True:
                for frame in await self._transport.receive():
                    self._read_frame(frame)
        except Exception as fault:  # a transport that raises has ended, whatever its word for it
            self._end(fault)
            self._outgoing.close()
        finally:
            self._read.set()

    def _read_frame(self, frame: object) -> None:
        if not isinstance(frame, bytes | str):
            return
        try:
            value = loads(frame)
        except ParseError:
            log.warning("the server sent something that is not JSON: %.200r", frame)
            return
        for message in value if isinstance(value, list) else [value]:
            self._take(classify(message))

    def _end(self, fault: Exception) -> None:
        if self._why is None:
            self._why = str(fault) or "the server has gone"
            self._lost(self._why)
