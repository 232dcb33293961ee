"""Routes: which handler answers which request, and what a handler may reach."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from importlib import import_module
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, TypeVar

from threadloom_protocol.errors import InvalidParams, InvalidRequest, MethodNotFound
from threadloom_protocol.spec import ClientRequest, Room, ServerNotification, ServerRequest, Stage, Surface

if TYPE_CHECKING:
    from threadloom.agent.collab.spawning import Nursery
    from threadloom.agent.models.base import Catalog
    from threadloom.config.auth import Keyring
    from threadloom.config.load import Configuration
    from threadloom.exec.errands import Errands
    from threadloom.handshake import Client
    from threadloom.threads.manager import Manager
    from threadloom_protocol.jsonrpc import Response
    from threadloom_protocol.model import Event, Params, Result

P = TypeVar("P", bound="Params")
R = TypeVar("R", bound="Result")


class Peer(Protocol):
    """The connection a request came over, as handlers see it: one who asks, and one who listens."""

    @property
    def client(self) -> Client:
        """Who is there."""
        ...

    @property
    def has_room(self) -> bool:
        """Whether it takes events as they come."""
        ...

    async def room(self) -> None:
        """Wait until it does, or until it is gone."""
        ...

    def publish(self, notification: ServerNotification[Any], body: bytes) -> None:
        """Tell it something."""
        ...

    def put(self, request_id: str, method: str, body: bytes) -> None:
        """Ask it something."""
        ...

    def ask(
        self, identity: str, request: ServerRequest[P, Any], params: P, answered: Callable[[Response], None]
    ) -> None:
        """Ask it something that is nobody else's business."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """What a handler may reach: the one who asks, and the rooms below."""

    peer: Peer
    services: Services

    @property
    def threads(self) -> Manager:
        """The threads of this server."""
        return self.services.threads

    @property
    def models(self) -> Catalog:
        """The models it can run."""
        return self.services.models

    @property
    def nursery(self) -> Nursery:
        """Where agents are made ready."""
        return self.services.nursery

    @property
    def configuration(self) -> Configuration:
        """What it is configured with."""
        return self.services.configuration

    @property
    def keyring(self) -> Keyring:
        """The account that models are paid with."""
        return self.services.keyring

    @property
    def errands(self) -> Errands:
        """The commands that clients have run for themselves."""
        return self.services.errands

    async def stored(self, thread_id: str | None = None) -> Manager:
        """The threads of this server, once it knows all that are stored, or the one that it is about."""
        await (self.threads.knowledge.whole() if thread_id is None else self.threads.knowledge.of(thread_id))
        return self.threads

    async def readable(self, thread_id: str | None = None) -> None:
        """Return once what is stored, of one thread or of all, can be read, as far as it can be at all."""
        await self.threads.knowledge.readable(thread_id)
        if thread_id is None and (lag := self.threads.knowledge.lag) is not None:
            from threadloom_protocol.v2.stream import BACKGROUND  # late: an index is not made often

            self.peer.publish(BACKGROUND, lag.to_json())


class Services(Protocol):
    """What the server has below its methods; each is made when it is first needed."""

    @property
    def runs_threads(self) -> bool:
        """Whether there are threads in memory at all."""
        ...

    @property
    def threads(self) -> Manager:
        """The threads of this server."""
        ...

    @property
    def models(self) -> Catalog:
        """The models it can run."""
        ...

    @property
    def nursery(self) -> Nursery:
        """Where agents are made ready."""
        ...

    @property
    def configuration(self) -> Configuration:
        """What it is configured with."""
        ...

    @property
    def keyring(self) -> Keyring:
        """The account that models are paid with."""
        ...

    @property
    def errands(self) -> Errands:
        """The commands that clients have run for themselves."""
        ...

    def announce(self, notification: ServerNotification[Any], event: Event) -> None:
        """Tell every client something that is about no thread."""
        ...


class Then(NamedTuple, Generic[R]):
    """A result, and what is to happen once it is on its way: events that must not overtake the answer."""

    result: R
    then: Callable[[], None]


# A handler that never waits is a plain function, and its answer leaves in the same breath.
Handler = Callable[[Context, P], R | Then[R] | Coroutine[Any, Any, R | Then[R]]]


def answers(request: ClientRequest[P, R]) -> Callable[[Handler[P, R]], Handler[P, R]]:
    """Mark a function as the handler of a declared request."""

    def mark(handler: Handler[P, R]) -> Handler[P, R]:
        handler.__answers__ = request  # type: ignore[attr-defined]
        return handler

    return mark


class MissingHandler(Exception):
    """A declared method that nobody answers: a fault of the build, found at start."""


class Route:
    """A method as the dispatcher sees it."""

    __slots__ = ("_gated", "_handler", "_validate", "awaits", "request", "threaded")

    def __init__(self, request: ClientRequest[Any, Any], handler: Handler[Any, Any]) -> None:
        from threadloom_protocol.model import EXPERIMENTAL

        fields = request.params.model_fields
        self.request = request
        self.awaits = iscoroutinefunction(handler)
        self.threaded = "thread_id" in fields  # it waits its turn among that thread's requests
        self._handler = handler
        self._gated = [name for name, info in fields.items() if EXPERIMENTAL in info.metadata]
        self._validate: Callable[[Any], Any] | None = None  # built when first needed

    def run(self, context: Context, params: Any) -> Any:
        """The handler's result, or the wait for it where the route awaits."""
        if self._validate is None:
            self.request.params.model_rebuild()
            self._validate = self.request.params.__pydantic_validator__.validate_python
        try:
            parsed = self._validate({} if params is None else params)
        except ValueError as fault:
            raise InvalidParams(_explain(fault)) from None
        if self._gated and not context.peer.client.experimental:
            self._check(parsed)
        return self._handler(context, parsed)

    def _check(self, params: Params) -> None:
        """Members that only experimental clients may send."""
        for name in self._gated:
            if name in params.model_fields_set and getattr(params, name) is not None:
                alias = type(params).model_fields[name].alias
                raise InvalidRequest(f"{self.request.method}.{alias} requires experimentalApi capability")


class Routes:
    """The table of routes, filled room by room: a room is imported when a method of it is first asked for."""

    def __init__(self, surface: Surface, handlers: Mapping[str, str]) -> None:
        self._handlers = handlers  # room of the protocol → module that answers it
        self._pending = deque(surface.names)
        self._surface = surface
        self._table: dict[str, Route] = {}

    def find(self, method: str) -> Route:
        """The route of a method."""
        route = self._table.get(method)
        while route is None and self._pending:
            self.load_next()
            route = self._table.get(method)
        if route is None:
            raise MethodNotFound(f"Method not found: {method}")
        return route

    def load_next(self) -> bool:
        """Take in one more room; false when all are there. Raises `MissingHandler`."""
        if not self._pending:
            return False
        room = self._surface.room(self._pending[0])
        self._table.update(_routes(room, self._handlers.get(room.name)))
        self._pending.popleft()
        return True


def _routes(room: Room, module: str | None) -> dict[str, Route]:
    found = {}
    if module is not None:
        for it in vars(import_module(module)).values():
            request = getattr(it, "__answers__", None)
            if isinstance(request, ClientRequest):
                found[request.method] = it
    missing = [it.method for it in room.requests if it.stage is Stage.READY and it.method not in found]
    if missing:
        raise MissingHandler(f"no handler for {', '.join(missing)} (room {room.name})")
    return {it.method: _route(it, found.get(it.method)) for it in room.requests}


def _route(request: ClientRequest[Any, Any], handler: Handler[Any, Any] | None) -> Route:
    if handler is None:
        handler = _empty(request) if request.stage is Stage.EMPTY else _planned(request)
    return Route(request, handler)


def _empty(request: ClientRequest[Any, Any]) -> Handler[Any, Any]:
    return lambda context, params: request.result()


def _planned(request: ClientRequest[Any, Any]) -> Handler[Any, Any]:
    def refuse(context: Any, params: Any) -> Any:
        raise MethodNotFound(f"Method not found: {request.method} is planned, but this server does not have it yet")

    return refuse


def _explain(fault: Any) -> str:
    """Where it hurts and why, without echoing what was sent: it may hold secrets."""
    where = [
        (".".join(map(str, error["loc"])) or "params", error["msg"]) for error in fault.errors(include_input=False)
    ]
    more = f" (and {len(where) - MAX_FAULTS} more)" if len(where) > MAX_FAULTS else ""
    return "Invalid params: " + "; ".join(f"{place}: {text}" for place, text in where[:MAX_FAULTS]) + more


MAX_FAULTS: Final = 3  # enough to mend a call; a union of many arms would list them all
