"""The steps of the fold: what each recorded event changes in a thread. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from threadloom.threads.opened import OpenTurn
from threadloom.threads.resting import Left, close_id
from threadloom_protocol.model import Recorded
from threadloom_protocol.v2.goal import ThreadGoalClearedNotification, ThreadGoalUpdatedNotification
from threadloom_protocol.v2.item import (
    AgentMessageDeltaNotification,
    CommandExecutionOutputDeltaNotification,
    ItemCompletedNotification,
    ItemStartedNotification,
    PlanDeltaNotification,
    ReasoningSummaryPartAddedNotification,
    ReasoningSummaryTextDeltaNotification,
    ReasoningTextDeltaNotification,
)
from threadloom_protocol.v2.note import ThreadNoteUpdatedNotification
from threadloom_protocol.v2.roster import (
    ThreadArchivedNotification,
    ThreadClosedNotification,
    ThreadNameUpdatedNotification,
    ThreadStatusChangedNotification,
    ThreadUnarchivedNotification,
)
from threadloom_protocol.v2.settings import ThreadSettingsUpdatedNotification
from threadloom_protocol.v2.thread import ThreadStartedNotification
from threadloom_protocol.v2.turn import (
    ThreadTokenUsageUpdatedNotification,
    TurnCompletedNotification,
    TurnStartedNotification,
)
from threadloom_protocol.v2.values.items import CommandExecutionThreadItem, UserMessageThreadItem

if TYPE_CHECKING:
    from threadloom.threads.state import ThreadState

PREVIEW: Final = 240  # characters of the first message that lists show
MAX_KNOWN: Final = 1000  # client message ids remembered per thread: a client that sends again does so soon

Step = Callable[["ThreadState", Any, int], None]  # the event, and when it was told: in milliseconds


def _started(state: ThreadState, event: ThreadStartedNotification, at: int) -> None:
    state.rest.thread = event.thread.model_copy()


def _status(state: ThreadState, event: ThreadStatusChangedNotification, at: int) -> None:
    state.rest.thread.status = event.status
    if event.status.type != "notLoaded":
        state.rest.closed, state.rest.closed_by = False, None


def _named(state: ThreadState, event: ThreadNameUpdatedNotification, at: int) -> None:
    state.rest.thread.name = event.thread_name


def _noted(state: ThreadState, event: ThreadNoteUpdatedNotification, at: int) -> None:
    state.rest.thread.note = event.note


def _archived(state: ThreadState, event: ThreadArchivedNotification, at: int) -> None:
    state.rest.archived_by, state.rest.archiving = state.rest.thread.id, None


def _unarchived(state: ThreadState, event: ThreadUnarchivedNotification, at: int) -> None:
    state.rest.archived_by = None


def _closed(state: ThreadState, event: ThreadClosedNotification, at: int) -> None:
    if event.reason == "closed":
        state.rest.own_close = state.rest.own_close if state.rest.closing else None  # one from further up took it
        state.rest.closed, state.rest.closed_by, state.rest.closing = True, event.by, False
        state.rest.last_end = close_id(state.rest.seq)


def _settled(state: ThreadState, event: ThreadSettingsUpdatedNotification, at: int) -> None:
    settings = event.thread_settings
    state.rest.settings = settings
    state.rest.thread.cwd = settings.cwd
    state.rest.thread.model = settings.model
    state.rest.thread.model_provider = settings.model_provider
    state.rest.thread.reasoning_effort = settings.effort


def _turn_started(state: ThreadState, event: TurnStartedNotification, at: int) -> None:
    state.turn = OpenTurn(event.turn)
    state.rest.thread.updated_at = state.rest.thread.recency_at = at // 1000


def _turn_completed(state: ThreadState, event: TurnCompletedNotification, at: int) -> None:
    _leave(state)
    state.rest.give_back()
    state.turn, state.last = None, event.turn
    state.rest.pending = {}
    state.rest.last_turn = event.turn.status
    state.rest.last_end = event.turn.id
    state.rest.took = event.turn.duration_ms or 0
    state.rest.thread.updated_at = at // 1000


def _leave(state: ThreadState) -> None:
    """What an ended turn leaves running: other items were completed with it."""
    turn = state.turn
    for it in turn.open_items() if turn is not None else ():
        if isinstance(it, CommandExecutionThreadItem) and it.status == "inProgress" and turn is not None:
            as_begun = it.model_copy(update={"aggregated_output": None})
            state.rest.left[it.id] = Left(turn_id=turn.turn.id, item=as_begun)


def _item_started(state: ThreadState, event: ItemStartedNotification, at: int) -> None:
    if state.turn is not None:
        state.turn.start(event.item)


def _item_completed(state: ThreadState, event: ItemCompletedNotification, at: int) -> None:
    state.rest.left.pop(event.item.id, None)
    if state.turn is not None and state.turn.turn.id == event.turn_id:
        state.turn.complete(event.item)
    if isinstance(event.item, UserMessageThreadItem):
        _user_said(state, event)


def _user_said(state: ThreadState, event: ItemCompletedNotification) -> None:
    item = event.item
    assert isinstance(item, UserMessageThreadItem)
    state.rest.confirm(item)
    if item.client_id is not None:
        state.rest.known[item.client_id] = event.turn_id
        while len(state.rest.known) > MAX_KNOWN:
            state.rest.known.pop(next(iter(state.rest.known)))
    if not state.rest.thread.preview:
        text = " ".join(part.text for part in item.content if part.type == "text")
        state.rest.thread.preview = text.strip()[:PREVIEW]


def _goal_updated(state: ThreadState, event: ThreadGoalUpdatedNotification, at: int) -> None:
    state.rest.goal = event.goal


def _goal_cleared(state: ThreadState, event: ThreadGoalClearedNotification, at: int) -> None:
    state.rest.goal, state.rest.goal_ms = None, 0


def _usage(state: ThreadState, event: ThreadTokenUsageUpdatedNotification, at: int) -> None:
    state.rest.usage, state.rest.usage_turn = event.token_usage, event.turn_id


def _piece(member: str, place: str | None = None) -> Step:
    def step(state: ThreadState, event: Any, at: int) -> None:
        if state.turn is not None:
            index = -1 if place is None else getattr(event, place)
            state.turn.add(event.item_id, member, index, getattr(event, "delta", ""))

    return step


STEPS: Final[dict[type[Recorded], Step]] = {
    ThreadStartedNotification: _started,
    ThreadStatusChangedNotification: _status,
    ThreadNameUpdatedNotification: _named,
    ThreadNoteUpdatedNotification: _noted,
    ThreadArchivedNotification: _archived,
    ThreadUnarchivedNotification: _unarchived,
    ThreadClosedNotification: _closed,
    ThreadSettingsUpdatedNotification: _settled,
    TurnStartedNotification: _turn_started,
    TurnCompletedNotification: _turn_completed,
    ItemStartedNotification: _item_started,
    ItemCompletedNotification: _item_completed,
    ThreadTokenUsageUpdatedNotification: _usage,
    ThreadGoalUpdatedNotification: _goal_updated,
    ThreadGoalClearedNotification: _goal_cleared,
    AgentMessageDeltaNotification: _piece("text"),
    PlanDeltaNotification: _piece("text"),
    CommandExecutionOutputDeltaNotification: _piece("aggregated_output"),
    ReasoningSummaryTextDeltaNotification: _piece("summary", "summary_index"),
    ReasoningSummaryPartAddedNotification: _piece("summary", "summary_index"),
    ReasoningTextDeltaNotification: _piece("content", "content_index"),
}
