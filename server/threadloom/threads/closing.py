"""One close of a subtree: sealed from the top, stopped all at once, ended from the bottom, carried on until it is done.

It belongs to the server and not to whoever asked: that one gets its answer when the clock is over, whatever is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio

from threadloom.events import Aside
from threadloom.log import logger
from threadloom.threads import say
from threadloom.threads.reports import closed_report
from threadloom.threads.stopping import KILL, LAST, Stop, together, within
from threadloom.threads.thread import Thread
from threadloom_protocol.v2.tree import ClosedThread, CloseHow
from threadloom_protocol.v2.values.status import CollabAgentStatus

if TYPE_CHECKING:
    from threadloom.threads.cascade import Cascade
    from threadloom.threads.manager import Manager

log = logger(__name__)


class Closing:
    """A close under way, for those who join it."""

    def __init__(self, manager: Manager, cascade: Cascade, by: str, grace: float, *, within_turn: bool) -> None:
        self.report: list[ClosedThread] = []  # in the order in which they ended
        self.below = anyio.Event()  # all but the thread it was called on has ended, or has not in its time
        self.may_go = anyio.Event()  # the turn that asked for it, if one did, has its answer
        self.answered = anyio.Event()  # everything has ended, or the clock is over
        self.over = anyio.Event()  # everything has ended
        self._manager = manager
        self._cascade = cascade
        self._by = by
        self._clock = cascade.clock
        self._began = self._clock.now()
        self._until = self._began + grace
        self._kill = min(KILL, grace)
        self._stops: dict[str, Stop] = {}
        self._before: dict[str, CollabAgentStatus] = {}
        self._owning: set[str | None] = set()  # those that own something which has not ended
        self._fault: Exception | None = None
        if not within_turn:
            self.may_go.set()

    async def joined(self) -> list[ClosedThread]:
        """What became of each thread. Raises what has gone wrong."""
        return await self._heard(self.answered)

    async def joined_below(self) -> list[ClosedThread]:
        """The same of those below the thread it was called on, as soon as they have ended."""
        return await self._heard(self.below)

    async def _heard(self, event: anyio.Event) -> list[ClosedThread]:
        await event.wait()
        if self._fault is not None:
            raise self._fault
        return list(self.report)

    async def go(self) -> None:
        """Let the thread go that has asked for it."""
        self.may_go.set()

    def end(self) -> None:
        """Nobody has to wait any longer."""
        for event in (self.below, self.answered, self.over):
            event.set()

    async def run(self) -> None:
        """See it through."""
        try:
            await self._close()
        except Exception as fault:  # a boundary: those who have asked hear of it, and the server goes on
            self._fault = fault
            if self.answered.is_set():  # and nobody hears of it
                log.error("a close was not carried on", thread=self._by, reason=str(fault) or type(fault).__name__)

    async def _close(self) -> None:
        order, free = self._cascade.divided(self._by)
        self._before = {it: self._manager.status(it) for it in order}
        spared = None if self.may_go.is_set() else self._by
        with self._cascade.sealed([it for it in order if not self._manager.rest(it).closed], spared) as live:
            self._stops = {it: Stop(thread, self._clock) for it, thread in live.items()}
            if len(live) > 1:
                self._mark()
            for it in free:
                self._manager.set_free(it)
            async with together() as tasks:
                for it, stop in self._stops.items():  # all at once: a child does not wait for its siblings
                    if it != spared:
                        tasks.start_soon(stop.run, self._kill)
                await self._end_below(order[:-1])
                await self.may_go.wait()
                if spared in self._stops:
                    tasks.start_soon(self._stops[spared].run, self._kill)
                await self._end_in_time(self._by)
                if self._left():
                    await self._answer()
                    await self._end_late()
        await self._manager.settled()

    def _mark(self) -> None:
        """Note that it has begun: after a crash it is carried on from here."""
        top = self._stops.get(self._by)
        if top is not None and not top.thread.state.rest.closing:
            top.thread.emit(Aside([{"@": "closing"}]))

    async def _end_below(self, order: Sequence[str]) -> None:
        for it in order:
            await self._end_in_time(it)
        self.below.set()

    async def _end_in_time(self, thread_id: str) -> None:
        """See one thread to its end, or to that of the clock."""
        if (stop := self._stops.get(thread_id)) is not None:
            await within(self._clock, stop.done, self._until + LAST)
        self.report.append(await self._ended(thread_id, alone=thread_id not in self._owning))
        if self.report[-1].how == "unverified":
            self._owning.add(self._manager.lineage.parent(thread_id))

    async def _answer(self) -> None:
        """The clock is over: whoever has asked waits no longer."""
        self._mark()
        await self._manager.settled()
        self.answered.set()

    async def _end_late(self) -> None:
        """What did not end in time is not left to itself: it is closed as soon as it has."""
        for at in self._left():
            thread_id = self.report[at].thread_id
            await self._stops[thread_id].done.wait()
            self.report[at] = await self._ended(thread_id, alone=True)  # children come before their parents

    def _left(self) -> list[int]:
        return [at for at, it in enumerate(self.report) if it.how == "unverified"]

    async def _ended(self, thread_id: str, *, alone: bool) -> ClosedThread:
        """End one thread where its work is over; its state then, and how it got there."""
        stop = self._stops.get(thread_id)
        how = "already" if stop is None else await self._end(stop, alone=alone)
        return ClosedThread(
            thread_id=thread_id,
            before=self._before[thread_id],
            after="shutdown" if stop is None else stop.thread.state.agent_status,
            how=how,
            ms=max(0, round((self._clock.now() - self._began) * 1000)),
        )

    async def _end(self, stop: Stop, *, alone: bool) -> CloseHow:
        thread = stop.thread
        if not stop.done.is_set() or not alone:
            return "unverified"
        if self._manager.loaded.get(thread.id) is thread:  # else it was put away meanwhile
            await self._shut_down(thread)
        return "forced" if stop.killed or stop.later_than(self._until) else "cooperative"

    async def _shut_down(self, thread: Thread) -> None:
        """Close it, on the disk, and let it leave memory."""
        if not thread.state.rest.closed:  # else by a close from further up or down, meanwhile
            below = [it for it in self.report if it.thread_id != thread.id]
            report = closed_report(thread, below) if thread.id == self._by else []
            thread.emit(say.closed(thread.id, self._by)._replace(model=report or None))
        await thread.sync()
        await self._manager.reports.delivered(thread)
        self._manager.hub.dismiss(thread.id)
        if self._manager.loaded.get(thread.id) is thread:
            self._manager.unload(thread)
