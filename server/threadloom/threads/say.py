"""The thread's own events, made short."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from threadloom.events import Aside, Emission
from threadloom.threads.resting import Asked
from threadloom_protocol.v2 import approval, goal, history, item, note, queue, roster, stream, thread, turn
from threadloom_protocol.v2 import settings as room
from threadloom_protocol.v2.settings import ThreadSettings
from threadloom_protocol.v2.values.status import (
    ActiveThreadStatus,
    IdleThreadStatus,
    SystemErrorThreadStatus,
    ThreadActiveFlag,
)
from threadloom_protocol.v2.values.threads import Thread
from threadloom_protocol.v2.values.turns import Turn, TurnError


def started(view: Thread) -> Emission:
    """A thread is there."""
    return Emission(thread.STARTED, thread.ThreadStartedNotification(thread=view))


def active(thread_id: str, flags: Sequence[ThreadActiveFlag] = ()) -> Emission:
    """A turn runs, or waits for somebody."""
    return _status(thread_id, ActiveThreadStatus(active_flags=list(flags)))


def flags(pending: Iterable[Asked]) -> list[ThreadActiveFlag]:
    """What a turn waits for."""
    return sorted({it.flag for it in pending})


def resolved(thread_id: str, request_id: str, answer: Any) -> Emission:
    """A question has its answer, or needs none any more."""
    event = approval.ServerRequestResolvedNotification(thread_id=thread_id, request_id=request_id)
    return Emission(approval.RESOLVED, event, [{"@": "answered", "id": request_id, "answer": answer}])


def idle(thread_id: str) -> Emission:
    """Nothing runs."""
    return _status(thread_id, IdleThreadStatus())


def system_error(thread_id: str) -> Emission:
    """The last turn failed."""
    return _status(thread_id, SystemErrorThreadStatus())


def _status(thread_id: str, status: Any) -> Emission:
    return Emission(roster.STATUS_CHANGED, roster.ThreadStatusChangedNotification(thread_id=thread_id, status=status))


def settings(thread_id: str, new: ThreadSettings) -> Emission:
    """Later turns start from these."""
    event = room.ThreadSettingsUpdatedNotification(thread_id=thread_id, thread_settings=new)
    return Emission(room.UPDATED, event)


def turn_started(thread_id: str, turn_id: str, at: int) -> Emission:
    """A turn begins."""
    view = Turn(id=turn_id, items=[], status="inProgress", started_at=at // 1000, items_view="notLoaded")
    return Emission(turn.STARTED, turn.TurnStartedNotification(thread_id=thread_id, turn=view))


def turn_completed(thread_id: str, view: Turn) -> Emission:
    """A turn has ended."""
    return Emission(turn.COMPLETED, turn.TurnCompletedNotification(thread_id=thread_id, turn=view))


def error(thread_id: str, turn_id: str, fault: TurnError) -> Emission:
    """Why a turn failed."""
    event = turn.ErrorNotification(thread_id=thread_id, turn_id=turn_id, error=fault, will_retry=False)
    return Emission(turn.ERROR, event)


def whole_item(thread_id: str, turn_id: str, it: Any, at: int) -> tuple[Emission, Emission]:
    """An item that is done as it begins."""
    begun = it.model_copy(update={"started_at_ms": at})
    event = item.ItemStartedNotification(thread_id=thread_id, turn_id=turn_id, item=begun, started_at_ms=at)
    done = begun.model_copy(update={"completed_at_ms": at})
    return Emission(item.STARTED, event), item_completed(thread_id, turn_id, done, at)


def item_completed(thread_id: str, turn_id: str, it: Any, at: int) -> Emission:
    """An item is done."""
    event = item.ItemCompletedNotification(thread_id=thread_id, turn_id=turn_id, item=it, completed_at_ms=at)
    return Emission(item.COMPLETED, event)


def named(thread_id: str, name: str | None) -> Emission:
    """It has another name."""
    return Emission(roster.NAME_UPDATED, roster.ThreadNameUpdatedNotification(thread_id=thread_id, thread_name=name))


def noted(thread_id: str, text: str | None) -> Emission:
    """It has another note."""
    return Emission(note.UPDATED, note.ThreadNoteUpdatedNotification(thread_id=thread_id, note=text))


def archived(thread_id: str, operation: str) -> Emission:
    """It is put away; `operation` names what was put away with it."""
    event = roster.ThreadArchivedNotification(thread_id=thread_id)
    return Emission(roster.ARCHIVED, event, [{"@": "archive", "by": operation}])


def unarchived(thread_id: str) -> Emission:
    """It is back."""
    return Emission(roster.UNARCHIVED, roster.ThreadUnarchivedNotification(thread_id=thread_id))


def deleted(thread_id: str) -> Emission:
    """It is gone."""
    return Emission(roster.DELETED, roster.ThreadDeletedNotification(thread_id=thread_id))


def closed(thread_id: str, by: str, operation: str) -> Emission:
    """It has ended, and all it owned before it; `by` is the thread that the close was called on.

    `operation` names what was closed with it: a thread may be closed many times.
    """
    event = roster.ThreadClosedNotification(thread_id=thread_id, reason="closed", by=by)
    return Emission(roster.CLOSED, event, [{"@": "close", "by": operation}])


def unloaded(thread_id: str) -> Emission:
    """It left memory for want of use."""
    return Emission(roster.CLOSED, roster.ThreadClosedNotification(thread_id=thread_id, reason="unloaded"))


def reverted(thread_id: str, from_seq: int) -> Emission:
    """What came from a seq on is hidden."""

    event = history.ThreadRevertedNotification(thread_id=thread_id)
    return Emission(history.REVERTED, event, [{"@": "revert", "fromSeq": from_seq}])


def background(
    thread_id: str, text: str, level: Any = "info", *, final: bool = False, child: str | None = None
) -> Emission:
    """Something beside the conversation; `final`: a child came to rest."""
    event = stream.BackgroundEventNotification(
        thread_id=thread_id, message=text, is_final=final, level=level, child_thread_id=child
    )
    return Emission(stream.BACKGROUND, event)


def queue_changed(thread_id: str) -> Emission:
    """What waits for it is not what it was."""
    return Emission(queue.CHANGED, queue.ThreadQueueChangedNotification(thread_id=thread_id))


def reported(report_id: str) -> Aside:
    """Its owner has a report."""
    return Aside([{"@": "reported", "id": report_id}])


def goal_updated(new: goal.ThreadGoal, turn_id: str | None, ms: int) -> Emission:
    """Its goal is another, or stands otherwise; `ms` is the time that was spent on it, to the millisecond."""
    event = goal.ThreadGoalUpdatedNotification(thread_id=new.thread_id, turn_id=turn_id, goal=new)
    return Emission(goal.UPDATED, event, [{"@": "spent", "ms": ms}])


def goal_cleared(thread_id: str) -> Emission:
    """It has no goal any more."""
    return Emission(goal.CLEARED, goal.ThreadGoalClearedNotification(thread_id=thread_id))
