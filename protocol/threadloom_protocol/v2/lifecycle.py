"""The handshake: who is there, and what each side can do."""

from __future__ import annotations

from typing import Any

from threadloom_protocol.model import Maybe, Params, Result, Value
from threadloom_protocol.spec import ClientNotification, ClientRequest


class ClientInfo(Value):
    """Who the client is."""

    name: str
    version: str
    title: str | None = None


class InitializeCapabilities(Value):
    """What the client can do, and what it does not want to hear.

    `experimentalApi` opens the methods and members marked experimental; `optOutNotificationMethods` names
    notifications that this connection is never sent. The others are accepted, and change nothing here.
    """

    experimental_api: bool = False
    opt_out_notification_methods: list[str] | None = None
    request_attestation: bool = False
    explicit_gateway_oauth: bool = False
    mcp_server_openai_form_elicitation: bool = False
    extensions: dict[str, Any] | None = None


class InitializeParams(Params):
    """Open the conversation. Must be the first request of a connection, and come once; `initialized` follows it."""

    client_info: ClientInfo
    capabilities: InitializeCapabilities | None = None


class ServerInfo(Value):
    """Which server this is."""

    name: str
    version: str


class SandboxInfo(Value):
    """How commands are fenced in on this machine."""

    kind: str


class InitializeResponse(Result):
    """Who answers, and where it keeps its files."""

    user_agent: str
    codex_home: str
    platform_family: str
    platform_os: str
    server: Maybe[ServerInfo] = None
    sandbox: Maybe[SandboxInfo] = None


INITIALIZE = ClientRequest("initialize", InitializeParams, InitializeResponse)
INITIALIZED = ClientNotification("initialized")
