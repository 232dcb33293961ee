"""Who decides what may be done: a person through any client, or a reviewing model in their place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Literal, NamedTuple

from threadloom.agent.base import TurnInput
from threadloom.agent.floor import Action, Question
from threadloom.agent.sampling import ToolCall
from threadloom_protocol.v2.approval import ApplyNetworkPolicyAmendmentCommandExecutionApprovalDecision

Decision = Literal["accept", "acceptForSession", "decline", "cancel"]

DECLINED: Final = "The user said no to this. Do not try it again in another way; ask what to do instead."
CANCELLED: Final = "The user said no to this and ended the turn."


class Reviewed(NamedTuple):
    """What a model decided in a person's place; `refusal` is what the agent is told where that is a no."""

    approved: bool
    refusal: str = ""


Review = Callable[[TurnInput, Question, Action], Awaitable[Reviewed]]


class Decided(NamedTuple):
    """What was decided; `asked` where the item of the question is in the thread already."""

    decision: Decision
    asked: bool
    why_not: str = DECLINED

    @property
    def yes(self) -> bool:
        """Whether it may be done."""
        return self.decision in ("accept", "acceptForSession")

    @property
    def cancelled(self) -> bool:
        """Whether the turn ends with it."""
        return self.decision == "cancel"

    @property
    def refusal(self) -> str:
        """What the agent is told where it may not be done."""
        return CANCELLED if self.cancelled else self.why_not


async def decide(
    turn: TurnInput, call: ToolCall, question: Question, keys: Sequence[str], review: Review | None
) -> Decided:
    """Have it decided, unless it was for the rest of the thread."""
    floor, settings = turn.floor, turn.settings
    assert floor is not None
    assert settings is not None
    asked = floor.asked(call)
    if floor.allows(keys) and not asked:
        return Decided("accept", asked=False)
    if settings.approvals_reviewer != "user" and review is not None and question.action is not None and not asked:
        if question.started is not None:
            floor.emit(question.started)
        found = await review(turn, question, question.action)
        return Decided("accept" if found.approved else "decline", asked=True, why_not=found.refusal)
    decision = _plain((await floor.ask(call, question)).decision)
    if decision == "acceptForSession":
        floor.allow(keys)
    return Decided(decision, asked=True)


def _plain(decision: Any) -> Decision:
    """Rules that an answer adds are not kept here: it counts for this once, as a yes unless the rule keeps out."""
    if isinstance(decision, ApplyNetworkPolicyAmendmentCommandExecutionApprovalDecision):
        rule = decision.apply_network_policy_amendment.network_policy_amendment
        return "accept" if rule.action == "allow" else "decline"
    return decision if isinstance(decision, str) else "accept"  # type: ignore[return-value]
