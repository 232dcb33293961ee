"""What an agent may do unasked, and who is asked."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from threadloom_protocol.model import Snake, Value

# Who is asked: the person, or a model in their place.
ApprovalsReviewer = TypeAliasType("ApprovalsReviewer", Literal["user", "auto_review", "guardian_subagent"])


class GranularApproval(Snake):
    """Which kinds of questions reach a person; the others are refused."""

    sandbox_approval: bool
    rules: bool
    skill_approval: bool = False
    request_permissions: bool = False
    mcp_elicitations: bool


class GranularAskForApproval(Value):
    """Ask about some things and refuse the others."""

    granular: GranularApproval


# When to ask: for all but known-safe commands, when the agent wants out of its fence, never.
AskForApproval = TypeAliasType("AskForApproval", Literal["untrusted", "on-request", "never"] | GranularAskForApproval)


SandboxMode = TypeAliasType("SandboxMode", Literal["read-only", "workspace-write", "danger-full-access"])


class ActivePermissionProfile(Value):
    """The set of permissions in force."""

    id: str
    extends: str | None = None


class DangerFullAccessSandboxPolicy(Value):
    """No fence."""

    type: Literal["dangerFullAccess"] = "dangerFullAccess"


class ReadOnlySandboxPolicy(Value):
    """Read everything, write nothing."""

    type: Literal["readOnly"] = "readOnly"
    network_access: bool = False


NetworkAccess = TypeAliasType("NetworkAccess", Literal["restricted", "enabled"])


class ExternalSandboxSandboxPolicy(Value):
    """Fenced in by somebody else."""

    type: Literal["externalSandbox"] = "externalSandbox"
    network_access: NetworkAccess = "restricted"


class WorkspaceWriteSandboxPolicy(Value):
    """Write in the working directory, the extra roots and temporary files."""

    type: Literal["workspaceWrite"] = "workspaceWrite"
    network_access: bool = False
    writable_roots: list[str] = Field(default_factory=list)
    exclude_tmpdir_env_var: bool = False
    exclude_slash_tmp: bool = False


SandboxPolicy = TypeAliasType(
    "SandboxPolicy",
    Annotated[
        DangerFullAccessSandboxPolicy
        | ReadOnlySandboxPolicy
        | ExternalSandboxSandboxPolicy
        | WorkspaceWriteSandboxPolicy,
        Field(discriminator="type"),
    ],
)
