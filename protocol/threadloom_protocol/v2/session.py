"""Saved sessions: a name for a thread at a point, to come back to or to fork from."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypeAliasType

from threadloom_protocol.model import Params, Recorded, Result, UInt, Value
from threadloom_protocol.spec import ClientRequest, Origin, ServerNotification
from threadloom_protocol.v2.thread import ThreadForkResponse, ThreadResumeInitialTurnsPageParams, ThreadResumeResponse

# The point that was saved, or the present end of the thread.
SessionPoint = TypeAliasType("SessionPoint", Literal["saved", "head"])


class SavedSession(Value):
    """A name that points at a thread at `seq`, with what the thread says of itself today."""

    name: str
    thread_id: str
    seq: UInt
    saved_at: int
    created_at: int
    updated_at: int
    cwd: str
    model: str | None
    path: str | None


class SessionSaveParams(Params):
    """Give a name to a thread as it is now. Frozen: later turns do not move it; saving under the name again does.

    1 to 100 characters, no control characters, no `-` at the start. In the middle of a turn, the saved state is as
    if the turn had been interrupted there. An ephemeral thread cannot be saved.
    """

    thread_id: str
    name: str


class SessionSaveResponse(Result):
    """What was saved."""

    session: SavedSession


class SessionForkParams(Params):
    """Start a new thread of its own from a saved name, a thread id, or 8 or more first characters of an id.

    A name forks from the saved point, an id from its end; `at` says otherwise. `byId` does not look at names.
    """

    session: str
    at: SessionPoint | None = None
    by_id: bool = False
    exclude_turns: bool = False


class SessionForkResponse(ThreadForkResponse):
    """The new thread, as `thread/fork` would answer."""


class SessionResumeParams(Params):
    """Open the very thread that a saved name, an id or the beginning of an id means, wherever it has got to."""

    session: str
    by_id: bool = False
    exclude_turns: bool = False
    initial_turns_page: ThreadResumeInitialTurnsPageParams | None = None


class SessionMoved(Value):
    """How far a thread went on since it was saved."""

    turns: UInt
    seq: UInt


class SessionResumeResponse(ThreadResumeResponse):
    """The thread, as `thread/resume` would answer, and how far it has moved; null if it was not found by a name."""

    moved: SessionMoved | None


class SessionListParams(Params):
    """List saved sessions, the latest first."""

    cursor: str | None = None
    limit: UInt | None = None


class SessionListResponse(Result):
    """A page of saved sessions."""

    data: list[SavedSession]
    next_cursor: str | None


class SessionDeleteParams(Params):
    """Forget a saved name. The thread stays."""

    name: str


class SessionDeleteResponse(Result):
    """Done."""


class SessionSavedNotification(Recorded):
    """A thread was saved under a name. Goes to every connection."""

    thread_id: str
    session: SavedSession


class SessionDeletedNotification(Recorded):
    """A saved name is gone. Goes to every connection."""

    thread_id: str
    name: str


SAVE = ClientRequest("session/save", SessionSaveParams, SessionSaveResponse, origin=Origin.OURS)
FORK = ClientRequest("session/fork", SessionForkParams, SessionForkResponse, origin=Origin.OURS)
RESUME = ClientRequest("session/resume", SessionResumeParams, SessionResumeResponse, origin=Origin.OURS)
LIST = ClientRequest("session/list", SessionListParams, SessionListResponse, origin=Origin.OURS)
DELETE = ClientRequest("session/delete", SessionDeleteParams, SessionDeleteResponse, origin=Origin.OURS)
SAVED = ServerNotification("session/saved", SessionSavedNotification, origin=Origin.OURS)
DELETED = ServerNotification("session/deleted", SessionDeletedNotification, origin=Origin.OURS)
