"""Approvals: what the agent may not do before somebody said yes."""

from __future__ import annotations

from typing import Annotated, Literal

from typing_extensions import TypeAliasType

from threadloom_protocol.model import EXPERIMENTAL, Maybe, Params, Recorded, Result, Snake, Value
from threadloom_protocol.spec import ServerNotification, ServerRequest
from threadloom_protocol.v2.values.item_parts import CommandAction
from threadloom_protocol.v2.values.permissions import AdditionalPermissionProfile, NetworkApprovalProtocol


class ExecpolicyAcceptance(Snake):
    """The beginning of a command line that needs no approval from now on."""

    execpolicy_amendment: list[str]


class AcceptWithExecpolicyAmendmentCommandExecutionApprovalDecision(Value):
    """Yes, and to commands like it too."""

    accept_with_execpolicy_amendment: ExecpolicyAcceptance


NetworkPolicyRuleAction = TypeAliasType("NetworkPolicyRuleAction", Literal["allow", "deny"])


class NetworkPolicyAmendment(Value):
    """A host that is let through or kept out from now on."""

    host: str
    action: NetworkPolicyRuleAction


class NetworkPolicyAcceptance(Snake):
    """The rule to be added."""

    network_policy_amendment: NetworkPolicyAmendment


class ApplyNetworkPolicyAmendmentCommandExecutionApprovalDecision(Value):
    """Decide for the host, now and later."""

    apply_network_policy_amendment: NetworkPolicyAcceptance


CommandExecutionApprovalDecision = TypeAliasType(
    "CommandExecutionApprovalDecision",
    Literal["accept", "acceptForSession", "decline", "cancel"]
    | AcceptWithExecpolicyAmendmentCommandExecutionApprovalDecision
    | ApplyNetworkPolicyAmendmentCommandExecutionApprovalDecision,
)


CommandExecutionApprovalKind = TypeAliasType("CommandExecutionApprovalKind", Literal["command", "writeStdin"])


class NetworkApprovalContext(Value):
    """The host that a command wants to reach."""

    host: str
    protocol: NetworkApprovalProtocol


class CommandExecutionRequestApprovalParams(Params):
    """May this command run?

    The first answer counts, whichever connection it comes from; `serverRequest/resolved` tells the others. The id
    stays the same over a reconnect and a restart. `origin` is the chain of threads that the question came up
    through, from the one that asks to its root. Offer only what `availableDecisions` has, if it is there.
    """

    kind: CommandExecutionApprovalKind = "command"
    thread_id: str
    turn_id: str
    item_id: str
    started_at_ms: int
    approval_id: str | None = None
    environment_id: str | None = None
    reason: str | None = None
    network_approval_context: NetworkApprovalContext | None = None
    command: str | None = None
    cwd: str | None = None
    command_actions: list[CommandAction] | None = None
    additional_permissions: Annotated[AdditionalPermissionProfile | None, EXPERIMENTAL] = None
    proposed_execpolicy_amendment: list[str] | None = None
    proposed_network_policy_amendments: list[NetworkPolicyAmendment] | None = None
    available_decisions: Annotated[list[CommandExecutionApprovalDecision] | None, EXPERIMENTAL] = None
    origin: Maybe[list[str]] = None


class CommandExecutionRequestApprovalResponse(Result):
    """The decision. `decline` lets the turn go on without the command, `cancel` ends the turn."""

    decision: CommandExecutionApprovalDecision


class FileChangeRequestApprovalParams(Params):
    """May these files be changed?

    The changes are in the item of that id. `grantRoot`, if it is there, would open that directory for the rest of
    the thread. `origin` is the chain of threads that the question came up through, from the one that asks to its
    root.
    """

    thread_id: str
    turn_id: str
    item_id: str
    started_at_ms: int
    reason: str | None = None
    grant_root: str | None = None
    origin: Maybe[list[str]] = None


FileChangeApprovalDecision = TypeAliasType(
    "FileChangeApprovalDecision", Literal["accept", "acceptForSession", "decline", "cancel"]
)


class FileChangeRequestApprovalResponse(Result):
    """The decision. `decline` lets the turn go on without the changes, `cancel` ends the turn."""

    decision: FileChangeApprovalDecision


RequestId = TypeAliasType("RequestId", str | int)


class ServerRequestResolvedNotification(Recorded):
    """A question was answered, or is no longer of interest; take it off the screen."""

    thread_id: str
    request_id: RequestId


COMMAND = ServerRequest(
    "item/commandExecution/requestApproval",
    CommandExecutionRequestApprovalParams,
    CommandExecutionRequestApprovalResponse,
)
FILE_CHANGE = ServerRequest(
    "item/fileChange/requestApproval", FileChangeRequestApprovalParams, FileChangeRequestApprovalResponse
)
RESOLVED = ServerNotification("serverRequest/resolved", ServerRequestResolvedNotification)
