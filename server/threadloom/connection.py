"""One client: what it says goes to the dispatcher, what it should hear goes through its outbox."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import anyio
import orjson

from threadloom.dispatcher import Dispatcher, Outcome, Reply
from threadloom.handshake import Client, read
from threadloom.log import logger
from threadloom.outbox import HIGH_WATER, Outbox
from threadloom.routes import Context
from threadloom.transports.base import Closed, Flaw, Frame, Transport
from threadloom_protocol.errors import (
    AlreadyInitialized,
    InvalidRequest,
    NotInitialized,
    Overloaded,
    ParseError,
    RpcError,
)
from threadloom_protocol.jsonrpc import (
    BARE,
    TAGGED,
    Envelope,
    Malformed,
    Message,
    Notification,
    Request,
    RequestId,
    Response,
    classify,
    classify_deep,
    may_be_deep,
)

if TYPE_CHECKING:
    from threadloom_protocol.model import Event, Params, Result
    from threadloom_protocol.spec import ServerNotification, ServerRequest

    P = TypeVar("P", bound=Params)
    R = TypeVar("R", bound=Result)
    E = TypeVar("E", bound=Event)

log = logger(__name__)

MAX_OPEN: Final = 1024  # requests of one client that wait for their answer; one more is told to come again
MAX_UNREAD: Final = 16 * 1024 * 1024  # bytes of notifications a client may leave unread before it is let go
ROOM: Final = 256 * 1024  # bytes that may wait to be sent before a client counts as slow
BURST: Final = 4 * 1024 * 1024  # the same while nothing keeps them but that the writer's turn has not come
FAREWELL: Final = 0.5  # seconds a peer that has stopped sending is given to take the answers under way

Greet = Callable[[Client], dict[str, Any]]
Answered = Callable[[Response], None]

LARGE: Final = 64 * 1024  # bytes of a message that is not kept longer than it must

# Most events go to several clients, one after the other: each is encoded once for all of a kind.
_encoded: Final = lru_cache(maxsize=2)(Envelope.notification)

NOBODY: Final = Client(name="", version="")


class Greeted(NamedTuple):
    """A client whose handshake is answered already, and in which kind."""

    client: Client
    envelope: Envelope


class Connection:
    """A peer of the server. Handlers know it as `Peer`."""

    def __init__(
        self,
        transport: Transport,
        dispatcher: Dispatcher,
        greet: Greet,
        context: Callable[[Connection], Context],
        drained: Callable[[Connection], None],
        answered: Callable[[Connection, Response], None],
        last_call: Callable[[], Awaitable[None]] | None = None,
        greeted: Greeted | None = None,
    ) -> None:
        self.client, self._envelope = greeted or (NOBODY, BARE)
        self.context = context(self)
        self._transport = transport
        self._dispatcher = dispatcher
        self._greet = greet
        self._drained = drained
        self._answered = answered  # takes the answers to what threads have asked
        self._last_call = last_call  # what ends the requests of a peer that has stopped talking but still listens
        self._outbox = Outbox()
        self._open = 0
        self._settled = anyio.Event()
        self._asked: dict[RequestId, Answered] = {}
        self._scope = anyio.CancelScope()

    # ── life ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        """Serve this peer until it goes, or until `close`."""
        try:
            async with anyio.create_task_group() as tasks:
                self._scope = tasks.cancel_scope
                tasks.start_soon(self._write)
                await self._read()
                if self._last_call is not None:
                    await self._last_call()
                with anyio.move_on_after(FAREWELL):
                    await self.settle()
                tasks.cancel_scope.cancel()
        finally:
            self._outbox.close()
            with anyio.CancelScope(shield=True):
                await self._transport.aclose()

    async def close(self) -> None:
        """Send what is due, then let the peer go, in bounded time."""
        with anyio.move_on_after(FAREWELL):
            await self.settle()
        self._scope.cancel()

    def abort(self, reason: str) -> None:
        """Let the peer go at once."""
        log.warning("connection dropped", transport=self._transport.name, client=self.client.name, reason=reason)
        self._outbox.close()
        self._scope.cancel()

    @property
    def busy(self) -> bool:
        """Whether it waits for an answer."""
        return self._open > 0

    async def settle(self) -> None:
        """Wait until every request is answered and every answer has left."""
        while self._open:
            if self._settled.is_set():
                self._settled = anyio.Event()
            await self._settled.wait()
        await self._outbox.below(1)

    async def _read(self) -> None:
        try:
            while True:
                for frame in await self._transport.receive():
                    self._take(frame)
                if self._outbox.size > HIGH_WATER:
                    await self._outbox.below(HIGH_WATER)
        except Closed:
            return

    async def _write(self) -> None:
        try:
            while batch := await self._outbox.take():
                await self._transport.send(batch)
                self._outbox.sent(batch)
                if self.has_room:
                    self._drained(self)
        except Closed:
            self._outbox.close()
            self._scope.cancel()

    # ── what it says ──────────────────────────────────────────────────────────────────────────────────────────────

    def _take(self, frame: Frame) -> None:
        if isinstance(frame, Flaw):
            self._outbox.put(self._envelope.error(None, frame.error))
            return
        try:
            value = orjson.loads(frame)
        except orjson.JSONDecodeError as fault:
            self._outbox.put(self._envelope.error(None, ParseError(f"Parse error: {fault}")))
            return
        if self.client is NOBODY:
            self._match(value)
        read = classify_deep if may_be_deep(frame) else classify
        if type(value) is list:
            self._take_batch(value, read)
        else:
            self._take_message(read(value))

    def _match(self, value: Any) -> None:
        """Until the handshake settles it, each message is answered in its own kind."""
        first = value[0] if type(value) is list and value else value
        self._envelope = TAGGED if type(first) is dict and "jsonrpc" in first else BARE

    def _take_message(self, message: Message) -> None:
        match message:
            case Request():
                self._open += 1
                self.dispatch(message, partial(self._reply, message.id))
            case Response():
                self._resolve(message)
            case Malformed():
                self._outbox.put(self._envelope.error(message.id, message.error))
                self._misread(message)
            case Notification():
                pass  # `initialized` has nothing left to say, and unknown ones get no answer in JSON-RPC

    def dispatch(self, request: Request, reply: Reply) -> None:
        """Have a request answered through `reply`, exactly once."""
        try:
            if self.client is NOBODY:
                reply(self._initialize(request))
                return
            if request.method == "initialize":
                raise AlreadyInitialized
            if self._open > MAX_OPEN:
                raise Overloaded
        except RpcError as error:
            reply(error)
            return
        self._dispatcher.dispatch(self.context, request.method, request.params, reply)

    def _initialize(self, request: Request) -> bytes:
        if request.method != "initialize":
            raise NotInitialized
        client = read(request.params)
        body = orjson.dumps(self._greet(client))
        self.client = client
        return body

    def _reply(self, identity: RequestId, outcome: Outcome) -> None:
        if isinstance(outcome, RpcError):
            self._outbox.put(self._envelope.error(identity, outcome))
        else:
            self._outbox.put(self._envelope.result(identity, outcome))
        self._closed(1)

    def _closed(self, requests: int) -> None:
        self._open -= requests
        if not self._open:
            self._settled.set()

    def _take_batch(self, elements: list[Any], read: Callable[[Any], Message]) -> None:
        if not 0 < len(elements) <= MAX_OPEN:
            error = Overloaded() if elements else InvalidRequest("Invalid request: an empty batch")
            self._outbox.put(self._envelope.error(None, error))
            return
        from threadloom.batch import Batch  # late: batches are rare, and their library is not light

        messages = [read(element) for element in elements]
        due = [message.id for message in messages if isinstance(message, Request | Malformed)]
        batch = Batch(due, partial(self._reply_all, len(due)), tagged=self._envelope.tagged)
        replies = batch.replies()
        for message in messages:
            if isinstance(message, Request | Malformed):
                self._open += 1  # until the whole batch is answered: that long its answer is kept
                self._take_element(message, next(replies))
            else:
                self._take_message(message)

    def _take_element(self, message: Request | Malformed, reply: Reply) -> None:
        if isinstance(message, Malformed):
            reply(message.error)
            self._misread(message)
        else:
            self.dispatch(message, reply)

    def _reply_all(self, requests: int, answers: bytes) -> None:
        self._outbox.put(answers)
        self._closed(requests)

    # ── what it hears ─────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def has_room(self) -> bool:
        """Whether it takes events as they come; where not, they come from the log once it has read on."""
        return self._outbox.size < (ROOM if self._outbox.sending else BURST)

    async def room(self) -> None:
        """Wait until it has room, or is gone."""
        await self._outbox.below(ROOM)

    def notify(self, notification: ServerNotification[E], event: E) -> None:
        """Tell the peer, unless it does not want to hear it or may not."""
        self.publish(notification, event.to_json())

    def publish(self, notification: ServerNotification[Any], body: bytes) -> None:
        """The same for an event that is already encoded."""
        if self.client is NOBODY:
            return
        if notification.method in self.client.muted or (notification.experimental and not self.client.experimental):
            return
        if self._outbox.unread > MAX_UNREAD:
            self.abort("it does not read what it is sent")
        self._outbox.tell(_encoded(self._envelope, notification.method, body))
        if len(body) > LARGE:
            asyncio.get_running_loop().call_soon(_encoded.cache_clear)  # once all have it

    def ask(self, identity: RequestId, request: ServerRequest[P, R], params: P, answered: Answered) -> None:
        """Put a request of the server to the peer; `answered` hears what it says, if it ever does."""
        self._asked[identity] = answered
        self._outbox.put(self._envelope.request(identity, request.method, params.to_json()))

    def put(self, request_id: str, method: str, body: bytes) -> None:
        """The same for a question of a thread, which is already encoded: any connection may answer it."""
        if self.client is not NOBODY:
            self._outbox.put(self._envelope.request(request_id, method, body))

    def _misread(self, message: Malformed) -> None:
        """What is no answer to a question, though it is meant to be one, leaves that open for others alone."""
        if message.answers is not None:
            self._resolve(Response(message.answers, error=message.error.to_wire()))

    def _resolve(self, response: Response) -> None:
        answered = self._asked.pop(response.id, None) or partial(self._answered, self)
        try:
            answered(response)
        except Exception as fault:  # a bad answer must not end the connection
            log.error("an answer could not be taken", exc_info=fault)
