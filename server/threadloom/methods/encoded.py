"""Answers that are JSON already, in part or as a whole: long histories go out as they are stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar, cast

from threadloom_protocol.model import Result

R = TypeVar("R", bound=Result)

_NO_TURNS: Final = b'"turns":[]'  # of a thread: in a string the quotes would not stand alone


class Page:
    """A whole answer."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def to_json(self) -> bytes:
        """As it is."""
        return self._body


class WithTurns:
    """An answer with a thread, and the turns of that thread."""

    def __init__(self, result: Any, turns: Sequence[bytes | memoryview]) -> None:
        self.result = result
        self.turns = turns

    def to_json(self) -> list[bytes | memoryview]:
        """In pieces, with the turns in their place."""
        head, _, tail = self.result.to_json().partition(_NO_TURNS)
        return [head, b'"turns":[', *_with_commas(self.turns), b"]", tail]


def _with_commas(turns: Sequence[bytes | memoryview]) -> list[bytes | memoryview]:
    parts: list[bytes | memoryview] = [b","] * (2 * len(turns) - 1)
    parts[::2] = turns
    return parts


def page(kind: type[R], body: bytes) -> R:
    """An answer of a kind, of which only the JSON is there."""
    return cast("R", Page(body))


def with_data(result: R, data: Sequence[bytes]) -> R:
    """An answer whose list has nothing in it yet."""
    head, empty, tail = result.to_json().partition(b'"data":[]')
    return cast("R", Page(b"".join([head, empty[:-1], b",".join(data), empty[-1:], tail])))


def with_turns(result: R, turns: Sequence[bytes | memoryview]) -> R:
    """An answer whose thread has no turns yet."""
    return cast("R", WithTurns(result, turns)) if turns else result


def plain(result: R) -> tuple[R, Sequence[bytes | memoryview]]:
    """An answer and the turns that it was given."""
    return (result.result, result.turns) if isinstance(result, WithTurns) else (result, ())
