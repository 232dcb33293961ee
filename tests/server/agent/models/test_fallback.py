"""A server that does not understand is asked in another way, once."""

from __future__ import annotations

import pytest
from tests.server.agent.models.asking import ask, sampling, scripted
from tests.support.mock_model import Reply, chats, says, wrong

from threadloom.agent.sampling import ModelError, TextDelta

MISSING = [
    pytest.param(wrong(404, "Not Found"), id="404"),
    pytest.param(wrong(405, "Method Not Allowed"), id="405"),
    pytest.param(Reply([b"404 page not found"], 404, {"content-type": "text/plain"}), id="no JSON"),
    pytest.param(Reply([b'{"detail":"Not Found"}'], 404, {"content-type": "application/json"}), id="another JSON"),
]


@pytest.mark.parametrize("missing", MISSING)
async def test_a_server_without_responses_is_asked_for_a_chat_and_from_then_on_at_once(missing: Reply) -> None:
    async with scripted(missing, chats("One."), chats("Two.")) as (server, model):
        assert (await ask(model))[0] == TextDelta("One.")
        assert (await ask(model))[0] == TextDelta("Two.")
    assert [it.target for it in server.posts] == ["/v1/responses", "/v1/chat/completions", "/v1/chat/completions"]


async def test_a_model_that_is_missing_is_no_missing_page() -> None:
    reply = wrong(404, "model 'm' not found, try pulling it first")
    async with scripted(rest=reply) as (server, model):
        with pytest.raises(ModelError, match="try pulling it first"):
            await ask(model)
    assert [it.target for it in server.posts] == ["/v1/responses"]


async def test_a_server_that_has_neither_says_so_with_its_first_words_and_is_asked_again_in_full() -> None:
    script = [wrong(404, "No responses."), wrong(404, "No chat."), says("Hi.")]
    async with scripted(*script) as (server, model):
        with pytest.raises(ModelError, match=r"No responses\.") as failure:
            await ask(model)
        assert (await ask(model))[0] == TextDelta("Hi.")
    assert failure.value.info == {"httpConnectionFailed": {"httpStatusCode": 404}}
    assert [it.path for it in server.posts] == ["/v1/responses", "/v1/chat/completions", "/v1/responses"]


async def test_a_chat_that_is_busy_is_a_chat() -> None:
    script = [wrong(404, "Not Found"), wrong(429, "Busy."), chats("Hi.")]
    async with scripted(*script, request_max_retries=1) as (server, model):
        assert (await ask(model))[1] == TextDelta("Hi.")
    assert [it.path.rpartition("/")[2] for it in server.posts] == ["responses", "completions", "completions"]


async def test_a_chat_that_is_asked_for_is_not_looked_for_elsewhere() -> None:
    async with scripted(rest=wrong(404, "Not Found"), wire_api="chat") as (server, model):
        with pytest.raises(ModelError):
            await ask(model)
    assert [it.path for it in server.posts] == ["/v1/chat/completions"]


UNREASONING = [
    "Unsupported parameter: 'reasoning.summary' is not supported with this model.",
    "Encrypted content is not supported with this model.",
]


@pytest.mark.parametrize("words", UNREASONING)
async def test_a_model_that_knows_no_reasoning_is_asked_without_and_remembered(words: str) -> None:
    script = [wrong(400, words), says("One."), says("Two."), says("Three.")]
    async with scripted(*script) as (server, model):
        for asked in (sampling(effort="low"), sampling(effort="low"), sampling(model="other")):
            await ask(model, asked)
    assert ["reasoning" in body for body in server.bodies] == [True, False, False, True]
    assert ["include" in body for body in server.bodies] == [True, False, False, True]


async def test_what_is_wrong_for_another_reason_is_told_as_it_is() -> None:
    async with scripted(wrong(400, "No reasoning."), wrong(400, "Still wrong."), says("Hi.")) as (server, model):
        with pytest.raises(ModelError, match=r"Still wrong\."):
            await ask(model)
        await ask(model)
    assert ["reasoning" in body for body in server.bodies] == [True, False, True]


JSON = {"content-type": "application/json"}
WHOLE = [
    pytest.param(
        "responses",
        b'{"output":[{"type":"message","content":[{"type":"output_text","text":"Hi."}]}],"usage":null}',
        id="responses",
    ),
    pytest.param("chat", b'{"choices":[{"message":{"content":"Hi."},"finish_reason":"stop"}]}', id="chat"),
]


@pytest.mark.parametrize(("wire_api", "body"), WHOLE)
async def test_a_server_that_does_not_stream_is_heard_all_the_same(wire_api: str, body: bytes) -> None:
    async with scripted(Reply([body], headers=JSON), wire_api=wire_api) as (_, model):
        assert (await ask(model))[0] == TextDelta("Hi.")


NO_ANSWERS = [(b"{}", "no answer"), (b"[]", "no answer"), (b"{", "no answer"), (b'{"error":{"message":"Oh."}}', "Oh.")]


@pytest.mark.parametrize("wire_api", ["responses", "chat"])
@pytest.mark.parametrize(("body", "words"), NO_ANSWERS)
async def test_json_that_is_no_answer_is_a_failure(wire_api: str, body: bytes, words: str) -> None:
    async with scripted(Reply([body], headers=JSON), wire_api=wire_api) as (_, model):
        with pytest.raises(ModelError, match=words):
            await ask(model)
