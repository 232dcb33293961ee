"""Whole turns of the real loop over real HTTP: tools, reasoning that comes back, tries that fail, steering."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.agent.models.asking import sampling, scripted, user
from tests.server.agent.stage import Doing, Gate, Scripted, Stage, named, said, shape
from tests.support.mock_model import (
    Drop,
    Hang,
    Reply,
    call,
    calling,
    chats,
    chunk,
    completed,
    delta,
    message,
    says,
    sse,
    usage,
    wrong,
)

from threadloom.agent.base import ToolResult
from threadloom.agent.models import chat, responses
from threadloom.agent.models.chat_history import thought_item
from threadloom.agent.sampling import Done, ItemDone, ModelError, ReasoningDelta, Retrying, TextDelta, ToolCall, Usage

REASONING = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "I must look."}]}
REASONING |= {"encrypted_content": "sealed"}
REASONED = {"type": "response.output_item.done", "output_index": 0, "item": REASONING}
CALLED = {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": '{"at":1}'}
LOOKED = {"type": "function_call_output", "call_id": "call_1", "output": "a cat at 1"}
DONE = Done(Usage(1, 0, 1, 0))


async def look(call: ToolCall) -> ToolResult:
    return ToolResult(f"a cat at {call.arguments[-2]}")


LOOK = named(Doing("look", look))


async def test_a_turn_with_a_tool_asks_twice_and_gives_the_model_back_all_that_it_made() -> None:
    first = [REASONED, delta("I look."), message("I look."), call("look", {"at": 1}), completed(usage=usage(10, 5))]
    async with scripted(Reply([sse(*first)]), says("A cat.")) as (server, model):
        stage = await Stage("What is there?", model, tools=LOOK, instructions=["Be brief."]).play()
    assert stage.text == "A cat."
    spoken = said("I look.", "assistant")
    assert stage.history == [said("What is there?"), REASONING, spoken, CALLED, LOOKED, said("A cat.", "assistant")]
    instruction = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]}
    assert [body["input"] for body in server.bodies] == [
        [instruction, said("What is there?")],
        [instruction, said("What is there?"), REASONING, spoken, CALLED, LOOKED],
    ]
    assert shape(stage.batches) == [
        "item/started",
        "item/reasoning/summaryPartAdded",
        "item/reasoning/summaryTextDelta",
        "item/completed",
        "item/started",
        "item/agentMessage/delta",
        "item/completed",
        "(function_call)",
        "thread/tokenUsage/updated",
        "(function_call_output)",
        "item/started",
        "item/agentMessage/delta",
        "item/completed",
        "thread/tokenUsage/updated",
    ]
    totals = [it.token_usage.total.total_tokens for it in stage.events("thread/tokenUsage/updated")]
    assert totals == [15, 28]


async def test_the_same_over_chat_completions() -> None:
    asked = Reply([sse(chunk(content="I look."), calling("look", '{"at":1}'), chunk("tool_calls"), names=False)])
    async with scripted(asked, chats("A cat."), wire_api="chat") as (server, model):
        stage = await Stage("What is there?", model, tools=LOOK).play()
    assert stage.history == [
        said("What is there?"),
        said("I look.", "assistant"),
        CALLED,
        LOOKED,
        said("A cat.", "assistant"),
    ]
    function = {"name": "look", "arguments": '{"at":1}'}
    assert server.bodies[1]["messages"] == [
        {"role": "user", "content": "What is there?"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "a cat at 1"},
    ]


async def test_a_try_that_broke_keeps_its_text_for_people_and_is_told() -> None:
    broken = Reply([sse(delta("I was ju")), Drop()])
    async with scripted(broken, wrong(500, "Oh."), says("Hi."), request_max_retries=2, stream_max_retries=5) as (
        _,
        model,
    ):
        stage = await Stage("hello", model).play()
    assert shape(stage.batches) == [
        "item/started",
        "item/agentMessage/delta",
        "item/completed",
        "error",
        "error",
        "item/started",
        "item/agentMessage/delta",
        "item/completed",
        "thread/tokenUsage/updated",
    ]
    assert [it.item.text for it in stage.events("item/completed")] == ["I was ju", "Hi."]
    assert stage.history == [said("hello"), said("Hi.", "assistant")]
    first, second = stage.events("error")
    assert (first.will_retry, first.error.message) == (True, "Trying again (1/5)")
    assert first.error.additional_details.startswith("The connection to the model broke")
    info = first.error.codex_error_info.model_dump(by_alias=True)
    assert info == {"responseStreamDisconnected": {"httpStatusCode": None}}
    assert (second.error.message, second.error.codex_error_info) == ("Trying again (1/2)", "internalServerError")


async def test_when_all_tries_have_failed_the_turn_fails_with_the_last_ones_words() -> None:
    async with scripted(rest=wrong(503, "Closed for repairs."), request_max_retries=1) as (server, model):
        stage = Stage("hello", model)
        with pytest.raises(ModelError, match=r"Closed for repairs\."):
            await stage.play()
    assert stage.methods == ["error"]
    assert len(server.posts) == 2


async def test_a_call_of_a_try_that_broke_is_not_run() -> None:
    broken = Reply([sse(REASONED, call("look", {"at": 1})), Drop()])
    async with scripted(broken, says("Hi."), stream_max_retries=1) as (_, model):
        stage = await Stage("hello", model, tools=LOOK).play()
    assert stage.history == [said("hello"), said("Hi.", "assistant")]


async def test_steering_ends_the_request_and_makes_another() -> None:
    def hear(batch: Any) -> None:
        if len(stage.batches) == 1:
            stage.steer("No, a dog.")

    endless = Reply([sse(delta("Once there was a cat")), Hang()])
    async with scripted(endless, says("Woof.")) as (server, model):
        stage = Stage("a story", model, on=hear)
        await stage.play()
        await server.until(lambda it: it.left == [0])
    assert server.bodies[1]["input"] == [said("a story"), said("No, a dog.")]
    assert stage.text == "Woof."


async def test_an_interrupt_ends_the_request() -> None:
    async with scripted(Reply([sse(delta("Once")), Hang()])) as (server, model):
        gate = Gate()
        stage = Stage("a story", model, on=lambda batch: gate.reached.set())
        async with stage.playing() as interrupt:
            await gate.reached.wait()
            interrupt()
        await server.until(lambda it: it.left == [0])
    assert len(server.posts) == 1


# ── what the loop makes of events that only real models send ──────────────────────────────────────────────────────────

SEALED = {"type": "reasoning", "encrypted_content": "a"}
SEALED_2 = {"type": "reasoning", "encrypted_content": "b"}


def function_call(call_id: str) -> dict[str, str]:
    return {"type": "function_call", "call_id": call_id, "name": "look", "arguments": '{"at":1}'}


ORDERS = [
    pytest.param(
        [ItemDone(SEALED), TextDelta("Yes."), ItemDone(), DONE],
        [SEALED, said("Yes.", "assistant")],
        id="reasoning goes before what it led to",
    ),
    pytest.param([ItemDone(SEALED), DONE], [SEALED], id="reasoning alone is kept"),
    pytest.param(
        [TextDelta("One."), ItemDone(), TextDelta("Two."), ItemDone(), DONE],
        [said("One.", "assistant"), said("Two.", "assistant")],
        id="two messages are two",
    ),
    pytest.param(
        [TextDelta("On"), Retrying("x", 1, 1), TextDelta("One."), DONE],
        [said("One.", "assistant")],
        id="a broken message is forgotten",
    ),
    pytest.param(
        [ItemDone(SEALED), Retrying("x", 1, 1), TextDelta("One."), DONE],
        [said("One.", "assistant")],
        id="reasoning of a broken try is forgotten",
    ),
]


@pytest.mark.parametrize(("events", "history"), ORDERS)
async def test_what_the_model_sees_again(events: list[Any], history: list[Any]) -> None:
    for batches in ([events], [[event] for event in events]):
        stage = await Stage("hello", Scripted(batches)).play()
        assert stage.history == [said("hello"), *history]


async def test_reasoning_stays_with_the_call_that_it_led_to() -> None:
    events = [
        ItemDone(SEALED),
        ToolCall("1", "look", '{"at":1}'),
        ItemDone(SEALED_2),
        ToolCall("2", "look", '{"at":1}'),
        TextDelta("I look."),
        DONE,
    ]
    stage = await Stage("hello", Scripted([events], [[TextDelta("Fine."), DONE]]), tools=LOOK).play()
    assert stage.history[1:6] == [
        said("I look.", "assistant"),
        SEALED,
        function_call("1"),
        SEALED_2,
        function_call("2"),
    ]


async def test_two_reasonings_in_a_row_are_two_items() -> None:
    events = [
        ReasoningDelta("So."),
        ItemDone(SEALED),
        ReasoningDelta("And."),
        ItemDone(SEALED_2),
        TextDelta("Yes."),
        DONE,
    ]
    stage = await Stage("hello", Scripted([events])).play()
    items = [it.item for it in stage.events("item/completed")]
    assert [getattr(it, "summary", None) for it in items] == [["So."], ["And."], None]
    assert stage.history == [said("hello"), SEALED, SEALED_2, said("Yes.", "assistant")]


PASSED_BACK = [
    "The `reasoning_content` in the thinking mode must be passed back to the API.",
    "Missing `reasoning_content` field in the assistant message at message index 2.",
]


@pytest.mark.parametrize("words", PASSED_BACK)
async def test_a_server_that_wants_the_thoughts_of_its_model_back_gets_them(words: str) -> None:
    thinks = [chunk(reasoning_content="I must "), chunk(reasoning_content="look.")]
    asked = Reply([sse(*thinks, calling("look", '{"at":1}'), chunk("tool_calls"), names=False)])
    script = asked, wrong(400, words), chats("A cat.")
    async with scripted(*script, wire_api="chat") as (server, model):
        stage = await Stage("What is there?", model, tools=LOOK).play()
    assert stage.text == "A cat."
    thought = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "I must look."}]}
    assert stage.history[1:4] == [thought, CALLED, LOOKED]
    given = [body["messages"][1].get("reasoning_content") for body in server.bodies[1:]]
    assert given == [None, "I must look."]


def test_what_was_thought_in_chat_is_for_chat_alone() -> None:
    asked = sampling(user("Hi"), thought_item("Hm."), said("Hi.", "assistant"), user("And?"))
    assert [it["type"] for it in responses.request(asked)["input"]] == ["message"] * 3
    spoken = chat.request(asked)["messages"]
    assert not any("reasoning_content" in it for it in spoken)
    assert [it.get("reasoning_content") for it in chat.request(asked, thoughts=True)["messages"]] == [None, "Hm.", None]
