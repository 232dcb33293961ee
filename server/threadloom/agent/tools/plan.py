"""`update_plan`: the model writes down what it is about to do, for the person to follow."""

from __future__ import annotations

from typing import Final, Literal

from threadloom.agent.base import ToolResult, TurnInput
from threadloom.agent.sampling import Item, ToolCall
from threadloom.agent.tools.base import parsed, refused
from threadloom.agent.tools.spec import function, text, values
from threadloom.events import Emission
from threadloom_protocol.model import Snake
from threadloom_protocol.v2.turn import PLAN_UPDATED, TurnPlanStep, TurnPlanStepStatus, TurnPlanUpdatedNotification

_WIRE: Final[dict[str, TurnPlanStepStatus]] = {
    "pending": "pending",
    "in_progress": "inProgress",
    "completed": "completed",
}


class Step(Snake):
    """A step, and how it stands."""

    step: str
    status: Literal["pending", "in_progress", "completed"]


class Plan(Snake):
    """The whole plan, every time."""

    explanation: str | None = None
    plan: list[Step]


class UpdatePlan:
    """Shows the plan to the person; nothing else comes of it."""

    name = "update_plan"

    def spec(self) -> Item:
        """As the model is told of it."""
        return _SPEC

    async def run(self, turn: TurnInput, call: ToolCall) -> ToolResult:
        """Show it, unless two things are to be done at once."""
        plan = parsed(Plan, call)
        if isinstance(plan, ToolResult):
            return plan
        under_way = [step.step for step in plan.plan if step.status == "in_progress"]
        if len(under_way) > 1:
            return refused(f"At most one step can be in_progress; these are: {'; '.join(under_way)}.")
        return ToolResult("Plan updated", [Emission(PLAN_UPDATED, _event(turn, plan))])


def _event(turn: TurnInput, plan: Plan) -> TurnPlanUpdatedNotification:
    return TurnPlanUpdatedNotification(
        thread_id=turn.thread_id,
        turn_id=turn.turn_id,
        explanation=plan.explanation,
        plan=[TurnPlanStep(step=step.step, status=_WIRE[step.status]) for step in plan.plan],
    )


_STEP: Final = values(
    {
        "step": text("What is to be done, in a few words."),
        "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
    },
    "step",
    "status",
)
_SPEC: Final = function(
    "update_plan",
    "Write down the plan of your work and keep it current. Send the whole plan each time, as short steps in the order "
    "you will take them. At most one step is in_progress.",
    {
        "explanation": text("Why the plan is as it is, or what changed in it."),
        "plan": {"type": "array", "description": "The steps.", "items": _STEP},
    },
    "plan",
)
