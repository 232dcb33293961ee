"""Apps (connectors). This server has none."""

from __future__ import annotations

from pydantic import Field

from threadloom_protocol.model import Params, Result, UInt, Value
from threadloom_protocol.spec import ClientRequest, Stage


class AppsListParams(Params):
    """List apps that could be connected."""

    cursor: str | None = None
    limit: UInt | None = None
    thread_id: str | None = None
    force_refetch: bool = False


class AppBranding(Value):
    """Who stands behind an app."""

    category: str | None = None
    developer: str | None = None
    website: str | None = None
    privacy_policy: str | None = None
    terms_of_service: str | None = None
    is_discoverable_app: bool


class AppReview(Value):
    """How far the review of an app has come."""

    status: str


class AppScreenshot(Value):
    """A picture of an app at work."""

    url: str | None = None
    file_id: str | None = None
    user_prompt: str


class AppMetadata(Value):
    """What a shop window says about an app."""

    review: AppReview | None = None
    categories: list[str] | None = None
    sub_categories: list[str] | None = None
    seo_description: str | None = None
    screenshots: list[AppScreenshot] | None = None
    developer: str | None = None
    version: str | None = None
    version_id: str | None = None
    version_notes: str | None = None
    first_party_requires_install: bool | None = None
    show_in_composer_when_unlinked: bool | None = None


class AppInfo(Value):
    """An app."""

    id: str
    name: str
    description: str | None = None
    logo_url: str | None = None
    logo_url_dark: str | None = None
    icon_assets: dict[str, str] | None = None
    icon_dark_assets: dict[str, str] | None = None
    distribution_channel: str | None = None
    branding: AppBranding | None = None
    app_metadata: AppMetadata | None = None
    labels: dict[str, str] | None = None
    install_url: str | None = None
    is_accessible: bool = False
    is_enabled: bool = True
    plugin_display_names: list[str] = Field(default_factory=list)


class AppsListResponse(Result):
    """A page of apps."""

    data: list[AppInfo] = Field(default_factory=list)
    next_cursor: str | None = None


class AppsInstalledParams(Params):
    """List apps that are connected."""

    thread_id: str | None = None
    force_refresh: bool = False


class InstalledApp(Value):
    """A connected app."""

    id: str
    runtime_name: str | None = None
    enabled: bool
    callable: bool


class AppsInstalledResponse(Result):
    """The connected apps."""

    apps: list[InstalledApp] = Field(default_factory=list)


LIST = ClientRequest("app/list", AppsListParams, AppsListResponse, stage=Stage.EMPTY)
INSTALLED = ClientRequest("app/installed", AppsInstalledParams, AppsInstalledResponse, stage=Stage.EMPTY)
