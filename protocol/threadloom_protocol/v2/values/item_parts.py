"""The parts that items are made of."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from threadloom_protocol.model import Snake, UInt, Value
from threadloom_protocol.v2.values.status import CollabAgentStatus

AgentMessageDelivery = TypeAliasType("AgentMessageDelivery", Literal["async"])


class AsyncUserInputQuestion(Value):
    """A question that does not hold up the turn."""

    title: str
    options: list[str] | None = None


class CollabAgentState(Value):
    """How an agent stands, and what it said last."""

    status: CollabAgentStatus
    message: str | None = None


CollabAgentTool = TypeAliasType(
    "CollabAgentTool",
    Literal[
        "spawnAgent",
        "sendInput",
        "resumeAgent",
        "wait",
        "closeAgent",
        "sendMessage",
        "followupTask",
        "interruptAgent",
        "listAgents",
    ],
)


CollabAgentToolCallStatus = TypeAliasType(
    "CollabAgentToolCallStatus", Literal["inProgress", "completed", "failed", "interrupted"]
)


class ReadCommandAction(Value):
    """The command reads a file."""

    type: Literal["read"] = "read"
    command: str
    name: str
    path: str


class ListFilesCommandAction(Value):
    """The command lists files."""

    type: Literal["listFiles"] = "listFiles"
    command: str
    path: str | None = None


class SearchCommandAction(Value):
    """The command searches."""

    type: Literal["search"] = "search"
    command: str
    path: str | None = None
    query: str | None = None


class UnknownCommandAction(Value):
    """What the command does is not known."""

    type: Literal["unknown"] = "unknown"
    command: str


CommandAction = TypeAliasType(
    "CommandAction",
    Annotated[
        ReadCommandAction | ListFilesCommandAction | SearchCommandAction | UnknownCommandAction,
        Field(discriminator="type"),
    ],
)


# Who ran a command.
CommandExecutionSource = TypeAliasType(
    "CommandExecutionSource", Literal["agent", "userShell", "unifiedExecStartup", "unifiedExecInteraction"]
)


CommandExecutionStatus = TypeAliasType(
    "CommandExecutionStatus", Literal["inProgress", "completed", "failed", "declined"]
)


DynamicToolCallStatus = TypeAliasType("DynamicToolCallStatus", Literal["inProgress", "completed", "failed"])


class AddPatchChangeKind(Value):
    """A new file."""

    type: Literal["add"] = "add"


class DeletePatchChangeKind(Value):
    """A file that goes."""

    type: Literal["delete"] = "delete"


class UpdatePatchChangeKind(Snake):
    """A file that changes, and moves if a path is given."""

    type: Literal["update"] = "update"
    move_path: str | None = None


PatchChangeKind = TypeAliasType(
    "PatchChangeKind",
    Annotated[AddPatchChangeKind | DeletePatchChangeKind | UpdatePatchChangeKind, Field(discriminator="type")],
)


class FileUpdateChange(Value):
    """What happens to one file, as a unified diff."""

    path: str
    kind: PatchChangeKind
    diff: str


class HookPromptFragment(Value):
    """Text that a hook added."""

    text: str
    hook_run_id: str


class UsageLimitExceededImageGenerationFailure(Value):
    """No pictures until the limit resets."""

    type: Literal["usageLimitExceeded"] = "usageLimitExceeded"
    limit_id: str
    resets_at: int | None = None


ImageGenerationFailure = TypeAliasType("ImageGenerationFailure", UsageLimitExceededImageGenerationFailure)


class ImageGenerationInputImage(Value):
    """A picture that was given."""

    path: str
    sha256: str


McpAppDisplayMode = TypeAliasType("McpAppDisplayMode", Literal["inline", "fullscreen"])


class McpAppUi(Value):
    """How a tool wants to be shown."""

    resource_uri: str
    preferred_model_display_mode: McpAppDisplayMode


class McpToolCallAppContext(Value):
    """The app that a tool belongs to."""

    connector_id: str
    link_id: str | None = None
    resource_uri: str | None = None
    app_name: str | None = None
    action_name: str | None = None


class McpToolCallError(Value):
    """Why a tool failed."""

    message: str


class McpToolCallResult(Value):
    """What a tool gave back."""

    content: list[Any]
    structured_content: Any = None
    meta: Any = Field(default=None, alias="_meta")


McpToolCallStatus = TypeAliasType("McpToolCallStatus", Literal["inProgress", "completed", "failed"])


class MemoryCitationEntry(Value):
    """Lines of a memory file."""

    path: str
    line_start: UInt
    line_end: UInt
    note: str


class MemoryCitation(Value):
    """Memories that a message rests on."""

    entries: list[MemoryCitationEntry]
    thread_ids: list[str]


# Whether a message is said along the way or is the answer.
MessagePhase = TypeAliasType("MessagePhase", Literal["commentary", "partial_answer", "final_answer"])


PatchApplyStatus = TypeAliasType("PatchApplyStatus", Literal["inProgress", "completed", "failed", "declined"])


SubAgentActivityKind = TypeAliasType(
    "SubAgentActivityKind", Literal["started", "interacted", "interrupted", "completed"]
)


class SearchWebSearchAction(Value):
    """Searched for words."""

    type: Literal["search"] = "search"
    query: str | None = None
    queries: list[str] | None = None


class OpenPageWebSearchAction(Value):
    """Opened a page."""

    type: Literal["openPage"] = "openPage"
    url: str | None = None


class FindInPageWebSearchAction(Value):
    """Looked for something on a page."""

    type: Literal["findInPage"] = "findInPage"
    url: str | None = None
    pattern: str | None = None


class OtherWebSearchAction(Value):
    """Something else."""

    type: Literal["other"] = "other"


WebSearchAction = TypeAliasType(
    "WebSearchAction",
    Annotated[
        SearchWebSearchAction | OpenPageWebSearchAction | FindInPageWebSearchAction | OtherWebSearchAction,
        Field(discriminator="type"),
    ],
)
