"""The right to write trees: the lease of one is held for as long as a thread of it needs that."""

from __future__ import annotations

from collections.abc import Iterator, KeysView
from contextlib import contextmanager

from threadloom.store.base import Lease, Store


class Leases:
    """The trees that this process may write."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[Lease, set[str]]] = {}  # root → the lease, and the threads that need it

    @property
    def roots(self) -> KeysView[str]:
        """The roots of these trees."""
        return self._held.keys()

    @contextmanager
    def needed(self, store: Store, root: str, thread_id: str) -> Iterator[int]:
        """Hold the lease of a tree for one more thread, unless that fails to come to life; the lease's epoch."""
        if root not in self._held:
            self._held[root] = store.lease(root), set()
        self._held[root][1].add(thread_id)
        try:
            yield self._held[root][0].epoch
        except BaseException:
            self.let_go(root, thread_id)
            raise

    def let_go(self, root: str, thread_id: str) -> None:
        """A thread needs it no longer; once none does, another process may have the tree."""
        lease, needed = self._held.get(root, (None, set()))
        needed.discard(thread_id)
        if lease is not None and not needed:
            lease.release()
            del self._held[root]
