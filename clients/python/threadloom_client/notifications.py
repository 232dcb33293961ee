"""What the server tells: each subscriber has its own bounded buffer, so that a slow one harms only itself."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar
from weakref import WeakSet

import anyio
from pydantic import ValidationError

from threadloom_client.errors import Disconnected, Lagged
from threadloom_client.wire import decode
from threadloom_protocol.model import Event
from threadloom_protocol.spec import ServerNotification, Surface

Ending = Callable[[], Exception]
E_co = TypeVar("E_co", bound=Event, covariant=True)

# A long answer is a few thousand deltas: a subscriber may sleep through one of them.
BUFFER: Final = 4096


class Unknown(Event):
    """Stands for params that this client cannot read: a newer method, or a shape beside the contract."""


@dataclass(frozen=True, slots=True)
class Notification(Generic[E_co]):
    """One notification; `raw` is its params as they came."""

    method: str
    params: E_co
    raw: Any


class Subscription(Generic[E_co]):
    """An endless iterator of notifications, from the moment it was made.

    When its buffer is full, newer notifications are left out, and `Lagged` is raised once at that place; iterating
    again goes on behind the gap. It ends when it is closed or the client leaves, and raises `Disconnected` when the
    server does, each after what is already there.
    """

    def __init__(self, methods: Collection[str], buffer: int) -> None:
        self._methods = frozenset(methods)
        self._items: deque[Notification[E_co] | Lagged] = deque()
        self._room = buffer
        self._missed = 0
        self._news = anyio.Event()
        self._end: Ending | None = None

    def push(self, notification: Notification[Any]) -> None:
        """Take one in, if it is wanted and there is room."""
        if self._end is not None or (self._methods and notification.method not in self._methods):
            return
        if len(self._items) >= self._room:
            self._missed += 1
        else:
            self._mark_gap()
            self._items.append(notification)
            self._news.set()

    def _mark_gap(self) -> None:
        if self._missed:
            self._items.append(Lagged(self._missed))
            self._missed = 0

    def inherit(self, other: Subscription[Any]) -> None:
        """Take over what another one has gathered, its gaps included."""
        for item in other._items:
            if isinstance(item, Lagged):
                self._items.append(item)
            else:
                self.push(item)
        self._missed += other._missed

    def end(self, why: Ending) -> None:
        """Nothing more will come."""
        if self._end is None:
            self._mark_gap()
            self._end = why
            self._news.set()

    def close(self) -> None:
        """Stop listening; what is there can still be read."""
        self.end(StopAsyncIteration)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Notification[E_co]:
        while not self._items:
            if self._end is not None:
                raise self._end()
            if self._news.is_set():
                self._news = anyio.Event()
            await self._news.wait()
        item = self._items.popleft()
        if isinstance(item, Lagged):
            raise item
        return item

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class Notifications:
    """The fan-out of one connection. What comes before the first subscriber is kept for it."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface
        self._specs: dict[str, ServerNotification[Any]] | None = None
        self._early: Subscription[Event] | None = Subscription((), BUFFER)
        self._subscribers: WeakSet[Subscription[Any]] = WeakSet()  # one that nobody reads any more needs no closing
        self._end: Ending | None = None

    def subscribe(self, methods: Collection[str], buffer: int) -> Subscription[Any]:
        """A new subscriber to these methods; to all when there are none."""
        subscription: Subscription[Any] = Subscription(methods, buffer)
        if self._early is not None:
            subscription.inherit(self._early)
            self._early = None
        self._subscribers.add(subscription)
        if self._end is not None:
            subscription.end(self._end)
        return subscription

    def publish(self, method: str, raw: Any) -> None:
        """Hand a notification to all who listen."""
        subscribers = [self._early] if self._early is not None else list(self._subscribers)
        if subscribers:
            notification = Notification(method, self._read(method, raw), raw)
            for subscription in subscribers:
                subscription.push(notification)

    def end(self, reason: str | None) -> None:
        """The connection is over: for this reason, or because the client left."""
        if self._end is None:
            self._end = StopAsyncIteration if reason is None else partial(Disconnected, reason)
        for subscription in list(self._subscribers):
            subscription.end(self._end)

    def _read(self, method: str, raw: Any) -> Event:
        if self._specs is None:  # late, because it imports the whole surface
            self._specs = self._surface.notifications
        spec = self._specs.get(method)
        if spec is None:
            return Unknown()
        try:
            params: Event = decode(spec.params, raw)
        except ValidationError:
            return Unknown()
        return params
