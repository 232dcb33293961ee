"""A disk that takes its time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from threadloom.store.logfile import RolloutLog


class Disk:
    """Writes end when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached = anyio.Event()
        self.open = anyio.Event()
        self.open.set()
        real = RolloutLog.sync

        async def sync(log: RolloutLog) -> None:
            if not self.open.is_set():
                self.reached.set()
                await self.open.wait()
            await real(log)

        monkeypatch.setattr(RolloutLog, "sync", sync)

    @asynccontextmanager
    async def busy(self) -> AsyncIterator[None]:
        """A while in which nothing gets to the disk."""
        self.open = anyio.Event()
        yield
        self.open.set()
