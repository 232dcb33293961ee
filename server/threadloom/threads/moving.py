"""What happens to a whole subtree that is put away, brought back, or deleted: one after the other in a tree.

Whatever runs is ended first, in the way of `Cascade`: sealed from the top, gone from the bottom.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import anyio

from threadloom.events import Aside, Record, record
from threadloom.ids import uuid7
from threadloom.store.errors import StoreError
from threadloom.threads import say
from threadloom.threads.stopping import Stop, together
from threadloom.threads.thread import Thread
from threadloom_protocol.errors import InvalidRequest

if TYPE_CHECKING:
    from threadloom.threads.cascade import Cascade
    from threadloom.threads.manager import Manager


class Moves:
    """Operations over owner edges that take threads out of the lists, and back. Forks are nobody's children."""

    def __init__(self, manager: Manager, cascade: Cascade) -> None:
        self._manager = manager
        self._cascade = cascade
        self._moving: set[str] = set()  # what is being put away, or brought back
        self._orders: dict[str, anyio.Lock] = {}  # by tree

    def go_on(self, thread_id: str) -> None:
        """A thread was loaded: what a crash has cut short of it, or from further up, is carried on."""
        for it in self._manager.lineage.origin(thread_id):
            if self._manager.rest(it).moving and it not in self._moving:
                self._manager.get(thread_id).spawn(self._move_on, it)

    async def archive(self, thread_id: str) -> list[str]:
        """Put a thread and all it owns away, deepest first; whatever runs is ended."""
        async with self._alone(thread_id):
            row = self._manager.row(thread_id)
            if self._manager.ephemeral(thread_id):
                raise InvalidRequest(f"thread {thread_id} is ephemeral and cannot be archived")
            if row.archived:
                return []
            await self._manager.settled()
            order, free = self._cascade.divided(thread_id)
            order = [it for it in order if self._manager.rest(it).archived_by is None]
            operation = self._manager.rest(thread_id).archiving or uuid7()  # one that was cut short goes on
            with self._carried(thread_id), self._cascade.sealed(order) as live:
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
        live[thread_id].put_away = "Archived"
        if free or len(order) > 1:
            live[thread_id].emit(Aside([{"@": "archiving", "by": operation}]))
            await live[thread_id].sync()  # before anything has gone
        for it in free:
            self._manager.set_free(it)
        await self._stopped(live)
        for it in filter(live.__contains__, order):
            live[it].emit(say.archived(it, operation))
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
                tasks.start_soon(Stop(thread, self._cascade.clock).run)

    async def unarchive(self, thread_id: str) -> None:
        """Bring back exactly what its archive took; what has nothing to do there leaves memory again."""
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
            self._manager.upkeep.let_go([thread_id, *taken])  # before anybody who hears of it can ask for it
            await self._manager.settled()

    def _bring_back(self, thread: Thread) -> None:
        """The rest of what the archive of a thread took, which is back itself."""
        if (operation := thread.state.rest.unarchiving) is None:
            return
        for it in self._cascade.order(thread.id)[-2::-1]:
            if self._manager.rest(it).archived_by == operation:
                self._back(it)
        thread.emit(Aside([{"@": "unarchiving", "by": None}]))

    def _back(self, thread_id: str, marks: list[dict[str, Any]] | None = None) -> None:
        thread = self._manager.get(thread_id)
        thread.emit(say.unarchived(thread_id)._replace(model=marks))
        thread.pump_later(0)

    async def _move_on(self, thread_id: str) -> None:
        """Go on with what was being put away, brought back or deleted when its process went."""
        if self._manager.rest(thread_id).deleting is not None:
            await self._manager.knowledge.whole()  # a fork that nobody knows of yet may need it
        if thread_id in self._moving or not self._manager.exists(thread_id):
            return
        rest = self._manager.rest(thread_id)
        if rest.deleting is not None:
            await self.delete(thread_id, purge=rest.deleting == "purge")
        elif rest.archiving is not None:
            await self.archive(thread_id)
        else:
            self._bring_back(self._manager.get(thread_id))

    async def delete(self, thread_id: str, *, purge: bool = False) -> list[str]:
        """Remove a thread and all it owns, deepest first; whatever runs is ended.

        What a fork or a saved name needs of it is kept for them, but for `purge`, which may also come later.
        """
        if purge and self._is_kept(thread_id):
            self._manager.durable.remove(thread_id, purge=True)
            await self._manager.settled()
            return [thread_id]
        async with self._alone(thread_id):
            return await self._deleted(thread_id, purge=purge)

    def _is_kept(self, thread_id: str) -> bool:
        """Whether a thread was deleted, and something needs it still."""
        return not self._manager.exists(thread_id) and any(self._manager.durable.index.saved.keepers([thread_id]))

    async def _deleted(self, thread_id: str, *, purge: bool) -> list[str]:
        self._manager.row(thread_id)
        await self._manager.settled()
        order, free = self._cascade.divided(thread_id)
        gone: list[Record] = []  # shown, and never stored: a log goes with its thread
        with self._carried(thread_id), self._cascade.sealed(order, even_lost=True) as live:
            top = live.get(thread_id)  # where its log is lost, it goes all the same
            if top is not None:
                top.put_away = "Deleted"
            await self._stopped(live)
            async with self._concealed(live):
                if top is not None:
                    await self._manager.reports.delivered(top)  # of earlier turns, too: later is none to ask
                with suppress(StoreError):  # a full disk does not keep anything from being deleted
                    if top is not None and (free or len(order) > 1):
                        top.emit(Aside([{"@": "deleting", "how": "purge" if purge else "keep"}]))
                for it in free:
                    self._manager.set_free(it)
            try:
                for it in order:
                    gone.append(record(it, self._last_seq(it) + 1, self._manager.clock(), say.deleted(it)))
                    self._remove(it, live.get(it), purge=purge)
                await self._manager.settled()
            finally:
                self._manager.leaving.difference_update(order)
        for last in gone:
            self._manager.hub.publish([last])
            self._manager.hub.forget(last.thread_id)
        return order

    def _last_seq(self, thread_id: str) -> int:
        loaded = self._manager.loaded.get(thread_id)
        return self._manager.row(thread_id).seq if loaded is None else loaded.seq

    def _remove(self, thread_id: str, thread: Thread | None, *, purge: bool) -> None:
        store = self._manager.store(thread_id) if thread is None else thread.store
        self._manager.leaving.add(thread_id)
        if thread is not None:
            self._manager.unload(thread)
        store.remove(thread_id, purge=purge)

    @asynccontextmanager
    async def _concealed(self, live: Mapping[str, Thread]) -> AsyncIterator[None]:
        """Take threads out of the lists before their logs go: where that, or what comes first, is refused, all stay."""
        self._conceal(live, concealed=True)
        try:
            await self._manager.settled()
            yield
        except BaseException:
            self._conceal(live, concealed=False)
            raise

    def _conceal(self, live: Mapping[str, Thread], *, concealed: bool) -> None:
        for it, thread in live.items():
            thread.store.index.conceal(it, concealed=concealed)
