"""The models that a provider names, where it has a list: asked for seldom, and never waited for long."""

from __future__ import annotations

import time
from typing import Any, Final

import anyio
import orjson

from threadloom.agent.models.base import ModelInfo
from threadloom.agent.models.client import Client
from threadloom.agent.models.failure import Failure

SECONDS: Final = 5.0  # that a client waits at most: the list is a courtesy
FRESH: Final = 300.0  # seconds that a list is good for
NO_LIST: Final = (404, 405, 501)  # what servers answer that have none
STALE: Final = 30.0  # seconds until a server that gave none is asked again

# What servers call the size of the context, in tokens.
_WINDOWS: Final = ("context_window", "context_length", "max_model_len", "max_context_length")


class Listing:
    """What `GET /models` says, remembered for a while."""

    def __init__(self, provider: str, client: Client) -> None:
        self._provider = provider
        self._client = client
        self._asking = anyio.Lock()
        self._models: tuple[ModelInfo, ...] = ()
        self._until = 0.0
        self.failed = False  # the server could not be asked: it may have a list all the same

    async def models(self) -> tuple[ModelInfo, ...]:
        """The list; empty where there is none, or not in time."""
        async with self._asking:
            if time.monotonic() >= self._until:
                self._models = await self._ask()
                self._until = time.monotonic() + (FRESH if self._models else STALE)
        return self._models

    def window(self, name: str) -> int | None:
        """How many tokens that model may have before it, as the list said when it was last asked for."""
        return next((it.context_window for it in self._models if it.id == name), None)

    async def _ask(self) -> tuple[ModelInfo, ...]:
        try:
            with anyio.fail_after(SECONDS):
                body = orjson.loads(await self._client.get("/models", SECONDS))
        except (Failure, TimeoutError, orjson.JSONDecodeError) as fault:
            silent = isinstance(fault, Failure) and fault.status not in NO_LIST
            self.failed = silent or isinstance(fault, TimeoutError)
            return ()
        self.failed = False
        found = body.get("data") or body.get("models") if isinstance(body, dict) else body
        entries = found if isinstance(found, list) else []
        return tuple(self._info(it) for it in entries if isinstance(it, dict) and isinstance(it.get("id"), str))

    def _info(self, entry: dict[str, Any]) -> ModelInfo:
        meta = entry.get("meta")  # where llama.cpp keeps it
        sizes = [*(entry.get(name) for name in _WINDOWS), meta.get("n_ctx") if isinstance(meta, dict) else None]
        window = next((size for size in sizes if type(size) is int and size > 0), None)
        name, about = entry.get("name"), entry.get("description")
        return ModelInfo(
            id=entry["id"],
            provider=self._provider,
            name=name if isinstance(name, str) else entry["id"],
            description=about if isinstance(about, str) else "",
            context_window=window,
        )
