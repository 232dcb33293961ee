"""OpenAI's SDK: goals that a thread works on by itself, and histories that are summed up."""

from __future__ import annotations

import pytest
from openai_codex import InvalidRequestError
from openai_codex.types import TurnStatus
from tests.clients.sdk import LEAVES_PIPES, Bench, streamed

pytestmark = LEAVES_PIPES

DONE = 'call update_goal {"status": "complete"}\necho The roof is done'


def test_a_goal_runs_until_the_model_calls_it_complete(bench: Bench) -> None:
    with bench.client() as client:
        client.initialize()
        thread = client.thread_start({}).thread
        state, turn_id = client.start_goal_operation(thread.id, DONE)
        events = [client.next_goal_notification(state)]
        while events[-1].method != "turn/completed":
            events.append(client.next_goal_notification(state))
        assert state.is_finished()
        assert state.status is not None
        assert state.status.value == "complete"
    assert turn_id
    assert streamed(events).startswith("The roof is done")
    assert state.completed_turn is not None
    assert state.completed_turn.status is TurnStatus.completed


def test_a_goal_can_be_paused_and_is_kept(bench: Bench) -> None:
    with bench.client() as client:
        client.initialize()
        thread = client.thread_start({}).thread
        state, _ = client.start_goal_operation(thread.id, "wait")
        client.cancel_goal_operation(state)
        while not state.is_finished():
            client.next_goal_notification(state)
        paused = client.thread_goal_set(thread.id).goal
    assert (paused.objective, paused.status.value) == ("wait", "paused")
    with bench.client() as client:
        client.initialize()
        client.thread_resume(thread.id)
        assert client.thread_goal_set(thread.id).goal.status.value == "paused"
        assert client.thread_goal_clear(thread.id).cleared is True
        assert client.thread_goal_clear(thread.id).cleared is False


def test_a_thread_that_leaves_nothing_has_no_goals(bench: Bench) -> None:
    with bench.client() as client:
        client.initialize()
        thread = client.thread_start({"ephemeral": True}).thread
        with pytest.raises(InvalidRequestError, match="persisted"):
            client.start_goal_operation(thread.id, "nothing")


def test_a_history_is_summed_up_and_the_thread_goes_on(bench: Bench) -> None:
    with bench.codex() as codex:
        thread = codex.thread_start()
        thread.run("echo one")
        thread.compact()
        # It has a turn of its own; what is no turn's is told to all.
        statuses = []
        while statuses[-2:] != ["active", "idle"] or len(statuses) < 4:
            event = codex._client.next_notification()
            statuses += [event.payload.status.root.type] if event.method == "thread/status/changed" else []
        assert thread.run("echo two").final_response == "two"
        kinds = [item.root.type for turn in thread.read(include_turns=True).thread.turns for item in turn.items]
    assert kinds.count("contextCompaction") == 1
    assert kinds.count("agentMessage") >= 2


async def test_a_history_is_summed_up_with_an_event_loop(bench: Bench) -> None:
    async with bench.async_codex() as codex:
        thread = await codex.thread_start()
        await thread.run("echo one")
        await thread.compact()
        assert (await thread.run("echo two")).final_response == "two"
