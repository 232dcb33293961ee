"""How a method is declared, once: dispatch, schema, bindings, reference and the log's codec derive from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from threadloom_protocol.model import Event, Params, Result

P = TypeVar("P", bound="Params")
R = TypeVar("R", bound="Result")
E = TypeVar("E", bound="Event")


class Stage(Enum):
    """How far a method has come."""

    READY = "implemented"
    EMPTY = "answered empty"  # the right shape, nothing in it: the product has no such thing
    PLANNED = "planned"  # declared; answered with −32601, or that it cannot be done, until it is there


class Origin(Enum):
    """Whose word it is."""

    CODEX = "codex"
    OURS = "threadloom"


@dataclass(frozen=True, slots=True)
class ClientRequest(Generic[P, R]):
    """A request that clients send and the server answers."""

    method: str
    params: type[P]
    result: type[R]
    experimental: bool = False
    stage: Stage = Stage.READY
    origin: Origin = Origin.CODEX


@dataclass(frozen=True, slots=True)
class ClientNotification:
    """A notification that clients send; it carries nothing."""

    method: str


@dataclass(frozen=True, slots=True)
class ServerRequest(Generic[P, R]):
    """A request that the server sends and one client answers."""

    method: str
    params: type[P]
    result: type[R]
    experimental: bool = False
    origin: Origin = Origin.CODEX


@dataclass(frozen=True, slots=True)
class ServerNotification(Generic[E]):
    """A notification that the server sends."""

    method: str
    params: type[E]
    experimental: bool = False
    origin: Origin = Origin.CODEX


Declaration = ClientRequest[Any, Any] | ClientNotification | ServerRequest[Any, Any] | ServerNotification[Any]


@dataclass(slots=True)
class Room:
    """The declarations of one module."""

    name: str
    requests: list[ClientRequest[Any, Any]] = field(default_factory=list)
    client_notifications: list[ClientNotification] = field(default_factory=list)
    server_requests: list[ServerRequest[Any, Any]] = field(default_factory=list)
    notifications: list[ServerNotification[Any]] = field(default_factory=list)


class Surface:
    """A version of the protocol: its rooms, each imported when a method of it is first asked for."""

    def __init__(self, version: int, rooms: Sequence[str]) -> None:
        self.version = version
        self.names = tuple(rooms)  # full module names, the most used first
        self._rooms: dict[str, Room] = {}
        self._notifications: dict[str, ServerNotification[Any]] = {}

    def room(self, name: str) -> Room:
        """The declarations of one module."""
        if name not in self._rooms:
            self._rooms[name] = _read(name)
        return self._rooms[name]

    def rooms(self) -> Iterator[Room]:
        """Every room, imported as it is reached."""
        return (self.room(name) for name in self.names)

    def notification(self, method: str) -> ServerNotification[Any] | None:
        """One notification of the server, by method; rooms are imported until it is found."""
        found = self._notifications.get(method)
        if found is None:
            for room in self.rooms():
                self._notifications.update((it.method, it) for it in room.notifications)
                if method in self._notifications:
                    return self._notifications[method]
        return found

    @property
    def requests(self) -> dict[str, ClientRequest[Any, Any]]:
        """Every request of clients, by method."""
        return {it.method: it for room in self.rooms() for it in room.requests}

    @property
    def server_requests(self) -> dict[str, ServerRequest[Any, Any]]:
        """Every request of the server, by method."""
        return {it.method: it for room in self.rooms() for it in room.server_requests}

    @property
    def notifications(self) -> dict[str, ServerNotification[Any]]:
        """Every notification of the server, by method."""
        return {it.method: it for room in self.rooms() for it in room.notifications}


def _read(name: str) -> Room:
    room = Room(name)
    for it in vars(import_module(name)).values():
        match it:
            case ClientRequest():
                room.requests.append(it)
            case ClientNotification():
                room.client_notifications.append(it)
            case ServerRequest():
                room.server_requests.append(it)
            case ServerNotification():
                room.notifications.append(it)
    return room
