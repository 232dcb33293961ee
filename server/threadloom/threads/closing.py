"""One close of a subtree: sealed from the top, stopped all at once, ended from the bottom, carried on until it is done.

It belongs to the server and not to whoever asked: that one gets its answer when the clock is over, whatever is left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from threadloom.events import Aside
from threadloom.ids import uuid7
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
        self.below = anyio.Event()  # all but the thread it was called on has ended, or has not in its time
        self.may_go = anyio.Event()  # the turn that asked for it, if one did, has its answer
        self.answered = anyio.Event()  # everything has ended, or the clock is over
        self.over = anyio.Event()  # everything has ended
        self._manager = manager
        self._cascade = cascade
        self._by = by
        rest = manager.rest(by)
        self._operation = (rest.own_close if rest.closing else None) or uuid7()  # one that was cut short goes on
        self._clock = cascade.clock
        self._began = self._clock.now()
        self._until = self._began + grace
        self._kill = min(KILL, grace)
        self._stops: dict[str, Stop] = {}
        self._before: dict[str, CollabAgentStatus] = {}
        self._report: dict[str, ClosedThread] = {}  # in the order in which they ended
        self._landings: dict[str | None, dict[str, anyio.Event]] = defaultdict(dict)  # by owner: on the disk, and gone
        self._owning: set[str | None] = set()  # those that own something which has not ended
        self._fault: Exception | None = None
        if not within_turn:
            self.may_go.set()

    @property
    def landing(self) -> bool:
        """Whether anything it has closed waits for the disk."""
        return not all(it.is_set() for siblings in self._landings.values() for it in siblings.values())

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
        return list(self._report.values())

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
            if free or len(live) > 1 or self._cuts():  # more than one line is written
                self._mark()
            for it in free:
                self._manager.set_free(it)
            async with together() as tasks:
                for it, stop in self._stops.items():  # all at once: a child does not wait for its siblings
                    if it != spared:
                        tasks.start_soon(stop.run, self._kill)
                await self._end_below(order[:-1], tasks)
                await self.may_go.wait()
                if spared in self._stops:
                    tasks.start_soon(self._stops[spared].run, self._kill)
                await self._end_in_time(self._by, tasks)
                await self._land_in_time(self._manager.lineage.parent(self._by))
                if self._left():
                    await self._answer()
                    await self._end_late(tasks)
        await self._manager.settled()

    def _cuts(self) -> bool:
        """Whether a turn ends with the thread it was called on: nobody hears of that end but from the close itself."""
        top = self._stops.get(self._by)
        return top is not None and top.thread.running is not None

    def _mark(self) -> None:
        """Note that it has begun: after a crash it is carried on from here."""
        top = self._stops.get(self._by)
        if top is None or not self._has(top.thread):
            return
        rest = top.thread.state.rest
        if not rest.closing and not rest.closed:
            top.thread.emit(Aside([{"@": "closing", "by": self._operation}]))

    async def _end_below(self, order: Sequence[str], tasks: TaskGroup) -> None:
        for it in order:
            await self._end_in_time(it, tasks)
        await self._land_in_time(self._by)
        self.below.set()

    async def _end_in_time(self, thread_id: str, tasks: TaskGroup) -> None:
        """See one thread to its end, or to that of the clock: first what it owns is on the disk, then it is closed."""
        await checkpoint()  # there may be thousands, and others have work, too
        if (stop := self._stops.get(thread_id)) is not None:
            await within(self._clock, stop.done, self._until + LAST)
        await self._land_in_time(thread_id)
        self._end(thread_id, tasks, alone=thread_id not in self._owning)

    async def _land_in_time(self, owner: str | None) -> None:
        """Wait for the disk, once for all that a thread owns; what is not there in time has not ended."""
        for it, landed in self._landings[owner].items():
            await within(self._clock, landed, self._until + LAST)
            if not landed.is_set():
                self._tell(it, "unverified")

    async def _answer(self) -> None:
        """The clock is over: whoever has asked waits no longer."""
        self._mark()
        await self._manager.settled()
        self.answered.set()

    async def _end_late(self, tasks: TaskGroup) -> None:
        """What did not end in time is not left to itself: it is closed as soon as it has."""
        for it in self._left():  # children come before their parents
            await self._stops[it].done.wait()
            self._end(it, tasks, alone=True)
            for landed in self._landings[self._manager.lineage.parent(it)].values():
                await landed.wait()

    def _left(self) -> list[str]:
        return [it.thread_id for it in self._report.values() if it.how == "unverified"]

    def _end(self, thread_id: str, tasks: TaskGroup, *, alone: bool) -> None:
        """End one thread where its work is over."""
        stop = self._stops.get(thread_id)
        if stop is None:
            self._tell(thread_id, "already")
        elif not stop.done.is_set() or not alone:
            self._tell(thread_id, "unverified")
        else:
            if self._has(stop.thread):  # else it was put away meanwhile
                self._shut_down(stop.thread, tasks)
            self._tell(thread_id, "forced" if stop.killed or stop.later_than(self._until) else "cooperative")

    def _has(self, thread: Thread) -> bool:
        return self._manager.loaded.get(thread.id) is thread

    def _tell(self, thread_id: str, how: CloseHow) -> None:
        """Put into the report how a thread ended, and its state then."""
        stop = self._stops.get(thread_id)
        self._report[thread_id] = ClosedThread(
            thread_id=thread_id,
            before=self._before[thread_id],
            after=self._manager.status(thread_id) if stop is None else stop.thread.state.agent_status,
            how=how,
            ms=max(0, round((self._clock.now() - self._began) * 1000)),
        )
        if how == "unverified":
            self._owning.add(self._manager.lineage.parent(thread_id))

    def _shut_down(self, thread: Thread, tasks: TaskGroup) -> None:
        """Record that it is closed; what is left of that waits for the disk, and goes on beside the next."""
        if not thread.state.rest.closed:  # else by a close from further up or down, meanwhile
            told = say.closed(thread.id, self._by, self._operation)
            thread.emit(told._replace(model=[*(told.model or ()), *self._told_above(thread)]))
        landings = self._landings[self._manager.lineage.parent(thread.id)]
        if thread.id not in landings:
            landings[thread.id] = anyio.Event()
            tasks.start_soon(self._land, thread, landings[thread.id])

    def _told_above(self, thread: Thread) -> list[dict[str, Any]]:
        """What its owner is told: of the thread that the close was called on, with all that went with it."""
        if thread.id != self._by:
            return []
        return closed_report(thread, [it for it in self._report.values() if it.thread_id != self._by])

    async def _land(self, thread: Thread, landed: anyio.Event) -> None:
        """Have it on the disk, and let it leave memory."""
        await thread.sync()
        await self._manager.reports.delivered(thread)
        self._manager.hub.dismiss(thread.id)
        self._cascade.retire(thread)
        landed.set()
