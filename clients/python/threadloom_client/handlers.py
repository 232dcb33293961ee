"""Requests of the server: a handler answers each; what has none is refused, so that nobody waits in vain."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from threadloom_client.wire import decode, encode
from threadloom_protocol.errors import InternalError, InvalidParams, MethodNotFound, Overloaded, RpcError
from threadloom_protocol.jsonrpc import Envelope, Request, RequestId
from threadloom_protocol.model import Params, Result
from threadloom_protocol.spec import ServerRequest

P = TypeVar("P", bound=Params)
R = TypeVar("R", bound=Result)

Handler = Callable[[P], Awaitable[R]]

# Approvals wait for a person; more of them than this at once is a fault of the server.
MAX_OPEN: Final = 256

# For a handler that wants to know: the id of the request that it answers, which `serverRequest/resolved` names.
asked_as: ContextVar[RequestId] = ContextVar("asked_as")

log = logging.getLogger(__name__)


class Handlers:
    """Who answers what, on one connection."""

    def __init__(self, envelope: Envelope) -> None:
        self._envelope = envelope
        self._handlers: dict[str, tuple[ServerRequest[Any, Any], Handler[Any, Any]]] = {}
        self._open = 0

    def add(self, spec: ServerRequest[P, R], handler: Handler[P, R]) -> None:
        """From now on this handler answers that method; a later one takes its place."""
        self._handlers[spec.method] = (spec, handler)

    async def answer(self, request: Request) -> bytes:
        """The response to a request, whatever happens in its handler."""
        if self._open >= MAX_OPEN:
            return self._envelope.error(request.id, Overloaded("Too many open requests"))
        self._open += 1
        asked_as.set(request.id)  # each request is answered in a task of its own
        try:
            return self._envelope.result(request.id, encode(await self._handle(request)))
        except RpcError as refusal:
            return self._envelope.error(request.id, refusal)
        except Exception:
            log.exception("the handler of %s failed", request.method)
            return self._envelope.error(request.id, InternalError("The client's handler failed"))
        finally:
            self._open -= 1

    async def _handle(self, request: Request) -> Result:
        if request.method not in self._handlers:
            raise MethodNotFound(f"Method not found: {request.method}")
        spec, handler = self._handlers[request.method]
        try:
            params = decode(spec.params, request.params)
        except ValidationError as fault:
            raise InvalidParams(f"Invalid params: {fault}") from None
        result: Result = await handler(params)
        return result
