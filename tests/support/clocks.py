"""Time that passes only when a test says so."""

from __future__ import annotations

import anyio


class FakeClock:
    """See `threadloom.threads.stopping.Clock`."""

    def __init__(self) -> None:
        self._now = 0.0
        self._moved = anyio.Event()

    def now(self) -> float:
        """See `Clock.now`."""
        return self._now

    async def until(self, moment: float) -> None:
        """See `Clock.until`."""
        while self._now < moment:
            await self._moved.wait()

    def move(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds
        moved, self._moved = self._moved, anyio.Event()
        moved.set()
