"""Configuration: read with its origins, written back to its file."""

from __future__ import annotations

from typing import Any

from threadloom.config.loaded import Loaded
from threadloom.routes import Context, answers
from threadloom_protocol.v2 import config
from threadloom_protocol.v2.values.settings import Config


@answers(config.READ)
async def read(ctx: Context, params: config.ConfigReadParams) -> config.ConfigReadResponse:
    """What is in force for a directory, and where each value came from."""
    loaded = await ctx.configuration.read(params.cwd)
    return config.ConfigReadResponse(
        config=_shown(loaded),
        origins={key: layer.metadata for key, layer in loaded.origins()},
        layers=[layer.wire() for layer in loaded.layers] if params.include_layers else None,
    )


def _shown(loaded: Loaded) -> Config:
    """Every key that has a value; one whose value the contract has no room for is left out.

    Where no provider is named, clients take it for OpenAI, and ask for that one by its name when they resume a thread:
    another one is told.
    """
    default = {} if loaded.default_provider == "openai" else {"model_provider": loaded.default_provider}
    values: dict[str, Any] = default | loaded.values
    while True:
        try:
            return Config.model_validate(values)
        except ValueError as fault:
            for error in fault.errors():  # type: ignore[attr-defined]
                values.pop(error["loc"][0], None)


@answers(config.WRITE_VALUE)
async def write_value(ctx: Context, params: config.ConfigValueWriteParams) -> config.ConfigWriteResponse:
    """Change one value."""
    edit = config.ConfigEdit(key_path=params.key_path, value=params.value, merge_strategy=params.merge_strategy)
    return await ctx.configuration.write([edit], params.file_path, params.expected_version)


@answers(config.BATCH_WRITE)
async def batch_write(ctx: Context, params: config.ConfigBatchWriteParams) -> config.ConfigWriteResponse:
    """Change several values, or none of them."""
    return await ctx.configuration.write(params.edits, params.file_path, params.expected_version)
