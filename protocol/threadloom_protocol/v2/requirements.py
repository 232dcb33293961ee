"""What an administrator may prescribe. Nothing is managed here; the shape is there for clients that ask."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from threadloom_protocol.model import EXPERIMENTAL, Params, Result, Snake, UInt, Value
from threadloom_protocol.spec import ClientRequest, Stage
from threadloom_protocol.v2.values.managed import (
    ApplicationRequirements,
    AutoReviewRequirements,
    BrowserUseRequirements,
    CliAuthCredentialsStoreMode,
    ComputerUseRequirements,
    FeedbackRequirements,
    InAppBrowserRequirements,
    ModelsRequirements,
    NetworkRequirements,
)
from threadloom_protocol.v2.values.policy import ApprovalsReviewer, AskForApproval, SandboxMode
from threadloom_protocol.v2.values.settings import ForcedLoginMethod, WebSearchMode


class CommandConfiguredHookHandler(Value):
    """A prescribed hook that runs a command."""

    type: Literal["command"] = "command"
    command: str
    command_windows: str | None = None
    timeout_sec: UInt | None = None
    async_: bool = Field(alias="async")
    status_message: str | None = None
    additional_context_limit: UInt | None = None


class McpToolConfiguredHookHandler(Value):
    """A prescribed hook that calls an MCP tool."""

    type: Literal["mcp_tool"] = "mcp_tool"
    timeout_sec: UInt | None = None
    status_message: str | None = None
    server: str
    tool: str
    input: dict[str, Any]


class PromptConfiguredHookHandler(Value):
    """A prescribed hook that asks a model."""

    type: Literal["prompt"] = "prompt"


class AgentConfiguredHookHandler(Value):
    """A prescribed hook that runs an agent."""

    type: Literal["agent"] = "agent"


ConfiguredHookHandler = TypeAliasType(
    "ConfiguredHookHandler",
    Annotated[
        CommandConfiguredHookHandler
        | McpToolConfiguredHookHandler
        | PromptConfiguredHookHandler
        | AgentConfiguredHookHandler,
        Field(discriminator="type"),
    ],
)


class ConfiguredHookMatcherGroup(Value):
    """Hooks that share a condition."""

    matcher: str | None = None
    hooks: list[ConfiguredHookHandler]


class ManagedHooksRequirements(Value):
    """Prescribed hooks, by the moment they run at."""

    pre_model_request: list[ConfiguredHookMatcherGroup] = Field(default_factory=list, alias="PreModelRequest")
    post_model_request: list[ConfiguredHookMatcherGroup] = Field(default_factory=list, alias="PostModelRequest")
    managed_dir: str | None = None
    windows_managed_dir: str | None = None
    pre_tool_use: list[ConfiguredHookMatcherGroup] = Field(alias="PreToolUse")
    permission_request: list[ConfiguredHookMatcherGroup] = Field(alias="PermissionRequest")
    post_tool_use: list[ConfiguredHookMatcherGroup] = Field(alias="PostToolUse")
    pre_compact: list[ConfiguredHookMatcherGroup] = Field(alias="PreCompact")
    post_compact: list[ConfiguredHookMatcherGroup] = Field(alias="PostCompact")
    session_start: list[ConfiguredHookMatcherGroup] = Field(alias="SessionStart")
    session_end: list[ConfiguredHookMatcherGroup] = Field(default_factory=list, alias="SessionEnd")
    user_prompt_submit: list[ConfiguredHookMatcherGroup] = Field(alias="UserPromptSubmit")
    subagent_start: list[ConfiguredHookMatcherGroup] = Field(alias="SubagentStart")
    subagent_stop: list[ConfiguredHookMatcherGroup] = Field(alias="SubagentStop")
    stop: list[ConfiguredHookMatcherGroup] = Field(alias="Stop")
    interrupt: list[ConfiguredHookMatcherGroup] = Field(default_factory=list, alias="Interrupt")


OtelHttpProtocol = TypeAliasType("OtelHttpProtocol", Literal["binary", "json"])


class OtelTlsConfig(Value):
    """Certificates of an exporter."""

    ca_certificate: str | None = Field(default=None, alias="ca-certificate")
    client_certificate: str | None = Field(default=None, alias="client-certificate")
    client_private_key: str | None = Field(default=None, alias="client-private-key")


class OtlpHttp(Value):
    """An OTLP address over HTTP."""

    endpoint: str
    headers: dict[str, str]
    protocol: OtelHttpProtocol
    tls: OtelTlsConfig | None = None


class OtlpHttpOtelExporter(Value):
    """Export over HTTP."""

    otlp_http: OtlpHttp = Field(alias="otlp-http")


class OtlpGrpc(Value):
    """An OTLP address over gRPC."""

    endpoint: str
    headers: dict[str, str]
    tls: OtelTlsConfig | None = None


class OtlpGrpcOtelExporter(Value):
    """Export over gRPC."""

    otlp_grpc: OtlpGrpc = Field(alias="otlp-grpc")


OtelExporter = TypeAliasType("OtelExporter", Literal["none", "statsig"] | OtlpHttpOtelExporter | OtlpGrpcOtelExporter)


class OtelToolResultLogConfig(Snake):
    """How much of a tool result may be logged."""

    max_bytes: UInt


class OtelRequirements(Snake):
    """Prescribed telemetry."""

    tool_result: OtelToolResultLogConfig | None = None
    log_user_prompt: bool | None = None
    log_agent_responses: bool | None = None
    log_guardian_assessments: bool | None = None
    environment: str | None = None
    exporter: OtelExporter | None = None
    trace_exporter: OtelExporter | None = None
    metrics_exporter: OtelExporter | None = None
    span_attributes: dict[str, str] | None = None
    tracestate: dict[str, dict[str, str]] | None = None


ResidencyRequirement = TypeAliasType("ResidencyRequirement", Literal["us"])


WindowsSandboxImplementation = TypeAliasType("WindowsSandboxImplementation", Literal["elevated", "unelevated", "mxc"])


class ConfigRequirements(Value):
    """Everything that can be prescribed."""

    model_provider: str | None = None
    model_providers: dict[str, Any] | None = None
    allowed_login_methods: list[ForcedLoginMethod] | None = None
    cli_auth_credentials_store: CliAuthCredentialsStoreMode | None = None
    chatgpt_base_url: str | None = None
    additional_developer_instructions: str | None = None
    allowed_approval_policies: list[AskForApproval] | None = None
    allowed_approvals_reviewers: Annotated[list[ApprovalsReviewer] | None, EXPERIMENTAL] = None
    allowed_sandbox_modes: list[SandboxMode] | None = None
    allowed_windows_sandbox_implementations: list[WindowsSandboxImplementation] | None = None
    allowed_permission_profiles: dict[str, bool] | None = None
    default_permissions: str | None = None
    allowed_web_search_modes: list[WebSearchMode] | None = None
    allow_managed_hooks_only: bool | None = None
    allow_browser_and_computer_use: bool | None = None
    allow_appshots: bool | None = None
    allow_remote_control: bool | None = None
    computer_use: ComputerUseRequirements | None = None
    browser_use: BrowserUseRequirements | None = None
    in_app_browser: InAppBrowserRequirements | None = None
    feature_requirements: dict[str, bool] | None = None
    hooks: Annotated[ManagedHooksRequirements | None, EXPERIMENTAL] = None
    enforce_residency: ResidencyRequirement | None = None
    network: Annotated[NetworkRequirements | None, EXPERIMENTAL] = None
    application: Annotated[ApplicationRequirements | None, EXPERIMENTAL] = None
    auto_review: AutoReviewRequirements | None = None
    models: ModelsRequirements | None = None
    sqlite_home: str | None = None
    log_dir: str | None = None
    model_catalog_json: str | None = None
    check_for_update_on_startup: bool | None = None
    allow_login_shell: bool | None = None
    feedback: FeedbackRequirements | None = None
    otel: OtelRequirements | None = None


class ConfigRequirementsReadResponse(Result):
    """What is prescribed; null if nothing is."""

    supports_independent_speed_modes: bool | None = None
    requirements: ConfigRequirements | None = None


class ConfigRequirementsReadParams(Params):
    """Ask what an administrator prescribes. Nothing is managed here, so the answer is always null."""


READ = ClientRequest(
    "configRequirements/read", ConfigRequirementsReadParams, ConfigRequirementsReadResponse, stage=Stage.EMPTY
)
