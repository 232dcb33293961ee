"""What happens to a whole subtree: close, archive, unarchive, delete.

Seal from the top, so that nothing is born; close from the bottom, so that nothing is orphaned.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import anyio

from threadloom.events import Aside, Record, record
from threadloom.ids import uuid7
from threadloom.log import logger
from threadloom.store.errors import StoreError
from threadloom.threads import say
from threadloom.threads.closing import Closing
from threadloom.threads.reports import closed_report
from threadloom.threads.stopping import GRACE, LAST, Clock, RealClock, Stop, together, within
from threadloom.threads.thread import Thread
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2.tree import ClosedThread

if TYPE_CHECKING:
    from threadloom.threads.manager import Manager

log = logger(__name__)


class Cascade:
    """Operations over owner edges. Forks are nobody's children, so nothing here touches them."""

    def __init__(self, manager: Manager, clock: Clock | None = None) -> None:
        self.clock = clock or RealClock()
        self._manager = manager
        self._closing: dict[str, Closing] = {}
        self._moving: set[str] = set()  # what is being put away, or brought back
        self._orders: dict[str, anyio.Lock] = {}  # by tree

    def order(self, thread_id: str) -> list[str]:
        """The subtree, children before their parents, older siblings first; without what is set free instead."""
        return self.divided(thread_id)[0]

    def divided(self, thread_id: str) -> tuple[list[str], list[str]]:
        """What goes with a thread, in order, and what it owns that is set free when it goes."""
        children: dict[str | None, list[str]] = defaultdict(list)
        for it in self._manager.lineage.descendants(thread_id):
            children[self._manager.lineage.parent(it)].append(it)
        free: list[str] = []

        def below(root: str) -> list[str]:
            free.extend(it for it in children[root] if self._abandoned(it))
            return [it for child in children[root] if child not in free for it in below(child)] + [root]

        return below(thread_id), free

    def _abandoned(self, thread_id: str) -> bool:
        """Whether a thread outlives its owner."""
        rest = self._manager.rest(thread_id)
        spawned = rest.thread.spawn_config
        return spawned is not None and spawned.on_parent_close == "abandon" and not rest.closed

    async def close(self, thread_id: str, *, grace: float = GRACE, dry_run: bool = False) -> list[ClosedThread]:
        """Close a thread and all it owns; what became of each, in the order they ended."""
        await self._manager.settled()  # one that was born a moment ago can be closed, too
        self._manager.row(thread_id)
        if dry_run:
            return [self._dry(it) for it in self.order(thread_id)]
        closing = self._begun(thread_id, grace)
        if closing.answered.is_set():  # its clock is over, and it is not: it gets as much again
            await within(self.clock, closing.over, self.clock.now() + grace + LAST)
        return await closing.joined()

    async def leave(self, thread_id: str) -> list[ClosedThread]:
        """Close a thread that asks for it in a turn: what became of all it owns. It goes once it has heard that."""
        await self._manager.settled()
        closing = self._begun(thread_id, GRACE, within_turn=True)
        try:
            return await closing.joined_below()
        finally:  # it begins when the turn next waits for something, and by then that has stored its answer
            self._manager.get(thread_id).spawn(closing.go)

    def _begun(self, thread_id: str, grace: float, *, within_turn: bool = False) -> Closing:
        """The close of a thread: the one under way, if there is one."""
        if thread_id not in self._closing:
            self._closing[thread_id] = Closing(self._manager, self, thread_id, grace, within_turn=within_turn)
            self._manager.spawn(self._see_through, thread_id)
        return self._closing[thread_id]

    async def _see_through(self, thread_id: str) -> None:
        closing = self._closing[thread_id]
        try:
            await closing.run()
        finally:
            del self._closing[thread_id]
            closing.end()

    def go_on(self, thread_id: str) -> None:
        """A thread was loaded: what a crash has cut short of it, or from further up, is carried on."""
        for it in self._manager.lineage.origin(thread_id):
            if self._cut_short(it) and it not in self._closing:
                self._manager.get(thread_id).spawn(self._carry_on, it)
            if self._manager.rest(it).moving and it not in self._moving:
                self._manager.get(thread_id).spawn(self._move_on, it)

    def _cut_short(self, thread_id: str) -> bool:
        rest = self._manager.rest(thread_id)
        return rest.closing and not rest.closed

    async def finished(self, thread_id: str) -> None:
        """Return once no close concerns a thread: whoever takes it up comes after that. Raises where one lasts."""
        for it in self._manager.lineage.origin(thread_id):
            if it in self._closing or self._cut_short(it):
                await self.close(it)
                if it in self._closing:
                    raise InvalidRequest(f"thread {it} is closing")

    async def _carry_on(self, thread_id: str) -> None:
        try:
            await self.close(thread_id)
        except StoreError as fault:
            log.error("a close could not be carried on", thread=thread_id, reason=str(fault))

    @contextmanager
    def sealed(self, order: list[str], spared: str | None = None) -> Iterator[dict[str, Thread]]:
        """No new work from here on, from the top down, and what runs is told to stop, but for the turn that asks.

        What is left takes work again.
        """
        live: dict[str, Thread] = {}
        try:
            for it in reversed(order):
                live[it] = self._manager.get(it)
                live[it].sealed = live[it].taken_down = True
            for it, thread in live.items():
                if thread.running is not None and it != spared:
                    thread.running.scope.cancel()
            yield live
        finally:
            for thread in live.values():
                thread.sealed = thread.taken_down = self._manager.loaded.get(thread.id) is not thread

    def _dry(self, thread_id: str) -> ClosedThread:
        state = self._manager.status(thread_id)
        return ClosedThread(thread_id=thread_id, before=state, after=state, how=None, ms=None)

    async def reopen(self, thread_id: str) -> None:
        """Take a thread up again with what its close took, and its owners: nothing live is owned by the dead."""
        await self._manager.settled()
        operations = {self._manager.rest(thread_id).closed_by, thread_id}
        below = self.order(thread_id)[-2::-1]
        taken = [it for it in below if self._manager.rest(it).closed_by in operations]
        for it in [*reversed(self._manager.lineage.origin(thread_id)), *taken]:
            if self._manager.rest(it).closed:
                self._manager.get(it).reopen()

    async def interrupt(self, thread_id: str) -> None:
        """The user ends the turns of all it owns, children first: what these report wakes nobody by itself."""
        await self._manager.settled()
        below = reversed(self._manager.lineage.descendants(thread_id))  # those that would outlive it, too
        live = [self._manager.loaded[it] for it in below if it in self._manager.loaded]
        cut = [it for it in live if it.running is not None]
        for owner in dict.fromkeys(it.owner for it in cut if it.owner is not None):
            self._manager.get(owner).queue.hold()
        for thread in cut:
            if thread.running is not None:
                thread.running.stop(by_user=True)
        for thread in live:
            await thread.interrupt(by_user=True)

    async def end_sessions(self, thread_id: str) -> None:
        """A turn was interrupted: the sub-sessions of its thread go with it, all at once."""
        async with anyio.create_task_group() as tasks:
            for it in [it.id for it in self._manager.loaded.values() if it.owner == thread_id and _is_session(it)]:
                tasks.start_soon(self._carry_on, it)

    async def archive(self, thread_id: str) -> list[str]:
        """Put a thread and all it owns away, deepest first; whatever runs is ended."""
        async with self._alone(thread_id):
            row = self._manager.row(thread_id)
            if self._manager.ephemeral(thread_id):
                raise InvalidRequest(f"thread {thread_id} is ephemeral and cannot be archived")
            if row.archived:
                return []
            await self._manager.settled()
            order, free = self.divided(thread_id)
            order = [it for it in order if self._manager.rest(it).archived_by is None]
            operation = self._manager.rest(thread_id).archiving or uuid7()  # one that was cut short goes on
            with self._carried(thread_id), self.sealed(order) as live:
                await self._put_away(thread_id, order, free, operation, live)
            await self._manager.settled()
            return order

    @asynccontextmanager
    async def _alone(self, thread_id: str) -> AsyncIterator[None]:
        """What is put away, brought back or deleted in a tree is so one after the other: it may be the same threads."""
        self._manager.row(thread_id)
        root = self._manager.lineage.origin(thread_id)[-1]
        order = self._orders.setdefault(root, anyio.Lock())
        try:
            async with order:
                yield
        finally:
            if not order.statistics().tasks_waiting and not order.locked():
                self._orders.pop(root, None)

    async def _put_away(
        self, thread_id: str, order: list[str], free: list[str], operation: str, live: Mapping[str, Thread]
    ) -> None:
        cut = self._runs(thread_id)
        if len(order) > 1:
            live[thread_id].emit(Aside([{"@": "archiving", "by": operation}]))
            await live[thread_id].sync()  # before anything has gone
        for it in free:
            self._manager.set_free(it)
        await self._stopped(live)
        for it in order:
            report = closed_report(live[it], (), "Archived") if it == thread_id and cut else []
            told = say.archived(it, operation)
            live[it].emit(told._replace(model=[*(told.model or ()), *report]))
            await self._manager.reports.delivered(live[it])
            self._manager.hub.dismiss(it)
            self._manager.unload(live[it])

    @contextmanager
    def _carried(self, thread_id: str) -> Iterator[None]:
        """Whoever asked may go: what has begun is carried through, and nobody carries it on meanwhile."""
        self._moving.add(thread_id)
        try:
            with anyio.CancelScope(shield=True):
                yield
        finally:
            self._moving.discard(thread_id)

    async def _stopped(self, live: Mapping[str, Thread]) -> None:
        """End the work of threads, all at once."""
        async with together() as tasks:
            for thread in live.values():
                tasks.start_soon(Stop(thread, self.clock).run)

    async def unarchive(self, thread_id: str) -> Thread:
        """Bring back exactly what its archive took."""
        async with self._alone(thread_id):
            if not self._manager.row(thread_id).archived:
                raise InvalidRequest(f"thread {thread_id} is not archived")
            await self._manager.settled()
            thread = self._manager.get(thread_id)
            operation = thread.state.rest.archived_by
            below = self._manager.lineage.descendants(thread_id)
            taken = [it for it in below if self._manager.rest(it).archived_by == operation]
            begins = [{"@": "unarchiving", "by": operation}] if taken else None  # after a crash it goes on from here
            self._back(thread_id, begins)
            self._bring_back(thread)
            await self._manager.settled()
            return thread

    def _bring_back(self, thread: Thread) -> None:
        """The rest of what the archive of a thread took, which is back itself."""
        if (operation := thread.state.rest.unarchiving) is None:
            return
        for it in self.order(thread.id)[-2::-1]:
            if self._manager.rest(it).archived_by == operation:
                self._back(it)
        thread.emit(Aside([{"@": "unarchiving", "by": None}]))

    def _back(self, thread_id: str, marks: list[dict[str, Any]] | None = None) -> None:
        thread = self._manager.get(thread_id)
        thread.emit(say.unarchived(thread_id)._replace(model=marks))
        thread.pump_later(0)

    async def _move_on(self, thread_id: str) -> None:
        """Go on with what was being put away, brought back or deleted when its process went."""
        rest = self._manager.rest(thread_id)
        if thread_id in self._moving:
            return
        if rest.deleting is not None:
            await self.delete(thread_id, purge=rest.deleting == "purge")
        elif rest.archiving is not None:
            await self.archive(thread_id)
        else:
            self._bring_back(self._manager.get(thread_id))

    async def delete(self, thread_id: str, *, purge: bool = False) -> list[str]:
        """Remove a thread and all it owns, deepest first; whatever runs is ended.

        What a fork or a saved name needs of it is kept for them, but for `purge`.
        """
        async with self._alone(thread_id):
            return await self._deleted(thread_id, purge=purge)

    async def _deleted(self, thread_id: str, *, purge: bool) -> list[str]:
        self._manager.row(thread_id)
        await self._manager.settled()
        order, free = self.divided(thread_id)
        gone: list[Record] = []  # shown, and never stored: a log goes with its thread
        cut = self._runs(thread_id)
        with self._carried(thread_id), self.sealed(order) as live:
            await self._stopped(live)
            for it in free:
                self._manager.set_free(it)
            await self._conceal(live)
            if report := closed_report(live[thread_id], (), "Deleted") if cut else []:
                live[thread_id].emit(Aside(report))
            await self._manager.reports.delivered(live[thread_id])  # of earlier turns, too: nobody can ask it later
            if len(order) > 1:
                with suppress(StoreError):  # a full disk does not keep anything from being deleted
                    live[thread_id].emit(Aside([{"@": "deleting", "how": "purge" if purge else "keep"}]))
            try:
                for it in order:
                    gone.append(record(it, live[it].seq + 1, self._manager.clock(), say.deleted(it)))
                    self._manager.leaving.add(it)
                    self._manager.unload(live[it])
                    live[it].store.remove(it, purge=purge)
                await self._manager.settled()
            finally:
                self._manager.leaving.difference_update(order)
        for last in gone:
            self._manager.hub.publish([last])
            self._manager.hub.forget(last.thread_id)
        return order

    def _runs(self, thread_id: str) -> bool:
        """Whether a turn of a thread is cut where it goes now."""
        loaded = self._manager.loaded.get(thread_id)
        return loaded is not None and loaded.running is not None

    async def _conceal(self, live: Mapping[str, Thread]) -> None:
        """Take threads out of the lists before their logs go: where that is refused, nothing has been lost."""
        for it, thread in live.items():
            thread.store.index.conceal(it, concealed=True)
        try:
            await self._manager.settled()
        except StoreError:
            for it, thread in live.items():
                thread.store.index.conceal(it, concealed=False)
            raise


def _is_session(thread: Thread) -> bool:
    spawned = thread.state.rest.thread.spawn_config
    running = thread.state.agent_status in ("running", "pendingInit")
    return running and spawned is not None and spawned.kind == "subSession"
