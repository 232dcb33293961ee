"""What the stream of events says about itself: things in the background, gaps, answers that came too late."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypeAliasType

from threadloom_protocol.model import Event, Maybe, Recorded, UInt
from threadloom_protocol.spec import Origin, ServerNotification

BackgroundLevel = TypeAliasType("BackgroundLevel", Literal["info", "warning", "error"])

RejectedReason = TypeAliasType("RejectedReason", Literal["alreadyResolved", "unknown", "invalid"])


class BackgroundEventNotification(Recorded):
    """Something happened beside the conversation. `isFinal`: a child came to rest, which is worth a notification.

    `threadId` is null where it is about no thread: how far an index is that is being made, and, final, that it is done.
    """

    thread_id: str | None
    message: str
    is_final: bool
    level: BackgroundLevel
    child_thread_id: Maybe[str] = None


class ThreadGapNotification(Event):
    """This connection was too slow: it missed the events from `fromSeq` to `toSeq`. `thread/resume` brings them."""

    thread_id: str
    from_seq: UInt
    to_seq: UInt


class ServerRequestRejectedNotification(Event):
    """An answer of this connection was not used: another one came first, nothing of that id was asked, or it does not
    fit what was asked. `threadId` is null where no thread is known to have asked."""

    thread_id: str | None
    request_id: str | int
    reason: RejectedReason


BACKGROUND = ServerNotification("backgroundEvent", BackgroundEventNotification, origin=Origin.OURS)
GAP = ServerNotification("thread/gap", ThreadGapNotification, origin=Origin.OURS)
REJECTED = ServerNotification("serverRequest/rejected", ServerRequestRejectedNotification, origin=Origin.OURS)
