"""Who owns whom: as the stored owner edges say, and of the threads in memory as they know themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threadloom.threads.logs import header

if TYPE_CHECKING:
    from threadloom.store.rows import Header
    from threadloom.threads.manager import Manager


class Lineage:
    """The ways up and down the trees of a server."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager

    # ── up ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def parent(self, thread_id: str) -> str | None:
        """The owner of a thread."""
        loaded = self._manager.loaded.get(thread_id)
        if loaded is not None:
            return loaded.owner
        found = self._manager.store(thread_id).index.get(thread_id)
        return found.owner if found else None

    def origin(self, thread_id: str) -> list[str]:
        """A thread and its owners, up to the root; or up to where the log of one is lost."""
        owner = self.parent(thread_id)
        if owner is None or not self._manager.exists(owner):
            return [thread_id]
        return [thread_id, *self.origin(owner)]

    def depth(self, thread_id: str) -> int:
        """How many owners a thread has above it."""
        return len(self.origin(thread_id)) - 1

    def above(self, thread_id: str) -> list[str]:
        """Those that owned a thread when it was born, the nearest first: it reports to them, also once it is free."""
        return list(self.birth(thread_id).facts.get("above", ()))

    def birth(self, thread_id: str) -> Header:
        """What a thread was born with."""
        loaded = self._manager.loaded.get(thread_id)
        return loaded.header if loaded is not None else header(self._manager.store(thread_id), thread_id)

    # ── down ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def children(self, thread_id: str) -> list[str]:
        """The threads that a thread owns itself, older ones first: those born a moment ago, too."""
        found = dict.fromkeys(self._manager.store(thread_id).index.children(thread_id))
        found |= {it.id: None for it in self._manager.loaded.values() if it.owner == thread_id}
        return list(found)

    def descendants(self, thread_id: str) -> list[str]:
        """All that a thread owns, parents before their children: those born a moment ago, too."""
        return list(self.owned(thread_id))

    def owned(self, thread_id: str) -> dict[str, str]:
        """The same, each with its owner."""
        found = {thread_id: ""} | self._manager.store(thread_id).index.owned(thread_id)
        for it, loaded in self._manager.loaded.items():  # as they came: an owner comes before what it owns
            if it not in found and (owner := loaded.owner) is not None and owner in found:
                found[it] = owner
        del found[thread_id]
        return found

    def running_below(self, thread_id: str) -> list[str]:
        """All that a thread owns and that runs, or is about to."""
        return [
            it.id
            for it in self._manager.loaded.values()
            if it.state.agent_status in ("running", "pendingInit") and thread_id in self.origin(it.id)[1:]
        ]
