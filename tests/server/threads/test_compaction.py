"""A history that is condensed: what is left of it, what comes back, and that nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import anyio
import pytest
from tests.server.agent.stage import Gate
from tests.server.threads.studio import Studio
from tests.support.talk import SECONDS

from threadloom.agent.compaction import PICTURE, estimated
from threadloom.agent.history import user_item
from threadloom.agent.sampling import ModelError, Retrying, ToolCall
from threadloom.events import Aside
from threadloom.store.rollout import Rollouts
from threadloom.store.rows import Line
from threadloom.threads.context.rules import Rules
from threadloom.threads.forks import fork
from threadloom_protocol.v2.turn import TurnToolOutput
from threadloom_protocol.v2.values.content import ImageUserInput, TextUserInput

PLAN = ToolCall("call_1", "update_plan", '{"plan": []}')
TOO_LONG = ModelError("That is more than I can read.", "contextWindowExceeded")
LEAD = "What came before was condensed"


def short(told: list[str]) -> list[str]:
    """What the model was told, with summaries as what they say alone."""
    return [it.split("\n\n", 1)[1] if it.startswith(LEAD) else it for it in told]


async def spoken(loom: Studio, *prompts: str) -> Any:
    """A thread with some turns behind it."""
    thread = loom.born()
    for prompt in prompts:
        assert await loom.turn(thread, prompt) == "completed"
    return thread


# ── on request ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_summary_takes_the_place_of_what_was_said(loom: Studio) -> None:
    loom.model.will("One, then.", "Two, then.", "SUMMARY")
    thread = await spoken(loom, "One?", "Two?")
    assert await loom.compact(thread) == "completed"
    asked = loom.model.asked[2]
    assert loom.model.said(2)[:-1] == ["One?", "One, then.", "Two?", "Two, then."]
    assert "Answer with the summary alone" in loom.model.told(2)[-1]
    assert (list(asked.tools), asked.output_schema) == ([], None)
    assert list(asked.instructions) == ["You are a weaver."]
    assert loom.items(thread)[-2:] == ["started contextCompaction", "completed contextCompaction"]

    await loom.turn(thread, "Three?")
    told = loom.model.told(3)
    assert told[0].startswith("<environment_context>")
    assert short(told[1:]) == ["One?", "Two?", "SUMMARY", "Three?"]
    assert {it["role"] for it in loom.model.asked[3].history} == {"user"}
    assert len(loom.model.asked[3].tools) == 4


async def test_the_log_keeps_everything_and_a_load_begins_with_the_last_compaction(
    loom: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    loom.model.will("One, then.", "FIRST", "Two, then.", "SECOND")
    thread = await spoken(loom, "One?")
    await loom.compact(thread)
    await loom.turn(thread, "Two?")
    await loom.compact(thread)
    texts = [str(it) for it in loom.lines(thread)]
    assert all(any(words in it for it in texts) for words in ("One, then.", "FIRST", "Two, then.", "SECOND"))
    assert len(await loom.turns(thread)) == 4

    await loom.again()
    reads: list[list[int]] = []
    real = Rollouts.after

    def after(store: Rollouts, thread_id: str, seq: int, *rest: int | None, model: bool) -> Iterator[Line]:
        lines = list(real(store, thread_id, seq, *rest, model=model))
        reads.append([it.seq for it in lines])
        return iter(lines)

    monkeypatch.setattr(Rollouts, "after", after)
    thread = loom.load(thread)
    await loom.turn(thread, "Three?")
    assert short(loom.model.said()) == ["One?", "Two?", "SECOND", "Three?"]
    [read] = reads
    assert min(filter(None, read)) == thread.state.rest.compactions[-1] > 10


async def test_where_there_is_nothing_to_condense_nobody_is_asked(loom: Studio) -> None:
    thread = loom.born()
    assert await loom.compact(thread) == "completed"
    assert loom.items(thread) == ["started contextCompaction", "completed contextCompaction"]
    assert loom.model.asked == []
    loom.model.will("One, then.", "SUMMARY")
    await loom.turn(thread, "One?")
    for _ in range(2):
        assert await loom.compact(thread) == "completed"
    assert len(loom.model.asked) == 2  # the second time, there was nothing new
    await loom.turn(thread, "Two?")
    assert short(loom.model.said()) == ["One?", "SUMMARY", "Two?"]


async def test_the_size_of_what_is_left_is_told(loom: Studio) -> None:
    loom.model.tokens = 500
    thread = await spoken(loom, "One?")
    await loom.compact(thread)
    used = [it["params"]["tokenUsage"] for it in loom.events(thread, "thread/tokenUsage/updated")]
    assert [it["total"]["totalTokens"] for it in used] == [501, 1002, 1002]
    assert [it["last"]["totalTokens"] for it in used][:2] == [501, 501]
    left = used[-1]["last"]
    assert 100 < left.pop("totalTokens") < 400
    assert set(left.values()) == {0}


async def test_a_compaction_that_fails_is_a_failed_turn_and_no_more(loom: Studio) -> None:
    thread = await spoken(loom, "One?")
    for fault in (ModelError("No."), ("", ModelError("No.")), "  "):
        loom.model.will(fault)
        assert await loom.compact(thread) == "failed"
        assert loom.items(thread)[-1] == "started contextCompaction"  # it was not completed
    reasons = [it["params"]["turn"]["error"] for it in loom.events(thread, "turn/completed")]
    assert [it["message"] for it in reasons[1:3]] == ["No.", "No."]
    assert "said nothing" in reasons[3]["message"]
    for restart in (False, True):
        if restart:
            await loom.again()
            thread = loom.load(thread)
        await loom.turn(thread, "Two?")
        assert loom.model.said()[:3] == ["One?", "ok", "Two?"]
    assert thread.state.rest.compactions == []


async def test_an_attempt_that_was_given_up_leaves_nothing_in_the_summary(loom: Studio) -> None:
    thread = await spoken(loom, "One?")
    loom.model.will(("SUM", "SUMMARY"))
    real = loom.model.stream

    async def stream(sampling: Any) -> Any:
        first = True
        async for read in real(sampling):
            yield [*read, Retrying("It broke off.", 1, 5)] if first else read
            first = False

    loom.model.stream = stream  # type: ignore[method-assign]
    assert await loom.compact(thread) == "completed"
    loom.model.stream = real  # type: ignore[method-assign]
    [told] = loom.events(thread, "error")
    assert (told["params"]["willRetry"], told["params"]["error"]["additionalDetails"]) == (True, "It broke off.")
    await loom.turn(thread, "Two?")
    assert short(loom.model.said()) == ["One?", "SUMMARY", "Two?"]


async def test_interrupted_it_leaves_the_history_alone(loom: Studio) -> None:
    thread = await spoken(loom, "One?")
    gate = Gate()
    loom.model.will(("SUM", gate))
    running = thread.compact()
    running.show()
    with anyio.fail_after(SECONDS):
        await gate.reached.wait()
        await thread.interrupt()
    assert thread.state.rest.last_turn == "interrupted"
    await loom.turn(thread, "Two?")
    assert loom.model.said() == ["One?", "ok", "Two?"]


# ── while something else goes on ──────────────────────────────────────────────────────────────────────────────────────


async def test_what_is_said_meanwhile_is_answered_afterwards(loom: Studio) -> None:
    thread = await spoken(loom, "One?")
    gate = Gate()
    loom.model.will((gate, "SUMMARY"), "Two, then.")
    running = thread.compact()
    running.show()
    with anyio.fail_after(SECONDS):
        await gate.reached.wait()
    assert thread.start_turn([TextUserInput(text="Two?")]) is running
    assert thread.steer([TextUserInput(text="Three?")], expected=running.id) == running.id
    gate.open.set()
    assert await loom.ended(thread, running) == "completed"
    assert short(loom.model.said()) == ["One?", "SUMMARY", "Two?", "Three?"]
    assert loom.items(thread)[-1] == "completed agentMessage"
    assert len(await loom.turns(thread)) == 2


async def test_asked_for_in_a_turn_it_comes_before_the_next_answer(loom: Studio) -> None:
    gate = Gate()
    loom.model.will((gate, PLAN), "SUMMARY", "Done.")
    thread = loom.born()
    running = thread.start_turn([TextUserInput(text="One?")])
    running.show()
    with anyio.fail_after(SECONDS):
        await gate.reached.wait()
    assert thread.compact() is running
    gate.open.set()
    assert await loom.ended(thread, running) == "completed"
    assert loom.model.said(1)[:3] == ["One?", "function_call", "function_call_output"]
    assert short(loom.model.said(2)) == ["One?", "SUMMARY"]
    assert len(loom.model.asked) == 3


async def test_asked_for_in_the_last_answer_it_comes_at_the_end(loom: Studio) -> None:
    gate = Gate()
    loom.model.will((gate, "One, then."), "SUMMARY")
    thread = loom.born()
    running = thread.start_turn([TextUserInput(text="One?")])
    running.show()
    with anyio.fail_after(SECONDS):
        await gate.reached.wait()
    thread.compact()
    gate.open.set()
    assert await loom.ended(thread, running) == "completed"
    assert loom.items(thread)[-2:] == ["started contextCompaction", "completed contextCompaction"]
    await loom.turn(thread, "Two?")
    assert short(loom.model.said()) == ["One?", "SUMMARY", "Two?"]


async def test_what_is_said_while_the_end_of_a_turn_is_condensed_is_answered(loom: Studio) -> None:
    answering, condensing = Gate(), Gate()
    loom.model.will((answering, "One, then."), (condensing, "SUMMARY"), "Two, then.")
    thread = loom.born()
    running = thread.start_turn([TextUserInput(text="One?")])
    running.show()
    with anyio.fail_after(SECONDS):
        await answering.reached.wait()
        thread.compact()
        answering.open.set()
        await condensing.reached.wait()
    assert thread.steer([TextUserInput(text="Two?")], expected=running.id) == running.id
    condensing.open.set()
    assert await loom.ended(thread, running) == "completed"
    assert short(loom.model.said()) == ["One?", "SUMMARY", "Two?"]
    assert loom.items(thread)[-1] == "completed agentMessage"
    assert len(await loom.turns(thread)) == 1


# ── by itself ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("rules", "limit"),
    [
        ({}, None),
        ({"context_window": 1000}, 900),
        ({"compact_limit": 500}, 500),
        ({"compact_limit": 500, "context_window": 1000}, 500),
        ({"compact_limit": 5000, "context_window": 1000}, 900),
    ],
)
def test_the_limit_is_what_is_configured_and_never_more_than_the_window(rules: Any, limit: int | None) -> None:
    assert Rules(**rules).limit == limit


async def test_a_window_that_fills_in_a_turn_is_emptied_before_the_next_answer(loom: Studio) -> None:
    loom.rules["context_window"] = 1000
    loom.model.will("ok", (PLAN, 899), (PLAN, 900), "SUMMARY", "Done.")
    thread = await spoken(loom, "One?")
    assert await loom.turn(thread, "Two?") == "completed"
    # 900 and the one token of the answer are more than nine tenths of the window.
    assert [it.tools == [] for it in loom.model.asked] == [False, False, False, True, False]
    assert short(loom.model.said()) == ["One?", "Two?", "SUMMARY"]
    assert loom.items(thread)[-4:] == [
        "started contextCompaction",
        "completed contextCompaction",
        "started agentMessage",
        "completed agentMessage",
    ]
    await loom.again()
    await loom.turn(loom.load(thread), "Three?")
    assert short(loom.model.said()) == ["One?", "Two?", "SUMMARY", "Done.", "Three?"]


async def test_a_window_that_filled_is_emptied_when_the_next_turn_begins(loom: Studio) -> None:
    loom.rules["compact_limit"] = 120
    loom.model.will(("One, then.", 500), "SUMMARY", "Two, then.")
    thread = await spoken(loom, "One?")
    assert [it.tools == [] for it in loom.model.asked] == [False]
    await loom.again()
    thread = loom.load(thread)
    picture = ImageUserInput(url="data:image/png;base64,AAAA")
    assert await loom.turn(thread, [TextUserInput(text="Two?"), picture]) == "completed"
    assert "Two?" not in loom.model.told(1)  # what is not answered yet is nothing to sum up
    assert short(loom.model.said(2)) == ["One?", "SUMMARY", "Two?"]
    assert loom.model.asked[2].history[-1]["content"][1]["type"] == "input_image"
    assert await loom.turn(thread, "Three?") == "completed"
    assert len(loom.model.asked) == 4  # the room is told to be there, and nothing is condensed twice


async def test_what_a_tool_brought_is_answered_before_it_is_summed_up(loom: Studio) -> None:
    loom.rules["compact_limit"] = 120
    loom.model.will(("One, then.", 500), "SUMMARY", "A letter, then.")
    thread = await spoken(loom, "One?")
    running = thread.start_turn(TurnToolOutput(name="mail", output="A letter came."))
    running.show()
    assert await loom.ended(thread, running) == "completed"
    assert loom.model.said(1)[:-1] == ["One?", "One, then."]
    assert short(loom.model.said(2)) == ["One?", "SUMMARY", "function_call", "function_call_output"]


async def test_after_a_compaction_the_place_is_told_once_and_as_it_is(loom: Studio) -> None:
    loom.rules["compact_limit"] = 120
    loom.model.will(("One, then.", 500), "SUMMARY", "Two, then.")
    thread = await spoken(loom, "One?")
    (loom.work / "AGENTS.md").write_text("Use both hands.")
    await loom.turn(thread, "Two?", approvalPolicy="never")
    told = short(loom.model.told())
    assert [it.split()[0] for it in told] == ["#", "<environment_context>", "One?", "SUMMARY", "Two?"]
    assert "never (" in told[1]
    await loom.turn(thread, "Three?")
    assert short(loom.model.told()) == [*told, "Two, then.", "Three?"]


async def test_what_was_taken_back_does_not_count(loom: Studio) -> None:
    loom.rules["compact_limit"] = 10_000
    loom.model.will("ok", ("x" * 100_000, 20_000))
    thread = await spoken(loom, "One?", "Two?")
    [_, second] = await loom.turns(thread)
    await loom.revert(thread, second)
    await loom.turn(thread, "Other two?")
    assert loom.model.said() == ["One?", "ok", "Other two?"]


async def test_an_automatic_one_that_fails_leaves_the_prompt_in_the_history(loom: Studio) -> None:
    loom.rules["compact_limit"] = 100
    loom.model.will(("One, then.", 500), ModelError("No."), "SUMMARY", "There.")
    thread = await spoken(loom, "One?")
    assert await loom.turn(thread, "Two?") == "failed"
    assert await loom.turn(thread, "Again?") == "completed"
    assert loom.model.said(2)[:-1] == ["One?", "One, then."]
    assert short(loom.model.said(3)) == ["One?", "SUMMARY", "Two?", "Again?"]


async def test_a_model_that_cannot_read_it_all_is_helped_as_often_as_it_answers_in_between(loom: Studio) -> None:
    loom.model.will(TOO_LONG, PLAN, TOO_LONG, "FIRST", PLAN, TOO_LONG, "SECOND", "Done.")
    thread = loom.born()
    assert await loom.turn(thread, "One?") == "completed"
    assert short(loom.model.said()) == ["One?", "SECOND"]


async def test_a_model_that_cannot_read_it_all_is_helped_once(loom: Studio) -> None:
    loom.model.will("ok", TOO_LONG, "SUMMARY", "Two, then.")
    thread = await spoken(loom, "One?")
    assert await loom.turn(thread, "Two?") == "completed"
    assert short(loom.model.said()) == ["One?", "SUMMARY", "Two?"]
    loom.model.will(TOO_LONG, "SUMMARY", TOO_LONG)
    assert await loom.turn(thread, "Three?") == "failed"


async def test_where_even_the_summary_is_too_much_only_the_end_is_summed_up(loom: Studio) -> None:
    loom.model.will(*["ok"] * 8, TOO_LONG, TOO_LONG, "SUMMARY")
    thread = await spoken(loom, *[f"{number}?" for number in range(8)])
    assert await loom.compact(thread) == "completed"
    sizes = [len(it.history) - 1 for it in loom.model.asked[-3:]]
    assert sizes == [17, 9, 5]
    assert loom.model.said()[:-1] == ["ok", "6?", "ok", "7?", "ok"]
    loom.model.will("ok", *[TOO_LONG] * 9)
    await loom.turn(thread, "More?")
    before = len(loom.model.asked)
    assert await loom.compact(thread) == "failed"
    assert len(loom.model.asked) - before == 5


ALONE = [
    pytest.param("{}", "x" * 40_000, ["{}", "{}", "{}"], [40, 20, 10], id="an output"),
    pytest.param('{"at": "%s"}' % ("y" * 40_000), "x", [ANY, "{}", "{}"], [0, 0, 0], id="what a tool was given"),
]


@pytest.mark.parametrize(("given", "came", "written", "thousands"), ALONE)
async def test_one_thing_that_is_too_much_alone_is_summed_up_by_its_beginning(
    loom: Studio, given: str, came: str, written: list[str], thousands: list[int]
) -> None:
    loom.model.will("ok", TOO_LONG, TOO_LONG, TOO_LONG, "SUMMARY", "Done.")
    thread = await spoken(loom, "One?")
    call = {"type": "function_call", "call_id": "c", "name": "look", "arguments": given}
    output = {"type": "function_call_output", "call_id": "c", "output": came}
    thread.emit(Aside([call, output]))
    assert await loom.turn(thread, "Two?") == "completed"
    asked = [it.history[-3:-1] for it in loom.model.asked[2:5]]
    assert asked[0] == [call, output]
    assert [it["arguments"] for it, _ in asked] == written
    assert [len(it["output"]) // 1000 for _, it in asked] == thousands
    assert short(loom.model.said()) == ["One?", "SUMMARY", "Two?"]


async def test_a_prompt_that_no_model_can_read_does_not_stand_in_the_way_of_the_next(loom: Studio) -> None:
    loom.model.will("ok", TOO_LONG, "SUMMARY", TOO_LONG)
    thread = await spoken(loom, "One?")
    assert await loom.turn(thread, "Two? " + "x" * 200_000) == "failed"
    loom.model.will(TOO_LONG, TOO_LONG, "SUMMARY AGAIN", "Three, then.")
    assert await loom.turn(thread, "Three?") == "completed"
    two, summary, three = short(loom.model.said())
    assert (two[:5], len(two) // 1000, summary, three) == ("Two? ", 80, "SUMMARY AGAIN", "Three?")
    assert await loom.compact(thread) == "completed"
    asked = len(loom.model.asked)
    assert await loom.compact(thread) == "completed"
    assert len(loom.model.asked) == asked  # what is kept of it counts as read


async def test_of_what_the_person_said_the_latest_stays_as_far_as_there_is_room(loom: Studio) -> None:
    loom.rules["compact_limit"] = 400  # a quarter of that for what was said: 100 tokens, 400 characters
    loom.model.will("ok", "ok", ("ok", 500), "SUMMARY")
    thread = await spoken(loom, "a" * 300, "b" * 300, "c" * 200)
    await loom.turn(thread, "d?")
    kept = short(loom.model.said())
    assert [it[0] for it in kept] == ["b", "c", "S", "d"]
    assert kept[0].endswith("b[…]")
    assert kept[1] == "c" * 200
    assert len(kept[0]) < 200


def test_an_estimate_is_near_enough() -> None:
    words = {"role": "user", "content": [{"type": "input_text", "text": "x" * 400}]}
    picture = {"role": "user", "content": [{"type": "input_image", "image_url": "x" * 9_000_000}]}
    assert 100 <= estimated([words]) <= 110
    assert estimated([picture]) < PICTURE + 10
    assert estimated([{"@": "compact", "text": "x" * 400}]) == 0


# ── going back ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("restart", [False, True])
async def test_a_revert_to_before_a_compaction_gets_the_old_history_back(loom: Studio, restart: bool) -> None:
    loom.model.will("ok", "FIRST", "ok", "SECOND", "ok")
    thread = await spoken(loom, "One?")
    await loom.compact(thread)
    await loom.turn(thread, "Two?")
    await loom.compact(thread)
    await loom.turn(thread, "Three?")
    turns = await loom.turns(thread)
    for at, left in [(4, ["One?", "Two?", "SECOND"]), (3, ["One?", "FIRST", "Two?", "ok"]), (1, ["One?", "ok"])]:
        await loom.revert(thread, turns[at])
        if restart:
            await loom.again()
            thread = loom.load(thread)
        assert short([it for it in texts(thread) if not it.startswith("<environment")]) == left
        await loom.turn(thread, "And?")
        assert short(loom.model.said()) == [*left, "And?"]
        again = await loom.turns(thread)
        await loom.revert(thread, again[-1])


async def test_what_is_told_to_the_model_right_after_such_a_revert_comes_behind_the_old_history(loom: Studio) -> None:
    loom.model.will("ok", "FIRST")
    thread = await spoken(loom, "One?")
    await loom.compact(thread)
    compaction = (await loom.turns(thread))[-1]
    await loom.revert(thread, compaction)
    thread.emit(Aside([user_item("Injected")]))
    assert short([it for it in texts(thread) if not it.startswith("<environment")]) == ["One?", "ok", "Injected"]


def texts(thread: Any) -> list[str]:
    return [it["content"][0]["text"] for it in thread.history()]


async def test_a_fork_to_before_a_compaction_has_the_old_history(loom: Studio) -> None:
    loom.model.will("ok", "FIRST", "ok", "SECOND", "ok")
    thread = await spoken(loom, "One?")
    await loom.compact(thread)
    await loom.turn(thread, "Two?")
    await loom.compact(thread)
    turns = await loom.turns(thread)
    forks = {
        turns[0]: ["One?", "ok"],
        turns[1]: ["One?", "FIRST"],
        turns[2]: ["One?", "FIRST", "Two?", "ok"],
        turns[3]: ["One?", "Two?", "SECOND"],
    }
    made = {turn: fork(loom.manager, thread, last_turn=turn) for turn in turns} | {"": fork(loom.manager, thread)}
    assert [len(it.state.rest.compactions) for it in made.values()] == [0, 1, 1, 2, 2]
    for restart in (False, True):
        if restart:
            await loom.again()
            made = {turn: loom.load(it) for turn, it in made.items()}
        for turn, it in made.items():
            left = forks.get(turn, forks[turns[3]])
            assert short([text for text in texts(it) if not text.startswith("<environment")]) == left
    # A fork goes its own way.
    early = made[turns[2]]
    await loom.turn(early, "Three?")
    loom.model.will("THIRD")
    await loom.compact(early)
    assert short(texts(early)[1:]) == ["One?", "Two?", "Three?", "THIRD"]
    assert short(texts(loom.load(thread))[1:]) == ["One?", "Two?", "SECOND"]


def damage(path: Path, where: bytes) -> None:
    """Spoil the last line of a log that has this in it."""
    raw = path.read_bytes()
    at = raw.rindex(where)
    path.write_bytes(raw[:at] + b"?" + raw[at + 1 :])


async def test_a_compaction_whose_record_is_damaged_is_passed_over(loom: Studio) -> None:
    loom.model.will("ok", "FIRST", "ok", "SECOND", "ok")
    thread = await spoken(loom, "One?")
    await loom.compact(thread)
    await loom.turn(thread, "Two?")
    await loom.compact(thread)
    await loom.turn(thread, "Three?")
    await loom.close()
    damage(Path(str(thread.state.rest.thread.path)), b'[{"@":"compact"}')
    loom.open()
    thread = loom.load(thread)
    assert short(texts(thread)[1:]) == ["One?", "FIRST", "Two?", "ok", "Three?", "ok"]


async def test_compactions_are_known_by_their_seqs(loom: Studio) -> None:
    thread = await spoken(loom, "One?")
    for number in range(3):
        loom.model.will(f"SUMMARY {number}")
        await loom.compact(thread)
        await loom.turn(thread, f"{number}?")
    told = [it for it in loom.lines(thread) if {"@": "compact"} in (it.get("model") or [])]
    assert thread.state.rest.compactions == [it["seq"] for it in told]
    assert all(one < other for one, other in pairwise(thread.state.rest.compactions))
    assert {it["method"] for it in told} == {"item/completed"}
