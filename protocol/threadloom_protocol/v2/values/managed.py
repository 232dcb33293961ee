"""The parts of what an administrator may prescribe."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypeAliasType

from threadloom_protocol.model import UInt16, Value
from threadloom_protocol.v2.values.common import ReasoningEffort
from threadloom_protocol.v2.values.settings import AllowDenyRequirement

NetworkDomainPermission = TypeAliasType("NetworkDomainPermission", Literal["allow", "deny"])


class ApplicationNetworkRequirements(Value):
    """Hosts that the application itself may reach."""

    enabled: bool
    domains: dict[str, NetworkDomainPermission]


class ApplicationStorageRequirements(Value):
    """Where the application keeps projects."""

    default_project_parent: str | None = None
    projectless_workspace_root: str | None = None


class ApplicationRequirements(Value):
    """What holds for the application itself."""

    network: ApplicationNetworkRequirements | None = None
    storage: ApplicationStorageRequirements | None = None


class AutoReviewRequirements(Value):
    """When a reviewing model must decide."""

    required_on_models: list[str] | None = None
    ignore_rules: list[str] | None = None


class RequestHeader(Value):
    """A header to send along."""

    name: str
    value: str


class BrowserUseExtensionRequirements(Value):
    """What a browser extension sends along."""

    request_headers: list[RequestHeader] | None = None


BrowserUseAccessApprovalLifetime = TypeAliasType("BrowserUseAccessApprovalLifetime", Literal["turn", "thread"])


class BrowserUseOriginPolicy(Value):
    """What an agent may do on one site."""

    access: AllowDenyRequirement | None = None
    downloads: AllowDenyRequirement | None = None
    uploads: AllowDenyRequirement | None = None
    full_cdp_access: AllowDenyRequirement | None = None
    auto_review: AllowDenyRequirement | None = None
    persistent_approval: bool | None = None
    access_approval_lifetime: BrowserUseAccessApprovalLifetime | None = None


class BrowserUseRequirements(Value):
    """What an agent may do in a browser."""

    extension: BrowserUseExtensionRequirements | None = None
    allow_webmcp: bool | None = None
    allow_history_access: bool | None = None
    disable_auto_review: bool | None = None
    allow_global_persistent_approval: bool | None = None
    default_origin_policy: BrowserUseOriginPolicy | None = None
    origins: dict[str, BrowserUseOriginPolicy] | None = None


CliAuthCredentialsStoreMode = TypeAliasType(
    "CliAuthCredentialsStoreMode", Literal["file", "keyring", "auto", "ephemeral"]
)


class ComputerUseMacosRequirements(Value):
    """Which programs of macOS an agent may use."""

    bundle_ids: dict[str, AllowDenyRequirement] | None = None


class ComputerUseWindowsExeRequirement(Value):
    """A program of Windows, and whether an agent may use it."""

    publisher_name: str
    product_name: str
    binary_name: str | None = None
    access: AllowDenyRequirement


class ComputerUseWindowsRequirements(Value):
    """Which programs of Windows an agent may use."""

    aumids: dict[str, AllowDenyRequirement] | None = None
    exes: list[ComputerUseWindowsExeRequirement] | None = None


class ComputerUseRequirements(Value):
    """What an agent may do on a desktop."""

    allow_locked_computer_use: bool | None = None
    allow_persistent_approval: bool | None = None
    default_app_access: AllowDenyRequirement | None = None
    macos: ComputerUseMacosRequirements | None = None
    windows: ComputerUseWindowsRequirements | None = None


class FeedbackRequirements(Value):
    """Whether feedback may be sent."""

    enabled: bool | None = None


class InAppBrowserRequirements(Value):
    """What holds for the built-in browser."""

    allow_external_browser_settings_import: bool | None = None


class NewThreadModelDefaults(Value):
    """What a new thread starts with."""

    model: str | None = None
    model_reasoning_effort: ReasoningEffort | None = None
    service_tier: str | None = None


class ModelsRequirements(Value):
    """What holds for models."""

    new_thread: NewThreadModelDefaults | None = None


NetworkUnixSocketPermission = TypeAliasType("NetworkUnixSocketPermission", Literal["allow", "deny"])


class NetworkRequirements(Value):
    """What commands may reach over the network."""

    enabled: bool | None = None
    http_port: UInt16 | None = None
    socks_port: UInt16 | None = None
    allow_upstream_proxy: bool | None = None
    dangerously_allow_non_loopback_proxy: bool | None = None
    dangerously_allow_all_unix_sockets: bool | None = None
    domains: dict[str, NetworkDomainPermission] | None = None
    review_domains: list[str] | None = None
    managed_allowed_domains_only: bool | None = None
    allowed_domains: list[str] | None = None
    denied_domains: list[str] | None = None
    unix_sockets: dict[str, NetworkUnixSocketPermission] | None = None
    allow_unix_sockets: list[str] | None = None
    allow_local_binding: bool | None = None
