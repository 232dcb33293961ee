"""Hooks around turns and tools. This server has none."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from threadloom_protocol.model import Maybe, Params, Result, UInt, Value
from threadloom_protocol.spec import ClientRequest, Stage


class HooksListParams(Params):
    """List hooks by directory."""

    cwds: Maybe[list[str]] = None
    thread_id: str | None = None


class HookErrorInfo(Value):
    """A file that could not be used, and why."""

    path: str
    message: str


HookEventName = TypeAliasType(
    "HookEventName",
    Literal[
        "preModelRequest",
        "postModelRequest",
        "preToolUse",
        "permissionRequest",
        "postToolUse",
        "preCompact",
        "postCompact",
        "sessionStart",
        "sessionEnd",
        "userPromptSubmit",
        "subagentStart",
        "subagentStop",
        "stop",
        "interrupt",
    ],
)


HookSource = TypeAliasType(
    "HookSource",
    Literal[
        "system",
        "user",
        "project",
        "mdm",
        "sessionFlags",
        "plugin",
        "cloudRequirements",
        "cloudManagedConfig",
        "legacyManagedConfigFile",
        "legacyManagedConfigMdm",
        "unknown",
    ],
)


HookTrustStatus = TypeAliasType("HookTrustStatus", Literal["managed", "untrusted", "trusted", "modified"])


class Hook(Value):
    """What all hooks have in common."""

    key: str
    event_name: HookEventName
    matcher: str | None = None
    timeout_sec: UInt
    status_message: str | None = None
    additional_context_limit: UInt | None = None
    source_path: str
    source: HookSource
    plugin_id: str | None = None
    environment_id: str | None = None
    display_order: int
    enabled: bool
    is_managed: bool
    current_hash: str
    trust_status: HookTrustStatus


class CommandHookMetadata(Hook):
    """A hook that runs a command."""

    handler_type: Literal["command"] = "command"
    command: str
    async_: bool = Field(default=False, alias="async")


class McpToolHookMetadata(Hook):
    """A hook that calls an MCP tool."""

    handler_type: Literal["mcpTool"] = "mcpTool"
    server: str
    tool: str


class PromptHookMetadata(Hook):
    """A hook that asks a model."""

    handler_type: Literal["prompt"] = "prompt"


class AgentHookMetadata(Hook):
    """A hook that runs an agent."""

    handler_type: Literal["agent"] = "agent"


HookMetadata = TypeAliasType(
    "HookMetadata",
    Annotated[
        CommandHookMetadata | McpToolHookMetadata | PromptHookMetadata | AgentHookMetadata,
        Field(discriminator="handler_type"),
    ],
)


class HooksListEntry(Value):
    """The hooks of one directory."""

    cwd: str
    hooks: list[HookMetadata]
    warnings: list[str]
    errors: list[HookErrorInfo]


class HooksListResponse(Result):
    """The hooks, by directory."""

    data: list[HooksListEntry] = Field(default_factory=list)


LIST = ClientRequest("hooks/list", HooksListParams, HooksListResponse, stage=Stage.EMPTY)
