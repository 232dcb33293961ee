"""Configuration: read with its origins, written back to its file."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypeAliasType

from threadloom_protocol.model import Event, Params, Result, UInt, Value
from threadloom_protocol.spec import ClientRequest, ServerNotification
from threadloom_protocol.v2.values.layers import ConfigLayer, ConfigLayerMetadata
from threadloom_protocol.v2.values.settings import Config


class ConfigReadParams(Params):
    """Read the configuration in force for a directory, with the origin of every key.

    `includeLayers` adds each layer by itself.
    """

    include_layers: bool = False
    cwd: str | None = None


class ConfigReadResponse(Result):
    """The configuration, and which layer each key came from."""

    config: Config
    origins: dict[str, ConfigLayerMetadata]
    layers: list[ConfigLayer] | None = None


MergeStrategy = TypeAliasType("MergeStrategy", Literal["replace", "upsert"])


class ConfigValueWriteParams(Params):
    """Write one value to a configuration file. `expectedVersion` guards against a change in between."""

    key_path: str
    value: Any
    merge_strategy: MergeStrategy
    file_path: str | None = None
    expected_version: str | None = None


class OverriddenMetadata(Value):
    """The value is written, but a higher layer says otherwise."""

    message: str
    overriding_layer: ConfigLayerMetadata
    effective_value: Any


WriteStatus = TypeAliasType("WriteStatus", Literal["ok", "okOverridden"])


class ConfigWriteResponse(Result):
    """What was written, and whether it is in force."""

    status: WriteStatus
    version: str
    file_path: str
    overridden_metadata: OverriddenMetadata | None = None


class ConfigEdit(Value):
    """One change of a batch."""

    key_path: str
    value: Any
    merge_strategy: MergeStrategy


class ConfigBatchWriteParams(Params):
    """Write several values at once, or none of them. `reloadUserConfig` hands them on to threads that are loaded."""

    edits: list[ConfigEdit]
    file_path: str | None = None
    expected_version: str | None = None
    reload_user_config: bool = False


class TextPosition(Value):
    """A place in a text, counted from 1."""

    line: UInt
    column: UInt


class TextRange(Value):
    """From one place in a text to another."""

    start: TextPosition
    end: TextPosition


class ConfigWarningNotification(Event):
    """Something in the configuration could not be used as it stands."""

    summary: str
    details: str | None = None
    path: str | None = None
    range: TextRange | None = None


class WarningNotification(Event):
    """Something a person should know; of a thread, if one is named."""

    thread_id: str | None = None
    message: str


READ = ClientRequest("config/read", ConfigReadParams, ConfigReadResponse)
WRITE_VALUE = ClientRequest("config/value/write", ConfigValueWriteParams, ConfigWriteResponse)
BATCH_WRITE = ClientRequest("config/batchWrite", ConfigBatchWriteParams, ConfigWriteResponse)
CONFIG_WARNING = ServerNotification("configWarning", ConfigWarningNotification)
WARNING = ServerNotification("warning", WarningNotification)
