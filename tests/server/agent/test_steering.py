"""Steering: the user speaks while the turn runs, at every moment there is."""

from __future__ import annotations

import anyio
from tests.server.agent.stage import DONE, SECONDS, Doing, Gate, Scripted, Stage, named, said, shape

from threadloom.agent.base import Batch, ToolResult
from threadloom.agent.sampling import ReasoningDelta, TextDelta, ToolCall
from threadloom.agent.steering import Steering

SECOND = [[TextDelta("Very well.")], [DONE]]
ANSWERED = ["item/started", "item/agentMessage/delta", "item/completed", "thread/tokenUsage/updated"]


async def test_a_stream_under_way_is_dropped_and_the_model_asked_again() -> None:
    gate = Gate()
    model = Scripted([[TextDelta("Once upon")], gate, [TextDelta(" a time")], [DONE]], SECOND)
    stage = Stage("a story", model)
    async with stage.playing():
        await gate.reached.wait()
        stage.steer("a song instead")
    assert stage.methods == ["item/started", "item/agentMessage/delta", "item/completed", *ANSWERED]
    assert [it.item.text for it in stage.events("item/completed")] == ["Once upon", "Very well."]
    assert model.asked[1].history == [said("a story"), said("a song instead")]
    assert stage.history == [said("a story"), said("a song instead"), said("Very well.", "assistant")]
    assert model.under_way == 0


async def test_before_the_first_piece_nothing_is_left_of_the_answer_that_was_dropped() -> None:
    gate = Gate()
    stage = Stage("a story", Scripted([gate], SECOND))
    async with stage.playing():
        await gate.reached.wait()
        stage.steer("a song instead")
    assert stage.methods == ANSWERED


async def test_reasoning_that_is_dropped_is_completed_as_it_stands() -> None:
    gate = Gate()
    stage = Stage("a story", Scripted([[ReasoningDelta("A king"), ReasoningDelta("or two", 1)], gate], SECOND))
    async with stage.playing():
        await gate.reached.wait()
        stage.steer("a song instead")
    assert stage.events("item/completed")[0].item.summary == ["A king", "or two"]


async def test_calls_of_a_dropped_answer_are_not_made() -> None:
    gate = Gate()
    model = Scripted([[TextDelta("I look."), ToolCall("c", "update_plan", "{}")], gate, [DONE]], SECOND)
    stage = Stage("look", model)
    async with stage.playing():
        await gate.reached.wait()
        stage.steer("do not")
    assert stage.kept("function_call") == stage.kept("function_call_output") == []
    assert stage.text == "Very well."


async def test_while_tools_run_it_waits_for_them_and_the_model_reads_it_behind_their_output() -> None:
    gate = Gate()

    async def look(call: ToolCall) -> ToolResult:
        await gate.pass_through()
        return ToolResult("a garden")

    model = Scripted([[ToolCall("c", "look", "{}"), DONE]], SECOND)
    stage = Stage("look", model, tools=named(Doing("look", look)))
    async with stage.playing():
        await gate.reached.wait()
        stage.steer("and then sing")
        assert len(model.asked) == 1
        gate.open.set()
    call = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "a garden"}
    assert model.asked[1].history == [said("look"), call, output, said("and then sing")]
    assert stage.history == [said("look"), call, said("and then sing"), output, said("Very well.", "assistant")]
    assert len(model.asked) == 2


async def test_at_the_very_end_of_an_answer_the_model_is_asked_once_more() -> None:
    def on(batch: Batch) -> None:
        if len(model.asked) == 1 and "thread/tokenUsage/updated" in shape([batch]):
            stage.steer("one more thing")

    model = Scripted([[TextDelta("The end.")], [DONE]], SECOND)
    stage = Stage("a story", model, on=on)
    await stage.play()
    assert stage.methods == [*ANSWERED, *ANSWERED]
    assert model.asked[1].history == [said("a story"), said("The end.", "assistant"), said("one more thing")]


async def test_while_a_batch_is_being_recorded_the_rest_of_the_stream_is_not_read() -> None:
    def on(batch: Batch) -> None:
        if len(stage.batches) == 1:
            stage.steer("a song instead")

    # Nothing here waits: a stream that has everything at hand is dropped all the same.
    model = Scripted([[TextDelta("Once")], [TextDelta(" upon")], [TextDelta(" a time")], [DONE]], SECOND)
    stage = Stage("a story", model, on=on)
    await stage.play()
    assert [it.item.text for it in stage.events("item/completed")] == ["Once", "Very well."]


async def test_several_in_a_row_are_each_answered_and_several_at_once_together() -> None:
    first, second = Gate(), Gate()
    model = Scripted([[TextDelta("One")], first], [[TextDelta("Two")], second], SECOND)
    stage = Stage("begin", model)
    async with stage.playing():
        await first.reached.wait()
        stage.steer("a")
        await second.reached.wait()
        stage.steer("b")
        stage.steer("c")
    assert [it.history[-1] for it in model.asked] == [said("begin"), said("a"), said("c")]
    assert [it.item.text for it in stage.events("item/completed")] == ["One", "Two", "Very well."]


async def test_an_interrupt_right_after_it_ends_the_turn() -> None:
    gate = Gate()
    model = Scripted([[TextDelta("One")], gate], SECOND)
    stage = Stage("begin", model)
    async with stage.playing() as interrupt:
        await gate.reached.wait()
        stage.steer("a")
        interrupt()
    assert model.under_way == 0
    assert stage.methods == ["item/started", "item/agentMessage/delta"]


async def test_what_waits_for_it_is_woken() -> None:
    steering = Steering()
    steering.steer()
    await steering.wait()
    reached_the_end = False
    with anyio.fail_after(SECONDS), steering.drops():
        await Gate().pass_through()
        reached_the_end = True
    assert steering.waiting
    assert not reached_the_end
    steering.taken()
    assert not steering.waiting
