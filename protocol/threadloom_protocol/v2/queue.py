"""The queue of a thread: prompts and reports that wait for their turn, and how children report."""

from __future__ import annotations

from threadloom_protocol.model import Maybe, Params, Recorded, Result, UInt, Value
from threadloom_protocol.spec import ClientRequest, Origin, ServerNotification
from threadloom_protocol.v2.values.content import UserInput
from threadloom_protocol.v2.values.genealogy import CallbackConfig, ChildReport, QueueKind, QueueState
from threadloom_protocol.v2.values.turns import Turn


class ThreadQueueAddParams(Params):
    """Put a prompt at the end of the queue of a thread; it runs when its time has come, also after a restart.

    The same `clientUserMessageId` again gets the first answer again. At most 100 prompts wait at a time.
    """

    thread_id: str
    input: list[UserInput]
    client_user_message_id: str


class QueuedSubmission(Value):
    """Something that waits: a prompt, or the report of a child (which cannot be edited)."""

    id: str
    input: list[UserInput]
    client_user_message_id: str
    kind: QueueKind = "prompt"
    report: Maybe[ChildReport] = None


class ThreadQueueAddResponse(Result):
    """The entry."""

    queued_submission: QueuedSubmission


class ThreadQueueListParams(Params):
    """List what waits for a thread, in order."""

    thread_id: str
    cursor: str | None = None
    limit: UInt | None = None


class ThreadQueueListResponse(Result):
    """A page of entries."""

    data: list[QueuedSubmission]
    next_cursor: str | None = None


class ThreadQueueUpdateParams(Params):
    """Change the text of a prompt that waits."""

    thread_id: str
    queued_submission_id: str
    input: list[UserInput]


class ThreadQueueUpdateResponse(Result):
    """The entry as it now is."""

    queued_submission: QueuedSubmission


class ThreadQueueDeleteParams(Params):
    """Take an entry out."""

    thread_id: str
    queued_submission_id: str


class ThreadQueueDeleteResponse(Result):
    """Whether it was still there."""

    deleted: bool


class ThreadQueueReorderParams(Params):
    """Put the queue into this order. Names every entry once."""

    thread_id: str
    queued_submission_ids: list[str]


class ThreadQueueReorderResponse(Result):
    """Done."""


class ThreadQueueStartParams(Params):
    """Start a turn from an entry now, the first one unless another is named. Refused while a turn runs."""

    thread_id: str
    queued_submission_id: str | None = None


class ThreadQueueStartResponse(Result):
    """The turn."""

    turn: Turn


class ThreadQueueChangedNotification(Recorded):
    """The queue of a thread is not what it was; list it if it matters."""

    thread_id: str


class ThreadQueuePauseParams(Params):
    """Hold the queue of a thread: entries may come, none starts a turn until `thread/queue/resume`."""

    thread_id: str


class ThreadQueuePauseResponse(Result):
    """The queue as it stands now."""

    queue: QueueState


class ThreadQueueResumeParams(Params):
    """Let the queue of a thread run again, whoever or whatever paused it."""

    thread_id: str


class ThreadQueueResumeResponse(Result):
    """The queue as it stands now."""

    queue: QueueState


class ThreadCallbackSetParams(Params):
    """Decide whether and how a child reports to its parent when a turn of it ends. Holds from the next end on."""

    thread_id: str
    callback_config: CallbackConfig


class ThreadCallbackSetResponse(Result):
    """What holds from now on."""

    callback_config: CallbackConfig


ADD = ClientRequest("thread/queue/add", ThreadQueueAddParams, ThreadQueueAddResponse, experimental=True)
LIST = ClientRequest("thread/queue/list", ThreadQueueListParams, ThreadQueueListResponse, experimental=True)
UPDATE = ClientRequest("thread/queue/update", ThreadQueueUpdateParams, ThreadQueueUpdateResponse, experimental=True)
DELETE = ClientRequest("thread/queue/delete", ThreadQueueDeleteParams, ThreadQueueDeleteResponse, experimental=True)
REORDER = ClientRequest("thread/queue/reorder", ThreadQueueReorderParams, ThreadQueueReorderResponse, experimental=True)
START = ClientRequest("thread/queue/start", ThreadQueueStartParams, ThreadQueueStartResponse, experimental=True)
CHANGED = ServerNotification("thread/queue/changed", ThreadQueueChangedNotification)
PAUSE = ClientRequest("thread/queue/pause", ThreadQueuePauseParams, ThreadQueuePauseResponse, origin=Origin.OURS)
RESUME = ClientRequest("thread/queue/resume", ThreadQueueResumeParams, ThreadQueueResumeResponse, origin=Origin.OURS)
SET_CALLBACK = ClientRequest(
    "thread/callback/set", ThreadCallbackSetParams, ThreadCallbackSetResponse, origin=Origin.OURS
)
