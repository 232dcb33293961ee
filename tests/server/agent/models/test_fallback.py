"""A server that does not understand is asked in another way, once."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import orjson
import pytest
from tests.server.agent.models.asking import ask, sampling, scripted, user
from tests.support.mock_model import Reply, chats, failed, says, sse, wrong

from threadloom.agent.history import message_item
from threadloom.agent.models.limits import UNSEEN
from threadloom.agent.sampling import Model, ModelError, ModelEvent, Retrying, Sampling, TextDelta

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


@pytest.mark.parametrize("missing", MISSING)
async def test_a_server_that_has_answered_is_not_asked_for_a_chat_when_it_misses_its_page_once(missing: Reply) -> None:
    async with scripted(says("One."), missing, says("Three.")) as (server, model):
        assert (await ask(model))[0] == TextDelta("One.")
        with pytest.raises(ModelError):
            await ask(model)
        assert (await ask(model))[0] == TextDelta("Three.")
    assert [it.target for it in server.posts] == ["/v1/responses"] * 3


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


# What servers say of pictures that they do not take.
BLIND = [
    wrong(400, "The image data you provided does not represent a valid image."),
    wrong(500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
    wrong(404, "No endpoints found that support image input"),
    Reply([sse(failed("It cannot be read.", "image_parse_error"))]),
]


def shown(body: Any) -> list[str]:
    """What is shown to the model: its pictures by their names."""
    parts = [part for it in body["input"] for part in it.get("content") or it.get("output") or []]
    return [part.get("image_url") or part["text"] for part in parts]


def picture(name: str) -> Any:
    return {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": name}]}


async def begun(model: Model, asked: Sampling, reads: int) -> list[ModelEvent]:
    """The first thing in each of so many batches: who has heard enough does not wait for the end."""
    async with aclosing(model.stream(asked)) as batches:
        return [(await anext(batches))[0] for _ in range(reads)]


@pytest.mark.parametrize("refusal", BLIND)
async def test_a_picture_that_is_refused_is_left_out_from_then_on(refusal: Reply) -> None:
    before = [picture("good"), message_item("A cat.")]
    async with scripted(refusal, says("Hm."), says("Two.")) as (server, model):
        retrying, said = await begun(model, sampling(*before, picture("bad")), 2)
        assert isinstance(retrying, Retrying)
        assert (retrying.attempt, said) == (1, TextDelta("Hm."))
        await begun(model, sampling(*before, picture("bad"), message_item("Hm."), picture("new")), 1)
    assert [shown(body) for body in server.bodies] == [
        ["good", "A cat.", "bad"],
        ["good", "A cat.", UNSEEN],
        ["good", "A cat.", UNSEEN, "Hm.", "new"],
    ]


async def test_where_the_new_pictures_are_not_to_blame_the_others_are() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "view_image", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": picture("of a tool")["content"]}
    async with scripted(BLIND[0], BLIND[0], says("Hm.")) as (server, model):
        await ask(model, sampling(picture("old"), call, output))
    assert [shown(body) for body in server.bodies] == [["old", "of a tool"], ["old", UNSEEN], [UNSEEN, UNSEEN]]


async def test_pictures_whose_absence_does_not_help_are_shown_again() -> None:
    async with scripted(BLIND[0], BLIND[0], says("Hm.")) as (server, model):
        with pytest.raises(ModelError, match="valid image"):
            await ask(model, sampling(picture("a")))
        await ask(model, sampling(picture("a")))
    assert [shown(body) for body in server.bodies] == [["a"], [UNSEEN], ["a"]]


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


# ── reasoning that somebody else has sealed ───────────────────────────────────────────────────────────────────────────


def thought(seal: str) -> Any:
    return {"type": "reasoning", "summary": [], "encrypted_content": seal}


def seals(body: Any) -> list[str]:
    """The sealed reasoning in a request."""
    return [it["encrypted_content"] for it in body["input"] if it.get("type") == "reasoning"]


STRANGE = [
    wrong(400, "The encrypted content gAAA...x could not be verified. Reason: it could not be decrypted or parsed."),
    wrong(400, "Organization did not match the target organization.", code="invalid_encrypted_content"),
]


@pytest.mark.parametrize("refusal", STRANGE)
async def test_reasoning_that_a_server_cannot_open_is_left_out_from_then_on_and_no_other(refusal: Reply) -> None:
    before = [thought("old"), message_item("A cat.")]
    async with scripted(refusal, says("Hm."), says("Two.")) as (server, model):
        assert TextDelta("Hm.") in await ask(model, sampling(*before, user("Why?")))
        await ask(model, sampling(*before, user("Why?"), thought("new"), message_item("Hm."), user("And?")))
    assert [seals(body) for body in server.bodies] == [["old"], [], ["new"]]
    assert ["reasoning" in body for body in server.bodies] == [True, True, True]


async def test_a_refusal_of_it_where_there_is_none_is_told() -> None:
    async with scripted(rest=STRANGE[1]) as (server, model):
        with pytest.raises(ModelError, match="Organization did not match"):
            await ask(model)
    assert len(server.posts) == 1


# ── instructions that have to come first ──────────────────────────────────────────────────────────────────────────────

MISPLACED = [
    wrong(400, "Chat template error: System message must be at the beginning."),
    wrong(500, "system message must be at the beginning"),
    wrong(400, "Unexpected message role."),
]


@pytest.mark.parametrize("refusal", MISPLACED)
async def test_a_model_that_takes_instructions_first_alone_gets_them_first_from_then_on(refusal: Reply) -> None:
    told: Any = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Hurry."}]}
    asked = sampling(user("One?"), message_item("One."), told, user("Two?"), instructions=["You weave.", "In Latin."])
    async with scripted(refusal, chats("Hm."), chats("Two."), wire_api="chat") as (server, model):
        assert TextDelta("Hm.") in await ask(model, asked)
        await ask(model, asked)
    before, after, later = [[it["role"] for it in body["messages"]] for body in server.bodies]
    assert before == ["system", "user", "assistant", "system", "user"]
    assert after == later == ["system", "user", "assistant", "user"]
    assert server.bodies[1]["messages"][0]["content"] == "You weave.\n\nIn Latin.\n\nHurry."
    async with scripted(refusal, says("Hm."), says("Two.")) as (server, model):
        assert TextDelta("Hm.") in await ask(model, asked)
        await ask(model, asked)
    assert ["instructions" in body for body in server.bodies] == [False, True, True]
    assert server.bodies[1]["instructions"] == "You weave.\n\nIn Latin.\n\nHurry."
    assert [it["role"] for it in server.bodies[1]["input"]] == ["user", "assistant", "user"]


async def test_a_server_that_takes_them_nowhere_is_asked_once_more_and_no_more() -> None:
    async with scripted(rest=MISPLACED[0]) as (server, model):
        with pytest.raises(ModelError, match="must be at the beginning"):
            await ask(model)
    assert len(server.posts) == 2


# ── what a server does not know, and can do without ───────────────────────────────────────────────────────────────────

FORBIDDEN = {"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"]}]}
UNKNOWN = [
    (
        wrong(400, "Unsupported parameter: 'parallel_tool_calls' is not supported with this model."),
        "parallel_tool_calls",
    ),
    (wrong(400, "Unrecognized request argument supplied: parallel_tool_calls"), "parallel_tool_calls"),
    (Reply([orjson.dumps({"message": FORBIDDEN})], 422, {"content-type": "application/json"}), "stream_options"),
]


@pytest.mark.parametrize(("refusal", "name"), UNKNOWN)
async def test_what_a_model_does_not_know_and_can_do_without_is_left_out_from_then_on(
    refusal: Reply, name: str
) -> None:
    asked = sampling(tools=[{"type": "function", "name": "look", "parameters": {}}])
    async with scripted(refusal, chats("One."), chats("Two."), wire_api="chat") as (server, model):
        assert TextDelta("One.") in await ask(model, asked)
        await ask(model, asked)
    assert [name in body for body in server.bodies] == [True, False, False]
    assert all(body["tools"] for body in server.bodies)


async def test_one_thing_after_the_other_may_be_unknown_and_what_helps_nothing_is_told() -> None:
    names = ["parallel_tool_calls", "stream_options"]
    script = [wrong(400, f"Unknown parameter: {name}") for name in names]
    async with scripted(*script, rest=wrong(400, "No stream_options!"), wire_api="chat") as (server, model):
        with pytest.raises(ModelError, match="No stream_options"):
            await ask(model, sampling())
    assert len(server.posts) == 3


async def test_a_server_may_turn_out_to_be_strange_in_several_ways() -> None:
    script = [wrong(404, "Not Found"), UNKNOWN[2][0], MISPLACED[0], chats("Hi.")]
    async with scripted(*script) as (server, model):
        assert (await ask(model, sampling(instructions=["A.", "B."])))[0] == TextDelta("Hi.")
    assert [it.path for it in server.posts] == ["/v1/responses", *["/v1/chat/completions"] * 3]
