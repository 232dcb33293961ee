"""Turns: one exchange inside a thread, from input to final message."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from typing_extensions import TypeAliasType

from threadloom_protocol.model import EXPERIMENTAL, Params, Recorded, Result, Value
from threadloom_protocol.spec import ClientRequest, ServerNotification
from threadloom_protocol.v2.values.common import (
    CollaborationMode,
    CyberAccessProgram,
    MultiAgentMode,
    Personality,
    ReasoningEffort,
    ReasoningSummary,
    TurnEnvironmentParams,
)
from threadloom_protocol.v2.values.content import FunctionCallOutputBody, UserInput
from threadloom_protocol.v2.values.policy import ApprovalsReviewer, AskForApproval, SandboxPolicy
from threadloom_protocol.v2.values.turns import Turn, TurnError

AdditionalContextKind = TypeAliasType("AdditionalContextKind", Literal["untrusted", "application"])


class AdditionalContextEntry(Value):
    """Something the model should know that the person did not say."""

    value: str
    kind: AdditionalContextKind
    name: str | None = None


class TurnToolOutput(Value):
    """The result of a tool, given to the model as input."""

    name: str
    namespace: str | None = None
    output: FunctionCallOutputBody
    retain: bool = False


class TurnStartParams(Params):
    """Say something, and have it answered. Settings in it hold for this turn and later ones.

    On a busy thread the input joins the running turn, whose id is returned. The same `clientUserMessageId` again
    gets the first answer again. `outputSchema` is a JSON Schema for the final message of this turn alone.
    """

    thread_id: str
    disabled_plugin_ids: list[str] | None = None
    client_user_message_id: str | None = None
    input: list[UserInput]
    turn_trigger: str | None = None
    parent_turn_id: str | None = None
    root_turn_id: str | None = None
    tool_output: TurnToolOutput | None = None
    responsesapi_client_metadata: Annotated[dict[str, str] | None, EXPERIMENTAL] = None
    responsesapi_client_metadata_patch: Annotated[dict[str, str] | None, EXPERIMENTAL] = None
    additional_context: Annotated[dict[str, AdditionalContextEntry] | None, EXPERIMENTAL] = None
    environments: Annotated[list[TurnEnvironmentParams] | None, EXPERIMENTAL] = None
    cwd: str | None = None
    runtime_workspace_roots: Annotated[list[str] | None, EXPERIMENTAL] = None
    approval_policy: AskForApproval | None = None
    approvals_reviewer: ApprovalsReviewer | None = None
    sandbox_policy: SandboxPolicy | None = None
    permissions: Annotated[str | None, EXPERIMENTAL] = None
    model: str | None = None
    service_tier: str | None = None
    service_tier_for_turn: str | None = None
    effort: ReasoningEffort | None = None
    summary: ReasoningSummary | None = None
    personality: Personality | None = None
    output_schema: Any = None
    collaboration_mode: Annotated[CollaborationMode | None, EXPERIMENTAL] = None
    multi_agent_mode: Annotated[MultiAgentMode | None, EXPERIMENTAL] = None
    cyber_access_program: Annotated[CyberAccessProgram | None, EXPERIMENTAL] = None


class TurnStartResponse(Result):
    """The turn, in progress."""

    turn: Turn


class TurnSteerParams(Params):
    """Add input to the running turn; refused if that is not the expected one."""

    thread_id: str
    client_user_message_id: str | None = None
    input: list[UserInput]
    responsesapi_client_metadata: Annotated[dict[str, str] | None, EXPERIMENTAL] = None
    responsesapi_client_metadata_patch: Annotated[dict[str, str] | None, EXPERIMENTAL] = None
    additional_context: Annotated[dict[str, AdditionalContextEntry] | None, EXPERIMENTAL] = None
    expected_turn_id: str


class TurnSteerResponse(Result):
    """The turn that took it."""

    turn_id: str


class TurnInterruptParams(Params):
    """End the running turn; what it has said so far stays.

    The agents that the thread owns go on, unless `cascade` ends their turns too. Sub-sessions always end with it.
    """

    thread_id: str
    turn_id: str
    cascade: bool = False


class TurnInterruptResponse(Result):
    """It is ended."""


class TurnStartedNotification(Recorded):
    """A turn began."""

    thread_id: str
    turn: Turn


class TurnCompletedNotification(Recorded):
    """A turn ended: completed, interrupted or failed. Nothing of it follows."""

    thread_id: str
    turn: Turn


class TurnDiffUpdatedNotification(Recorded):
    """All that this turn changed in files, as one unified diff."""

    thread_id: str
    turn_id: str
    diff: str


TurnPlanStepStatus = TypeAliasType("TurnPlanStepStatus", Literal["pending", "inProgress", "completed"])


class TurnPlanStep(Value):
    """A step of a plan."""

    step: str
    status: TurnPlanStepStatus


class TurnPlanUpdatedNotification(Recorded):
    """The agent wrote down its plan, or moved on in it."""

    thread_id: str
    turn_id: str
    explanation: str | None = None
    plan: list[TurnPlanStep]


class TokenUsageBreakdown(Value):
    """Tokens, by what they were used for."""

    total_tokens: int
    input_tokens: int
    cached_input_tokens: int
    cache_write_input_tokens: int = 0
    output_tokens: int
    reasoning_output_tokens: int


class ThreadTokenUsage(Value):
    """The last call to the model, and all of them."""

    total: TokenUsageBreakdown
    last: TokenUsageBreakdown
    model_context_window: int | None = None


class ThreadTokenUsageUpdatedNotification(Recorded):
    """What a thread has used so far."""

    thread_id: str
    turn_id: str
    token_usage: ThreadTokenUsage


class ErrorNotification(Recorded):
    """A call to the model failed. With `willRetry` the turn goes on, else it ends."""

    error: TurnError
    will_retry: bool
    thread_id: str
    turn_id: str


START = ClientRequest("turn/start", TurnStartParams, TurnStartResponse)
STEER = ClientRequest("turn/steer", TurnSteerParams, TurnSteerResponse)
INTERRUPT = ClientRequest("turn/interrupt", TurnInterruptParams, TurnInterruptResponse)
STARTED = ServerNotification("turn/started", TurnStartedNotification)
COMPLETED = ServerNotification("turn/completed", TurnCompletedNotification)
DIFF_UPDATED = ServerNotification("turn/diff/updated", TurnDiffUpdatedNotification)
PLAN_UPDATED = ServerNotification("turn/plan/updated", TurnPlanUpdatedNotification)
TOKEN_USAGE_UPDATED = ServerNotification("thread/tokenUsage/updated", ThreadTokenUsageUpdatedNotification)
ERROR = ServerNotification("error", ErrorNotification)
