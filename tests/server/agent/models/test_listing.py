"""The models of a provider, where it has a list."""

from __future__ import annotations

import anyio
import orjson
import pytest
from tests.server.agent.models.asking import remote
from tests.support.mock_model import Hang, Reply, mock_model, wrong

from threadloom.agent.models import listing
from threadloom.agent.models.base import ModelInfo

JSON = {"content-type": "application/json"}


def listed(body: object) -> Reply:
    return Reply([orjson.dumps(body)], headers=JSON, framing="length")


async def test_the_list_is_asked_for_once() -> None:
    entries = [{"id": "loom-1", "object": "model"}, {"id": "loom-2", "name": "Loom 2", "max_model_len": 4096}]
    reply = listed({"object": "list", "data": entries})
    async with mock_model(listing=reply) as server, remote(server.url, api_key="k-1") as model:
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(model.list_models)
        models = await model.list_models()
    assert models == (
        ModelInfo(id="loom-1", provider="mock", name="loom-1", description=""),
        ModelInfo(id="loom-2", provider="mock", name="Loom 2", description="", context_window=4096),
    )
    [request] = server.requests
    assert (request.method, request.target) == ("GET", "/v1/models")
    assert request.headers["authorization"] == "Bearer k-1"


NO_LISTS = [
    pytest.param(wrong(404, "Not Found"), id="404"),
    pytest.param(wrong(500, "Oh."), id="500"),
    pytest.param(Reply([b"<html>"]), id="no JSON"),
    pytest.param(listed([]), id="empty"),
    pytest.param(listed({"data": [{"name": "no id"}, 7]}), id="no ids"),
    pytest.param(listed({"data": None}), id="null"),
]


@pytest.mark.parametrize("reply", NO_LISTS)
async def test_no_list_is_an_empty_one_and_for_a_while_not_asked_for_again(reply: Reply) -> None:
    async with mock_model(listing=reply) as server, remote(server.url, request_max_retries=4) as model:
        assert await model.list_models() == ()
        assert await model.list_models() == ()
    assert len(server.requests) == 1


async def test_a_list_that_is_old_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "FRESH", 0.0)
    async with mock_model(listing=listed({"data": [{"id": "a"}]})) as server, remote(server.url) as model:
        await model.list_models()
        await model.list_models()
    assert len(server.requests) == 2


async def test_a_list_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "SECONDS", 0.05)
    async with mock_model(listing=Reply([b"{", Hang()], headers=JSON)) as server, remote(server.url) as model:
        await model.warm()
        assert await model.list_models() == ()
        await server.until(lambda it: it.left == [0])


async def test_a_server_that_is_not_there_has_no_list() -> None:
    async with mock_model() as server:
        gone = server.url
    async with remote(gone) as model:
        assert await model.list_models() == ()
