"""What the decoders of answers have in common."""

from __future__ import annotations

from typing import Any, Final, Protocol

import orjson

from threadloom.agent.models.failure import Failure
from threadloom.agent.sampling import Item, ModelEvent
from threadloom.ids import uuid7

# What reading data of the wrong shape ends in; to look at every member first would cost every delta.
UNREADABLE: Final = (AttributeError, KeyError, TypeError, ValueError)


def unreadable() -> Failure:
    """A server sent something that has no meaning."""
    return Failure("The model's server sent something that is no answer.")


class Decoding(Protocol):
    """Makes events of one answer, in whatever shape it comes; `done` once it is whole."""

    done: bool

    def take(self, name: bytes, data: bytes, batch: list[ModelEvent]) -> None:
        """Add what an event says. Raises `Failure` where it says that there will be no answer."""
        ...

    def whole(self, body: object, batch: list[ModelEvent]) -> None:
        """Add what an answer says that did not come as a stream."""
        ...

    def end(self, framed: bool, batch: list[ModelEvent]) -> None:
        """The connection ended. Raises `Failure` where that is too early."""
        ...


class Text:
    """The text of a message as it comes, so that what is told twice is said once."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._part = 0  # pieces before the part under way

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def add(self, piece: str) -> str:
        """It goes on."""
        self._pieces.append(piece)
        return piece

    def part(self, text: str) -> str:
        """A part is whole: what of it has not come before."""
        rest = _rest(text, "".join(self._pieces[self._part :]))
        if rest:
            self._pieces.append(rest)
        self._part = len(self._pieces)
        return rest

    def rest(self, text: str) -> str:
        """All of it is whole: what has not come before."""
        return _rest(text, "".join(self._pieces))


def _rest(text: str, before: str) -> str:
    """Where the two differ, what was said stands."""
    return text.removeprefix(before) if text.startswith(before) else ""


def parsed(data: bytes) -> Item | None:
    """An event's data, where it is an object."""
    try:
        event = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return event if type(event) is dict else None


def string(value: object) -> str:
    """A text; nothing where it is none."""
    return value if type(value) is str else ""


def call_id(given: object) -> str:
    """The id of a call; one of ours where the server gives none."""
    return str(given) if given else f"call_{uuid7()}"


def arguments(given: Any) -> str:
    """The arguments of a call as JSON text; some servers send the object itself."""
    if isinstance(given, str):
        return given
    return "" if given is None else orjson.dumps(given).decode()


def count(usage: Item, *path: str) -> int:
    """A number of tokens; servers leave out or null what they do not count."""
    here: Any = usage
    for name in path:
        here = here.get(name) if isinstance(here, dict) else None
    return here if type(here) is int and here > 0 else 0


def portion(event: Item, name: str) -> int:
    """The number of a part."""
    part = event.get(name)
    return part if type(part) is int and 0 <= part < 1000 else 0
