"""Items as they come: begun, streamed, done."""

from __future__ import annotations

from threadloom_protocol.model import Delta, Recorded
from threadloom_protocol.spec import ServerNotification
from threadloom_protocol.v2.values.item_parts import FileUpdateChange
from threadloom_protocol.v2.values.items import ThreadItem


class ItemStartedNotification(Recorded):
    """An item began. Deltas may follow; `item/completed` has the last word."""

    item: ThreadItem
    thread_id: str
    turn_id: str
    started_at_ms: int


class ItemCompletedNotification(Recorded):
    """An item is done. It supersedes whatever was streamed of it."""

    item: ThreadItem
    thread_id: str
    turn_id: str
    completed_at_ms: int


class AgentMessageDeltaNotification(Delta):
    """The agent says something more."""

    thread_id: str
    turn_id: str
    item_id: str
    delta: str


class PlanDeltaNotification(Delta):
    """A proposed plan goes on."""

    thread_id: str
    turn_id: str
    item_id: str
    delta: str


class ReasoningSummaryTextDeltaNotification(Delta):
    """The summary of the reasoning goes on."""

    thread_id: str
    turn_id: str
    item_id: str
    delta: str
    summary_index: int


class ReasoningSummaryPartAddedNotification(Recorded):
    """The summary of the reasoning has a new part."""

    thread_id: str
    turn_id: str
    item_id: str
    summary_index: int


class ReasoningTextDeltaNotification(Delta):
    """The reasoning itself goes on, where the model shows it."""

    thread_id: str
    turn_id: str
    item_id: str
    delta: str
    content_index: int


class CommandExecutionOutputDeltaNotification(Delta):
    """A command wrote something."""

    thread_id: str
    turn_id: str
    item_id: str
    delta: str


class TerminalInteractionNotification(Recorded):
    """The agent typed something into a running command."""

    thread_id: str
    turn_id: str
    item_id: str
    process_id: str
    stdin: str


class FileChangePatchUpdatedNotification(Recorded):
    """The changes that an item proposes are now these."""

    thread_id: str
    turn_id: str
    item_id: str
    changes: list[FileUpdateChange]


class McpToolCallProgressNotification(Recorded):
    """An MCP tool says how far it has come."""

    thread_id: str
    turn_id: str
    item_id: str
    message: str


STARTED = ServerNotification("item/started", ItemStartedNotification)
COMPLETED = ServerNotification("item/completed", ItemCompletedNotification)
AGENT_MESSAGE_DELTA = ServerNotification("item/agentMessage/delta", AgentMessageDeltaNotification)
PLAN_DELTA = ServerNotification("item/plan/delta", PlanDeltaNotification)
REASONING_SUMMARY_DELTA = ServerNotification("item/reasoning/summaryTextDelta", ReasoningSummaryTextDeltaNotification)
REASONING_SUMMARY_PART = ServerNotification("item/reasoning/summaryPartAdded", ReasoningSummaryPartAddedNotification)
REASONING_DELTA = ServerNotification("item/reasoning/textDelta", ReasoningTextDeltaNotification)
COMMAND_OUTPUT_DELTA = ServerNotification("item/commandExecution/outputDelta", CommandExecutionOutputDeltaNotification)
TERMINAL_INTERACTION = ServerNotification("item/commandExecution/terminalInteraction", TerminalInteractionNotification)
PATCH_UPDATED = ServerNotification("item/fileChange/patchUpdated", FileChangePatchUpdatedNotification)
MCP_PROGRESS = ServerNotification("item/mcpToolCall/progress", McpToolCallProgressNotification)
