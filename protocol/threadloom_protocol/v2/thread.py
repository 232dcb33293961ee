"""Threads: begun, continued, forked, read."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from threadloom_protocol.model import EXPERIMENTAL, Maybe, Params, Recorded, Result, UInt, Value
from threadloom_protocol.spec import ClientRequest, ServerNotification
from threadloom_protocol.v2.values.common import (
    CollaborationMode,
    MultiAgentMode,
    Personality,
    ReasoningEffort,
    SortDirection,
    TurnEnvironmentParams,
)
from threadloom_protocol.v2.values.policy import (
    ActivePermissionProfile,
    ApprovalsReviewer,
    AskForApproval,
    SandboxMode,
    SandboxPolicy,
)
from threadloom_protocol.v2.values.threads import Thread, ThreadHistoryMode, ThreadReadState
from threadloom_protocol.v2.values.tools import DynamicToolSpec, SelectedCapabilityRoot
from threadloom_protocol.v2.values.turns import TurnItemsView, TurnsPage

# Whether a thread begins afresh or after a clearing.
ThreadStartSource = TypeAliasType("ThreadStartSource", Literal["startup", "clear"])


class ThreadAndSettings(Result):
    """A thread, and the settings that hold for its next turn."""

    thread: Thread
    model: str
    model_provider: str
    service_tier: str | None = None
    disabled_plugin_ids: list[str] = Field(default_factory=list)
    cwd: str
    runtime_workspace_roots: Annotated[list[str], EXPERIMENTAL] = Field(default_factory=list)
    instruction_sources: list[str] = Field(default_factory=list)
    approval_policy: AskForApproval
    approvals_reviewer: ApprovalsReviewer
    sandbox: SandboxPolicy
    active_permission_profile: Annotated[ActivePermissionProfile | None, EXPERIMENTAL] = None
    reasoning_effort: ReasoningEffort | None = None


class ThreadStartParams(Params):
    """Begin a thread. What is left out comes from the configuration of its directory.

    The connection is subscribed to it and to every thread it will own. An `ephemeral` thread leaves nothing on disk.
    `config` overrides keys of the configuration for this thread alone.
    """

    model: str | None = None
    model_provider: str | None = None
    allow_provider_model_fallback: Annotated[bool, EXPERIMENTAL] = False
    service_tier: str | None = None
    cwd: str | None = None
    runtime_workspace_roots: Annotated[list[str] | None, EXPERIMENTAL] = None
    approval_policy: AskForApproval | None = None
    approvals_reviewer: ApprovalsReviewer | None = None
    sandbox: SandboxMode | None = None
    permissions: Annotated[str | None, EXPERIMENTAL] = None
    config: dict[str, Any] | None = None
    service_name: str | None = None
    base_instructions: str | None = None
    developer_instructions: str | None = None
    personality: Personality | None = None
    multi_agent_mode: Annotated[MultiAgentMode | None, EXPERIMENTAL] = None
    ephemeral: bool | None = None
    history_mode: Annotated[ThreadHistoryMode | None, EXPERIMENTAL] = None
    session_start_source: ThreadStartSource | None = None
    thread_source: str | None = None
    project_id: Annotated[str | None, EXPERIMENTAL] = None
    daybreak_enabled: Annotated[bool | None, EXPERIMENTAL] = None
    environments: Annotated[list[TurnEnvironmentParams] | None, EXPERIMENTAL] = None
    dynamic_tools: Annotated[list[DynamicToolSpec] | None, EXPERIMENTAL] = None
    selected_capability_roots: Annotated[list[SelectedCapabilityRoot] | None, EXPERIMENTAL] = None
    mock_experimental_field: Annotated[str | None, EXPERIMENTAL] = None
    experimental_raw_events: Annotated[bool, EXPERIMENTAL] = False


class ThreadStartResponse(ThreadAndSettings):
    """The thread, and the settings that hold for its first turn."""

    multi_agent_mode: Annotated[MultiAgentMode, EXPERIMENTAL] = "explicitRequestOnly"


class ThreadResumeInitialTurnsPageParams(Value):
    """Which page of turns should come with the answer."""

    limit: UInt | None = None
    sort_direction: SortDirection | None = None
    items_view: TurnItemsView | None = None


class ThreadResumeParams(Params):
    """Go on with a thread, or subscribe to one that runs.

    With `sinceSeq` the notifications that were missed follow the answer, each with its own `seq`, then pending
    requests, then live ones: no gap, nothing twice. `descendants` does the same for owned threads by their ids,
    and one that was born since and is not named there is heard from its birth; `false` leaves them out. Settings,
    instructions and configuration in it hold from the next turn on.
    """

    thread_id: str
    history: Annotated[list[Any] | None, EXPERIMENTAL] = None
    path: Annotated[str | None, EXPERIMENTAL] = None
    model: str | None = None
    model_provider: str | None = None
    service_tier: str | None = None
    cwd: str | None = None
    runtime_workspace_roots: Annotated[list[str] | None, EXPERIMENTAL] = None
    approval_policy: AskForApproval | None = None
    approvals_reviewer: ApprovalsReviewer | None = None
    sandbox: SandboxMode | None = None
    permissions: Annotated[str | None, EXPERIMENTAL] = None
    config: dict[str, Any] | None = None
    base_instructions: str | None = None
    developer_instructions: str | None = None
    personality: Personality | None = None
    exclude_turns: bool = False
    initial_turns_page: Annotated[ThreadResumeInitialTurnsPageParams | None, EXPERIMENTAL] = None
    since_seq: UInt | None = None
    descendants: bool | dict[str, UInt] | None = None


class ThreadResumeResponse(ThreadAndSettings):
    """The thread, its settings, and `seq`.

    How far the answer reaches. `truncated`: too much was missed to be sent again, start from this snapshot.
    """

    collaboration_mode: CollaborationMode | None = None
    multi_agent_mode: Annotated[MultiAgentMode, EXPERIMENTAL] = "explicitRequestOnly"
    initial_turns_page: Annotated[TurnsPage | None, EXPERIMENTAL] = None
    turns_backwards_cursor: str | None = None
    items_backwards_cursor: str | None = None
    seq: Maybe[int] = None
    truncated: Maybe[bool] = None


class ThreadForkParams(Params):
    """Begin a thread of its own from the history of another one.

    All of it, or up to the end of `lastTurnId`, or up to the start of `beforeTurnId`. The new thread is nobody's
    child.
    """

    thread_id: str
    experimental_prediction_mode: Annotated[bool, EXPERIMENTAL] = False
    experimental_disable_prediction_mcp: Annotated[bool, EXPERIMENTAL] = False
    last_turn_id: str | None = None
    before_turn_id: Annotated[str | None, EXPERIMENTAL] = None
    path: Annotated[str | None, EXPERIMENTAL] = None
    model: str | None = None
    model_provider: str | None = None
    service_tier: str | None = None
    cwd: str | None = None
    runtime_workspace_roots: Annotated[list[str] | None, EXPERIMENTAL] = None
    approval_policy: AskForApproval | None = None
    approvals_reviewer: ApprovalsReviewer | None = None
    sandbox: SandboxMode | None = None
    permissions: Annotated[str | None, EXPERIMENTAL] = None
    config: dict[str, Any] | None = None
    base_instructions: str | None = None
    developer_instructions: str | None = None
    ephemeral: bool = False
    attach_to_source: Annotated[bool, EXPERIMENTAL] = False
    thread_source: str | None = None
    exclude_turns: bool = False
    defer_goal_continuation: Annotated[bool, EXPERIMENTAL] = False


class ThreadForkResponse(ThreadAndSettings):
    """The new thread, and the settings that hold for its first turn."""

    multi_agent_mode: Annotated[MultiAgentMode, EXPERIMENTAL] = "explicitRequestOnly"


class ThreadReadParams(Params):
    """Read a thread without loading it or subscribing to it; `includeTurns` adds its turns."""

    thread_id: str
    include_turns: bool = False


class ThreadReadResponse(Result):
    """The thread as it is stored and as it stands."""

    thread: Thread
    read_state: Annotated[ThreadReadState | None, EXPERIMENTAL] = None


class ThreadUnarchiveParams(Params):
    """Take a thread out of the archive again, with what was put away together with it."""

    thread_id: str


class ThreadUnarchiveResponse(Result):
    """The thread."""

    thread: Thread


class ThreadMetadataGitInfoUpdateParams(Value):
    """Git facts to change: left out stays, null clears."""

    sha: str | None = None
    branch: str | None = None
    origin_url: str | None = None


class ThreadMetadataUpdateParams(Params):
    """Change what is kept about a thread beside its conversation."""

    thread_id: str
    project_id: Annotated[str | None, EXPERIMENTAL] = None
    git_info: ThreadMetadataGitInfoUpdateParams | None = None
    daybreak_enabled: Annotated[bool | None, EXPERIMENTAL] = None


class ThreadMetadataUpdateResponse(Result):
    """The thread as it now is."""

    thread: Thread


class ThreadStartedNotification(Recorded):
    """A thread began, whoever began it. Goes to every connection."""

    thread: Thread


START = ClientRequest("thread/start", ThreadStartParams, ThreadStartResponse)
RESUME = ClientRequest("thread/resume", ThreadResumeParams, ThreadResumeResponse)
FORK = ClientRequest("thread/fork", ThreadForkParams, ThreadForkResponse)
READ = ClientRequest("thread/read", ThreadReadParams, ThreadReadResponse)
UNARCHIVE = ClientRequest("thread/unarchive", ThreadUnarchiveParams, ThreadUnarchiveResponse)
UPDATE_METADATA = ClientRequest("thread/metadata/update", ThreadMetadataUpdateParams, ThreadMetadataUpdateResponse)
STARTED = ServerNotification("thread/started", ThreadStartedNotification)
