"""Plugins. This server has none."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from threadloom_protocol.model import Params, Result, Value
from threadloom_protocol.spec import ClientRequest, Stage

PluginListMarketplaceKind = TypeAliasType(
    "PluginListMarketplaceKind",
    Literal["local", "vertical", "workspace-directory", "shared-with-me", "created-by-me-remote"],
)


class PluginListParams(Params):
    """List plugins by marketplace."""

    cwds: list[str] | None = None
    marketplace_kinds: list[PluginListMarketplaceKind] | None = None
    force_refetch: bool = False


class MarketplaceLoadErrorInfo(Value):
    """A marketplace that could not be read, and why."""

    marketplace_path: str
    message: str


class MarketplaceInterface(Value):
    """How a marketplace calls itself."""

    display_name: str | None = None


PluginAuthPolicy = TypeAliasType("PluginAuthPolicy", Literal["ON_INSTALL", "ON_USE"])


PluginAvailability = TypeAliasType("PluginAvailability", Literal["DISABLED_BY_ADMIN", "AVAILABLE"])


PluginDisabledReason = TypeAliasType(
    "PluginDisabledReason", Literal["disabled_by_admin", "plan_not_eligible", "required_app_unavailable", "unknown"]
)


PluginInstallPolicy = TypeAliasType(
    "PluginInstallPolicy", Literal["NOT_AVAILABLE", "AVAILABLE", "INSTALLED_BY_DEFAULT"]
)


PluginInstallPolicySource = TypeAliasType(
    "PluginInstallPolicySource", Literal["WORKSPACE_SETTING", "IMPLICIT_CANONICAL_APP"]
)


class PluginInterface(Value):
    """What a shop window says about a plugin."""

    display_name: str | None = None
    short_description: str | None = None
    long_description: str | None = None
    developer_name: str | None = None
    category: str | None = None
    capabilities: list[str]
    website_url: str | None = None
    privacy_policy_url: str | None = None
    terms_of_service_url: str | None = None
    default_prompt: list[str] | None = None
    brand_color: str | None = None
    composer_icon: str | None = None
    composer_icon_url: str | None = None
    logo: str | None = None
    logo_dark: str | None = None
    logo_url: str | None = None
    logo_url_dark: str | None = None
    screenshots: list[str]
    screenshot_urls: list[str]


PluginShareDiscoverability = TypeAliasType("PluginShareDiscoverability", Literal["LISTED", "UNLISTED", "PRIVATE"])


PluginSharePrincipalRole = TypeAliasType("PluginSharePrincipalRole", Literal["reader", "editor", "owner"])


PluginSharePrincipalType = TypeAliasType("PluginSharePrincipalType", Literal["user", "group", "workspace"])


class PluginSharePrincipal(Value):
    """Somebody a plugin is shared with."""

    principal_type: PluginSharePrincipalType
    principal_id: str
    role: PluginSharePrincipalRole
    name: str


class PluginShareContext(Value):
    """How a plugin is shared."""

    remote_plugin_id: str
    remote_version: str | None = None
    discoverability: PluginShareDiscoverability | None = None
    share_url: str | None = None
    creator_account_user_id: str | None = None
    creator_name: str | None = None
    share_principals: list[PluginSharePrincipal] | None = None
    can_publish_to_workspace: bool | None = None


class LocalPluginSource(Value):
    """From a directory."""

    type: Literal["local"] = "local"
    path: str


class GitPluginSource(Value):
    """From a Git repository."""

    type: Literal["git"] = "git"
    path: str | None = None
    url: str
    ref_name: str | None = None
    sha: str | None = None


class NpmPluginSource(Value):
    """From an npm registry."""

    type: Literal["npm"] = "npm"
    package: str
    version: str | None = None
    registry: str | None = None


class RemotePluginSource(Value):
    """From a catalogue elsewhere."""

    type: Literal["remote"] = "remote"


PluginSource = TypeAliasType(
    "PluginSource",
    Annotated[LocalPluginSource | GitPluginSource | NpmPluginSource | RemotePluginSource, Field(discriminator="type")],
)


class PluginSummary(Value):
    """A plugin, and whether it is installed."""

    id: str
    remote_plugin_id: str | None = None
    version: str | None = None
    local_version: str | None = None
    name: str
    share_context: PluginShareContext | None = None
    source: PluginSource
    installed: bool
    installed_at: int | None = None
    enabled: bool
    install_policy: PluginInstallPolicy
    install_policy_source: PluginInstallPolicySource | None = None
    must_show_installation_interstitial: bool | None = None
    auth_policy: PluginAuthPolicy
    availability: PluginAvailability = "AVAILABLE"
    disabled_reason: PluginDisabledReason | None = None
    eligible_plan_types: list[str] | None = None
    interface: PluginInterface | None = None
    keywords: list[str] = Field(default_factory=list)


class PluginMarketplaceEntry(Value):
    """A marketplace and its plugins."""

    name: str
    path: str | None = None
    interface: MarketplaceInterface | None = None
    plugins: list[PluginSummary]


class PluginListResponse(Result):
    """The marketplaces."""

    marketplaces: list[PluginMarketplaceEntry] = Field(default_factory=list)
    marketplace_load_errors: list[MarketplaceLoadErrorInfo] = Field(default_factory=list)
    featured_plugin_ids: list[str] = Field(default_factory=list)


class PluginInstalledParams(Params):
    """List plugins that are installed."""

    cwds: list[str] | None = None
    install_suggestion_plugin_names: list[str] | None = None


class PluginInstalledResponse(Result):
    """The marketplaces, with installed plugins only."""

    marketplaces: list[PluginMarketplaceEntry] = Field(default_factory=list)
    marketplace_load_errors: list[MarketplaceLoadErrorInfo] = Field(default_factory=list)


LIST = ClientRequest("plugin/list", PluginListParams, PluginListResponse, stage=Stage.EMPTY)
INSTALLED = ClientRequest("plugin/installed", PluginInstalledParams, PluginInstalledResponse, stage=Stage.EMPTY)
