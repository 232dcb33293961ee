"""Steering: word that comes while a turn runs, and how what is awaited gives way to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio

from threadloom.agent.sampling import Item
from threadloom.flag import Flag


class Steering:
    """Word from the user while a turn runs: the stream under way is dropped and sampled again.

    Of `steer` and the record of what the user said, neither is seen without the other: no await between them.
    """

    def __init__(self) -> None:
        self._event = Flag()
        self._noted = False
        self._notes: list[Item] = []
        self._dropping: anyio.CancelScope | None = None

    def steer(self) -> None:
        """There is something new in the history."""
        self._event.set()
        if self._dropping is not None:
            self._dropping.cancel()

    def note(self, news: Sequence[Item]) -> bool:
        """Something that can wait for the answer under way, and is to be read then. Without one, it goes down at once.

        Whether it has to wait; where not, the caller puts it into the history.
        """
        self._noted = True
        waits = self._dropping is not None
        self._notes += news if waits else ()
        return waits

    def notes(self) -> list[Item]:
        """What has waited: it goes into the history now."""
        notes, self._notes = self._notes, []
        return notes

    @property
    def waiting(self) -> bool:
        """Whether somebody has said something since the last `taken`."""
        return self._event.is_set()

    @property
    def unread(self) -> bool:
        """Whether there is anything new since then."""
        return self._noted or self.waiting

    def taken(self) -> None:
        """The history is about to be read."""
        self._event = Flag()
        self._noted = False

    async def wait(self) -> None:
        """Until there is something new."""
        await self._event.wait()

    def drops(self) -> Dropping:
        """What is awaited inside is given up as soon as there is something new. One at a time."""
        return Dropping(self)

    def dropping(self, scope: anyio.CancelScope | None) -> None:
        """This is awaited now, and given up by that; nothing any more where there is none."""
        self._dropping = scope
        if scope is not None and self.waiting:
            scope.cancel()


class Dropping:
    """See `Steering.drops`. Spelled out: it is entered for every piece that a model sends."""

    __slots__ = ("_scope", "_steering")

    def __init__(self, steering: Steering) -> None:
        self._steering = steering
        self._scope = anyio.CancelScope()

    def __enter__(self) -> None:
        self._scope.__enter__()
        self._steering.dropping(self._scope)

    def __exit__(self, *fault: Any) -> bool:
        self._steering.dropping(None)
        return bool(self._scope.__exit__(*fault))
