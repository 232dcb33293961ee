"""One connection to a server: ask, tell, listen, answer."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, Self, TypeVar, overload

import orjson
from anyio.abc import TaskGroup
from pydantic import ValidationError

from threadloom_client.calls import Calls
from threadloom_client.errors import Disconnected, UnexpectedAnswer
from threadloom_client.handlers import Handler, Handlers
from threadloom_client.link import Link
from threadloom_client.notifications import BUFFER, Notifications, Subscription
from threadloom_client.transport import Transport
from threadloom_client.wire import decode, encode
from threadloom_protocol.jsonrpc import BARE, TAGGED, Malformed, Message, Notification, Request, Response
from threadloom_protocol.model import Event, Params, Result
from threadloom_protocol.spec import ClientNotification, ClientRequest, ServerNotification, ServerRequest, Surface
from threadloom_protocol.v2 import V2
from threadloom_protocol.v2.lifecycle import (
    INITIALIZE,
    INITIALIZED,
    ClientInfo,
    InitializeCapabilities,
    InitializeParams,
    InitializeResponse,
)

P = TypeVar("P", bound=Params)
R = TypeVar("R", bound=Result)
E = TypeVar("E", bound=Event)

TIMEOUT: Final = 60.0

log = logging.getLogger(__name__)


class Client:
    """A conversation with a server. `connect` makes one, and ends it."""

    def __init__(
        self, transport: Transport, *, surface: Surface = V2, tagged: bool = False, timeout: float = TIMEOUT
    ) -> None:
        self.timeout = timeout
        self._envelope = TAGGED if tagged else BARE
        self._link = Link(transport, self._take, self._lose)
        self._calls = Calls(self._envelope, self._link.send)
        self._handlers = Handlers(self._envelope)
        self._notifications = Notifications(surface)
        self._server: InitializeResponse | None = None
        self._tasks: TaskGroup | None = None

    @property
    def server(self) -> InitializeResponse:
        """What the server said of itself in the handshake."""
        assert self._server is not None, "initialize comes first"
        return self._server

    async def request(self, method: ClientRequest[P, R], params: P | None = None, *, timeout: float | None = None) -> R:
        """Ask, in the types of the contract. Without params, the method's own defaults.

        Raises `RpcError` for a refusal, `RequestTimeout`, `Disconnected`, and `UnexpectedAnswer`.
        """
        body = encode(method.params() if params is None else params)
        result = await self._calls.ask(method.method, body, self._seconds(timeout))
        try:
            return decode(method.result, result)
        except ValidationError as fault:
            raise UnexpectedAnswer(method.method, fault) from None

    async def call(self, method: str, params: Any = None, *, timeout: float | None = None) -> Any:
        """Ask in plain JSON values: for methods this client does not know, and for trying things out."""
        return await self._calls.ask(method, orjson.dumps(params), self._seconds(timeout))

    async def notify(self, notification: ClientNotification) -> None:
        """Tell the server; there is no answer."""
        await self._link.send(self._envelope.notification(notification.method, None))

    @overload
    def notifications(self, wanted: ServerNotification[E], /, *, buffer: int = BUFFER) -> Subscription[E]: ...

    @overload
    def notifications(self, *wanted: ServerNotification[Any], buffer: int = BUFFER) -> Subscription[Event]: ...

    def notifications(self, *wanted: ServerNotification[Any], buffer: int = BUFFER) -> Subscription[Any]:
        """Listen, from now on: to these, or to all. See `Subscription` for what happens to one who reads slowly."""
        return self._notifications.subscribe({it.method for it in wanted}, buffer)

    def on_request(self, method: ServerRequest[P, R], handler: Handler[P, R]) -> None:
        """Let `handler` answer the server's requests of this method."""
        self._handlers.add(method, handler)

    async def initialize(
        self, client: ClientInfo, *, experimental: bool = False, opt_out: list[str] | None = None
    ) -> InitializeResponse:
        """The handshake; `connect` has done it already."""
        capabilities = InitializeCapabilities(experimental_api=experimental)
        if opt_out is not None:
            capabilities.opt_out_notification_methods = opt_out
        self._server = await self.request(INITIALIZE, InitializeParams(client_info=client, capabilities=capabilities))
        await self.notify(INITIALIZED)
        return self._server

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        """Send and receive until the block ends, without a handshake; the transport is closed at the end."""
        async with self._link.running() as self._tasks:
            try:
                yield self
            finally:
                self._calls.lose("the client has left")
                self._notifications.end(None)

    def _take(self, message: Message) -> None:
        match message:
            case Response():
                if not self._calls.settle(message):
                    log.debug("an answer that nobody waits for: %r", message.id)
            case Notification():
                self._notifications.publish(message.method, message.params)
            case Request():
                assert self._tasks is not None
                self._tasks.start_soon(self._answer, message)
            case Malformed():
                log.warning("the server sent something that is no message: %s", message.error.message)

    async def _answer(self, request: Request) -> None:
        answer = await self._handlers.answer(request)
        try:
            await self._link.send(answer)
        except Disconnected:
            log.debug("the server left before the answer to %s", request.method)

    def _lose(self, reason: str) -> None:
        self._calls.lose(reason)
        self._notifications.end(reason)

    def _seconds(self, timeout: float | None) -> float:
        return self.timeout if timeout is None else timeout
