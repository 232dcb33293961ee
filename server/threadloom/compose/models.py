"""The models that the configuration names."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from threadloom.agent.models.base import LOCAL, REHEARSAL, Catalog, ModelInfo
from threadloom.agent.models.provider import OPENAI, Provider
from threadloom.config.auth import Keyring
from threadloom.config.load import Configuration
from threadloom.config.values import Config
from threadloom.config.values import Provider as Table

# What OpenAI is asked for where no model is named.
OPENAI_MODEL: Final = "gpt-5-codex"


def catalog(configuration: Configuration, keyring: Keyring, told: Callable[[str], None]) -> Catalog:
    """The models that the configuration names; `told` passes on what people should know of them."""

    def default() -> ModelInfo:
        return model_of(configuration.recent().config)

    def provider(name: str) -> Provider | None:
        table = configuration.recent().config.model_providers.get(name)
        if table is None:
            return None
        return Provider(
            id=name,
            name=table.name or name,
            base_url=table.base_url or OPENAI,
            wire_api=table.wire_api,
            env_key=table.env_key,
            env_key_instructions=table.env_key_instructions,
            api_key=keyring.bearer(table),
            request_max_retries=table.request_max_retries,
            stream_max_retries=table.stream_max_retries,
            stream_idle_timeout_ms=table.stream_idle_timeout_ms,
            query_params=table.query_params,
            http_headers=keyring.headers(table) | table.headers(os.environ),
            requires_openai_auth=table.requires_openai_auth,
            tools=table.tools,
            freeform=table.freeform_tools,
            images=table.images,
            embedded=_embedded(name, table),
        )

    return Catalog(default, provider, told, keyring.renew)


def _embedded(name: str, table: Table) -> bool:
    """Whether it is the one that this server brings along: one that has an address is somewhere else."""
    return name == LOCAL.provider and table.base_url is None


def model_of(config: Config) -> ModelInfo:
    """The model that threads run on where this is the configuration."""
    if config.model_provider == REHEARSAL.provider:
        return REHEARSAL
    table = config.provider
    if table is not None and _embedded(config.model_provider, table):
        return LOCAL
    name = config.model or OPENAI_MODEL
    owner = (table.name if table else None) or config.model_provider
    return ModelInfo(
        id=name,
        provider=config.model_provider,
        name=name,
        description=f"The configured model, from {owner}.",
        context_window=config.model_context_window,
    )
