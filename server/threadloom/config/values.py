"""The configuration in force, as the product reads it: every key that it uses, with its type and its default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from threadloom.config import idle
from threadloom_protocol.v2.values.common import Personality, ReasoningEffort, ReasoningSummary
from threadloom_protocol.v2.values.policy import ApprovalsReviewer, AskForApproval, SandboxMode
from threadloom_protocol.v2.values.settings import SandboxWorkspaceWrite, Verbosity

# What the typing of a file cannot give: TOML has arrays, we keep tuples, for nobody may change them.
Words = Annotated[tuple[str, ...], Field(strict=False)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0)]

# How long a request of a provider may be retried and may stay silent, unless its table says otherwise.
REQUEST_RETRIES: Final = 4
STREAM_RETRIES: Final = 5
STREAM_IDLE_MS: Final = 300_000


class Part(BaseModel):
    """A table of the configuration. Keys that it does not name are passed over."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="ignore",
        defer_build=True,
        hide_input_in_errors=True,  # there may be secrets in it
    )

    # Keys that Codex has and this product has no use for: no mistake, and without effect.
    accepted: ClassVar[frozenset[str]] = frozenset()


class Provider(Part):
    """`[model_providers.ID]`: a server that runs models."""

    accepted = idle.PROVIDER

    name: str | None = None
    base_url: str | None = None
    wire_api: Literal["responses", "chat"] = "responses"
    env_key: str | None = None  # the variable that holds the key
    env_key_instructions: str | None = None  # what to do where it is not set
    experimental_bearer_token: str | None = Field(default=None, repr=False)
    query_params: dict[str, str] = Field(default_factory=dict)
    http_headers: dict[str, str] = Field(default_factory=dict, repr=False)
    env_http_headers: dict[str, str] = Field(default_factory=dict)  # header → variable that holds its value
    request_max_retries: Count = REQUEST_RETRIES
    stream_max_retries: Count = STREAM_RETRIES
    stream_idle_timeout_ms: Positive = STREAM_IDLE_MS
    requires_openai_auth: bool = False
    tools: bool = True  # whether its models can call them
    freeform_tools: bool | None = None  # whether its models can call some with plain text; where not known, by name
    images: bool = True  # whether its models can see them

    def headers(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The headers of its own, those from the environment included where they are set."""
        named = {header: environ.get(variable, "") for header, variable in self.env_http_headers.items()}
        return self.http_headers | {header: value for header, value in named.items() if value.strip()}


class McpServer(Part):
    """`[mcp_servers.ID]`: a command to start, or an address to call."""

    accepted = idle.MCP_SERVER

    command: str | None = None
    args: Words = ()
    env: dict[str, str] = Field(default_factory=dict, repr=False)
    env_vars: Words = ()  # variables that are handed on
    cwd: str | None = None
    url: str | None = None
    bearer_token_env_var: str | None = None
    http_headers: dict[str, str] = Field(default_factory=dict, repr=False)
    env_http_headers: dict[str, str] = Field(default_factory=dict)
    enabled: bool = True
    required: bool = False
    startup_timeout_sec: Seconds | None = None
    startup_timeout_ms: Positive | None = None
    tool_timeout_sec: Seconds | None = None
    enabled_tools: Annotated[Words | None, Field(strict=False)] = None
    disabled_tools: Words = ()


class ShellEnvironment(Part):
    """`[shell_environment_policy]`: which variables a command gets."""

    accepted = idle.SHELL

    inherit: Literal["all", "core", "none"] = "all"
    ignore_default_excludes: bool = False  # true hands on KEY, SECRET, TOKEN and PASSWORD, too
    exclude: Words = ()
    set: dict[str, str] = Field(default_factory=dict, repr=False)
    include_only: Words = ()


class Project(Part):
    """`[projects."DIR"]`: whether the configuration in a folder counts."""

    trust_level: Literal["trusted", "untrusted"] | None = None


class Loose(Part):
    """A table that may hold anything beside the keys that are named."""

    model_config = ConfigDict(extra="allow")


class Agents(Loose):
    """`[agents]`: how far a tree of threads may grow. Codex keeps roles here as well, under names of their own."""

    max_threads: Positive = 12
    max_depth: Count = 2


class Tui(Loose):
    """`[tui]`: what a terminal shows; clients read it, the server does not."""

    notifications: bool | list[str] | None = None


class AutoReview(Loose):
    """`[auto_review]`: the model that decides in a person's place, and what it is told beside its own rules."""

    model: str | None = None  # of the thread's provider; the thread's own where it is not given
    policy: str | None = None


class Config(Part):
    """The configuration in force for one directory."""

    accepted = idle.TOP

    # the model
    model: str | None = None
    model_provider: str = "rehearsal"  # what is configured, else OpenAI where there is a key
    review_model: str | None = None
    model_reasoning_effort: ReasoningEffort | None = None
    model_reasoning_summary: ReasoningSummary | None = None
    model_verbosity: Verbosity | None = None
    model_context_window: Positive | None = None
    model_auto_compact_token_limit: Positive | None = None
    service_tier: str | None = None
    personality: Personality | None = None
    openai_base_url: str | None = None
    model_providers: dict[str, Provider] = Field(default_factory=dict)

    # what it is told
    instructions: str | None = None
    developer_instructions: str | None = None
    model_instructions_file: str | None = None  # absolute; takes the place of the base instructions
    compact_prompt: str | None = None
    experimental_compact_prompt_file: str | None = None  # absolute
    project_doc_max_bytes: Count = 32 * 1024
    project_doc_fallback_filenames: Words = ()
    project_root_markers: Words = (".git",)

    # what it may do
    approval_policy: AskForApproval = "on-request"
    approvals_reviewer: ApprovalsReviewer = "user"
    auto_review: AutoReview = AutoReview()
    approval_timeout_secs: Positive | None = None  # after which what nobody has decided is declined; else a day
    sandbox_mode: SandboxMode = "workspace-write"
    sandbox_workspace_write: SandboxWorkspaceWrite = Field(default_factory=SandboxWorkspaceWrite)
    shell_environment_policy: ShellEnvironment = ShellEnvironment()
    tool_output_token_limit: Positive | None = None
    mcp_servers: dict[str, McpServer] = Field(default_factory=dict)
    agents: Agents = Agents()

    # the rest
    profile: str | None = None
    profiles: dict[str, Any] = Field(default_factory=dict, repr=False)
    projects: dict[str, Project] = Field(default_factory=dict)
    features: dict[str, Any] = Field(default_factory=dict)
    notify: Annotated[Words | None, Field(strict=False)] = None
    thread_unload_delay_secs: Count | None = None  # how long nobody has to use one; 30 minutes
    tui: Tui = Tui()

    @property
    def provider(self) -> Provider | None:
        """The table of the provider in use; none for one that is built in and needs no table."""
        return self.model_providers.get(self.model_provider)


OFFLINE: Final = "rehearsal"  # what runs models where there is neither a provider nor a key

# Tables that need not be written down; a file may still change them.
BUILT_IN: Final[Mapping[str, Mapping[str, Any]]] = {
    "openai": {
        "name": "OpenAI",
        "base_url": "https://api.openai.com/v1",
        "wire_api": "responses",
        "requires_openai_auth": True,
    },
    "ollama": {"name": "Ollama", "base_url": "http://127.0.0.1:11434/v1", "wire_api": "responses"},
    # llama.cpp takes a schema for its answer in Chat Completions alone.
    "local": {"name": "Local", "wire_api": "chat", "request_max_retries": 1, "tools": False, "images": False},
    "lmstudio": {"name": "LM Studio", "base_url": "http://127.0.0.1:1234/v1", "wire_api": "responses"},
}
