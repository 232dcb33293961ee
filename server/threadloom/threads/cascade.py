"""What happens to a whole subtree that runs: close, reopen, interrupt.

Seal from the top, so that nothing is born; close from the bottom, so that nothing is orphaned.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import anyio

from threadloom.log import logger
from threadloom.store.errors import Missing, StoreError
from threadloom.threads.closing import Closing
from threadloom.threads.stopping import GRACE, LAST, Clock, RealClock, within
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
        self._held: Counter[str] = Counter()  # how many operations go on with a thread

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

    def go_on(self, thread_id: str, *, above: bool = True) -> None:
        """A thread was loaded: what a crash has cut short of it, or from further up, is carried on."""
        for it in self._manager.lineage.origin(thread_id) if above else [thread_id]:
            if self._cut_short(it) and it not in self._closing:
                self._manager.get(thread_id).spawn(self._carry_on, it)

    def _cut_short(self, thread_id: str) -> bool:
        rest = self._manager.rest(thread_id)
        return rest.closing and not rest.closed

    async def finished(self, thread_id: str) -> None:
        """Return once no close concerns a thread, for whoever takes it up at once. Raises where one lasts."""
        await self._manager.settled()
        while (it := next(filter(self._goes_down, self._manager.lineage.origin(thread_id)), None)) is not None:
            await self.close(it)
            if self._goes_down(it):
                raise InvalidRequest(f"thread {it} is closing")

    def _goes_down(self, thread_id: str) -> bool:
        return thread_id in self._closing or self._cut_short(thread_id)

    async def _carry_on(self, thread_id: str) -> None:
        try:
            await self.close(thread_id)
        except InvalidRequest as refusal:  # it was deleted meanwhile
            log.info("there is nothing left to close", thread=thread_id, reason=refusal.message)
        except StoreError as fault:
            log.error("a close could not be carried on", thread=thread_id, reason=str(fault))

    @contextmanager
    def sealed(
        self, order: list[str], spared: str | None = None, *, even_lost: bool = False
    ) -> Iterator[dict[str, Thread]]:
        """No new work from here on, from the top down, and what runs is told to stop, but for the turn that asks.

        What is left takes work again. One below whose log is lost keeps nothing from ending; nor the top, if it may.
        """
        live: dict[str, Thread] = {}
        try:
            for it in reversed(order):
                try:
                    thread = self._manager.get(it)
                except Missing as fault:
                    if it == order[-1] and not even_lost:
                        raise
                    log.warning("a thread is passed over", thread=it, reason=str(fault))
                    continue
                live[it] = thread
                thread.sealed = thread.taken_down = True
                self._held[it] += 1
            for it, thread in live.items():
                if thread.running is not None and it != spared:
                    thread.running.scope.cancel()
            yield live
        finally:
            self._held -= Counter(live.keys())
            for it, thread in live.items():
                gone = self._manager.loaded.get(it) is not thread
                thread.sealed = thread.taken_down = gone or it in self._held
                if not thread.sealed:
                    thread.put_away = None

    def retire(self, thread: Thread) -> None:
        """A thread whose close is over leaves memory; where something else goes on with it, that sees to it."""
        if self._held[thread.id] == 1 and self._manager.loaded.get(thread.id) is thread:
            self._manager.unload(thread)

    def _dry(self, thread_id: str) -> ClosedThread:
        state = self._manager.status(thread_id)
        return ClosedThread(thread_id=thread_id, before=state, after=state, how=None, ms=None)

    async def reopen(self, thread_id: str) -> None:
        """Take a thread up again with what its close took, and its owners: nothing live is owned by the dead."""
        await self.finished(thread_id)
        for it in [*reversed(self._manager.lineage.origin(thread_id)), *self._took(thread_id)]:
            if self._manager.rest(it).closed:
                self._manager.get(it).reopen()

    def _took(self, thread_id: str) -> list[str]:
        """What the close of a thread took of all it owns, owners first; what stays shut down keeps its own."""
        last = self._manager.rest(thread_id)
        dead: set[str | None] = set()
        taken = []
        for it in self.order(thread_id)[-2::-1]:
            rest = self._manager.rest(it)
            if rest.closed_by in (last.closed_by, last.own_close) and self._manager.lineage.parent(it) not in dead:
                taken.append(it)
            elif rest.closed:
                dead.add(it)
        return taken

    async def interrupt(self, thread_id: str) -> None:
        """The user ends the turns of a thread and of all it owns, all at once: none of them goes on with the end of
        another, and what they report wakes nobody by itself.
        """
        await self._manager.settled()
        below = reversed(self._manager.lineage.descendants(thread_id))  # those that would outlive it, too
        every = [self._manager.loaded[it] for it in (*below, thread_id) if it in self._manager.loaded]
        ended = {it.id for it in every if it.running is not None}
        live = [it for it in every if not (_is_session(it) and it.owner in ended)]  # these go with that turn
        cut = [it for it in live if it.running is not None]
        for owner in dict.fromkeys(it.owner for it in cut if it.id != thread_id and it.owner is not None):
            with suppress(StoreError):  # a full disk keeps nothing from being ended, and no report comes in then
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


def _is_session(thread: Thread) -> bool:
    spawned = thread.state.rest.thread.spawn_config
    running = thread.state.agent_status in ("running", "pendingInit")
    return running and spawned is not None and spawned.kind == "subSession"
