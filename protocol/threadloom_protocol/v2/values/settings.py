"""The configuration in force, under its file's own names."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from typing_extensions import TypeAliasType

from threadloom_protocol.model import EXPERIMENTAL, Snake, Value
from threadloom_protocol.v2.values.common import ReasoningEffort, ReasoningSummary
from threadloom_protocol.v2.values.policy import ApprovalsReviewer, AskForApproval, SandboxMode


class AnalyticsConfig(Value):
    """`[analytics]`."""

    model_config = ConfigDict(extra="allow")

    enabled: bool | None = None


AppToolApproval = TypeAliasType("AppToolApproval", Literal["auto", "prompt", "writes", "approve"])


class AppsDefaultConfig(Snake):
    """What holds for every app."""

    enabled: bool = True
    approvals_reviewer: ApprovalsReviewer | None = None
    destructive_enabled: bool = True
    open_world_enabled: bool = True
    default_tools_approval_mode: AppToolApproval | None = None


class AppsConfig(Value):
    """`[apps]`."""

    default: AppsDefaultConfig | None = Field(default=None, alias="_default")


AutoCompactTokenLimitScope = TypeAliasType("AutoCompactTokenLimitScope", Literal["total", "body_after_prefix"])


AllowDenyRequirement = TypeAliasType("AllowDenyRequirement", Literal["allow", "deny"])


class BrowserUseOriginPolicyConfig(Snake):
    """What an agent may do on one site."""

    access: AllowDenyRequirement | None = None
    downloads: AllowDenyRequirement | None = None
    uploads: AllowDenyRequirement | None = None
    full_cdp_access: AllowDenyRequirement | None = None


class BrowserUseConfig(Snake):
    """`[browser_use]`."""

    allow_history_access: bool | None = None
    default_origin_policy: BrowserUseOriginPolicyConfig | None = None
    origins: dict[str, BrowserUseOriginPolicyConfig] | None = None


class ComputerUseMacosConfig(Snake):
    """Programs of macOS."""

    bundle_ids: dict[str, AllowDenyRequirement] | None = None


class ComputerUseWindowsExeConfig(Snake):
    """A program of Windows."""

    publisher_name: str
    product_name: str
    binary_name: str | None = None
    access: AllowDenyRequirement


class ComputerUseWindowsConfig(Value):
    """Programs of Windows."""

    aumids: dict[str, AllowDenyRequirement] | None = None
    exes: list[ComputerUseWindowsExeConfig] | None = None


class ComputerUseConfig(Snake):
    """`[computer_use]`."""

    default_app_access: AllowDenyRequirement | None = None
    macos: ComputerUseMacosConfig | None = None
    windows: ComputerUseWindowsConfig | None = None


ForcedChatgptWorkspaceIds = TypeAliasType("ForcedChatgptWorkspaceIds", str | list[str])


ForcedLoginMethod = TypeAliasType("ForcedLoginMethod", Literal["chatgpt", "api"])


class SandboxWorkspaceWrite(Snake):
    """`[sandbox_workspace_write]`."""

    writable_roots: list[str] = Field(default_factory=list)
    network_access: bool = False
    exclude_tmpdir_env_var: bool = False
    exclude_slash_tmp: bool = False


WebSearchContextSize = TypeAliasType("WebSearchContextSize", Literal["low", "medium", "high"])


class WebSearchLocation(Value):
    """Where a search pretends to be."""

    country: str | None = None
    region: str | None = None
    city: str | None = None
    timezone: str | None = None


class WebSearchToolConfig(Snake):
    """How the web is searched."""

    context_size: WebSearchContextSize | None = None
    allowed_domains: list[str] | None = None
    location: WebSearchLocation | None = None


class ToolsV2(Snake):
    """`[tools]`."""

    web_search: WebSearchToolConfig | None = None


Verbosity = TypeAliasType("Verbosity", Literal["low", "medium", "high"])


WebSearchMode = TypeAliasType("WebSearchMode", Literal["disabled", "cached", "indexed", "live"])


class Config(Snake):
    """The configuration in force. Keys that are not named here are passed on as they are."""

    model_config = ConfigDict(extra="allow")

    model: str | None = None
    review_model: str | None = None
    model_context_window: int | None = None
    model_auto_compact_token_limit: int | None = None
    model_auto_compact_token_limit_scope: AutoCompactTokenLimitScope | None = None
    model_provider: str | None = None
    approval_policy: AskForApproval | None = None
    approvals_reviewer: ApprovalsReviewer | None = None
    sandbox_mode: SandboxMode | None = None
    sandbox_workspace_write: SandboxWorkspaceWrite | None = None
    forced_chatgpt_workspace_id: ForcedChatgptWorkspaceIds | None = None
    forced_login_method: ForcedLoginMethod | None = None
    web_search: WebSearchMode | None = None
    tools: ToolsV2 | None = None
    instructions: str | None = None
    developer_instructions: str | None = None
    compact_prompt: str | None = None
    model_reasoning_effort: ReasoningEffort | None = None
    model_reasoning_summary: ReasoningSummary | None = None
    model_verbosity: Verbosity | None = None
    service_tier: str | None = None
    analytics: AnalyticsConfig | None = None
    apps: Annotated[AppsConfig | None, EXPERIMENTAL] = None
    browser_use: BrowserUseConfig | None = None
    computer_use: ComputerUseConfig | None = None
    desktop: dict[str, Any] | None = None
