"""Requests on their way: each waits for the answer with its id, and none waits longer than the connection lives."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import anyio

from threadloom_client.errors import Disconnected, RequestTimeout, from_wire
from threadloom_protocol.jsonrpc import Envelope, RequestId, Response

Send = Callable[[bytes], Awaitable[None]]


@dataclass(slots=True)
class _Call:
    done: anyio.Event = field(default_factory=anyio.Event)
    answer: Response | None = None


class Calls:
    """The open requests of one connection."""

    def __init__(self, envelope: Envelope, send: Send) -> None:
        self._envelope = envelope
        self._send = send
        self._open: dict[RequestId, _Call] = {}
        self._next = 0
        self._lost: str | None = None

    async def ask(self, method: str, params: bytes, seconds: float) -> Any:
        """Send a request and wait for its result. Raises `RpcError`, `RequestTimeout`, `Disconnected`."""
        if self._lost is not None:
            raise Disconnected(self._lost)
        identity, call = self._next, _Call()
        self._next += 1
        self._open[identity] = call
        try:
            with anyio.move_on_after(seconds):
                await self._send(self._envelope.request(identity, method, params))
                await call.done.wait()
        finally:
            del self._open[identity]
        return self._outcome(call, method, seconds)

    def _outcome(self, call: _Call, method: str, seconds: float) -> Any:
        if call.answer is None:
            raise Disconnected(self._lost) if self._lost is not None else RequestTimeout(method, seconds)
        if call.answer.error is not None:
            raise from_wire(call.answer.error)
        return call.answer.result

    def settle(self, answer: Response) -> bool:
        """Give an answer to the one who waits; false when nobody does, or not any more."""
        call = self._open.get(answer.id)
        if call is None:
            return False
        call.answer = answer
        call.done.set()
        return True

    def lose(self, reason: str) -> None:
        """The connection has gone: nobody waits any longer."""
        self._lost = self._lost or reason
        for call in self._open.values():
            call.done.set()
