"""Layers of configuration: which file or flag a value came from."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from threadloom_protocol.model import Value


class PackagedDefaultsConfigLayerSource(Value):
    """Defaults that came with an installation."""

    type: Literal["packagedDefaults"] = "packagedDefaults"
    file: str


class MdmConfigLayerSource(Value):
    """Device management."""

    type: Literal["mdm"] = "mdm"
    domain: str
    key: str


class SystemConfigLayerSource(Value):
    """The file of the machine."""

    type: Literal["system"] = "system"
    file: str


class EnterpriseManagedConfigLayerSource(Value):
    """The rules of an enterprise."""

    type: Literal["enterpriseManaged"] = "enterpriseManaged"
    id: str
    name: str


class UserConfigLayerSource(Value):
    """The file of the user."""

    type: Literal["user"] = "user"
    file: str
    profile: str | None = None


class ProjectConfigLayerSource(Value):
    """The folder of a project."""

    type: Literal["project"] = "project"
    dot_codex_folder: str


class SessionFlagsConfigLayerSource(Value):
    """Flags on the command line."""

    type: Literal["sessionFlags"] = "sessionFlags"


class LegacyManagedConfigTomlFromFileConfigLayerSource(Value):
    """A managed file of the old kind."""

    type: Literal["legacyManagedConfigTomlFromFile"] = "legacyManagedConfigTomlFromFile"
    file: str


class LegacyManagedConfigTomlFromMdmConfigLayerSource(Value):
    """Device management of the old kind."""

    type: Literal["legacyManagedConfigTomlFromMdm"] = "legacyManagedConfigTomlFromMdm"


ConfigLayerSource = TypeAliasType(
    "ConfigLayerSource",
    Annotated[
        PackagedDefaultsConfigLayerSource
        | MdmConfigLayerSource
        | SystemConfigLayerSource
        | EnterpriseManagedConfigLayerSource
        | UserConfigLayerSource
        | ProjectConfigLayerSource
        | SessionFlagsConfigLayerSource
        | LegacyManagedConfigTomlFromFileConfigLayerSource
        | LegacyManagedConfigTomlFromMdmConfigLayerSource,
        Field(discriminator="type"),
    ],
)


class ConfigLayer(Value):
    """One layer: what it says and which version of it."""

    name: ConfigLayerSource
    version: str
    config: Any
    disabled_reason: str | None = None


class ConfigLayerMetadata(Value):
    """Which layer, and which version of it."""

    name: ConfigLayerSource
    version: str
