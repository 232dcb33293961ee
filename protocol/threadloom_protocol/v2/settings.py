"""The settings that later turns of a thread start from."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from threadloom_protocol.model import EXPERIMENTAL, Params, Recorded, Result, Value
from threadloom_protocol.spec import ClientRequest, ServerNotification
from threadloom_protocol.v2.values.common import (
    CollaborationMode,
    MultiAgentMode,
    Personality,
    ReasoningEffort,
    ReasoningSummary,
)
from threadloom_protocol.v2.values.policy import (
    ActivePermissionProfile,
    ApprovalsReviewer,
    AskForApproval,
    SandboxPolicy,
)


class ThreadSettingsUpdateParams(Params):
    """Change what later turns of a thread start from.

    What is left out stays; null for `serviceTier` takes it back to the default.
    """

    thread_id: str
    disabled_plugin_ids: list[str] | None = None
    cwd: str | None = None
    approval_policy: AskForApproval | None = None
    approvals_reviewer: ApprovalsReviewer | None = None
    sandbox_policy: SandboxPolicy | None = None
    permissions: str | None = None
    model: str | None = None
    service_tier: str | None = None
    effort: ReasoningEffort | None = None
    summary: ReasoningSummary | None = None
    collaboration_mode: CollaborationMode | None = None
    multi_agent_mode: MultiAgentMode | None = None
    personality: Personality | None = None


class ThreadSettingsUpdateResponse(Result):
    """Taken; `thread/settings/updated` has the result."""


class ThreadSettings(Value):
    """What the next turn starts from."""

    disabled_plugin_ids: list[str] = Field(default_factory=list)
    cwd: str
    approval_policy: AskForApproval
    approvals_reviewer: ApprovalsReviewer
    sandbox_policy: SandboxPolicy
    active_permission_profile: ActivePermissionProfile | None = None
    model: str
    model_provider: str
    service_tier: str | None = None
    effort: ReasoningEffort | None = None
    summary: ReasoningSummary | None = None
    collaboration_mode: CollaborationMode
    multi_agent_mode: Annotated[MultiAgentMode, EXPERIMENTAL] = "explicitRequestOnly"
    personality: Personality | None = None


class ThreadSettingsUpdatedNotification(Recorded):
    """Later turns start from these settings."""

    thread_id: str
    thread_settings: ThreadSettings


UPDATE = ClientRequest(
    "thread/settings/update",
    ThreadSettingsUpdateParams,
    ThreadSettingsUpdateResponse,
    experimental=True,
)
UPDATED = ServerNotification("thread/settings/updated", ThreadSettingsUpdatedNotification)
