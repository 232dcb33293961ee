"""Fan-out: who hears what of which thread. Nothing is lost: who lags is served from the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from threadloom.events import Record
from threadloom.store.errors import StoreError
from threadloom.threads.catchup import Late
from threadloom.threads.questions import Open, Questions
from threadloom_protocol.spec import ServerNotification
from threadloom_protocol.v2 import approval, note, roster, session, stream, thread

# Events that every connection hears, so that any list of threads can be kept fresh.
BROADCAST: Final = frozenset(
    it.method
    for it in (
        thread.STARTED,
        roster.STATUS_CHANGED,
        roster.NAME_UPDATED,
        note.UPDATED,
        roster.ARCHIVED,
        roster.UNARCHIVED,
        roster.DELETED,
        roster.CLOSED,
        session.SAVED,
        session.DELETED,
    )
)
MAX_BEHIND: Final = 20_000  # records a subscriber may be behind before it is told of a gap instead
CHUNK: Final = 512  # records read for a lagging subscriber at a time: its outbox decides when the next


class Listener(Protocol):
    """A connection, as the hub sees it."""

    @property
    def has_room(self) -> bool:
        """Whether it takes events as they come; where not, it calls `Hub.pump` once it has."""
        ...

    def publish(self, notification: ServerNotification[Any], body: bytes) -> None:
        """Take an encoded event."""
        ...

    def put(self, request_id: str, method: str, body: bytes) -> None:
        """Take an encoded question; its answer goes to `Manager.answered`, if there ever is one."""
        ...


class Source(Protocol):
    """What the hub reads from when somebody lags."""

    def behind(self, thread_id: str, seq: int, limit: int, *, merge: bool) -> tuple[list[Late], int]:
        """Up to `limit` records after a seq, neighbouring deltas merged or not, and the last seq there is."""
        ...


class Feed:
    """One connection's place in one thread."""

    __slots__ = ("cursor", "leaving", "live", "merge", "own")

    def __init__(self, cursor: int, *, live: bool, own: bool) -> None:
        self.cursor = cursor  # the last seq it was given
        self.live = live  # gets events as they come; else from the log, when it has room
        self.own = own  # asked for; else it follows an owner of the thread
        self.merge = False  # it lagged by itself: fewer, larger deltas help it to catch up
        self.leaving = False  # it hears what is due, and no more

    def lag(self) -> None:
        """From here on from the log."""
        self.live, self.merge = False, True


class Hub:
    """Subscriptions, and the way events take to them."""

    def __init__(
        self,
        source: Source,
        parent: Callable[[str], str | None],
        published: Callable[[Sequence[Record]], None] = lambda records: None,
    ) -> None:
        self._source = source
        self._parent = parent  # the owner of a thread
        self._published = published
        self._everyone: set[Listener] = set()
        # Only threads that somebody follows are in here: there may be very many others.
        self._feeds: dict[str, dict[Listener, Feed]] = {}
        self._covering: dict[str, set[Listener]] = {}  # who follows the descendants of a thread, too
        self._lagging: dict[Listener, set[str]] = {}  # threads that a connection is behind in
        self.questions = Questions()

    # ── who listens ───────────────────────────────────────────────────────────────────────────────────────────────

    def join(self, listener: Listener) -> None:
        """A connection is there; from now on it hears what everyone hears."""
        self._everyone.add(listener)

    def leave(self, listener: Listener) -> None:
        """A connection has gone."""
        self._everyone.discard(listener)
        self._lagging.pop(listener, None)
        for thread_id in [*self._feeds]:
            self._take_off(listener, thread_id)
        for thread_id in [*self._covering]:
            self._uncover(listener, thread_id)
        self.questions.leave(listener)

    def subscribe(
        self, listener: Listener, thread_id: str, cursor: int, *, head: int, descendants: bool = True
    ) -> None:
        """Give a connection the events of a thread after `cursor`; those up to `head` come from the log, by `pump`."""
        if listener not in self._everyone:
            return  # it has gone while its request was answered
        self._begin(listener, thread_id, Feed(cursor, live=cursor >= head, own=True))
        for asker in self.questions.askers:
            if self._root(asker) == thread_id:
                self._ask_again(listener, asker)
        if descendants:
            self._covering.setdefault(thread_id, set()).add(listener)
        else:
            self._uncover(listener, thread_id)

    def cover(self, listener: Listener, thread_id: str, cursor: int | None, *, head: int) -> None:
        """The same for a thread whose owner it follows. Without a cursor, one that it is on already stays."""
        known = self._feeds.get(thread_id, {}).get(listener)
        if listener not in self._everyone or (known is not None and cursor is None):
            return
        start = head if cursor is None else cursor
        own = known is not None and known.own
        self._begin(listener, thread_id, Feed(start, live=start >= head, own=own))

    def _begin(self, listener: Listener, thread_id: str, feed: Feed) -> None:
        self._feeds.setdefault(thread_id, {})[listener] = feed
        self._ask_again(listener, thread_id)
        if not feed.live:
            self._lagging.setdefault(listener, set()).add(thread_id)

    def _ask_again(self, listener: Listener, thread_id: str) -> None:
        """Have a connection asked what is open, once it has heard all that came before: by `pump`."""
        if self.questions.forget(listener, thread_id):
            self._lagging.setdefault(listener, set()).add(thread_id)

    def unsubscribe(self, listener: Listener, thread_id: str) -> bool:
        """Take it off the thread and what that covers; false where it was not on it."""
        self._uncover(listener, thread_id)
        left = self._take_off(listener, thread_id)
        for other, feeds in [*self._feeds.items()]:
            feed = feeds.get(listener)
            if feed is not None and not feed.own and listener not in self._covered_by(other):
                self._take_off(listener, other)
        for asker in self.questions.askers:
            if not self._concerns(listener, asker):
                self.questions.forget(listener, asker)
        return left is not None

    def _take_off(self, listener: Listener, thread_id: str) -> Feed | None:
        feeds = self._feeds.get(thread_id, {})
        left = feeds.pop(listener, None)
        if not feeds:
            self._feeds.pop(thread_id, None)
        return left

    def _uncover(self, listener: Listener, thread_id: str) -> None:
        covering = self._covering.get(thread_id, set())
        covering.discard(listener)
        if not covering:
            self._covering.pop(thread_id, None)

    def adopt(self, thread_id: str, seq: int) -> None:
        """A thread came to life: whoever follows an owner of it follows it from here on."""
        for listener in self._covered_by(thread_id):
            self._feeds.setdefault(thread_id, {}).setdefault(listener, Feed(seq, live=True, own=False))

    def _covered_by(self, thread_id: str) -> set[Listener]:
        """Who follows an owner of a thread, and with it all that it owns."""
        found: set[Listener] = set()
        owner = self._parent(thread_id)
        while owner is not None:
            found |= self._covering.get(owner, set())
            owner = self._parent(owner)
        return found

    def followed(self, thread_id: str) -> bool:
        """Whether anybody follows a thread."""
        return bool(self._feeds.get(thread_id))

    def dismiss(self, thread_id: str) -> None:
        """A thread was put away: who follows it hears what is due, and no more."""
        self._covering.pop(thread_id, None)
        for listener, feed in [*self._feeds.get(thread_id, {}).items()]:
            feed.leaving = True
            if feed.live:
                self._take_off(listener, thread_id)

    def forget(self, thread_id: str) -> None:
        """A thread is gone for good."""
        self._feeds.pop(thread_id, None)
        self._covering.pop(thread_id, None)

    # ── what they are asked ───────────────────────────────────────────────────────────────────────────────────────

    def ask(self, thread_id: str, request_id: str, question: Open) -> None:
        """Put a question to whoever follows a thread or the root of its tree, now and until `withdraw`."""
        self.questions.add(thread_id, request_id, question)
        feeds = self._feeds.get(thread_id, {})
        for listener, feed in feeds.items():
            if feed.live:
                self.questions.put(listener, thread_id)
        for listener in self._feeds.get(self._root(thread_id), {}).keys() - feeds.keys():
            self.questions.put(listener, thread_id)

    def withdraw(self, thread_id: str, request_id: str | None = None) -> None:
        """A question of a thread, or all of them, need no answer any more."""
        self.questions.withdraw(thread_id, request_id)

    def _concerns(self, listener: Listener, thread_id: str) -> bool:
        """Whether a connection is asked what a thread asks."""
        return listener in self._feeds.get(thread_id, {}) or listener in self._feeds.get(self._root(thread_id), {})

    def _root(self, thread_id: str) -> str:
        owner = self._parent(thread_id)
        return thread_id if owner is None else self._root(owner)

    # ── what they hear ────────────────────────────────────────────────────────────────────────────────────────────

    def announce(self, notification: ServerNotification[Any], body: bytes) -> None:
        """Tell every connection something that is about no thread."""
        for listener in self._everyone:
            listener.publish(notification, body)

    def publish(self, records: Sequence[Record]) -> None:
        """Show what is stored."""
        self._published(records)
        for record in records:
            params = record.params()
            feeds = self._feeds.get(record.thread_id, {})
            for listener, feed in feeds.items():
                if record.seq > feed.cursor:  # else it was in the snapshot that this connection began with
                    self._give(listener, feed, record, params)
            if record.notification.method in BROADCAST:
                for listener in self._everyone - feeds.keys():
                    listener.publish(record.notification, params)
            if record.notification is approval.RESOLVED:
                assert isinstance(record.event, approval.ServerRequestResolvedNotification)
                for listener in self.questions.over(str(record.event.request_id)) - feeds.keys():
                    listener.publish(record.notification, params)

    def _give(self, listener: Listener, feed: Feed, record: Record, params: bytes) -> None:
        if feed.live and listener.has_room:
            listener.publish(record.notification, params)
            feed.cursor = record.seq
        elif record.notification is roster.DELETED:  # nothing can be read from its log any more
            if feed.cursor + 1 < record.seq:
                self._gap(listener, record.thread_id, feed, record.seq - 1)
            listener.publish(record.notification, params)
        elif feed.live:
            feed.lag()
            self._lagging.setdefault(listener, set()).add(record.thread_id)

    def pump(self, listener: Listener) -> None:
        """Bring a connection that lagged closer, as far as it has room."""
        lagging = self._lagging.get(listener, set())
        for thread_id in sorted(lagging):
            feed = self._feeds.get(thread_id, {}).get(listener)
            if feed is None or self._catch_up(listener, thread_id, feed):
                lagging.discard(thread_id)
                if self._concerns(listener, thread_id):
                    self.questions.put(listener, thread_id)
            if feed is not None and feed.live and feed.leaving:
                self._take_off(listener, thread_id)

    def _catch_up(self, listener: Listener, thread_id: str, feed: Feed) -> bool:
        while not feed.live and listener.has_room:
            try:
                late, head = self._source.behind(thread_id, feed.cursor, CHUNK, merge=feed.merge)
            except StoreError:  # it is being deleted, or cannot be read now
                return False
            if head - feed.cursor > MAX_BEHIND:
                self._gap(listener, thread_id, feed, head)
                return True
            reached = min(head, feed.cursor + CHUNK)
            for it in late:
                if not listener.has_room:  # a few large ones are more than may wait for it
                    return False
                listener.publish(it.notification, it.params)
                feed.cursor = it.seq
            feed.cursor = reached  # lines that are damaged, or that nobody is told of, are passed over
            feed.live = feed.cursor >= head
        return feed.live

    def _gap(self, listener: Listener, thread_id: str, feed: Feed, head: int) -> None:
        gap = stream.ThreadGapNotification(thread_id=thread_id, from_seq=feed.cursor + 1, to_seq=head)
        listener.publish(stream.GAP, gap.to_json())
        feed.cursor, feed.live = head, True
