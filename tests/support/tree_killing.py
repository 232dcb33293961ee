"""The time between TERM and KILL, on a fake clock."""

from __future__ import annotations

import anyio
from tests.support.clocks import FakeClock

from threadloom.exec.process import WardedProcess

USUAL = WardedProcess.end
NEVER = 100_000.0  # seconds: the warden itself kills nobody


class Killing:
    """Who was sent TERM and does not mind, and who was sent KILL and is not gone yet."""

    def __init__(self, clock: FakeClock) -> None:
        self.waiting: set[object] = set()
        self.dying: set[object] = set()
        self._clock = clock

        async def end(process: WardedProcess, grace: float = 2.0) -> None:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._kill, process, clock.now() + grace)
                await USUAL(process, NEVER)
                tasks.cancel_scope.cancel()
            self.waiting.discard(process)
            self.dying.discard(process)

        WardedProcess.end = end  # type: ignore[method-assign]

    async def _kill(self, process: WardedProcess, at: float) -> None:
        self.waiting.add(process)
        await self._clock.until(at)
        self.waiting.discard(process)
        if not process.gone:
            self.dying.add(process)
            process.abort()
