"""What a server does with its threads by itself: open work is taken up, and what nobody uses leaves memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from anyio.lowlevel import checkpoint

from threadloom.log import logger
from threadloom.store.base import Store, StoreError
from threadloom.threads import say
from threadloom.threads.projection import unfinished
from threadloom.threads.resting import Resting
from threadloom.threads.warming import warm
from threadloom_protocol.errors import RpcError
from threadloom_protocol.v2.search import ThreadListResponse
from threadloom_protocol.v2.thread import ThreadResumeResponse
from threadloom_protocol.v2.values.threads import Thread as View

if TYPE_CHECKING:
    from threadloom.threads.manager import Manager
    from threadloom.threads.thread import Thread

log = logger(__name__)

IDLE: Final = 30 * 60.0  # seconds without a subscriber and without activity after which a thread leaves memory


class Upkeep:
    """One for all threads of a server."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager

    async def prepare(self, pause: Callable[[], Awaitable[None]]) -> None:
        """Get ready for whoever comes back to a thread: no first request pays for all."""
        self._manager.knowledge.begin()
        await warm(pause, View, Resting, ThreadListResponse, ThreadResumeResponse)

    # ── open work ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def take_up(self) -> None:
        """Take up every tree that has work to go on with: what it waits for is asked again, what was cut goes on."""
        try:
            await self._manager.knowledge.whole()
        except StoreError as fault:  # whoever asks for threads hears of it
            log.error("nobody knows what is left to do", reason=str(fault))
            return
        for it in self._manager.durable.index.due():
            self._take_up([it])  # the rest of its tree comes with it
            await checkpoint()

    async def take_up_tree(self, store: Store, root: str) -> None:
        """A thread was loaded: what else of its tree has work to go on with is, too, and reports in order."""
        self._manager.reports.deliver(*self._take_up(store.index.due(root)))

    async def take_up_later(self, thread_id: str) -> None:
        """A thread is used before all of its tree is known: the rest is taken up once it is."""
        try:
            await self._manager.knowledge.whole()
            loaded = self._manager.loaded.get(thread_id)
            if loaded is not None:
                await self.take_up_tree(self._manager.durable, loaded.state.rest.thread.session_id)
        except StoreError as fault:
            log.error("a tree may have work that nobody goes on with", thread=thread_id, reason=str(fault))

    def _take_up(self, ids: Sequence[str]) -> list[Thread]:
        found = []
        for it in ids:
            try:
                found.append(self._manager.get(it))
            except (StoreError, RpcError) as fault:  # another server has it, or it cannot be read
                log.info("a thread with open work is left alone", thread=it, reason=str(fault))
        return found

    # ── memory ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def sweep(self, idle: float | None = None) -> list[str]:
        """Let go of threads that nobody follows and that have done nothing for a while; which ones."""
        manager = self._manager
        for root in list(manager.leases.roots):  # of a tree that is ours, nobody else goes on with anything
            self._take_up(manager.store(root).index.due(root))
        manager.reports.deliver(*manager.loaded.values())  # what a missed wake has left behind
        for it in list(manager.loaded.values()):
            manager.cascade.go_on(it.id, above=False)  # storage may have refused it, and have space again
            it.queue.pump()
        late = manager.clock() - (IDLE if idle is None else idle) * 1000
        unused = [it for it in manager.loaded.values() if it.active_at <= late and self._idle(it)]
        return [it.id for it in unused if self._unload(it)]

    def let_go(self, ids: Iterable[str]) -> None:
        """Let threads that were loaded for a moment leave memory again, where nothing goes on in them."""
        for it in ids:
            thread = self._manager.loaded.get(it)
            if thread is not None and self._idle(thread):
                self._manager.unload(thread)

    def _idle(self, thread: Thread) -> bool:
        """Whether nothing goes on in a thread, nothing is left to do, and nobody follows it."""
        return (
            (thread.running or thread.ending) is None
            and not thread.terminals.busy
            and not self._manager.hub.followed(thread.id)
            and not thread.sealed
            and not unfinished(thread.header, thread.state.rest)
            and not self._manager.reports.awaited(thread)
        )

    def _unload(self, thread: Thread) -> bool:
        try:
            thread.emit(say.unloaded(thread.id))
        except StoreError as fault:
            log.error("a thread could not be unloaded", thread=thread.id, reason=str(fault))
            return False
        self._manager.unload(thread)
        return True
