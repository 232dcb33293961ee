"""Goals as a client sees them: set, pursued turn by turn, read, dropped; and what is not there yet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.conformance import Conformance
from tests.support.places import running
from tests.support.talk import Message, Talk, said, story, talking, text_of

NOBODY = "01a1e24a-0000-7000-8000-000000000000"
REACHED = 'call update_plan {"plan": []}\ncall update_goal {"status": "complete"}\necho Reached.'


async def reached(talk: Talk) -> Message:
    """The turn in which a goal is reached, as it ended."""
    while (await talk.until("thread/goal/updated"))["goal"]["status"] == "active":
        pass
    return dict((await talk.until("turn/completed"))["turn"])


async def test_a_goal_is_pursued_once_its_asker_has_the_answer(talk: Talk) -> None:
    thread = await talk.start()
    before = len(talk.log)
    answer = await talk.ask("thread/goal/set", threadId=thread["id"], objective=REACHED, tokenBudget=100_000)
    goal = answer["goal"]
    assert goal | {"createdAt": 0, "updatedAt": 0} == {
        "threadId": thread["id"],
        "objective": REACHED,
        "status": "active",
        "tokenBudget": 100_000,
        "tokensUsed": 0,
        "timeUsedSeconds": 0,
        "createdAt": 0,
        "updatedAt": 0,
    }
    turn = await reached(talk)
    assert (turn["status"], text_of(turn).splitlines()[0]) == ("completed", "Reached.")
    assert story(talk.log[before:]) == [
        "answer",
        "thread/goal/updated",
        "thread/status/changed active",
        "turn/started",
        "thread/tokenUsage/updated",
        "thread/goal/updated",
        "turn/plan/updated",
        "thread/tokenUsage/updated",
        "thread/goal/updated",
        "thread/goal/updated",
        "item/started agentMessage",
        "item/agentMessage/delta",
        "item/completed agentMessage",
        "thread/tokenUsage/updated",
        "thread/status/changed idle",
        "turn/completed",
    ]
    told = [it["params"] for it in talk.heard("thread/goal/updated", since=before)]
    assert [it["goal"]["status"] for it in told] == ["active", "active", "active", "complete"]
    assert [it["turnId"] for it in told] == [None, *[turn["id"]] * 3]
    used = [it["params"]["tokenUsage"]["total"]["totalTokens"] for it in talk.heard("thread/tokenUsage/updated")]
    assert [it["goal"]["tokensUsed"] for it in told] == [0, used[0], used[1], used[1]]
    read = await talk.ask("thread/goal/get", threadId=thread["id"])
    assert read == {"goal": told[-1]["goal"]}


async def test_a_goal_is_changed_and_dropped(talk: Talk) -> None:
    thread = await talk.start()
    where = {"threadId": thread["id"]}
    assert await talk.ask("thread/goal/get", where) == {"goal": None}
    assert await talk.ask("thread/goal/clear", where) == {"cleared": False}
    await talk.ask("thread/goal/set", where, objective="  Rest.  ", status="paused")
    changed = await talk.ask("thread/goal/set", where, tokenBudget=12)
    assert (changed["goal"]["objective"], changed["goal"]["tokenBudget"]) == ("Rest.", 12)
    await talk.turn(thread["id"], "echo Hello")  # an ordinary turn, and no other follows
    assert await talk.ask("thread/goal/clear", where) == {"cleared": True}
    await talk.until("thread/goal/cleared", threadId=thread["id"])
    assert await talk.ask("thread/goal/get", where) == {"goal": None}
    assert len(talk.heard("turn/started", thread=thread["id"])) == 1


async def test_a_pause_and_an_interrupt_end_the_work(talk: Talk) -> None:
    thread = await talk.start()
    await talk.ask("thread/goal/set", threadId=thread["id"], objective="echo One.\nwait")
    turn_id = (await talk.until("turn/started"))["turn"]["id"]
    await talk.until("item/agentMessage/delta")
    paused = await talk.ask("thread/goal/set", threadId=thread["id"], status="paused")
    assert paused["goal"]["status"] == "paused"
    await talk.ask("turn/interrupt", threadId=thread["id"], turnId=turn_id)
    ended = await talk.until("turn/completed")
    assert (ended["turn"]["id"], ended["turn"]["status"]) == (turn_id, "interrupted")
    await talk.ask("thread/goal/set", threadId=thread["id"], objective=REACHED, status="active")
    assert (await reached(talk))["status"] == "completed"


async def test_a_failing_model_blocks_the_goal_before_its_turn_ends(talk: Talk) -> None:
    thread = await talk.start()
    before = len(talk.log)
    await talk.ask("thread/goal/set", threadId=thread["id"], objective="fail The loom is broken.")
    ended = await talk.until("turn/completed")
    assert (ended["turn"]["status"], ended["turn"]["error"]["message"]) == ("failed", "The loom is broken.")
    assert [it["params"]["goal"]["status"] for it in talk.heard("thread/goal/updated", since=before)] == [
        "active",
        "blocked",
    ]


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"status": "active"}, "no goal exists"),
        ({"objective": " "}, "must not be empty"),
        ({"objective": "x" * 4001}, "4000"),
        ({"objective": "a", "tokenBudget": 0}, "must be positive"),
    ],
)
async def test_what_makes_no_sense_is_refused(talk: Talk, params: Any, reason: str) -> None:
    thread = await talk.start()
    refusal = await talk.refused("thread/goal/set", threadId=thread["id"], **params)
    assert refusal.code == -32600
    assert reason in refusal.message
    assert await talk.ask("thread/goal/get", threadId=thread["id"]) == {"goal": None}


async def test_there_is_no_goal_without_a_thread_that_lasts(talk: Talk) -> None:
    brief = await talk.start(ephemeral=True)
    for method, params in (
        ("thread/goal/set", {"objective": "a"}),
        ("thread/goal/get", {}),
        ("thread/goal/clear", {}),
    ):
        assert "not found" in (await talk.refused(method, threadId=NOBODY, **params)).message
        assert "ephemeral" in (await talk.refused(method, threadId=brief["id"], **params)).message


@pytest.mark.parametrize("kind", ["stdio", "websocket"])
async def test_a_goal_goes_on_when_its_thread_is_resumed(kind: str, tmp_path: Path, conformance: Conformance) -> None:
    async with running(kind, tmp_path, conformance) as place, talking(place) as talk:
        thread, resting = await talk.start(), await talk.start()
        await talk.ask("thread/goal/set", threadId=resting["id"], objective="Rest.", status="paused")
        await talk.ask("thread/goal/set", threadId=thread["id"], objective="echo At work.\nwait")
        await talk.until("item/agentMessage/delta")
        await talk.ask("turn/interrupt", threadId=thread["id"], turnId="")
        await talk.until("turn/completed")
    async with running(kind, tmp_path, conformance) as place, talking(place) as talk:
        await talk.ask("thread/resume", threadId=resting["id"])
        await talk.ask("thread/resume", threadId=thread["id"])
        first = await talk.until("thread/goal/updated", threadId=resting["id"])
        assert (first["goal"]["status"], first["turnId"]) == ("paused", None)
        assert (await talk.until("thread/goal/updated", threadId=thread["id"]))["goal"]["status"] == "active"
        turn_id = (await talk.until("turn/started", threadId=thread["id"]))["turn"]["id"]
        await talk.ask("thread/resume", threadId=thread["id"])  # it is at work: there is nothing to begin
        await talk.ask("turn/interrupt", threadId=thread["id"], turnId=turn_id)
        await talk.until("turn/completed")
        await talk.ask("thread/resume", threadId=thread["id"])  # it was stopped, and is in memory: it stays so
        fork = await talk.ask("thread/fork", threadId=thread["id"])
        assert await talk.ask("thread/goal/get", threadId=fork["thread"]["id"]) == {"goal": None}
        assert [it["params"]["turn"]["id"] for it in talk.heard("turn/started")] == [turn_id]


# ── what a turn begins with ───────────────────────────────────────────────────────────────────────────────────────────


async def test_the_files_that_instructions_come_from_are_named(talk: Talk, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    for folder in (tmp_path / ".git", inner):
        folder.mkdir()
    (tmp_path / "AGENTS.md").write_text("Outside.")
    (inner / "AGENTS.md").write_text(" ")
    (inner / "AGENTS.override.md").write_text("Inside.")
    sources = [str(tmp_path / "AGENTS.md"), str(inner / "AGENTS.override.md")]
    answer = await talk.ask("thread/start", cwd=str(inner))
    assert answer["instructionSources"] == sources
    assert (await talk.ask("thread/start", cwd=str(tmp_path)))["instructionSources"] == sources[:1]
    thread_id = answer["thread"]["id"]
    await talk.turn(thread_id, "echo x")
    assert (await talk.ask("thread/fork", threadId=thread_id))["instructionSources"] == sources
    (inner / "AGENTS.override.md").unlink()
    resumed = await talk.ask("thread/resume", threadId=thread_id)
    assert resumed["instructionSources"] == sources  # as the model was told them
    await talk.turn(thread_id, "echo x")
    resumed = await talk.ask("thread/resume", threadId=thread_id)
    assert resumed["instructionSources"] == sources[:1]


async def test_pictures_are_inline_or_in_files_that_are_there(talk: Talk, tmp_path: Path) -> None:
    (tmp_path / "a.gif").write_bytes(b"GIF89a")
    thread = await talk.start(cwd=str(tmp_path))
    good = [*said("echo Seen."), {"type": "localImage", "path": "a.gif"}, {"type": "image", "url": "data:image/gif,x"}]
    for bad, reason in (
        ({"type": "image", "url": "https://example.com/a.png"}, "remote image"),
        ({"type": "localImage", "path": "b.gif"}, "b.gif cannot be read"),
        ({"type": "skill", "name": "s", "path": "s"}, "s cannot be read"),
    ):
        refusal = await talk.refused("turn/start", threadId=thread["id"], input=[bad])
        assert (refusal.code, reason in refusal.message) == (-32600, True)
    remote = {"type": "input_image", "image_url": "http://example.com/a.png"}
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look:"}, remote]}
    refusal = await talk.refused("thread/inject_items", threadId=thread["id"], items=[item])
    assert (refusal.code, "remote image" in refusal.message) == (-32600, True)
    answer = await talk.ask("turn/start", threadId=thread["id"], input=[*good, *said("wait")])
    turn_id = answer["turn"]["id"]
    await talk.until("item/agentMessage/delta")
    refusal = await talk.refused(
        "turn/steer", threadId=thread["id"], expectedTurnId=turn_id, input=[{"type": "localImage", "path": "b.gif"}]
    )
    assert "b.gif" in refusal.message
    await talk.ask("turn/steer", threadId=thread["id"], expectedTurnId=turn_id, input=good)
    assert (await talk.until("turn/completed"))["turn"]["status"] == "completed"
