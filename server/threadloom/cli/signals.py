"""Signals to the process, from the start of the server to its very end."""

from __future__ import annotations

import asyncio
import signal
from collections import deque
from collections.abc import Iterable
from contextlib import suppress

import anyio


class Signals:
    """What was signalled, in order, with what came `before`.

    The handlers are never taken away again. Whoever closes our input and sends a signal at once may be late with the
    signal: it must not kill a process that has done all it had to, and is on its way out with a good exit code.
    """

    def __init__(self, *numbers: int, before: Iterable[int] = ()) -> None:
        self._loop = asyncio.get_running_loop()
        self._bell = anyio.Event()
        self._heard: deque[int] = deque()
        for number in numbers:
            signal.signal(number, self._hear)
        self._heard.extendleft(reversed([*before]))

    def _hear(self, number: int, frame: object) -> None:
        self._heard.append(number)
        with suppress(RuntimeError):  # the loop is closed: there is nobody left to tell
            self._loop.call_soon_threadsafe(self._ring)

    def _ring(self) -> None:
        self._bell.set()

    async def next(self) -> int:
        """Wait for one."""
        while not self._heard:
            self._bell = anyio.Event()
            await self._bell.wait()
        return self._heard.popleft()
