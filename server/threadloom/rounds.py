"""What is the same for all who ask in one round of the loop: worked out once, however many begin together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar, TypeVarTuple

Args = TypeVarTuple("Args")
T = TypeVar("T")


class Rounds(Generic[*Args, T]):
    """A function whose answers are good for one round: a hundred turns that begin at once look at the same files.

    Those of the next round look again.
    """

    def __init__(self, answer: Callable[[*Args], T]) -> None:
        self._answer = answer
        self._known: dict[object, T] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def __call__(self, *args: *Args) -> T:
        """What it answers, or has just answered."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # the last one may have ended in the middle of a round
            self._loop = loop
            self._known.clear()
        if args not in self._known:
            answer = self._answer(*args)
            if not self._known:
                loop.call_soon(self._known.clear)  # once all who run in this round have run
            self._known[args] = answer
        return self._known[args]
