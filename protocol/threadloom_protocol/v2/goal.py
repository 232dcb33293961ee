"""Goals: what a thread is after, over many turns."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypeAliasType

from threadloom_protocol.model import Params, Recorded, Result, Value
from threadloom_protocol.spec import ClientRequest, ServerNotification

ThreadGoalMutationOrigin = TypeAliasType("ThreadGoalMutationOrigin", Literal["user", "automatic"])


ThreadGoalStatus = TypeAliasType(
    "ThreadGoalStatus", Literal["active", "paused", "blocked", "usageLimited", "budgetLimited", "complete"]
)


class ThreadGoalSetParams(Params):
    """Set what a thread is after, or change the state or the budget of that. What is left out stays as it is.

    While a goal is `active`, turns follow one another by themselves, the first one after the answer to this. A turn
    that is interrupted is followed by none until somebody speaks; one that fails leaves the goal `blocked`.
    """

    thread_id: str
    origin: ThreadGoalMutationOrigin | None = None
    objective: str | None = None
    status: ThreadGoalStatus | None = None
    token_budget: int | None = None


class ThreadGoal(Value):
    """What a thread is after, and what that has taken so far."""

    thread_id: str
    objective: str
    status: ThreadGoalStatus
    token_budget: int | None = None
    tokens_used: int
    time_used_seconds: int
    created_at: int
    updated_at: int


class ThreadGoalSetResponse(Result):
    """The goal as it now stands."""

    goal: ThreadGoal


class ThreadGoalGetParams(Params):
    """Ask what a thread is after."""

    thread_id: str


class ThreadGoalGetResponse(Result):
    """The goal, or null."""

    goal: ThreadGoal | None = None


class ThreadGoalClearParams(Params):
    """Drop the goal of a thread."""

    thread_id: str
    origin: ThreadGoalMutationOrigin | None = None


class ThreadGoalClearResponse(Result):
    """Whether there was one."""

    cleared: bool


class ThreadGoalUpdatedNotification(Recorded):
    """The goal of a thread changed."""

    thread_id: str
    turn_id: str | None = None
    goal: ThreadGoal


class ThreadGoalClearedNotification(Recorded):
    """The goal of a thread is dropped."""

    thread_id: str


SET = ClientRequest("thread/goal/set", ThreadGoalSetParams, ThreadGoalSetResponse)
GET = ClientRequest("thread/goal/get", ThreadGoalGetParams, ThreadGoalGetResponse)
CLEAR = ClientRequest("thread/goal/clear", ThreadGoalClearParams, ThreadGoalClearResponse)
UPDATED = ServerNotification("thread/goal/updated", ThreadGoalUpdatedNotification)
CLEARED = ServerNotification("thread/goal/cleared", ThreadGoalClearedNotification)
