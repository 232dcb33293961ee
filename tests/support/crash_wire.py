"""A client that forgets nothing: every message goes to a witness before anybody else sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import anyio
import orjson
from tests.support.crash_witness import Witness
from tests.support.flow import Flow
from tests.support.plugin import CONFORMANCE
from tests.support.tap import Tap

from threadloom_client import Transport
from threadloom_client.errors import Disconnected, from_wire
from threadloom_client.link import Link
from threadloom_protocol.jsonrpc import BARE, Message, Notification, Response

SECONDS = 30.0

HELLO = {
    "clientInfo": {"name": "crash", "version": "1", "title": None},
    "capabilities": {"experimentalApi": True},
}


class _Asked:
    def __init__(self, witnessed: bool) -> None:
        self.witnessed = witnessed
        self.done = anyio.Event()
        self.answer: Response | None = None


class CrashWire:
    """One connection. `on_message` is called after each message, when the witness knows it."""

    def __init__(self, transport: Transport, witness: Witness) -> None:
        self.witness = witness
        self.on_message: Callable[[], None] = lambda: None
        self.lost = anyio.Event()
        self._link = Link(Tap(transport, Flow(CONFORMANCE.load())), self._take, self._lose)
        self._ids = count(1)
        self._open: dict[Any, _Asked] = {}
        self._objection: Exception | None = None  # what the witness cannot believe

    def _take(self, message: Message) -> None:
        try:
            self._tell(message)
        except Exception as fault:  # the link takes any exception for the end of the connection
            self._objection = self._objection or fault
            raise
        self.on_message()

    def _tell(self, message: Message) -> None:
        match message:
            case Response():
                asked = self._open.pop(message.id)
                if asked.witnessed and message.error is not None:
                    self.witness.refused(message.id, message.error)
                elif asked.witnessed:
                    self.witness.answered(message.id, message.result)
                asked.answer = message
                asked.done.set()
            case Notification():
                self.witness.notified(message.method, message.params)

    def _lose(self, reason: str) -> None:
        self.lost.set()
        for asked in self._open.values():
            asked.done.set()

    async def ask(self, method: str, **params: Any) -> Any:
        """Ask; the result as it came. Raises `RpcError` or `Disconnected`."""
        return await self._ask(method, params, witnessed=True)

    async def look(self, method: str, **params: Any) -> Any:
        """The same behind the witness's back: for checks of what it knows."""
        return await self._ask(method, params, witnessed=False)

    async def _ask(self, method: str, params: dict[str, Any], *, witnessed: bool) -> Any:
        if self._objection is not None:
            raise self._objection
        if self.lost.is_set():
            raise Disconnected("the server has gone")
        identity = next(self._ids)
        asked = self._open[identity] = _Asked(witnessed)
        if witnessed:
            self.witness.asked(identity, method, params)
        await self._link.send(BARE.request(identity, method, orjson.dumps(params)))
        with anyio.fail_after(SECONDS):
            await asked.done.wait()
        if asked.answer is None:
            raise self._objection or Disconnected("the server has gone")
        if asked.answer.error is not None:
            raise from_wire(asked.answer.error)
        return asked.answer.result

    @asynccontextmanager
    async def running(self) -> AsyncIterator[CrashWire]:
        """Connected, and past the handshake."""
        async with self._link.running():
            self.witness.connected()
            await self.look("initialize", **HELLO)
            await self._link.send(BARE.notification("initialized", None))
            yield self
        if self._objection is not None:
            raise self._objection
