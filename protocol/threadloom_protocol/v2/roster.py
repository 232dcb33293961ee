"""The roster: threads by their ids, and the news that every connection hears."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypeAliasType

from threadloom_protocol.model import Maybe, Params, Recorded, Result, UInt, Value
from threadloom_protocol.spec import ClientRequest, ServerNotification
from threadloom_protocol.v2.values.status import ThreadStatus


class ThreadLoadedListParams(Params):
    """List the ids of threads that are in memory."""

    cursor: str | None = None
    limit: UInt | None = None


class ThreadLoadedListResponse(Result):
    """A page of ids."""

    data: list[str]
    next_cursor: str | None = None


class ThreadUnsubscribeParams(Params):
    """Hear no more of a thread on this connection. It goes on running."""

    thread_id: str


ThreadUnsubscribeStatus = TypeAliasType(
    "ThreadUnsubscribeStatus", Literal["notLoaded", "notSubscribed", "unsubscribed"]
)


class ThreadUnsubscribeResponse(Result):
    """Whether there was something to end."""

    status: ThreadUnsubscribeStatus


class ThreadArchiveParams(Params):
    """Put a thread away, with everything it owns, closing what runs. Forks are nobody's and stay."""

    thread_id: str


class ThreadArchiveResponse(Result):
    """Done."""


class ThreadDeleteParams(Params):
    """Delete a thread and everything it owns, closing what runs.

    A saved name or a fork that needs the history keeps it readable for itself; `purge` takes it from those too, also
    later: from what is kept of a thread that was deleted before.
    """

    thread_id: str
    purge: bool = False


class HistoryKeepers(Value):
    """Who still reads the history of a deleted thread, so that it is kept: saved names, and forks by id."""

    sessions: list[str]
    forks: list[str]


class ThreadDeleteResponse(Result):
    """Done; `keptBy` says who still holds on to the history, if anyone does."""

    kept_by: Maybe[HistoryKeepers] = None


class ThreadSetNameParams(Params):
    """Give a thread a name that people will read."""

    thread_id: str
    name: str


class ThreadSetNameResponse(Result):
    """Done."""


class ThreadStatusChangedNotification(Recorded):
    """A thread got busy, came to rest, or waits for somebody. Goes to every connection."""

    thread_id: str
    status: ThreadStatus


class ThreadNameUpdatedNotification(Recorded):
    """A thread has another name. Goes to every connection."""

    thread_id: str
    thread_name: str | None = None


class ThreadArchivedNotification(Recorded):
    """A thread was put away. Goes to every connection."""

    thread_id: str


class ThreadUnarchivedNotification(Recorded):
    """A thread was taken out again. Goes to every connection."""

    thread_id: str


class ThreadDeletedNotification(Recorded):
    """A thread is gone. Goes to every connection."""

    thread_id: str


# Put away for want of use, or ended for good together with what it owns.
ClosedReason = TypeAliasType("ClosedReason", Literal["unloaded", "closed"])


class ThreadClosedNotification(Recorded):
    """A thread left memory: unloaded for want of use, or closed. Goes to every connection.

    `by` is the thread on which the close was called, which is this one or an ancestor.
    """

    thread_id: str
    reason: Maybe[ClosedReason] = None
    by: Maybe[str] = None


LOADED = ClientRequest("thread/loaded/list", ThreadLoadedListParams, ThreadLoadedListResponse)
UNSUBSCRIBE = ClientRequest("thread/unsubscribe", ThreadUnsubscribeParams, ThreadUnsubscribeResponse)
ARCHIVE = ClientRequest("thread/archive", ThreadArchiveParams, ThreadArchiveResponse)
DELETE = ClientRequest("thread/delete", ThreadDeleteParams, ThreadDeleteResponse)
SET_NAME = ClientRequest("thread/name/set", ThreadSetNameParams, ThreadSetNameResponse)
STATUS_CHANGED = ServerNotification("thread/status/changed", ThreadStatusChangedNotification)
NAME_UPDATED = ServerNotification("thread/name/updated", ThreadNameUpdatedNotification)
ARCHIVED = ServerNotification("thread/archived", ThreadArchivedNotification)
UNARCHIVED = ServerNotification("thread/unarchived", ThreadUnarchivedNotification)
DELETED = ServerNotification("thread/deleted", ThreadDeletedNotification)
CLOSED = ServerNotification("thread/closed", ThreadClosedNotification)
