"""`get_goal`, `create_goal`, `update_goal`: the model reads what its thread is after, and says when that is reached."""

from __future__ import annotations

from typing import Any, Final, Literal

import orjson

from threadloom.agent.base import Goals, Tool, ToolResult, TurnInput
from threadloom.agent.sampling import Item, ToolCall
from threadloom.agent.tools.base import parsed, refused
from threadloom.agent.tools.spec import function, text
from threadloom_protocol.model import Snake

_REPORT: Final = "The goal is reached: tell the person so, and what it has taken, in tokens and in time."
_NONE: Final = "This thread cannot have a goal."


class Create(Snake):
    """A new goal."""

    objective: str
    token_budget: int | None = None


class Update(Snake):
    """How the goal stands."""

    status: Literal["complete", "blocked", "paused"]


class GetGoal:
    """Reads the goal."""

    name = "get_goal"

    def spec(self) -> Item:
        """As the model is told of it."""
        return _GET

    async def run(self, turn: TurnInput, call: ToolCall) -> ToolResult:
        """The goal as it stands."""
        return refused(_NONE) if turn.goals is None else _told(turn.goals.read())


class CreateGoal:
    """Sets a goal where there is none."""

    name = "create_goal"

    def spec(self) -> Item:
        """As the model is told of it."""
        return _CREATE

    async def run(self, turn: TurnInput, call: ToolCall) -> ToolResult:
        """Set it."""
        wanted = parsed(Create, call)
        if isinstance(wanted, ToolResult) or turn.goals is None:
            return wanted if isinstance(wanted, ToolResult) else refused(_NONE)
        return _tried(turn.goals, lambda goals: goals.create(wanted.objective, wanted.token_budget))


class UpdateGoal:
    """Ends the goal, or lets it rest."""

    name = "update_goal"

    def spec(self) -> Item:
        """As the model is told of it."""
        return _UPDATE

    async def run(self, turn: TurnInput, call: ToolCall) -> ToolResult:
        """Change how it stands."""
        wanted = parsed(Update, call)
        if isinstance(wanted, ToolResult) or turn.goals is None:
            return wanted if isinstance(wanted, ToolResult) else refused(_NONE)
        return _tried(turn.goals, lambda goals: goals.update(wanted.status))


def goal_tools() -> list[Tool]:
    """All three."""
    return [GetGoal(), CreateGoal(), UpdateGoal()]


def _tried(goals: Goals, change: Any) -> ToolResult:
    try:
        return _told(change(goals))
    except ValueError as fault:
        return refused(str(fault))


def _told(goal: Item | None) -> ToolResult:
    budget = goal["tokenBudget"] if goal else None
    answer = {
        "goal": goal,
        "remainingTokens": None if goal is None or budget is None else max(0, budget - goal["tokensUsed"]),
        "completionBudgetReport": _REPORT if goal and goal["status"] == "complete" else None,
    }
    return ToolResult(orjson.dumps(answer).decode())


_GET: Final = function(
    "get_goal", "Read the goal of this thread: how it stands, and what it has taken of its tokens and time.", {}
)
_CREATE: Final = function(
    "create_goal",
    "Give this thread a goal, where you were told to in so many words: an ordinary task is none. It fails while there "
    "is one that is not complete.",
    {
        "objective": text("What is to be reached, in full."),
        "token_budget": {
            "type": "integer",
            "description": "Tokens that it may take. Only where a budget was asked for.",
        },
    },
    "objective",
)
_UPDATE: Final = function(
    "update_goal",
    "Say how the goal of this thread stands. `complete`: every part of it is done, and you have seen that for "
    "yourself. `blocked`: the same obstacle has kept you from any progress for three turns in a row, and only the "
    "person can remove it; that it is hard, slow or unclear is none. `paused`: the person asked you to let it rest.",
    {"status": {"type": "string", "enum": ["complete", "blocked", "paused"], "description": "How it stands."}},
    "status",
)
