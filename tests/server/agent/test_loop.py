"""The loop: what a turn looks like from outside, whatever the model does."""

from __future__ import annotations

import anyio
import orjson
import pytest
from tests.server.agent.stage import DONE, Doing, Gate, Scripted, Stage, named, said, shape

from threadloom.agent.base import ToolResult
from threadloom.agent.models.base import Catalog
from threadloom.agent.sampling import ModelError, ReasoningDelta, TextDelta, ToolCall, Usage

WHERE = {"threadId": "thread", "turnId": "turn"}


def json_of(stage: Stage) -> list[tuple[str, dict[str, object]]]:
    return [(it.notification.method, orjson.loads(it.event.to_json())) for it in stage.emissions]


async def test_an_ordinary_answer_is_a_message_that_begins_goes_on_and_ends_and_then_the_usage() -> None:
    model = Scripted([[TextDelta("Good ")], [TextDelta("mor"), TextDelta("ning.")], [DONE]])
    stage = await Stage("hello", model, total_usage=Usage(100, 40, 30, 10), context_window=8000).play()
    message = {"type": "agentMessage", "id": "item-1", "phase": None, "memoryCitation": None}
    message |= {"delivery": None, "questions": None, "startedAtMs": 1000}
    delta = {**WHERE, "itemId": "item-1"}
    last = {"totalTokens": 13, "inputTokens": 10, "cachedInputTokens": 4, "cacheWriteInputTokens": 0}
    total = {"totalTokens": 143, "inputTokens": 110, "cachedInputTokens": 44, "cacheWriteInputTokens": 0}
    assert json_of(stage) == [
        ("item/started", {**WHERE, "item": {**message, "text": "", "completedAtMs": None}, "startedAtMs": 1000}),
        ("item/agentMessage/delta", {**delta, "delta": "Good "}),
        ("item/agentMessage/delta", {**delta, "delta": "mor"}),
        ("item/agentMessage/delta", {**delta, "delta": "ning."}),
        (
            "item/completed",
            {**WHERE, "item": {**message, "text": "Good morning.", "completedAtMs": 1001}, "completedAtMs": 1001},
        ),
        (
            "thread/tokenUsage/updated",
            {
                **WHERE,
                "tokenUsage": {
                    "last": {**last, "outputTokens": 3, "reasoningOutputTokens": 1},
                    "total": {**total, "outputTokens": 33, "reasoningOutputTokens": 11},
                    "modelContextWindow": 8000,
                },
            },
        ),
    ]
    assert stage.history == [said("hello"), said("Good morning.", "assistant")]


async def test_a_batch_is_what_one_read_brought_and_an_empty_one_is_none() -> None:
    model = Scripted(
        [[ReasoningDelta("")], [TextDelta("a")], [], [TextDelta("b"), TextDelta("c")], [TextDelta("")], [DONE]]
    )
    stage = await Stage("hello", model).play()
    assert [shape([batch]) for batch in stage.batches] == [
        ["item/started", "item/agentMessage/delta"],
        ["item/agentMessage/delta", "item/agentMessage/delta"],
        ["item/completed", "thread/tokenUsage/updated"],
    ]


async def test_reasoning_is_an_item_of_its_own_that_the_model_does_not_see_again() -> None:
    thoughts = [ReasoningDelta("so ", 0), ReasoningDelta("far", 0), ReasoningDelta("and on", 1)]
    stage = await Stage("hello", Scripted([[*thoughts, TextDelta("Yes.")], [ReasoningDelta("!")], [DONE]])).play()
    assert shape(stage.batches) == [
        "item/started",
        "item/reasoning/summaryPartAdded",
        "item/reasoning/summaryTextDelta",
        "item/reasoning/summaryTextDelta",
        "item/reasoning/summaryPartAdded",
        "item/reasoning/summaryTextDelta",
        "item/completed",
        "item/started",
        "item/agentMessage/delta",
        "item/completed",
        "item/started",
        "item/reasoning/summaryPartAdded",
        "item/reasoning/summaryTextDelta",
        "item/completed",
        "thread/tokenUsage/updated",
    ]
    assert [it.summary_index for it in stage.events("item/reasoning/summaryTextDelta")] == [0, 0, 1, 0]
    items = [it.item for it in stage.events("item/completed")]
    assert [(it.type, it.id) for it in items] == [
        ("reasoning", "item-1"),
        ("agentMessage", "item-2"),
        ("reasoning", "item-3"),
    ]
    assert (items[0].summary, items[2].summary) == (["so far", "and on"], ["!"])
    assert stage.history == [said("hello"), said("Yes.", "assistant")]


async def test_a_part_of_the_reasoning_that_was_skipped_is_there_and_empty() -> None:
    stage = await Stage("hello", Scripted([[ReasoningDelta("on", 2), ReasoningDelta("so", 0), DONE]])).play()
    assert [it.summary_index for it in stage.events("item/reasoning/summaryPartAdded")] == [0, 1, 2]
    assert [it.item.summary for it in stage.events("item/completed")] == [["so", "", "on"]]


async def test_what_is_said_before_a_call_and_behind_it_are_two_messages() -> None:
    model = Scripted([[TextDelta("Before."), ToolCall("c", "nosuch", "{}"), TextDelta("Behind."), DONE]], [[DONE]])
    stage = await Stage("hello", model).play()
    assert [it.item.text for it in stage.events("item/completed")] == ["Before.", "Behind."]
    assert [it["type"] for it in stage.history[1:]] == ["message", "message", "function_call", "function_call_output"]


async def test_a_call_is_recorded_before_the_tool_runs_and_its_output_after() -> None:
    at_call: list[list[str]] = []

    async def look(call: ToolCall) -> ToolResult:
        at_call.append([it["type"] for it in stage.history])
        return ToolResult(f"seen {call.arguments}")

    model = Scripted(
        [[TextDelta("I look."), ToolCall("c1", "look", '{"at": 1}')], [DONE]], [[TextDelta("Fine.")], [DONE]]
    )
    stage = Stage("hello", model, tools=named(Doing("look", look)))
    await stage.play()
    assert shape(stage.batches) == [
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
    assert at_call == [["message", "message", "function_call"]]
    assert stage.history == [
        said("hello"),
        said("I look.", "assistant"),
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at": 1}'},
        {"type": "function_call_output", "call_id": "c1", "output": 'seen {"at": 1}'},
        said("Fine.", "assistant"),
    ]
    assert model.asked[1].history == stage.history[:-1]
    assert [spec["name"] for spec in model.asked[0].tools] == ["look"]
    totals = [it.token_usage.total.total_tokens for it in stage.events("thread/tokenUsage/updated")]
    assert totals == [13, 26]


async def test_calls_of_one_answer_run_side_by_side_and_are_told_in_their_order() -> None:
    met = {"a": anyio.Event(), "b": anyio.Event()}
    ended: list[str] = []

    async def meet(call: ToolCall) -> ToolResult:
        met[call.name].set()
        for other in met.values():
            await other.wait()
        if call.name == "a":
            await b_done.wait()
        ended.append(call.name)
        b_done.set()
        return ToolResult(f"{call.name} was there")

    b_done = anyio.Event()
    model = Scripted([[ToolCall("1", "a", ""), ToolCall("2", "b", "{}"), DONE]], [[TextDelta("Met.")], [DONE]])
    stage = await Stage("meet", model, tools=named(Doing("a", meet), Doing("b", meet))).play()
    assert ended == ["b", "a"]
    assert [it.get("output", it.get("name")) for it in stage.history[1:-1]] == ["a", "b", "a was there", "b was there"]


NOWHERE = [
    pytest.param("nosuch", "{}", "There is no tool `nosuch`. There are: update_plan.", id="unknown tool"),
    pytest.param("update_plan", '{"plan": [', "The arguments of `update_plan` are not JSON: ", id="not JSON"),
    pytest.param("update_plan", "[1]", "The arguments of `update_plan` must be a JSON object.", id="no object"),
    pytest.param("update_plan", " ", "The arguments of `update_plan` do not fit. plan: Field required.", id="blank"),
]


@pytest.mark.parametrize(("tool", "arguments", "answer"), NOWHERE)
async def test_a_call_that_reaches_no_tool_is_answered_and_the_turn_goes_on(
    tool: str, arguments: str, answer: str
) -> None:
    model = Scripted([[ToolCall("c", tool, arguments)], [DONE]], [[TextDelta("I see.")], [DONE]])
    stage = await Stage("hello", model).play()
    [output] = stage.kept("function_call_output")
    assert output["output"].startswith(answer)
    assert stage.kept("function_call")[0]["arguments"] == arguments
    assert stage.text == "I see."


async def test_a_turn_with_no_tools_says_so() -> None:
    stage = await Stage("x", Scripted([[ToolCall("c", "look", "{}"), DONE]], [[DONE]]), tools=named()).play()
    assert stage.kept("function_call_output")[0]["output"] == "There is no tool `look`. There are: none."


async def test_a_tool_that_breaks_fails_the_turn_with_its_own_error() -> None:
    async def burst(call: ToolCall) -> ToolResult:
        raise OSError("no room")

    stage = Stage("x", Scripted([[ToolCall("c", "burst", "{}"), DONE]]), tools=named(Doing("burst", burst)))
    with pytest.raises(OSError, match="no room"):
        await stage.play()


async def test_a_failing_model_fails_the_turn_and_leaves_no_item_open() -> None:
    model = Scripted([[TextDelta("I was just")], ModelError("Out of breath.", "serverOverloaded")])
    stage = Stage("hello", model)
    with pytest.raises(ModelError, match=r"Out of breath\.") as failure:
        await stage.play()
    assert failure.value.info == "serverOverloaded"
    assert stage.methods == ["item/started", "item/agentMessage/delta", "item/completed"]
    assert (stage.text, stage.history, model.under_way) == ("I was just", [said("hello")], 0)


async def test_a_stream_that_breaks_off_is_a_failure() -> None:
    stage = Stage("hello", Scripted([[TextDelta("I was just")]]))
    with pytest.raises(ModelError, match="broke off") as failure:
        await stage.play()
    assert failure.value.info == {"responseStreamDisconnected": {"httpStatusCode": None}}
    assert stage.text == "I was just"


async def test_a_model_that_goes_in_circles_is_stopped() -> None:
    answers = [[[ToolCall(f"c{at}", "nosuch", "{}"), DONE]] for at in range(5)]
    stage = Stage("hello", Scripted(*answers), most_answers=5)
    with pytest.raises(ModelError, match="asked 5 times"):
        await stage.play()
    assert len(stage.kept("function_call_output")) == 5


async def test_long_work_is_no_circle() -> None:
    calls = [[[ToolCall(f"c{at}", "nosuch", "{}"), DONE]] for at in range(1000)]
    stage = await Stage("hello", Scripted(*calls, [[TextDelta("Done."), DONE]])).play()
    assert stage.text == "Done."
    assert len(stage.kept("function_call_output")) == 1000


async def test_what_the_turn_is_given_reaches_the_model() -> None:
    model = Scripted([[DONE]])
    await Stage("hello", model, instructions=["Be brief."], output_schema={"type": "object"}).play()
    [asked] = model.asked
    assert (asked.model, asked.instructions, asked.output_schema) == ("model", ["Be brief."], {"type": "object"})
    assert asked.history == [said("hello")]


async def test_an_interrupt_ends_the_models_stream() -> None:
    gate = Gate()
    model = Scripted([[TextDelta("Once upon")], gate])
    stage = Stage("a story", model)
    async with stage.playing() as interrupt:
        await gate.reached.wait()
        assert model.under_way == 1
        interrupt()
    assert model.under_way == 0
    assert stage.methods == ["item/started", "item/agentMessage/delta"]  # what is open is the thread's to complete


async def test_an_interrupt_ends_the_tools() -> None:
    gates = {"a": Gate(), "b": Gate()}
    ended: list[str] = []

    async def hang(call: ToolCall) -> ToolResult:
        try:
            await gates[call.name].pass_through()
            raise AssertionError("nobody opens this gate")
        finally:
            ended.append(call.name)

    model = Scripted([[ToolCall("1", "a", "{}"), ToolCall("2", "b", "{}"), DONE]])
    stage = Stage("x", model, tools=named(Doing("a", hang), Doing("b", hang)))
    async with stage.playing() as interrupt:
        for gate in gates.values():
            await gate.reached.wait()
        interrupt()
    assert sorted(ended) == ["a", "b"]
    assert len(stage.kept("function_call")) == 2


async def test_closing_between_two_batches_ends_the_models_stream() -> None:
    model = Scripted([[TextDelta("Once")], [TextDelta(" upon")], [DONE]])
    batches = Stage("a story", model).loop.run(Stage("a story").turn)
    await anext(batches)
    assert model.under_way == 1
    await batches.aclose()
    assert model.under_way == 0


def test_the_catalog_names_what_there_is() -> None:
    catalog = Catalog()
    assert catalog.model("rehearsal") is catalog.model("rehearsal")
    with pytest.raises(
        ModelError, match=r"no model `gpt` from `rehearsal` on this server\. There is: rehearsal\."
    ) as failure:
        catalog.model("gpt")
    assert failure.value.info == "modelNotFound"
