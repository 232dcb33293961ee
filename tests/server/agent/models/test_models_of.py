"""The models of one provider, as agents choose from them: a list, none at all, or one that cannot be had just now."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson
import pytest
from tests.support.mock_model import Hang, MockModel, Reply, mock_model, wrong

from threadloom.agent.models import listing, provider
from threadloom.agent.models.base import REHEARSAL, Catalog, ModelInfo
from threadloom.agent.models.provider import OPENAI, Provider
from threadloom.agent.sampling import ModelError

DEFAULT = ModelInfo(id="loom-0", provider="mock", name="Loom 0", description="")
JSON = {"content-type": "application/json"}
TWO = Reply([orjson.dumps({"data": [{"id": "loom-1"}, {"id": "loom-2"}]})], headers=JSON, framing="length")


@asynccontextmanager
async def catalog(reply: Reply, default: ModelInfo = DEFAULT) -> AsyncIterator[tuple[Catalog, MockModel]]:
    async with mock_model(listing=reply) as server:
        record = Provider(id="mock", name="Mock", base_url=server.url, request_max_retries=0)
        made = Catalog(lambda: default, lambda name: record if name == "mock" else None)
        yield made, server
        await made.aclose()


async def test_the_default_model_is_one_of_its_providers() -> None:
    async with catalog(TWO) as (models, _):
        assert [it.id for it in await models.of("mock") or ()] == ["loom-0", "loom-1", "loom-2"]
    async with catalog(TWO, REHEARSAL) as (models, _):
        assert [it.id for it in await models.of("mock") or ()] == ["loom-1", "loom-2"]
        assert await models.of("rehearsal") == (REHEARSAL,)


@pytest.mark.parametrize("status", [404, 405, 501])
async def test_a_server_that_has_no_list_has_the_default_model(status: int) -> None:
    async with catalog(wrong(status, "No such page: /v1/models")) as (models, _):
        assert await models.of("mock") == (DEFAULT,)


@pytest.mark.parametrize("status", [401, 429, 500, 503])
async def test_a_list_that_cannot_be_had_is_none_for_now(status: int) -> None:
    async with catalog(wrong(status, "Not now.")) as (models, _):
        assert await models.of("mock") is None


async def test_nor_is_one_that_does_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "SECONDS", 0.05)
    async with catalog(Reply([b"{", Hang()], headers=JSON)) as (models, _):
        assert await models.of("mock") is None


async def test_a_provider_that_is_not_configured_is_an_error() -> None:
    async with catalog(TWO) as (models, _):
        with pytest.raises(ModelError, match="There is no model provider `moon`"):
            await models.of("moon")


WINDOWS = [
    ("gpt-5-codex", OPENAI, 272_000),
    ("gpt-5.6-terra", OPENAI + "/", 272_000),
    ("gpt-10", OPENAI, 272_000),
    ("codex-mini-latest", OPENAI, 200_000),
    ("o3-pro", OPENAI, 200_000),
    ("gpt-4.1-mini", OPENAI, 1_047_576),
    ("gpt-4o-mini", OPENAI, 128_000),
    ("omni-moderation-latest", OPENAI, None),
    ("gpt-5-codex", "http://127.0.0.1:11434/v1", None),
]


@pytest.mark.parametrize(("model", "url", "window"), WINDOWS)
def test_windows_of_models_are_known_that_their_server_does_not_list(model: str, url: str, window: int | None) -> None:
    models = Catalog(provider=lambda name: Provider(id=name, base_url=url))
    assert models.window(model, "openai") == window


async def test_what_a_server_lists_goes_before_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = {"id": "gpt-5", "context_length": 4096}
    async with catalog(Reply([orjson.dumps([entry])], headers=JSON, framing="length")) as (models, server):
        monkeypatch.setattr(provider, "OPENAI", server.url)
        assert models.window("gpt-5", "mock") == 272_000
        await models.of("mock")
        assert models.window("gpt-5", "mock") == 4096
