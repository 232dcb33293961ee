"""An event that costs nothing until somebody waits for it: every turn has several, and most are only looked at."""

from __future__ import annotations

import anyio
from anyio.lowlevel import checkpoint


class Flag:
    """See `anyio.Event`."""

    __slots__ = ("_event", "_up")

    def __init__(self) -> None:
        self._up = False
        self._event: anyio.Event | None = None

    def set(self) -> None:
        """It has happened."""
        self._up = True
        if self._event is not None:
            self._event.set()

    def is_set(self) -> bool:
        """Whether it has."""
        return self._up

    async def wait(self) -> None:
        """Return once it has; others go first in any case."""
        if self._up:
            await checkpoint()
            return
        if self._event is None:
            self._event = anyio.Event()
        await self._event.wait()
