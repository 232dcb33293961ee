"""Lulls: moments in which nobody asks for anything. What a server gets ready ahead of time waits for one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from anyio.lowlevel import checkpoint

MOMENT: Final = 0.02  # seconds: a client that goes from answer to question takes less


class Lull:
    """What can wait is done in pieces of some milliseconds, and no request should meet more than one of them."""

    def __init__(
        self,
        asked: Callable[[], int],
        busy: Callable[[], bool],
        patience: float,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._asked = asked  # how many requests there have been
        self._busy = busy  # whether somebody waits for an answer
        self._sleep = sleep
        self._calm = 0  # how many there had been in the last lull
        self._left = patience  # seconds that all waits take together: under steady load, too, there is an end

    async def wait(self) -> None:
        """Let others go first: return in a lull, or once there has been no time for one."""
        await checkpoint()
        while self._left > 0 and (self._busy() or self._asked() != self._calm):
            # A moment that began in the middle of a request may have been nothing but that request.
            before = None if self._busy() else self._asked()
            self._left -= MOMENT
            await self._sleep(MOMENT)
            if before == self._asked() and not self._busy():
                self._calm = before
