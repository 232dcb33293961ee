"""Items: the things a turn consists of."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from threadloom_protocol.model import Maybe, UInt, Value
from threadloom_protocol.v2.values.common import ReasoningEffort
from threadloom_protocol.v2.values.content import DynamicToolCallOutputContentItem, FunctionCallOutputBody, UserInput
from threadloom_protocol.v2.values.genealogy import ChildReport
from threadloom_protocol.v2.values.item_parts import (
    AgentMessageDelivery,
    AsyncUserInputQuestion,
    CollabAgentState,
    CollabAgentTool,
    CollabAgentToolCallStatus,
    CommandAction,
    CommandExecutionSource,
    CommandExecutionStatus,
    DynamicToolCallStatus,
    FileUpdateChange,
    HookPromptFragment,
    ImageGenerationFailure,
    ImageGenerationInputImage,
    McpAppUi,
    McpToolCallAppContext,
    McpToolCallError,
    McpToolCallResult,
    McpToolCallStatus,
    MemoryCitation,
    MessagePhase,
    PatchApplyStatus,
    SubAgentActivityKind,
    WebSearchAction,
)


class Item(Value):
    """What all items have in common: when they began and ended."""

    started_at_ms: int | None = None
    completed_at_ms: int | None = None


class UserMessageThreadItem(Item):
    """What the person said; with `report`, what a child reported in their place."""

    type: Literal["userMessage"] = "userMessage"
    id: str
    client_id: str | None = None
    content: list[UserInput]
    report: Maybe[ChildReport] = None


class HookPromptThreadItem(Item):
    """What hooks added to the prompt."""

    type: Literal["hookPrompt"] = "hookPrompt"
    id: str
    fragments: list[HookPromptFragment]


class AgentMessageThreadItem(Item):
    """What the agent said."""

    type: Literal["agentMessage"] = "agentMessage"
    id: str
    text: str
    phase: MessagePhase | None = None
    memory_citation: MemoryCitation | None = None
    delivery: AgentMessageDelivery | None = None
    questions: list[AsyncUserInputQuestion] | None = None


class FunctionCallOutputThreadItem(Item):
    """The result of a tool, given as input."""

    type: Literal["functionCallOutput"] = "functionCallOutput"
    id: str
    name: str
    namespace: str | None = None
    output: FunctionCallOutputBody


class PlanThreadItem(Item):
    """A plan that the agent proposes."""

    type: Literal["plan"] = "plan"
    id: str
    text: str


class ReasoningThreadItem(Item):
    """What the model thought, as far as it shows it."""

    type: Literal["reasoning"] = "reasoning"
    id: str
    content: list[str] = Field(default_factory=list)
    summary: list[str] = Field(default_factory=list)


class CommandExecutionThreadItem(Item):
    """A command, its output and how it ended."""

    type: Literal["commandExecution"] = "commandExecution"
    id: str
    plugin_id: str | None = None
    script_path: str | None = None
    command: str
    cwd: str
    process_id: str | None = None
    source: CommandExecutionSource = "agent"
    status: CommandExecutionStatus
    command_actions: list[CommandAction]
    aggregated_output: str | None = None
    exit_code: int | None = None
    duration_ms: int | None = None


class FileChangeThreadItem(Item):
    """Changes to files."""

    type: Literal["fileChange"] = "fileChange"
    id: str
    status: PatchApplyStatus
    changes: list[FileUpdateChange]


class McpToolCallThreadItem(Item):
    """A call to an MCP tool."""

    type: Literal["mcpToolCall"] = "mcpToolCall"
    id: str
    plugin_id: str | None = None
    status: McpToolCallStatus
    duration_ms: int | None = None
    server: str
    tool: str
    arguments: Any
    app_context: McpToolCallAppContext | None = None
    mcp_app_resource_uri: str | None = None
    mcp_app_ui: McpAppUi | None = None
    read_only_hint: bool | None = None
    result: McpToolCallResult | None = None
    error: McpToolCallError | None = None


class DynamicToolCallThreadItem(Item):
    """A call to a tool of the client."""

    type: Literal["dynamicToolCall"] = "dynamicToolCall"
    id: str
    namespace: str | None = None
    status: DynamicToolCallStatus
    duration_ms: int | None = None
    tool: str
    arguments: Any
    content_items: list[DynamicToolCallOutputContentItem] | None = None
    success: bool | None = None


class CollabAgentToolCallThreadItem(Item):
    """Something an agent did with other agents: spawned, messaged, awaited, closed them."""

    type: Literal["collabAgentToolCall"] = "collabAgentToolCall"
    id: str
    status: CollabAgentToolCallStatus
    tool: CollabAgentTool
    sender_thread_id: str
    receiver_thread_ids: list[str]
    prompt: str | None = None
    model: str | None = None
    reasoning_effort: ReasoningEffort | None = None
    agents_states: dict[str, CollabAgentState]


class SubAgentActivityThreadItem(Item):
    """Something that happened to a sub-agent."""

    type: Literal["subAgentActivity"] = "subAgentActivity"
    id: str
    model: str | None = None
    reasoning_effort: ReasoningEffort | None = None
    kind: SubAgentActivityKind
    agent_thread_id: str
    agent_path: str


class WebSearchThreadItem(Item):
    """A search on the web."""

    type: Literal["webSearch"] = "webSearch"
    id: str
    action: WebSearchAction | None = None
    query: str
    results: list[Any] | None = None


class ImageViewThreadItem(Item):
    """A picture that the agent looked at."""

    type: Literal["imageView"] = "imageView"
    id: str
    path: str


class SleepThreadItem(Item):
    """A pause."""

    type: Literal["sleep"] = "sleep"
    id: str
    duration_ms: UInt


class ImageGenerationThreadItem(Item):
    """A picture that was made, by file id or inline."""

    type: Literal["imageGeneration"] = "imageGeneration"
    id: str
    status: str
    result: Maybe[str] = None
    failure: ImageGenerationFailure | None = None
    generation_id: str | None = None
    input_images: Maybe[list[ImageGenerationInputImage]] = None
    revised_prompt: str | None = None
    saved_path: str | None = None
    transparent_background: bool | None = None
    file_id: Maybe[str] = None


class EnteredReviewModeThreadItem(Item):
    """A review begins."""

    type: Literal["enteredReviewMode"] = "enteredReviewMode"
    id: str
    review: str


class ExitedReviewModeThreadItem(Item):
    """A review ends, with its findings."""

    type: Literal["exitedReviewMode"] = "exitedReviewMode"
    id: str
    review: str


class ContextCompactionThreadItem(Item):
    """What the model sees of the history was condensed here."""

    type: Literal["contextCompaction"] = "contextCompaction"
    id: str


ThreadItem = TypeAliasType(
    "ThreadItem",
    Annotated[
        UserMessageThreadItem
        | HookPromptThreadItem
        | AgentMessageThreadItem
        | FunctionCallOutputThreadItem
        | PlanThreadItem
        | ReasoningThreadItem
        | CommandExecutionThreadItem
        | FileChangeThreadItem
        | McpToolCallThreadItem
        | DynamicToolCallThreadItem
        | CollabAgentToolCallThreadItem
        | SubAgentActivityThreadItem
        | WebSearchThreadItem
        | ImageViewThreadItem
        | SleepThreadItem
        | ImageGenerationThreadItem
        | EnteredReviewModeThreadItem
        | ExitedReviewModeThreadItem
        | ContextCompactionThreadItem,
        Field(discriminator="type"),
    ],
)
