"""The verdict of a reviewing model, and what it judged."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from threadloom_protocol.model import UInt16, Value
from threadloom_protocol.v2.values.permissions import NetworkApprovalProtocol, RequestPermissionProfile

GuardianApprovalReviewStatus = TypeAliasType(
    "GuardianApprovalReviewStatus", Literal["inProgress", "approved", "denied", "timedOut", "aborted"]
)


GuardianRiskLevel = TypeAliasType("GuardianRiskLevel", Literal["low", "medium", "high", "critical"])


GuardianUserAuthorization = TypeAliasType("GuardianUserAuthorization", Literal["unknown", "low", "medium", "high"])


class GuardianApprovalReview(Value):
    """How a review stands."""

    status: GuardianApprovalReviewStatus
    risk_level: GuardianRiskLevel | None = None
    user_authorization: GuardianUserAuthorization | None = None
    rationale: str | None = None


GuardianCommandSource = TypeAliasType("GuardianCommandSource", Literal["shell", "unifiedExec"])


class CommandGuardianApprovalReviewAction(Value):
    """A command line."""

    type: Literal["command"] = "command"
    source: GuardianCommandSource
    command: str
    cwd: str


class ExecveGuardianApprovalReviewAction(Value):
    """A program and its arguments."""

    type: Literal["execve"] = "execve"
    source: GuardianCommandSource
    cwd: str
    program: str
    argv: list[str]


class WriteStdinGuardianApprovalReviewAction(Value):
    """Input to a running command."""

    type: Literal["writeStdin"] = "writeStdin"
    cwd: str
    approval_id: str
    process_id: str
    stdin: str


class ApplyPatchGuardianApprovalReviewAction(Value):
    """Changes to files."""

    type: Literal["applyPatch"] = "applyPatch"
    cwd: str
    files: list[str]


class NetworkAccessGuardianApprovalReviewAction(Value):
    """A connection to a host."""

    type: Literal["networkAccess"] = "networkAccess"
    target: str
    host: str
    protocol: NetworkApprovalProtocol
    port: UInt16


class McpToolCallGuardianApprovalReviewAction(Value):
    """A call to an MCP tool."""

    type: Literal["mcpToolCall"] = "mcpToolCall"
    server: str
    tool_name: str
    connector_id: str | None = None
    connector_name: str | None = None
    tool_title: str | None = None


class RequestPermissionsGuardianApprovalReviewAction(Value):
    """Permissions asked for."""

    type: Literal["requestPermissions"] = "requestPermissions"
    reason: str | None = None
    permissions: RequestPermissionProfile


GuardianApprovalReviewAction = TypeAliasType(
    "GuardianApprovalReviewAction",
    Annotated[
        CommandGuardianApprovalReviewAction
        | ExecveGuardianApprovalReviewAction
        | WriteStdinGuardianApprovalReviewAction
        | ApplyPatchGuardianApprovalReviewAction
        | NetworkAccessGuardianApprovalReviewAction
        | McpToolCallGuardianApprovalReviewAction
        | RequestPermissionsGuardianApprovalReviewAction,
        Field(discriminator="type"),
    ],
)


AutoReviewDecisionSource = TypeAliasType("AutoReviewDecisionSource", Literal["agent"])
