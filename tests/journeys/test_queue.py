"""The queue of a thread, and reports of children, as a client sees them: over every transport."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import anyio
import pytest
from tests.support.conformance import Conformance
from tests.support.places import Place, running
from tests.support.talk import Message, Talk, said, talking, text_of

NOBODY = "01a1e24a-0000-7000-8000-000000000000"


async def add(talk: Talk, thread_id: str, text: str, client_id: str) -> Message:
    """Put a prompt into a queue; the entry."""
    answer = await talk.ask("thread/queue/add", threadId=thread_id, input=said(text), clientUserMessageId=client_id)
    return dict(answer["queuedSubmission"])


async def listed(talk: Talk, thread_id: str) -> list[str]:
    """The client's ids of what waits."""
    found = await talk.ask("thread/queue/list", threadId=thread_id)
    return [it["clientUserMessageId"] for it in found["data"]]


async def view(talk: Talk, thread_id: str) -> Message:
    """A thread, with its turns."""
    return dict((await talk.ask("thread/read", threadId=thread_id, includeTurns=True))["thread"])


def reports(thread: Message) -> list[Message]:
    """The reports among the messages of a thread."""
    return [it for turn in thread["turns"] for it in turn["items"] if it.get("report")]


async def at_rest(talk: Talk, thread_id: str, turns: int) -> Message:
    """Wait for so many turns of a thread to have ended, counted from its first; the thread."""
    while True:
        seen = await view(talk, thread_id)
        ended = [it for it in seen["turns"] if it["status"] != "inProgress"]
        if len(ended) >= turns:
            return seen
        await talk.until("turn/completed", threadId=thread_id)


# ── prompts ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_prompt_for_a_thread_at_rest_runs_at_once(talk: Talk) -> None:
    thread = (await talk.start())["id"]
    entry = await add(talk, thread, "echo hello", "c1")
    assert entry["input"] == said("echo hello")
    assert (entry["clientUserMessageId"], entry["kind"]) == ("c1", "prompt")
    ended = await talk.until("turn/completed", threadId=thread)
    assert text_of(ended["turn"]) == "hello"
    assert await listed(talk, thread) == []
    order = [it["method"] for it in talk.heard("thread/queue/changed", "turn/started", thread=thread)]
    assert order == ["thread/queue/changed", "thread/queue/changed", "turn/started"]
    [message] = [it for it in (await view(talk, thread))["turns"][0]["items"] if it["type"] == "userMessage"]
    assert message["clientId"] == "c1"


async def test_the_queue_is_listed_changed_reordered_and_emptied(talk: Talk) -> None:
    thread = (await talk.start())["id"]
    turn = await talk.begin(thread, "wait")
    a, b, c = [await add(talk, thread, f"echo {it}", it) for it in "abc"]
    page = await talk.ask("thread/queue/list", threadId=thread, limit=2)
    assert [it["id"] for it in page["data"]] == [a["id"], b["id"]]
    rest = await talk.ask("thread/queue/list", threadId=thread, cursor=page["nextCursor"])
    assert ([it["id"] for it in rest["data"]], rest["nextCursor"]) == ([c["id"]], None)
    await talk.ask("thread/queue/reorder", threadId=thread, queuedSubmissionIds=[c["id"], b["id"], a["id"]])
    changed = await talk.ask(
        "thread/queue/update", threadId=thread, queuedSubmissionId=b["id"], input=said("echo better")
    )
    assert changed["queuedSubmission"] == b | {"input": said("echo better")}
    assert await talk.ask("thread/queue/delete", threadId=thread, queuedSubmissionId=a["id"]) == {"deleted": True}
    assert await talk.ask("thread/queue/delete", threadId=thread, queuedSubmissionId=a["id"]) == {"deleted": False}
    assert (await view(talk, thread))["queue"] == {"length": 2, "paused": None}
    nodes = (await talk.ask("thread/tree", threadId=thread))["data"]
    assert nodes[0]["queueLength"] == 2
    await talk.ask("turn/steer", threadId=thread, expectedTurnId=turn, input=said("echo enough"))
    seen = await at_rest(talk, thread, 3)
    assert [text_of(it) for it in seen["turns"]][1:] == ["c", "better"]
    assert seen.get("queue") is None


async def test_what_codex_refuses_is_refused_in_its_words(talk: Talk) -> None:
    thread = (await talk.start())["id"]
    empty = await talk.refused("thread/queue/start", threadId=thread)
    assert (empty.code, empty.message) == (-32600, "queue is empty")
    assert (await talk.refused("thread/queue/start", threadId=thread, queuedSubmissionId="")).code == -32600
    await talk.begin(thread, "wait")
    entry = await add(talk, thread, "echo a", "a")
    cases = [
        ("start", {}, "thread already has an active or pending turn"),
        ("start", {"queuedSubmissionId": "x"}, "queued submission not found: x"),
        ("start", {"queuedSubmissionId": ""}, "queued submission not found: "),
        ("add", {"input": [], "clientUserMessageId": "b"}, "only user input can be added to the user-message queue"),
        ("update", {"queuedSubmissionId": "x", "input": said("y")}, "queued submission not found: x"),
        ("reorder", {"queuedSubmissionIds": ["x"]}, "queue reorder must include every queued submission exactly once"),
        ("list", {"cursor": "x"}, "invalid queue pagination cursor: x"),
        ("list", {"cursor": "9" * 5000}, f"invalid queue pagination cursor: {'9' * 5000}"),
    ]
    for method, params, words in cases:
        refusal = await talk.refused(f"thread/queue/{method}", threadId=thread, **params)
        assert (refusal.code, refusal.message) == (-32600, words), method
    for method in ("list", "start", "pause", "resume"):
        assert NOBODY in (await talk.refused(f"thread/queue/{method}", threadId=NOBODY)).message
    ephemeral = (await talk.start(ephemeral=True))["id"]
    params = {"input": said("x"), "clientUserMessageId": "c"}
    refusal = await talk.refused("thread/queue/add", threadId=ephemeral, **params)
    assert refusal.message == f"ephemeral thread does not support queued submissions: {ephemeral}"
    assert await listed(talk, thread) == [entry["clientUserMessageId"]]
    await talk.ask("thread/queue/delete", threadId=thread, queuedSubmissionId=entry["id"])
    await talk.ask("turn/interrupt", threadId=thread, turnId="")


async def test_what_is_sent_again_gets_the_first_answer_also_when_it_has_run(talk: Talk) -> None:
    thread = (await talk.start())["id"]
    await talk.ask("thread/queue/pause", threadId=thread)
    first = await add(talk, thread, "echo once", "c1")
    assert await add(talk, thread, "echo twice", "c1") == first
    await talk.ask("thread/queue/resume", threadId=thread)
    await talk.until("turn/completed", threadId=thread)
    assert await add(talk, thread, "echo thrice", "c1") == first
    assert await talk.turn(thread, "echo last")
    assert len((await view(talk, thread))["turns"]) == 2


async def test_an_interrupt_pauses_it_and_start_and_resume_go_on(talk: Talk) -> None:
    thread = (await talk.start())["id"]
    await talk.begin(thread, "wait")
    a, _, _ = [await add(talk, thread, f"echo {it}", it) for it in "abc"]
    await talk.ask("turn/interrupt", threadId=thread, turnId="")
    assert (await view(talk, thread))["queue"] == {"length": 3, "paused": "interrupt"}
    paused = await talk.ask("thread/queue/pause", threadId=thread)
    assert paused["queue"] == {"length": 3, "paused": "user"}
    started = await talk.ask("thread/queue/start", threadId=thread, queuedSubmissionId=a["id"])
    assert started["turn"]["status"] == "inProgress"
    while (await talk.until("turn/completed", threadId=thread))["turn"]["id"] != started["turn"]["id"]:
        pass
    assert await listed(talk, thread) == ["b", "c"], "it is the user's pause"
    resumed = await talk.ask("thread/queue/resume", threadId=thread)
    assert resumed["queue"] == {"length": 2, "paused": None}
    seen = await at_rest(talk, thread, 4)
    assert [text_of(it) for it in seen["turns"]][1:] == ["a", "b", "c"]


async def test_a_failed_turn_pauses_it(talk: Talk) -> None:
    thread = (await talk.start())["id"]
    await add(talk, thread, "fail", "a")
    await talk.until("turn/completed", threadId=thread)
    await add(talk, thread, "echo b", "b")
    assert (await view(talk, thread))["queue"] == {"length": 1, "paused": "turnFailed"}
    await talk.ask("thread/queue/resume", threadId=thread)
    await talk.until("turn/completed", threadId=thread)
    assert (await view(talk, thread)).get("queue") is None


# ── reports ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_three_agents_wake_their_parent_three_times(talk: Talk) -> None:
    thread = (await talk.start())["id"]
    await talk.turn(thread, "spawn echo one\nspawn echo two\nspawn echo three\necho all are at work")
    seen = await at_rest(talk, thread, 4)
    told = reports(seen)
    assert sorted(it["content"][0]["text"].split("\n\n")[1] for it in told) == ["one", "three", "two"]
    assert {it["report"]["status"] for it in told} == {"completed"}
    assert [len(reports({"turns": [it]})) for it in seen["turns"]] == [0, 1, 1, 1]
    children = {it["report"]["childThreadId"] for it in told}
    for child in children:
        born = await view(talk, child)
        assert born["parentThreadId"] == thread
        assert born["spawnPoint"]["turnId"] == seen["turns"][0]["id"]
        assert born["spawnConfig"]["callbackConfig"]["enabled"] is True
    nodes = (await talk.ask("thread/tree", threadId=thread))["data"]
    assert {it["threadId"] for it in nodes if it["parentThreadId"] == thread} == children


@pytest.mark.parametrize(
    "script",
    [
        "spawn echo one\nwait for agent 1\necho it is done",
        "spawn wait\nclose agent 1\necho it is closed",
        "spawn echo one\nwait for agent 1\nclose agent 1\necho it is closed",
        'call create_session {"session_type": "default", "prompt": "echo one"}\necho it works for itself',
    ],
)
async def test_what_a_tool_has_returned_wakes_nobody(talk: Talk, script: str) -> None:
    thread = (await talk.start())["id"]
    await talk.turn(thread, script)
    await talk.turn(thread, "echo more")
    seen = await view(talk, thread)
    assert len(seen["turns"]) == 2
    assert reports(seen) == []
    assert seen.get("queue") is None


async def test_an_interrupt_by_the_parent_is_no_report_and_no_pause(talk: Talk) -> None:
    thread = (await talk.start())["id"]
    await talk.turn(thread, "spawn wait\ninterrupt agent 1: echo as you wish\necho it does something else now")
    seen = await at_rest(talk, thread, 2)
    [report] = reports(seen)
    assert report["report"]["status"] == "completed"
    assert "as you wish" in report["content"][0]["text"]
    assert (await view(talk, report["report"]["childThreadId"])).get("queue") is None


async def test_callbacks_are_set_at_birth_and_later(talk: Talk) -> None:
    thread = (await talk.start())["id"]
    config = {"enabled": True, "template": "{{status}}: {{lastAssistantMessage}}"}
    spawned = await talk.ask("agent/spawn", threadId=thread, input=said("echo one"), callbackConfig=config)
    child = spawned["thread"]["id"]
    seen = await at_rest(talk, thread, 1)
    assert [it["content"][0]["text"] for it in reports(seen)] == ["completed: one"]
    answer = await talk.ask("thread/callback/set", threadId=child, callbackConfig={"enabled": False})
    assert answer["callbackConfig"]["enabled"] is False
    await talk.turn(child, "echo two")
    await talk.turn(thread, "echo mine")
    assert len(reports(await view(talk, thread))) == 1
    script = 'call spawn_agent {"message": "echo three", "callback": {"enabled": false}}\necho quiet'
    await talk.turn(thread, script)
    await talk.turn(thread, "echo mine")
    assert len(reports(await view(talk, thread))) == 1


async def test_a_report_cannot_be_edited(talk: Talk) -> None:
    thread = (await talk.start())["id"]
    await talk.ask("thread/queue/pause", threadId=thread)
    await talk.ask("agent/spawn", threadId=thread, input=said("echo one"))
    while not (found := (await talk.ask("thread/queue/list", threadId=thread))["data"]):
        await talk.until("thread/queue/changed", threadId=thread)
    [entry] = found
    assert entry["kind"] == "report"
    assert entry["report"]["status"] == "completed"
    refusal = await talk.refused(
        "thread/queue/update", threadId=thread, queuedSubmissionId=entry["id"], input=said("x")
    )
    assert refusal.message == "a report cannot be edited"


# ── a client that goes ────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_client_that_is_gone_between_the_steps_changes_nothing(open_place: Place) -> None:
    """Nobody follows while a child ends its turns, reports, and wakes its parent."""
    async with talking(open_place) as talk:
        thread = (await talk.start())["id"]
        await talk.turn(thread, "spawn wait\necho it works")
        [child] = [
            it["params"]["thread"]["id"]
            for it in talk.heard("thread/started")
            if it["params"]["thread"]["parentThreadId"]
        ]
    async with talking(open_place) as talk:  # somebody who follows nothing, and leaves at once
        await talk.ask("agent/sendInput", threadId=child, input=said("echo done"), interrupt=True)
    async with talking(open_place) as talk:
        await talk.ask("thread/resume", threadId=thread)
        with anyio.fail_after(20):
            seen = await at_rest(talk, thread, 3)
        told = [(it["report"]["childThreadId"], it["report"]["status"]) for it in reports(seen)]
        assert told == [(child, "interrupted"), (child, "completed")]


# ── a server that goes ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["websocket", "unix"])
async def test_a_killed_server_goes_on_with_what_waited(kind: str, tmp_path: Path, conformance: Conformance) -> None:
    """A client that is gone between two steps misses nothing: the next life of the server tells it all."""

    async def first(place: Place) -> tuple[str, str]:
        async with talking(place) as talk:
            thread = (await talk.start())["id"]
            await talk.begin(thread, "spawn wait\necho it works")
            child = (await talk.until("thread/started"))["thread"]["id"]
            await at_rest(talk, thread, 1)
            await talk.begin(thread, "wait")
            await add(talk, thread, "echo what waited", "c1")
            assert place.pid is not None
            os.kill(place.pid, signal.SIGKILL)
            return thread, child

    with pytest.raises(AssertionError, match="exit code -9"):
        async with running(kind, tmp_path, conformance) as place:
            thread, child = await first(place)
    (tmp_path / "s").unlink(missing_ok=True)
    async with running(kind, tmp_path, conformance) as place, talking(place) as talk:
        await talk.ask("thread/resume", threadId=thread)
        with anyio.fail_after(20):
            seen = await at_rest(talk, thread, 4)
        assert [it["status"] for it in seen["turns"]] == ["completed", "interrupted", "completed", "completed"]
        assert text_of(seen["turns"][2]) == "what waited"
        [report] = reports(seen)
        assert report["report"]["childThreadId"] == child
        assert report["report"]["status"] == "lost"
