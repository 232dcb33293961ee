"""A whole tree in one answer, and what changes in it: for those who draw it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import anyio

from threadloom.log import logger
from threadloom.store.errors import StoreError
from threadloom.threads import node
from threadloom_protocol.v2.tree import CHANGED, ThreadTreeChangedNotification, ThreadTreeNode

if TYPE_CHECKING:
    from threadloom.events import Record
    from threadloom.threads.hub import Listener
    from threadloom.threads.manager import Manager

log = logger(__name__)

PAUSE: Final = 0.05  # seconds in which changes are gathered: nobody looks at a tree more often

# Events after which a node looks different.
NOTED: Final = frozenset(
    {
        "thread/started",
        "thread/status/changed",
        "thread/name/updated",
        "thread/note/updated",
        "thread/settings/updated",
        "thread/closed",
        "thread/archived",
        "thread/unarchived",
        "thread/deleted",
        "thread/tokenUsage/updated",
        "thread/queue/changed",
        "turn/started",
        "turn/completed",
        "item/started",
        "item/completed",
    }
)


class TreeView:
    """Reads trees, and tells who watches one what is different."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._watching: dict[Listener, set[str]] = {}  # the roots that a connection watches
        self._dirty: dict[Listener, dict[str, set[str]]] = {}  # root → threads that it has to hear of
        self._roots: dict[str, str] = {}  # of the threads that watchers were told of: a deleted one has none any more
        self._due = False

    # ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────

    def tree(self, thread_id: str) -> tuple[str, list[bytes]]:
        """The root of the tree that a thread belongs to, and all of its nodes, parents before their children."""
        root = self._manager.lineage.origin(thread_id)[-1]
        owners = self._manager.lineage.owned(root)
        loaded = self._manager.loaded
        states = self._manager.store(root).index.states([it for it in (root, *owners) if it not in loaded])
        children: dict[str, list[str]] = defaultdict(list)
        for it, owner in owners.items():
            children[owner].append(it)
        held = bool(states) and self._manager.held(root)
        found = [
            node.stored(states[it], it, depth, held=held) if it in states else node.live(loaded[it], depth)
            for it, depth in _from_the_top(root, children)
        ]
        return root, found

    def node(self, thread_id: str) -> ThreadTreeNode:
        """One thread of its tree."""
        depth = self._manager.lineage.depth(thread_id)
        if (loaded := self._manager.loaded.get(thread_id)) is not None:
            found = node.live(loaded, depth)
        else:
            row = self._manager.row(thread_id)
            found = node.stored(row.state, thread_id, depth, held=self._manager.held(row.root))
        return ThreadTreeNode.model_validate_json(found)

    # ── watching ──────────────────────────────────────────────────────────────────────────────────────────────────

    def watch(self, listener: Listener, root: str) -> None:
        """Tell a connection what changes in a tree from now on."""
        self._watching.setdefault(listener, set()).add(root)
        self._roots |= dict.fromkeys([root, *self._manager.lineage.descendants(root)], root)

    def unwatch(self, listener: Listener, root: str | None = None) -> None:
        """No more of one tree, or of any."""
        if root is None:
            self._watching.pop(listener, None)
            self._dirty.pop(listener, None)
        else:
            self._watching.get(listener, set()).discard(root)
            self._dirty.get(listener, {}).pop(root, None)
        if not any(self._watching.values()):
            self._watching, self._roots = {}, {}

    def published(self, records: Iterable[Record]) -> None:
        """Something happened; whoever watches hears of it in a moment."""
        if not self._watching:  # as nearly always
            return
        self.changed({record.thread_id for record in records if record.notification.method in NOTED})

    def changed(self, ids: Iterable[str]) -> None:
        """Threads look different, whether or not an event says so."""
        for it in ids if self._watching else ():
            root = self._manager.lineage.origin(it)[-1] if self._manager.exists(it) else self._roots.get(it, it)
            self._roots[it] = root
            for listener, roots in self._watching.items():
                if root in roots:
                    self._note(listener, root, [it])
        self._soon()

    def left(self, root: str, ids: Sequence[str]) -> None:
        """A subtree, its top first, is a tree of its own from now on: whoever watches the old one hears of it."""
        for listener, roots in self._watching.items():
            if root in roots:
                self._note(listener, root, ids)
                self._roots |= dict.fromkeys(ids, ids[0])
        self._soon()

    def _note(self, listener: Listener, root: str, ids: Iterable[str]) -> None:
        self._dirty.setdefault(listener, {}).setdefault(root, set()).update(ids)

    def _soon(self) -> None:
        if self._dirty and not self._due:
            self._due = True
            self._manager.spawn(self._tell_soon)

    async def _tell_soon(self) -> None:
        await anyio.sleep(PAUSE)
        self._due = False
        for listener in list(self._dirty):
            self.tell(listener)

    def tell(self, listener: Listener) -> None:
        """Tell a connection what is due, if it has room for it; else it is told the latest when it has."""
        if not listener.has_room:
            return
        for root, ids in self._dirty.pop(listener, {}).items():
            try:
                listener.publish(CHANGED, self._difference(root, ids))
            except StoreError as fault:  # the index cannot be read now; the server goes on
                log.error("who watches a tree could not be told", root=root, reason=str(fault))

    def _difference(self, root: str, ids: set[str]) -> bytes:
        there = sorted(it for it in ids if self._belongs(it, root))
        event = ThreadTreeChangedNotification(
            root_thread_id=root,
            changed=[self.node(it) for it in there],
            removed=sorted(ids.difference(there)),
        )
        return event.to_json()

    def _belongs(self, thread_id: str, root: str) -> bool:
        return self._manager.exists(thread_id) and self._manager.lineage.origin(thread_id)[-1] == root


def _from_the_top(root: str, children: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, int]]:
    """Threads and how deep they are, each before what it owns."""
    due = [(root, 0)]
    while due:
        it, depth = due.pop()
        yield it, depth
        due += [(child, depth + 1) for child in reversed(children.get(it, ()))]
