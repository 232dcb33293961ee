"""How the work of threads is ended: turn and commands side by side, on one clock."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Final, Protocol

import anyio
from anyio.abc import TaskGroup

from threadloom.threads.thread import Thread

GRACE: Final = 5.0  # seconds that turns get to end by themselves
KILL: Final = 2.0  # seconds between TERM and KILL
LAST: Final = 1.0  # seconds after the grace: the call returns, whatever is left


class Clock(Protocol):
    """What patience is measured by."""

    def now(self) -> float:
        """Seconds since some moment."""
        ...

    async def until(self, moment: float) -> None:
        """Return once it is that late."""
        ...


class RealClock:
    """See `Clock`."""

    def now(self) -> float:
        """See `Clock.now`."""
        return anyio.current_time()

    async def until(self, moment: float) -> None:
        """See `Clock.until`."""
        await anyio.sleep_until(moment)


async def within(clock: Clock, event: anyio.Event, moment: float) -> None:
    """Wait for something, until then at most."""
    if event.is_set():
        return
    async with anyio.create_task_group() as tasks:

        async def late() -> None:
            await clock.until(moment)
            tasks.cancel_scope.cancel()

        tasks.start_soon(late)
        await event.wait()
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def together() -> AsyncIterator[TaskGroup]:
    """Work side by side; what fails first is what the asker hears."""
    try:
        async with anyio.create_task_group() as tasks:
            yield tasks
    except BaseExceptionGroup as faults:
        raise next(_each(faults)) from None


def _each(fault: BaseException) -> Iterator[BaseException]:
    if isinstance(fault, BaseExceptionGroup):
        for it in fault.exceptions:
            yield from _each(it)
    else:
        yield fault


class Stop:
    """The end of a thread's work: its turn, and every process it has started."""

    def __init__(self, thread: Thread, clock: Clock) -> None:
        self.thread = thread
        self.done = anyio.Event()
        self.killed = False  # TERM was not enough
        self._clock = clock
        self._idle = thread.running is None and thread.ending is None and not thread.terminals.busy
        self._at = 0.0  # when it was done

    async def run(self, kill: float = KILL) -> None:
        """End them; TERM at once, KILL so many seconds later: no command waits for the turn, and the turn for none."""
        async with together() as tasks:
            tasks.start_soon(self._end_commands, kill)
            await self.thread.interrupt()
        await self._end_commands(kill)  # what had begun while the turn ended
        self._at = self._clock.now()
        self.done.set()

    def later_than(self, moment: float) -> bool:
        """Whether it took longer; where there was nothing to end, it never does."""
        return not self._idle and self._at > moment

    async def _end_commands(self, kill: float) -> None:
        began, any_left = self._clock.now(), bool(self.thread.terminals.running())
        await self.thread.terminals.end_all(
            grace=kill, bounded=False
        )  # whoever closes has a clock, and tells what is left
        self.killed |= any_left and self._clock.now() - began >= kill
