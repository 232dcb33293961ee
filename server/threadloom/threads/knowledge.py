"""What the index knows, waited for: of every thread, or of the one that somebody asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadloom.log import logger
from threadloom.store.errors import StoreError
from threadloom.threads.logs import last
from threadloom.threads.recovering import Recovery
from threadloom.threads.replay import fold

if TYPE_CHECKING:
    from threadloom.threads.manager import Manager
    from threadloom_protocol.v2.stream import BackgroundEventNotification

log = logger(__name__)


class Knowledge:
    """How far the index is behind the logs, and who waits for it how long."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._recovery = Recovery(manager)

    def begin(self) -> None:
        """Bring it up to every log, in the background."""
        self._recovery.begin()

    async def whole(self) -> None:
        """Return once the index knows of every log. Raises `StoreError`."""
        await self._recovery.whole()

    async def of(self, thread_id: str) -> None:
        """Return once the index knows of one thread, its owners and what they stand on; others may not be known yet."""
        manager = self._manager
        if thread_id in manager.loaded:
            return
        await self._recovery.soon()
        if not self._recovery.done:
            await manager.settled()
            new = manager.durable.index.get(thread_id) is None or self._lags(thread_id)
            if new or not self._recovery.trusted:
                await manager.durable.bring_up(thread_id, fold)
            if new:
                manager.spawn(manager.upkeep.take_up_later, thread_id)

    async def readable(self, thread_id: str | None = None) -> None:
        """The same for one who only reads: what is not known in a moment is not waited for."""
        manager = self._manager
        whole = manager.patient and thread_id is None and not self._recovery.trusted
        try:
            await (self._recovery.whole() if whole else self._recovery.soon())
            await manager.settled()
            if thread_id is not None and self._due(thread_id):
                await manager.durable.bring_up(thread_id, fold)
            await manager.settled(thread_id)
        except StoreError as fault:
            log.warning("the index may lag", reason=str(fault))

    @property
    def lag(self) -> BackgroundEventNotification | None:
        """What is said to one whose list is not whole: how far the index is."""
        return self._recovery.lag

    def _due(self, thread_id: str) -> bool:
        """Whether the index may lack something of a thread: its own log, an owner's, or one that a fork stands on."""
        if thread_id in self._manager.loaded:
            return False
        unknown = not self._recovery.done and not self._manager.exists(thread_id)
        return unknown or not self._recovery.trusted or self._lags(thread_id)

    def _lags(self, thread_id: str) -> bool:
        """Whether another process wrote a thread, and went before the index had all of it."""
        durable = self._manager.durable
        row = durable.index.get(thread_id)
        if row is None or thread_id in self._manager.loaded or durable.holder(row.root) is not None:
            return False
        return last(durable, thread_id) > row.seq
