"""OpenAI's SDK with a model behind HTTP: what the model is sent, and what becomes of its answers."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest
from openai_codex import ExternalMessage, ImageInput, LocalImageInput, TextInput
from openai_codex.types import ReasoningEffort, TurnStatus
from tests.clients.sdk import LEAVES_PIPES, Bench, methods, streamed
from tests.support.mock_model import (
    Hold,
    MockModel,
    Reply,
    chats,
    completed,
    delta,
    failed,
    message,
    mock_model,
    says,
    sse,
    wrong,
)

pytestmark = LEAVES_PIPES

PICTURE = b"\x89PNG\r\n\x1a\n and so on"


def behind(model: MockModel, wire: str = "responses") -> list[str]:
    """Words for `--config` that put this model behind the server."""
    provider = f'{{name="Mock", base_url="{model.url}", wire_api="{wire}"}}'
    return ['model="mock-1"', 'model_provider="mock"', f"model_providers.mock={provider}"]


def parts(body: Any, role: str) -> list[Any]:
    """The contents of all messages of one role in what a model was sent."""
    return [part for item in body["input"] if item.get("role") == role for part in item["content"]]


@pytest.mark.parametrize("wire", ["responses", "chat"])
async def test_an_answer_streams_from_the_model_to_the_program(bench: Bench, wire: str) -> None:
    reply = says("Good ", "mor", "ning") if wire == "responses" else chats("Good ", "mor", "ning")
    async with mock_model(reply) as model, bench.async_codex(*behind(model, wire)) as codex:
        turn = await (await codex.thread_start()).turn("hello")
        events = [event async for event in turn.stream()]
    assert streamed(events) == "Good morning"
    assert methods(events)[-2:] == ["thread/tokenUsage/updated", "turn/completed"]
    usage = events[-2].payload.token_usage.last
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (10, 3, 13)
    assert len(model.posts) == 1


async def test_the_last_thing_a_model_reads_is_the_prompt_behind_its_instructions(bench: Bench) -> None:
    async with mock_model(says("yes")) as model, bench.async_codex(*behind(model)) as codex:
        thread = await codex.thread_start(base_instructions="You are a gate.", developer_instructions="Stay shut.")
        await thread.run("open, please", effort=ReasoningEffort.low)
    (body,) = model.bodies
    assert (body["model"], body["stream"], body["store"]) == ("mock-1", True, False)
    assert body["reasoning"]["effort"] == "low"
    ordered = [part["text"] for part in parts(body, "developer")]
    assert ordered[0] == "You are a gate."
    assert ordered.index("Stay shut.") > 0
    assert parts(body, "user")[-1] == {"type": "input_text", "text": "open, please"}


async def test_a_model_sees_pictures(bench: Bench) -> None:
    file = bench.work / "picture.png"
    file.write_bytes(PICTURE)
    url = f"data:image/png;base64,{b64encode(PICTURE).decode()}"
    async with mock_model(says("a picture")) as model, bench.async_codex(*behind(model)) as codex:
        thread = await codex.thread_start()
        await thread.run([TextInput("what is this?"), ImageInput(url), LocalImageInput(str(file))])
    seen = [part["image_url"] for part in parts(model.bodies[0], "user") if part["type"] == "input_image"]
    assert seen == [url, url]


async def test_an_output_schema_is_the_models_to_keep(bench: Bench) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    async with mock_model(says('{"n":', "7}")) as model, bench.async_codex(*behind(model)) as codex:
        result = await (await codex.thread_start()).run("a number", output_schema=schema)
    assert json.loads(result.final_response or "") == {"n": 7}
    shape = model.bodies[0]["text"]["format"]
    assert (shape["type"], shape["schema"]) == ("json_schema", schema)


async def test_a_message_from_outside_is_a_tools_words_to_the_model(bench: Bench) -> None:
    async with mock_model(says("thanks")) as model, bench.async_codex(*behind(model)) as codex:
        result = await (await codex.thread_start()).run(ExternalMessage("mail", "you have mail", namespace="office"))
    assert result.final_response == "thanks"
    last = model.bodies[0]["input"][-1]
    assert (last["type"], last["output"]) == ("function_call_output", "you have mail")


async def test_a_failing_model_fails_the_turn_and_the_next_one_is_fine(bench: Bench) -> None:
    broken = Reply([sse(failed("The model has a headache", "invalid_prompt"))])
    async with mock_model(broken, rest=says("better")) as model, bench.async_codex(*behind(model)) as codex:
        thread = await codex.thread_start()
        with pytest.raises(RuntimeError, match="headache"):
            await thread.run("hello")
        assert (await thread.run("hello again")).final_response == "better"


async def test_a_model_that_is_busy_is_asked_again(bench: Bench) -> None:
    busy = wrong(429, "Too many requests", code="rate_limit_exceeded", retry_after="0")
    async with mock_model(busy, says("at last")) as model, bench.async_codex(*behind(model)) as codex:
        result = await (await codex.thread_start()).run("hello")
    assert (result.status, result.final_response) == (TurnStatus.completed, "at last")
    assert len(model.posts) == 2


async def test_a_model_that_refuses_the_key_fails_the_turn_at_once(bench: Bench) -> None:
    async with mock_model(rest=wrong(401, "No such key")) as model, bench.async_codex(*behind(model)) as codex:
        with pytest.raises(RuntimeError, match="No such key"):
            await (await codex.thread_start()).run("hello")
    assert len(model.posts) == 1


async def test_an_interrupt_ends_the_request_to_the_model(bench: Bench) -> None:
    hold = Hold()
    reply = Reply([sse(delta("half a ")), hold, sse(delta("sentence"), message("half a sentence"), completed())])
    async with mock_model(reply) as model, bench.async_codex(*behind(model)) as codex:
        turn = await (await codex.thread_start()).turn("hello")
        async for event in turn.stream():
            if event.method == "item/agentMessage/delta":
                await turn.interrupt()
        await model.until(lambda it: [it.requests[at].method for at in it.left] == ["POST"])
    assert event.payload.turn.status is TurnStatus.interrupted
    assert not hold.open.is_set()


async def test_the_second_turn_carries_the_first_in_its_history(bench: Bench) -> None:
    async with mock_model(says("one"), says("two")) as model, bench.async_codex(*behind(model)) as codex:
        thread = await codex.thread_start()
        await thread.run("first")
        await thread.run("second")
    said = [part["text"] for part in parts(model.bodies[1], "user")]
    assert said[-2:] == ["first", "second"] or (said[-1] == "second" and "first" in said)
    assert [part["text"] for part in parts(model.bodies[1], "assistant")] == ["one"]
