"""The logs of threads, loaded or not: to read, to note something in, and to catch up from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from threadloom.store.base import Store
from threadloom.store.rows import Header
from threadloom.threads.catchup import Late, as_own, late
from threadloom.threads.hub import BROADCAST
from threadloom.threads.journal import Journal
from threadloom.threads.replay import Replayed

if TYPE_CHECKING:
    from threadloom.threads.manager import Manager


class Logs:
    """The way to the log of any thread. See `hub.Source`."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager

    @contextmanager
    def writing(self, thread_id: str) -> Iterator[Journal]:
        """The journal of a thread, to note something in it: of one that is not loaded, or only kept, too."""
        manager, durable = self._manager, self._manager.durable
        if thread_id in manager.loaded:
            yield manager.loaded[thread_id]
            return
        known = durable.index.get(thread_id)
        root = known.root if known is not None else header(durable, thread_id).root
        with manager.leases.needed(durable, root, thread_id) as epoch, closing(durable.open(thread_id)) as log:
            yield Journal(manager.hub, manager.clock, durable, Replayed(log, known), epoch)
        manager.leases.let_go(root, thread_id)

    @contextmanager
    def reading(self, thread_id: str) -> Iterator[Journal]:
        """A thread as it stands. One that is not loaded is not: its log tells, whoever writes it."""
        manager = self._manager
        if thread_id in manager.loaded:
            yield manager.loaded[thread_id]
            return
        known, store = manager.row(thread_id), manager.store(thread_id)
        with closing(store.read(thread_id)) as log:
            yield Journal(manager.hub, manager.clock, store, Replayed(log, known))

    def behind(self, thread_id: str, seq: int, limit: int, *, merge: bool) -> tuple[list[Late], int]:
        """See `hub.Source`."""
        loaded = self._manager.loaded.get(thread_id)
        store = loaded.store if loaded else self._manager.store(thread_id)
        head = loaded.shown if loaded else last(store, thread_id)
        lines = as_own(store.after(thread_id, seq, min(head, seq + limit)), thread_id, BROADCAST)
        return list(late(lines, merge=merge)), head


def last(store: Store, thread_id: str) -> int:
    """The last seq of a thread that is not in memory: from its log, as the index may lag."""
    with closing(store.read(thread_id)) as log:
        return log.seq


def header(store: Store, thread_id: str) -> Header:
    """What such a thread was born with."""
    with closing(store.read(thread_id)) as log:
        return log.header
