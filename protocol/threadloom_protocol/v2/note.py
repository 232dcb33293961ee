"""Notes: one line that a person or an agent pins to a thread."""

from __future__ import annotations

from threadloom_protocol.model import Params, Recorded, Result
from threadloom_protocol.spec import ClientRequest, Origin, ServerNotification


class ThreadSetNoteParams(Params):
    """Set the note of a thread; blank clears it. At most 500 characters. The model never sees it."""

    thread_id: str
    note: str


class ThreadSetNoteResponse(Result):
    """The note as it is kept: trimmed, or null if there is none."""

    note: str | None


class ThreadNoteUpdatedNotification(Recorded):
    """The note of a thread changed. Goes to every connection."""

    thread_id: str
    note: str | None


SET = ClientRequest("thread/note/set", ThreadSetNoteParams, ThreadSetNoteResponse, origin=Origin.OURS)
UPDATED = ServerNotification("thread/note/updated", ThreadNoteUpdatedNotification, origin=Origin.OURS)
