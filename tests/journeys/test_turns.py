"""Turns as a client sees them: their events in order, steering, interrupting, saying the same twice."""

from __future__ import annotations

from json import dumps
from typing import Any

import pytest
from tests.support.talk import Message, Refusal, Talk, said, story, streamed, text_of

ORDINARY = [
    "answer",
    "thread/status/changed active",
    "turn/started",
    "item/started userMessage",
    "item/completed userMessage",
    "item/started agentMessage",
    "item/agentMessage/delta",
    "item/completed agentMessage",
    "thread/tokenUsage/updated",
    "thread/status/changed idle",
    "turn/completed",
]


def seqs(messages: list[Message]) -> list[int]:
    return [it["params"]["seq"] for it in messages if "seq" in it.get("params", {})]


# ── an ordinary turn ──────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_ordinary_turn_tells_its_events_in_order(talk: Talk) -> None:
    thread = await talk.start()
    before = len(talk.log)
    answer = await talk.ask("turn/start", threadId=thread["id"], input=said("Hello there"))
    assert answer["turn"] | {"startedAt": 0} == {
        "id": answer["turn"]["id"],
        "rootTurnId": answer["turn"]["rootTurnId"],
        "items": [],
        "itemsView": "notLoaded",
        "status": "inProgress",
        "error": None,
        "startedAt": 0,
        "completedAt": None,
        "durationMs": None,
    }
    ended = await talk.until("turn/completed")
    heard = talk.log[before:]
    assert story(heard) == ORDINARY
    assert seqs(heard) == list(range(2, 2 + len(heard) - 1))  # `thread/started` was the first
    assert {it["params"]["turnId"] for it in heard if "turnId" in it.get("params", {})} == {answer["turn"]["id"]}

    turn = ended["turn"]
    assert (turn["status"], turn["error"], turn["itemsView"]) == ("completed", None, "summary")
    assert [it["type"] for it in turn["items"]] == ["agentMessage"]
    assert streamed(heard) == text_of(turn)
    assert turn["completedAt"] >= turn["startedAt"]
    assert turn["durationMs"] >= 0


async def test_a_turn_that_fails_says_why_before_it_ends(talk: Talk) -> None:
    thread = await talk.start()
    before = len(talk.log)
    turn_id = await talk.begin(thread["id"], "fail The provider is down.")
    ended = await talk.until("turn/completed")
    assert story(talk.log[before:]) == [
        *ORDINARY[:5],
        "thread/status/changed systemError",
        "error",
        "turn/completed",
    ]
    [error] = talk.heard("error")
    assert error["params"] == {
        "threadId": thread["id"],
        "turnId": turn_id,
        "willRetry": False,
        "error": ended["turn"]["error"],
        "seq": ended["seq"] - 1,
    }
    assert (ended["turn"]["status"], ended["turn"]["items"]) == ("failed", [])
    assert ended["turn"]["error"]["message"] == "The provider is down."
    assert ended["turn"]["error"]["codexErrorInfo"] == "other"
    read = await talk.ask("thread/read", threadId=thread["id"])
    assert read["thread"]["status"] == {"type": "systemError"}

    # The next turn works, and takes the mark away.
    assert (await talk.turn(thread["id"], "echo Back again."))["status"] == "completed"
    assert (await talk.ask("thread/read", threadId=thread["id"]))["thread"]["status"] == {"type": "idle"}


async def test_what_was_said_before_a_failure_is_kept(talk: Talk) -> None:
    thread = await talk.start()
    ended = await talk.turn(thread["id"], "say 6 words\nfail")
    assert ended["status"] == "failed"
    assert text_of(ended) == "the loom stands in the café"


async def test_reasoning_and_a_plan_come_as_events_of_their_own(talk: Talk) -> None:
    thread = await talk.start()
    before = len(talk.log)
    plan = '{"explanation": "how", "plan": [{"step": "one", "status": "in_progress"}]}'
    turn_id = await talk.begin(thread["id"], f"think\ncall update_plan {plan}\necho Done.")
    await talk.until("turn/completed")
    heard = talk.heard(since=before)
    assert "item/started reasoning" in story(heard)
    [told] = talk.heard("turn/plan/updated", since=before)
    assert told["params"]["plan"] == [{"step": "one", "status": "inProgress"}]
    assert told["params"]["turnId"] == turn_id
    [first, second] = talk.heard("thread/tokenUsage/updated", since=before)  # once for each answer of the model
    last, total = second["params"]["tokenUsage"]["last"], second["params"]["tokenUsage"]["total"]
    assert total["totalTokens"] == last["totalTokens"] + first["params"]["tokenUsage"]["total"]["totalTokens"]


async def test_an_unknown_model_fails_the_turn_and_names_those_there_are(talk: Talk) -> None:
    thread = await talk.start()
    ended = await talk.turn(thread["id"], "Hello", model="gpt-imaginary")
    assert ended["status"] == "failed"
    assert "gpt-imaginary" in ended["error"]["message"]
    assert "rehearsal" in ended["error"]["message"]


async def test_empty_input_runs_a_turn_without_a_user_message(talk: Talk) -> None:
    thread = await talk.start()
    before = len(talk.log)
    await talk.ask("turn/start", threadId=thread["id"], input=[])
    await talk.until("turn/completed")
    assert "item/started userMessage" not in story(talk.log[before:])


async def test_what_is_too_deep_to_be_written_down_is_refused_and_the_thread_goes_on(talk: Talk) -> None:
    thread = await talk.start()
    schema: Any = {}
    for _ in range(300):
        schema = {"properties": schema}
    params = {"threadId": thread["id"], "input": [{"type": "text", "text": "hi"}], "outputSchema": schema}
    await talk.wire.send(dumps({"id": 99_999, "method": "turn/start", "params": params}).encode())
    with pytest.raises(Refusal) as refused:
        await talk.answer(99_999)
    assert refused.value.code == -32602
    assert text_of(await talk.turn(thread["id"], "echo Plain.")) == "Plain."


async def test_an_output_schema_shapes_the_last_message_of_that_turn_alone(talk: Talk) -> None:
    thread = await talk.start()
    schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    assert text_of(await talk.turn(thread["id"], "Name this", outputSchema=schema)).startswith('{"title":')
    assert text_of(await talk.turn(thread["id"], "echo Plain.")) == "Plain."


async def test_settings_of_a_turn_hold_for_it_and_later_ones(talk: Talk) -> None:
    thread = await talk.start()
    before = len(talk.log)
    await talk.turn(thread["id"], "echo one", effort="high", cwd="/tmp/..", approvalPolicy="never")
    assert story(talk.log[before:])[1:3] == ["thread/settings/updated", "thread/status/changed active"]
    [updated] = talk.heard("thread/settings/updated", since=before)
    settings = updated["params"]["threadSettings"]
    assert (settings["effort"], settings["cwd"], settings["approvalPolicy"]) == ("high", "/", "never")
    again = len(talk.log)
    await talk.turn(thread["id"], "echo two", effort="high")
    assert talk.heard("thread/settings/updated", since=again) == []
    read = (await talk.ask("thread/read", threadId=thread["id"]))["thread"]
    assert (read["reasoningEffort"], read["cwd"]) == ("high", "/")


async def test_too_long_an_input_is_refused_before_anything_happens(talk: Talk) -> None:
    thread = await talk.start()
    half = said("x" * 600_000)
    refusal = await talk.refused("turn/start", threadId=thread["id"], input=half + half)
    assert refusal.code == -32602
    assert "1048576" in refusal.message
    assert refusal.data == {"input_error_code": "input_too_large", "max_chars": 1_048_576, "actual_chars": 1_200_000}
    assert (await talk.ask("thread/turns/list", threadId=thread["id"]))["data"] == []


async def test_a_turn_in_a_thread_that_is_not_there_is_refused(talk: Talk) -> None:
    nobody = "01a1e24a-0000-7000-8000-000000000000"
    refusal = await talk.refused("turn/start", threadId=nobody, input=said("Hello"))
    assert (refusal.code, refusal.message) == (-32600, f"thread not found: {nobody}")


# ── steering ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_steering_drops_the_answer_and_begins_another(talk: Talk) -> None:
    thread = await talk.start()
    before = len(talk.log)
    turn_id = await talk.begin(thread["id"], "slow 20 ms\nsay 400 words")
    await talk.until("item/agentMessage/delta")
    answer = await talk.ask(
        "turn/steer", threadId=thread["id"], expectedTurnId=turn_id, input=said("echo Enough."), clientUserMessageId="s"
    )
    assert answer == {"turnId": turn_id}
    ended = (await talk.until("turn/completed"))["turn"]
    assert (ended["id"], ended["status"], text_of(ended)) == (turn_id, "completed", "Enough.")
    told = story(talk.heard(since=before))
    if told[8] == "item/agentMessage/delta":  # it had left the model already
        del told[8]
    assert told == [
        *ORDINARY[1:7],
        "item/started userMessage",
        "item/completed userMessage",
        "item/completed agentMessage",
        *ORDINARY[5:],
    ]
    read = await talk.ask("thread/read", threadId=thread["id"], includeTurns=True)
    [turn] = read["thread"]["turns"]
    kinds = [it["type"] for it in turn["items"]]
    assert kinds == ["userMessage", "agentMessage", "userMessage", "agentMessage"]
    assert turn["items"][2]["clientId"] == "s"


async def test_steering_needs_the_turn_that_runs(talk: Talk) -> None:
    thread = await talk.start()
    words = {"threadId": thread["id"], "input": said("echo No.")}
    assert (await talk.refused("turn/steer", **words, expectedTurnId="x")).message == "no active turn to steer"
    turn_id = await talk.begin(thread["id"], "wait")
    other = await talk.refused("turn/steer", **words, expectedTurnId="another")
    assert other.message == f"expected active turn id `another` but found `{turn_id}`"
    assert other.code == -32600
    assert (await talk.refused("turn/steer", **words, expectedTurnId="")).message == "expectedTurnId must not be empty"
    empty = await talk.refused("turn/steer", threadId=thread["id"], input=[], expectedTurnId=turn_id)
    assert empty.message == "input must not be empty"
    long = await talk.refused("turn/steer", threadId=thread["id"], input=said("x" * 1_048_577), expectedTurnId=turn_id)
    assert long.code == -32602
    await talk.ask("turn/interrupt", threadId=thread["id"], turnId=turn_id)
    assert (await talk.refused("turn/steer", **words, expectedTurnId=turn_id)).message == "no active turn to steer"


async def test_a_start_on_a_busy_thread_joins_the_turn(talk: Talk) -> None:
    thread = await talk.start()
    turn_id = await talk.begin(thread["id"], "wait")
    assert await talk.begin(thread["id"], "echo Joined.") == turn_id
    ended = (await talk.until("turn/completed"))["turn"]
    assert (ended["id"], text_of(ended)) == (turn_id, "Joined.")
    turns = await talk.ask("thread/turns/list", threadId=thread["id"])
    assert len(turns["data"]) == 1


async def test_a_start_and_a_steer_sent_in_one_breath_both_count(talk: Talk) -> None:
    """The turn is registered before its start is answered: no time in between where it could not be steered."""
    thread = await talk.start()
    start = await talk.send("turn/start", {"threadId": thread["id"], "input": said("wait")})
    join = await talk.send("turn/start", {"threadId": thread["id"], "input": said("echo Both.")})
    turn_id = (await talk.answer(start))["turn"]["id"]
    assert (await talk.answer(join))["turn"]["id"] == turn_id
    while (ended := await talk.until("turn/completed"))["turn"]["id"] != turn_id:
        pass
    assert text_of(ended["turn"]) == "Both."


# ── interrupting ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_interrupt_keeps_what_was_said(talk: Talk) -> None:
    thread = await talk.start()
    before = len(talk.log)
    turn_id = await talk.begin(thread["id"], "slow 5 ms\nsay 4000 words")
    for _ in range(3):
        await talk.until("item/agentMessage/delta")
    assert await talk.ask("turn/interrupt", threadId=thread["id"], turnId=turn_id) == {}
    ended = talk.heard("turn/completed", since=before)[-1]["params"]["turn"]
    assert (ended["id"], ended["status"], ended["error"]) == (turn_id, "interrupted", None)
    heard = talk.heard(since=before)
    assert story(heard)[-3:] == ["item/completed agentMessage", "thread/status/changed idle", "turn/completed"]
    text = streamed(heard)
    assert text
    assert text_of(ended) == text
    stored = await talk.ask("thread/read", threadId=thread["id"], includeTurns=True)
    assert text_of(stored["thread"]["turns"][0]) == text
    # The model remembers that it said this.
    assert (await talk.turn(thread["id"], "echo Going on."))["status"] == "completed"


async def test_an_interrupt_right_behind_the_start_works(talk: Talk) -> None:
    thread = await talk.start()
    for _ in range(5):
        start = await talk.send("turn/start", {"threadId": thread["id"], "input": said("wait")})
        stop = await talk.send("turn/interrupt", {"threadId": thread["id"], "turnId": ""})
        assert await talk.answer(stop) == {}
        turn_id = (await talk.answer(start))["turn"]["id"]
        told = story([it for it in talk.log[-8:] if "method" in it])
        assert told[-2:] == ["thread/status/changed idle", "turn/completed"]
        ended = talk.heard("turn/completed")[-1]["params"]["turn"]
        assert (ended["id"], ended["status"]) == (turn_id, "interrupted")
    # Nothing is held back after that.
    assert (await talk.turn(thread["id"], "echo Still here."))["status"] == "completed"


async def test_an_interrupt_needs_a_turn_unless_it_names_none(talk: Talk) -> None:
    thread = await talk.start()
    assert await talk.ask("turn/interrupt", threadId=thread["id"], turnId="") == {}
    idle = await talk.refused("turn/interrupt", threadId=thread["id"], turnId="x")
    assert (idle.code, idle.message) == (-32600, "no active turn to interrupt")
    done = (await talk.turn(thread["id"], "echo Done."))["id"]
    assert (await talk.refused("turn/interrupt", threadId=thread["id"], turnId=done)).message == idle.message
    turn_id = await talk.begin(thread["id"], "wait")
    other = await talk.refused("turn/interrupt", threadId=thread["id"], turnId=done)
    assert other.message == f"expected active turn id {done} but found {turn_id}"
    await talk.ask("turn/interrupt", threadId=thread["id"], turnId=turn_id)


async def test_an_interrupted_call_reads_aborted_so_that_the_next_request_is_valid(talk: Talk) -> None:
    thread = await talk.start()
    turn_id = await talk.begin(thread["id"], "call update_plan {}\nwait")
    await talk.until("thread/tokenUsage/updated")
    await talk.ask("turn/interrupt", threadId=thread["id"], turnId=turn_id)
    assert (await talk.turn(thread["id"], "Hello"))["status"] == "completed"


# ── saying the same twice ─────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_same_message_id_gets_the_first_answer(talk: Talk) -> None:
    thread = await talk.start()
    words: dict[str, Any] = {"threadId": thread["id"], "input": said("wait"), "clientUserMessageId": "m-1"}
    first = await talk.ask("turn/start", words)
    assert (await talk.ask("turn/start", words))["turn"]["id"] == first["turn"]["id"]
    steer = {"threadId": thread["id"], "input": said("echo Once."), "clientUserMessageId": "m-2"}
    turn_id = first["turn"]["id"]
    for _ in range(2):
        assert (await talk.ask("turn/steer", steer, expectedTurnId=turn_id))["turnId"] == turn_id
    await talk.until("turn/completed")
    # Also when the turn is long over.
    again = await talk.ask("turn/start", words)
    assert (again["turn"]["id"], again["turn"]["status"]) == (turn_id, "completed")
    assert (await talk.ask("turn/steer", steer, expectedTurnId=turn_id))["turnId"] == turn_id
    read = await talk.ask("thread/read", threadId=thread["id"], includeTurns=True)
    [turn] = read["thread"]["turns"]
    messages = [it for it in turn["items"] if it["type"] == "userMessage"]
    assert [it["clientId"] for it in messages] == ["m-1", "m-2"]


@pytest.mark.parametrize("method", ["turn/start", "turn/steer", "turn/interrupt"])
async def test_what_is_missing_is_named(talk: Talk, method: str) -> None:
    refusal = await talk.refused(method)
    assert refusal.code == -32602
    assert "threadId" in refusal.message
