"""A compaction as a client sees it."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest
from tests.support.conformance import Conformance
from tests.support.places import running
from tests.support.talk import Talk, said, story, talking, text_of

NOBODY = "01a1e24a-0000-7000-8000-000000000000"


async def words(talk: Talk, thread_id: str) -> int:
    """How many words the model has before it."""
    before = len(talk.log)
    await talk.turn(thread_id, "echo ?")
    return int(talk.heard("thread/tokenUsage/updated", since=before)[-1]["params"]["tokenUsage"]["last"]["inputTokens"])


async def test_a_compaction_is_a_turn_with_one_item(talk: Talk) -> None:
    thread = await talk.start()
    await talk.turn(thread["id"], "say 2000 words")
    long = await words(talk, thread["id"])
    before = len(talk.log)
    assert await talk.ask("thread/compact/start", threadId=thread["id"]) == {}
    ended = await talk.until("turn/completed")
    assert (ended["turn"]["status"], ended["turn"]["items"]) == ("completed", [])
    assert story(talk.log[before:]) == [
        "answer",
        "thread/status/changed active",
        "turn/started",
        "item/started contextCompaction",
        "thread/tokenUsage/updated",
        "item/completed contextCompaction",
        "thread/tokenUsage/updated",
        "thread/status/changed idle",
        "turn/completed",
    ]
    assert long > 2000 > 600 > await words(talk, thread["id"])
    page = await talk.ask("thread/turns/list", threadId=thread["id"], itemsView="full", sortDirection="asc")
    items = [[it["type"] for it in turn["items"]] for turn in page["data"]]
    assert items[2] == ["contextCompaction"]
    assert len(text_of(page["data"][0]).split()) == 2000  # nothing is lost

    # A turn that is taken back takes its compaction with it.
    await talk.ask("thread/revert", threadId=thread["id"], beforeTurnId=page["data"][2]["id"])
    assert await words(talk, thread["id"]) > 2000


async def test_what_is_said_at_once_afterwards_is_answered(talk: Talk) -> None:
    thread = await talk.start()
    await talk.turn(thread["id"], "say 50 words")
    compact = await talk.send("thread/compact/start", {"threadId": thread["id"]})
    begin = await talk.send("turn/start", {"threadId": thread["id"], "input": said("echo Still here.")})
    assert await talk.answer(compact) == {}
    turn_id = (await talk.answer(begin))["turn"]["id"]
    while (ended := (await talk.until("turn/completed"))["turn"])["id"] != turn_id:
        pass
    assert (ended["status"], text_of(ended)) == ("completed", "Still here.")


async def test_asked_for_beside_a_command_of_the_person_it_comes_behind_it(talk: Talk, tmp_path: Path) -> None:
    thread = await talk.start(cwd=str(tmp_path))
    await talk.turn(thread["id"], "echo one")
    before, gate = len(talk.log), tmp_path / "gate"
    os.mkfifo(gate)
    await talk.ask("thread/shellCommand", threadId=thread["id"], command=f"read -r word < '{gate}'")
    await talk.until("item/started")
    await talk.ask("thread/compact/start", threadId=thread["id"])
    await anyio.to_thread.run_sync(gate.write_text, "on\n")
    await talk.until("turn/completed")
    items = [it["params"]["item"]["type"] for it in talk.heard("item/completed", since=before)]
    assert items == ["commandExecution", "contextCompaction"]


async def test_there_is_nothing_to_condense_in_what_is_not_there(talk: Talk) -> None:
    assert "not found" in (await talk.refused("thread/compact/start", threadId=NOBODY)).message
    assert (await talk.refused("thread/compact/start", threadId="x")).code == -32600


@pytest.mark.parametrize("kind", ["stdio", "unix"])
async def test_after_a_restart_the_summary_is_what_is_left(kind: str, tmp_path: Path, conformance: Conformance) -> None:
    async with running(kind, tmp_path, conformance) as place, talking(place) as talk:
        thread = await talk.start()
        await talk.turn(thread["id"], "say 2000 words")
        await talk.ask("thread/compact/start", threadId=thread["id"])
        await talk.until("turn/completed")
    async with running(kind, tmp_path, conformance) as place, talking(place) as talk:
        resumed = await talk.ask("thread/resume", threadId=thread["id"])
        assert len(text_of(resumed["thread"]["turns"][0]).split()) == 2000
        assert await words(talk, thread["id"]) < 600
