"""Goals: turns follow one another until it is reached, given up or too dear; and what it has taken is told."""

from __future__ import annotations

from typing import Any

import anyio
import orjson
import pytest
from tests.server.agent.stage import Gate
from tests.server.threads.studio import MORNING, Studio
from tests.support.talk import SECONDS

from threadloom.agent.sampling import ModelError, ToolCall
from threadloom.threads.goals import IDLE, changed
from threadloom.threads.thread import Thread
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2.goal import ThreadGoal, ThreadGoalSetParams
from threadloom_protocol.v2.values.content import TextUserInput

PLAN = ToolCall("call_p", "update_plan", '{"plan": []}')


def update(status: str) -> ToolCall:
    return ToolCall(f"call_{status}", "update_goal", orjson.dumps({"status": status}).decode())


def params(**given: Any) -> ThreadGoalSetParams:
    return ThreadGoalSetParams.model_validate({"threadId": "t", **given})


def goal(**given: Any) -> ThreadGoal:
    base = {"objective": "a", "status": "active", "tokens_used": 7, "time_used_seconds": 3}
    return ThreadGoal(**{"thread_id": "t", "created_at": 1, "updated_at": 2, **base, **given})


def seek(loom: Studio, thread: Thread, **given: Any) -> None:
    """Set a goal, as a client does."""
    thread.goals.set(ThreadGoalSetParams.model_validate({"threadId": thread.id, **given}))[1]()


def told(loom: Studio, thread: Thread) -> list[tuple[str, int]]:
    """How the goal stood, time after time, and what it had taken."""
    events = [it["params"]["goal"] for it in loom.events(thread, "thread/goal/updated")]
    return [(it["status"], it["tokensUsed"]) for it in events]


async def resting(loom: Studio, thread: Thread) -> None:
    """Until nothing runs, and nothing follows."""
    await loom.until(lambda: (thread.running or thread.ending) is None)


# ── what a request leads to ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("before", "asked", "after"),
    [
        (None, {"objective": " a "}, {"objective": "a", "status": "active", "tokens_used": 0, "created_at": 9}),
        (None, {"objective": "a", "status": "paused", "tokenBudget": 5}, {"status": "paused", "token_budget": 5}),
        ({}, {"status": "paused"}, {"objective": "a", "status": "paused", "tokens_used": 7, "created_at": 1}),
        ({"status": "paused"}, {"objective": "b"}, {"objective": "b", "status": "paused", "tokens_used": 7}),
        ({"status": "paused"}, {"status": "active"}, {"status": "active", "tokens_used": 7, "updated_at": 9}),
        ({}, {"tokenBudget": 9}, {"token_budget": 9, "status": "active"}),
        ({}, {"tokenBudget": 7}, {"token_budget": 7, "status": "budgetLimited"}),
        ({"token_budget": 9}, {"tokenBudget": None}, {"token_budget": None}),
        ({"token_budget": 9}, {"objective": "b"}, {"token_budget": 9}),
        ({"status": "budgetLimited", "token_budget": 7}, {"status": "active"}, {"status": "budgetLimited"}),
        ({"status": "budgetLimited", "token_budget": 7}, {"objective": "a"}, {"status": "budgetLimited"}),
        (
            {"status": "budgetLimited", "token_budget": 7},
            {"status": "active", "tokenBudget": 8},
            {"status": "active"},
        ),
        ({"status": "complete"}, {"objective": "b"}, {"status": "active", "tokens_used": 0, "created_at": 9}),
        ({"status": "complete"}, {"objective": "a"}, {"status": "complete", "tokens_used": 7, "created_at": 1}),
    ],
)
def test_a_goal_is_set_or_changed(before: Any, asked: Any, after: Any) -> None:
    made = changed(None if before is None else goal(**before), params(**asked), 9)
    assert {name: getattr(made, name) for name in after} == after


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"objective": " \n"}, "must not be empty"),
        ({"objective": "x" * 4001}, "at most 4000"),
        ({"objective": "a", "tokenBudget": 0}, "must be positive"),
        ({"objective": "a", "tokenBudget": -1}, "must be positive"),
        ({"status": "active"}, "no goal exists"),
        ({}, "no goal exists"),
    ],
)
def test_a_goal_that_makes_no_sense_is_refused(asked: Any, reason: str) -> None:
    with pytest.raises(InvalidRequest, match=reason):
        changed(None, params(**asked), 9)


# ── at work ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_turns_follow_one_another_until_the_goal_is_reached(loom: Studio) -> None:
    loom.model.will("A start.", (PLAN, update("complete")), "Reached.")
    thread = loom.born()
    seek(loom, thread, objective="Weave a cloth.", tokenBudget=5000)
    await resting(loom, thread)
    assert told(loom, thread) == [("active", 0), ("active", 11), ("active", 22), ("complete", 22)]
    assert len(await loom.turns(thread)) == 2
    assert "userMessage" not in str(loom.items(thread))  # nobody said anything
    asked = loom.model.told(0)[-1]
    assert "<objective>\nWeave a cloth.\n</objective>" in asked
    assert "0 of 5000 tokens" in asked
    assert "11 of 5000 tokens" in loom.model.told(1)[-1]
    outputs = [it for it in loom.model.asked[2].history if it["type"] == "function_call_output"]
    answer = orjson.loads(outputs[1]["output"])
    assert (answer["goal"]["status"], answer["remainingTokens"]) == ("complete", 4978)
    assert answer["completionBudgetReport"]
    turns = [it["params"]["turn"]["id"] for it in loom.events(thread, "turn/started")]
    assert [it["params"]["turnId"] for it in loom.events(thread, "thread/goal/updated")] == [
        None,
        turns[0],
        *turns[1:] * 2,
    ]

    # It is over: an ordinary turn is not followed by another, and costs it nothing.
    await loom.turn(thread, "Thank you.")
    assert len(await loom.turns(thread)) == 3
    assert told(loom, thread)[-1] == ("complete", 22)


async def test_a_goal_outlives_the_process(loom: Studio) -> None:
    thread = loom.born()
    seek(loom, thread, objective="a", status="paused", tokenBudget=50)
    before = thread.state.rest.goal
    await loom.again()
    assert loom.manager.rest(thread.id).goal == before
    assert loom.load(thread).state.rest.goal == before
    assert loom.model.asked == []


async def test_the_budget_ends_it_and_the_model_is_told_in_time(loom: Studio) -> None:
    loom.model.will((PLAN, 30), "Enough.")
    thread = loom.born()
    seek(loom, thread, objective="a", tokenBudget=31)
    await resting(loom, thread)
    assert told(loom, thread) == [("active", 0), ("budgetLimited", 31), ("budgetLimited", 42)]
    assert len(await loom.turns(thread)) == 1
    assert "used up its budget (31 of 31 tokens" in loom.model.told(1)[-1]
    seek(loom, thread, status="active")
    await resting(loom, thread)
    assert len(loom.model.asked) == 2
    loom.model.will(update("complete"))
    seek(loom, thread, status="active", tokenBudget=1000)
    await resting(loom, thread)
    assert told(loom, thread)[-1] == ("complete", 53)


async def test_what_the_provider_had_at_hand_costs_nothing(loom: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    from threadloom.agent import sampling

    monkeypatch.setattr("tests.server.threads.studio.Usage", lambda input, output: sampling.Usage(input, 6, output, 1))
    loom.model.will(update("complete"))
    thread = loom.born()
    seek(loom, thread, objective="a")
    await resting(loom, thread)
    assert told(loom, thread)[-1] == ("complete", 5)


async def test_time_is_counted_while_turns_run(loom: Studio) -> None:
    gate = Gate()
    loom.model.will((gate, update("paused")), "Good.")
    thread = loom.born()
    seek(loom, thread, objective="a")
    with anyio.fail_after(SECONDS):
        await gate.reached.wait()
    loom.now += 2_600
    gate.open.set()
    await resting(loom, thread)
    loom.now += 60_000  # at rest
    loom.model.will((PLAN, update("complete")))
    seek(loom, thread, status="active")
    loom.now += 500
    await resting(loom, thread)
    [*_, last] = loom.events(thread, "thread/goal/updated")
    assert last["params"]["goal"]["timeUsedSeconds"] == 3
    assert last["params"]["goal"]["updatedAt"] == (MORNING + 2_600 + 60_000 + 500) // 1000


# ── when it does not go on ────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_turn_that_fails_blocks_it(loom: Studio) -> None:
    for fault, status in ((ModelError("No."), "blocked"), (ModelError("No.", "usageLimitExceeded"), "usageLimited")):
        loom.model.will(fault)
        thread = loom.born()
        seek(loom, thread, objective="a")
        await resting(loom, thread)
        assert told(loom, thread) == [("active", 0), (status, 0)]
        methods = [it.get("method") for it in loom.lines(thread)]
        assert methods.index("turn/completed") > len(methods) - 2 > methods.index("thread/goal/updated")


async def test_interrupted_it_waits_for_the_next_word(loom: Studio) -> None:
    gate = Gate()
    loom.model.will((gate, "…"))
    thread = loom.born()
    seek(loom, thread, objective="a")
    with anyio.fail_after(SECONDS):
        await gate.reached.wait()
        await thread.interrupt()
    await resting(loom, thread)
    assert (thread.state.rest.last_turn, told(loom, thread)[-1][0]) == ("interrupted", "active")
    assert len(loom.model.asked) == 1
    loom.model.will("Yes.", update("complete"))
    await loom.turn(thread, "Go on.")
    await resting(loom, thread)
    assert "<objective>" in loom.model.told(2)[-1]
    assert told(loom, thread)[-1][0] == "complete"


async def test_an_interrupt_that_comes_as_a_turn_ends_is_heard(loom: Studio) -> None:
    thread = loom.born()
    reached, opened = anyio.Event(), anyio.Event()
    real = thread._log.sync

    async def sync() -> None:
        reached.set()
        await opened.wait()
        await real()

    thread._log.sync = sync  # type: ignore[method-assign]
    seek(loom, thread, objective="a")
    with anyio.fail_after(SECONDS):
        await reached.wait()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(thread.interrupt)
            await anyio.lowlevel.checkpoint()
            opened.set()
    await resting(loom, thread)
    assert len(loom.model.asked) == 1


async def test_paused_in_a_turn_no_other_follows(loom: Studio) -> None:
    gate = Gate()
    loom.model.will((gate, "There."))
    thread = loom.born()
    seek(loom, thread, objective="a")
    with anyio.fail_after(SECONDS):
        await gate.reached.wait()
    seek(loom, thread, status="paused")
    gate.open.set()
    await resting(loom, thread)
    assert len(loom.model.asked) == 1
    assert told(loom, thread) == [("active", 0), ("paused", 0)]


async def test_dropped_in_a_turn_no_other_follows(loom: Studio) -> None:
    gate = Gate()
    loom.model.will((gate, "There."))
    thread = loom.born()
    seek(loom, thread, objective="a")
    with anyio.fail_after(SECONDS):
        await gate.reached.wait()
    show = thread.goals.clear()
    assert show is not None
    show()
    assert thread.goals.clear() is None
    gate.open.set()
    await resting(loom, thread)
    assert len(loom.model.asked) == 1
    assert thread.state.rest.goal is None
    assert len(loom.events(thread, "thread/goal/cleared")) == 1


@pytest.mark.parametrize("work", [PLAN, PLAN._replace(freeform=True)])
async def test_turns_without_any_work_come_to_an_end(loom: Studio, work: ToolCall) -> None:
    loom.model.will("Well.", "Well.", (work,), "So.")
    thread = loom.born()
    seek(loom, thread, objective="a")
    await resting(loom, thread)
    assert told(loom, thread)[-1][0] == "blocked"
    assert len(await loom.turns(thread)) == 3 + IDLE  # the third had done something
    [warning] = loom.events(thread, "backgroundEvent")
    assert str(IDLE) in warning["params"]["message"]
    assert warning["params"]["level"] == "warning"
    await loom.turn(thread, "Hello")
    assert len(await loom.turns(thread)) == 4 + IDLE
    seek(loom, thread, status="active")
    await resting(loom, thread)
    assert len(await loom.turns(thread)) == 4 + 2 * IDLE


async def test_a_person_s_word_gives_it_time_again(loom: Studio) -> None:
    gate = Gate()
    loom.model.will("Well.", "Well.", (gate, "Well."))
    thread = loom.born()
    seek(loom, thread, objective="a")
    with anyio.fail_after(SECONDS):
        await gate.reached.wait()
        await thread.interrupt()
    await loom.turn(thread, "Go on.")
    await resting(loom, thread)
    assert told(loom, thread)[-1][0] == "blocked"
    assert len(await loom.turns(thread)) == 3 + IDLE


async def test_a_thread_that_is_closing_takes_no_further_turn(loom: Studio) -> None:
    gate = Gate()
    loom.model.will((gate, "There."))
    thread = loom.born()
    seek(loom, thread, objective="a")
    with anyio.fail_after(SECONDS):
        await gate.reached.wait()
    thread.sealed = True
    gate.open.set()
    await resting(loom, thread)
    assert len(loom.model.asked) == 1
    with pytest.raises(InvalidRequest, match="closing"):
        seek(loom, thread, status="active")


# ── the model's tools ─────────────────────────────────────────────────────────────────────────────────────────────────


async def called(loom: Studio, thread: Thread, name: str, arguments: Any) -> Any:
    """What a tool answers in an ordinary turn."""
    loom.model.will(ToolCall("call_1", name, orjson.dumps(arguments).decode()))
    running = thread.start_turn([TextUserInput(text="Do it.")])
    running.show()
    await loom.ended(thread, running)
    return [it for it in loom.model.asked[-1].history if it["type"] == "function_call_output"][-1]["output"]


async def test_the_model_can_set_a_goal_and_read_it(loom: Studio) -> None:
    thread = loom.born()
    assert orjson.loads(await called(loom, thread, "get_goal", {})) == {
        "goal": None,
        "remainingTokens": None,
        "completionBudgetReport": None,
    }
    loom.model.will(
        (ToolCall("c1", "create_goal", '{"objective": "a", "token_budget": 90}'), ToolCall("c2", "get_goal", "{}"))
    )
    loom.model.will("Set.", update("complete"))
    await loom.turn(thread, "Set yourself a goal.")
    await resting(loom, thread)
    assert [it[0] for it in told(loom, thread)] == ["active", "active", "active", "complete"]
    outputs = [it["output"] for it in loom.model.asked[3].history if it["type"] == "function_call_output"]
    assert [orjson.loads(it)["goal"]["objective"] for it in outputs[1:]] == ["a", "a"]
    assert orjson.loads(outputs[2])["remainingTokens"] == 90


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("update_goal", {"status": "complete"}, "no goal"),
        ("update_goal", {"status": "active"}, "do not fit"),
        ("create_goal", {}, "do not fit"),
        ("create_goal", {"objective": " "}, "must not be empty"),
        ("create_goal", {"objective": "a", "token_budget": 0}, "must be positive"),
    ],
)
async def test_the_model_is_told_what_it_cannot_do(loom: Studio, name: str, arguments: Any, reason: str) -> None:
    thread = loom.born()
    assert reason in await called(loom, thread, name, arguments)
    assert thread.state.rest.goal is None


async def test_a_goal_that_is_not_reached_is_not_replaced(loom: Studio) -> None:
    thread = loom.born()
    seek(loom, thread, objective="a", status="paused")
    assert "not complete" in await called(loom, thread, "create_goal", {"objective": "b"})
    seek(loom, thread, status="complete")
    loom.model.will((ToolCall("c1", "create_goal", '{"objective": "b"}'), update("complete")))
    await loom.turn(thread, "Another.")
    assert (told(loom, thread)[-1], thread.state.rest.goal.objective) == (("complete", 0), "b")  # type: ignore[union-attr]


async def test_a_budget_that_is_spent_is_not_a_pause(loom: Studio) -> None:
    thread = loom.born()
    loom.model.will((PLAN, update("paused"), 50))
    seek(loom, thread, objective="a", tokenBudget=10)
    await resting(loom, thread)
    assert {it[0] for it in told(loom, thread)[1:]} == {"budgetLimited"}


async def test_an_ephemeral_thread_has_no_goals(loom: Studio) -> None:
    thread = loom.born(ephemeral=True)
    await loom.turn(thread)
    assert [it["name"] for it in loom.model.asked[0].tools] == ["update_plan"]
    assert "There is no tool" in await called(loom, thread, "get_goal", {})


async def test_a_compaction_keeps_only_the_latest_word_about_the_goal(loom: Studio) -> None:
    loom.rules["compact_limit"] = 4000
    loom.model.will("One.", "Two.", (PLAN, 5000), "SUMMARY", update("complete"))
    thread = loom.born()
    seek(loom, thread, objective="Weave a cloth.")
    await resting(loom, thread)
    asked = loom.model.said(4)
    assert [it.count("Weave a cloth.") for it in asked] == [1, 0]
    assert "22 tokens" in asked[0]
    assert asked[1].endswith("SUMMARY")


async def test_where_the_next_word_about_the_goal_waits_the_last_one_is_dropped(loom: Studio) -> None:
    loom.rules["compact_limit"] = 4000
    loom.model.will("One.", ("word " * 4000, 5000), "SUMMARY", update("complete"))
    thread = loom.born()
    seek(loom, thread, objective="Weave a cloth.")
    await resting(loom, thread)
    asked = loom.model.said(3)
    assert [it.count("Weave a cloth.") for it in asked] == [0, 1]
    assert asked[0].endswith("SUMMARY")
