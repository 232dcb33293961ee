"""MCP servers and how they fare."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from threadloom_protocol.model import Event, Params, Result, UInt, Value
from threadloom_protocol.spec import ClientRequest, ServerNotification, Stage

McpServerStatusDetail = TypeAliasType("McpServerStatusDetail", Literal["full", "toolsAndAuthOnly"])


class ListMcpServerStatusParams(Params):
    """List MCP servers, how they fare and what they offer."""

    cursor: str | None = None
    limit: UInt | None = None
    detail: McpServerStatusDetail | None = None
    thread_id: str | None = None
    server_name: str | None = None


McpAuthStatus = TypeAliasType("McpAuthStatus", Literal["unknown", "unsupported", "notLoggedIn", "bearerToken", "oAuth"])


McpServerConnectionStatus = TypeAliasType(
    "McpServerConnectionStatus",
    Literal["notStarted", "starting", "connected", "authenticationRequired", "failed", "cancelled", "disabled"],
)


class McpServerInfo(Value):
    """What a server says about itself."""

    name: str
    title: str | None = None
    version: str
    description: str | None = None
    icons: list[Any] | None = None
    website_url: str | None = None


class Resource(Value):
    """Something that a server has to read."""

    annotations: Any = None
    description: str | None = None
    mime_type: str | None = None
    name: str
    size: int | None = None
    title: str | None = None
    uri: str
    icons: list[Any] | None = None
    meta: Any = Field(default=None, alias="_meta")


class ResourceTemplate(Value):
    """A pattern of addresses that a server can read."""

    annotations: Any = None
    uri_template: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None


class Tool(Value):
    """A tool of a server."""

    name: str
    title: str | None = None
    description: str | None = None
    input_schema: Any
    output_schema: Any = None
    annotations: Any = None
    icons: list[Any] | None = None
    meta: Any = Field(default=None, alias="_meta")


class McpServerStatus(Value):
    """A server, its state and its tools by name."""

    name: str
    runtime_status: McpServerConnectionStatus | None = None
    plugin_id: str | None = None
    http_origin: str | None = None
    server_info: McpServerInfo | None = None
    server_capabilities: Any = None
    tool_list_meta: Any = None
    tools: dict[str, Tool]
    tools_error: str | None = None
    resources: list[Resource]
    resource_templates: list[ResourceTemplate]
    auth_status: McpAuthStatus


class ListMcpServerStatusResponse(Result):
    """A page of servers."""

    data: list[McpServerStatus] = Field(default_factory=list)
    next_cursor: str | None = None


McpServerStartupFailureReason = TypeAliasType("McpServerStartupFailureReason", Literal["reauthenticationRequired"])


McpServerStartupState = TypeAliasType("McpServerStartupState", Literal["starting", "ready", "failed", "cancelled"])


class McpServerStatusUpdatedNotification(Event):
    """A server is starting, ready, or failed to start."""

    thread_id: str | None = None
    name: str
    status: McpServerStartupState
    error: str | None = None
    failure_reason: McpServerStartupFailureReason | None = None


LIST = ClientRequest("mcpServerStatus/list", ListMcpServerStatusParams, ListMcpServerStatusResponse, stage=Stage.EMPTY)
STATUS_UPDATED = ServerNotification("mcpServer/startupStatus/updated", McpServerStatusUpdatedNotification)
