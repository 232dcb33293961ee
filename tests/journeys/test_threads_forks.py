"""The past of a thread: taken along by forks, taken back by reverts, added to by injected items."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.talk import Message, Talk, of_thread, said, story, text_of

NOBODY = "01a1e24a-0000-7000-8000-000000000000"


async def spoken(talk: Talk, *words: str, **params: Any) -> tuple[str, list[str]]:
    """A thread in which these words were said, one in a turn; its id and those of its turns."""
    thread = await talk.start(**params)
    return thread["id"], [(await talk.turn(thread["id"], f"echo {word}"))["id"] for word in words]


async def forked(talk: Talk, thread_id: str, **params: Any) -> Message:
    """A fork, announced."""
    answer = await talk.ask("thread/fork", threadId=thread_id, **params)
    await talk.until("thread/started")
    return dict(answer["thread"])


async def texts(talk: Talk, thread_id: str) -> list[str]:
    """What the agent said, turn by turn."""
    read = await talk.ask("thread/read", threadId=thread_id, includeTurns=True)
    return [text_of(it) for it in read["thread"]["turns"]]


async def heard(talk: Talk, thread_id: str) -> int:
    """How many words of the conversation the model has in its history: it counts a word as a token."""
    return await tokens(talk, thread_id) - await tokens(talk, (await talk.start())["id"])


async def tokens(talk: Talk, thread_id: str) -> int:
    before = len(talk.log)
    await talk.turn(thread_id, "echo ?")
    usage = talk.heard("thread/tokenUsage/updated", since=before, thread=thread_id)[-1]["params"]["tokenUsage"]
    return int(usage["last"]["inputTokens"])


# ── forks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_fork_has_the_same_past_and_another_future(talk: Talk, tmp_path: Path) -> None:
    source, turns = await spoken(talk, "one", "two", cwd=str(tmp_path))
    await talk.ask("thread/name/set", threadId=source, name="The source")
    await talk.ask("thread/note/set", threadId=source, note="of the source alone")
    before = len(talk.log)
    answer = await talk.ask("thread/fork", threadId=source)
    fork = answer["thread"]
    await talk.until("thread/started")
    assert story(talk.log[before:])[0] == "answer"
    assert fork["id"] != source
    assert (fork["forkedFromId"], fork["parentThreadId"], fork["sessionId"]) == (source, None, fork["id"])
    assert (fork["source"], fork["cwd"], fork["preview"]) == ("vscode", str(tmp_path), "echo one")
    assert (fork["name"], fork["note"]) == ("The source", None)
    assert answer["cwd"] == str(tmp_path)
    assert [it["id"] for it in fork["turns"]] == turns
    assert [text_of(it) for it in fork["turns"]] == ["one", "two"]
    assert fork["path"] is not None

    await talk.turn(fork["id"], "echo of the fork")
    await talk.turn(source, "echo of the source")
    assert await texts(talk, fork["id"]) == ["one", "two", "of the fork"]
    assert await texts(talk, source) == ["one", "two", "of the source"]
    seqs = [it["params"]["seq"] for it in talk.heard(since=before, thread=fork["id"]) if "seq" in it["params"]]
    assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))  # it goes on counting where its base ended
    listed = (await talk.ask("thread/list", cwd=str(tmp_path)))["data"]
    assert [it["id"] for it in listed] == [fork["id"], source]
    assert [it["forkedFromId"] for it in listed] == [source, None]


async def test_the_model_of_a_fork_remembers_what_it_took_along(talk: Talk) -> None:
    source, turns = await spoken(talk, "a b c", "d e f g")
    assert await heard(talk, (await forked(talk, source))["id"]) == 4 + 3 + 5 + 4
    assert await heard(talk, (await forked(talk, source, lastTurnId=turns[0]))["id"]) == 4 + 3
    assert await heard(talk, (await forked(talk, source, beforeTurnId=turns[0]))["id"]) == 0


async def test_a_fork_may_end_with_a_turn_or_before_one(talk: Talk) -> None:
    source, turns = await spoken(talk, "one", "two", "three")
    for boundary, kept in (
        ({"lastTurnId": turns[0]}, ["one"]),
        ({"lastTurnId": turns[2]}, ["one", "two", "three"]),
        ({"beforeTurnId": turns[2]}, ["one", "two"]),
        ({"beforeTurnId": turns[0]}, []),
    ):
        fork = await forked(talk, source, **boundary)
        assert [text_of(it) for it in fork["turns"]] == kept
        assert await texts(talk, fork["id"]) == kept
        page = await talk.ask("thread/items/list", threadId=fork["id"])
        assert [it["turnId"] for it in page["data"]] == [turn for turn in turns[: len(kept)] for _ in range(2)]
        await talk.turn(fork["id"], "echo on")
        assert await texts(talk, fork["id"]) == [*kept, "on"]


async def test_forks_of_forks_keep_their_turns_apart(talk: Talk) -> None:
    source, turns = await spoken(talk, "one", "two")
    child = (await forked(talk, source))["id"]
    third = (await talk.turn(child, "echo three"))["id"]
    await talk.turn(child, "echo four")
    for boundary, kept in (
        ({}, ["one", "two", "three", "four"]),
        ({"lastTurnId": third}, ["one", "two", "three"]),
        ({"beforeTurnId": third}, ["one", "two"]),
        ({"lastTurnId": turns[0]}, ["one"]),  # of the base's base
        ({"beforeTurnId": turns[0]}, []),
    ):
        grandchild = await forked(talk, child, **boundary)
        assert grandchild["forkedFromId"] == child
        await talk.turn(grandchild["id"], "echo last")
        assert await texts(talk, grandchild["id"]) == [*kept, "last"]
        great = (await forked(talk, grandchild["id"]))["id"]
        assert await texts(talk, great) == [*kept, "last"]
        assert await heard(talk, great) == 3 * (len(kept) + 1)


async def test_a_fork_in_mid_turn_is_frozen_as_interrupted(talk: Talk) -> None:
    source, _ = await spoken(talk, "one")
    turn_id = await talk.begin(source, "echo Half a\nwait")
    await talk.until("item/agentMessage/delta")
    fork = await forked(talk, source)
    assert fork["status"] == {"type": "idle"}
    assert [(text_of(it), it["status"]) for it in fork["turns"]] == [("one", "completed"), ("Half a", "interrupted")]
    assert fork["turns"][1]["id"] == turn_id

    # The source goes on, and the fork does not notice.
    await talk.ask("turn/steer", threadId=source, expectedTurnId=turn_id, input=said("echo whole."))
    await talk.until("turn/completed", threadId=source)
    assert await texts(talk, source) == ["one", "Half awhole."]
    assert await texts(talk, fork["id"]) == ["one", "Half a"]
    again = (await forked(talk, fork["id"]))["id"]
    # The model of the fork knows what it had said.
    assert await heard(talk, fork["id"]) == (2 + 1) + (4 + 2)
    assert await heard(talk, again) == (2 + 1) + (4 + 2)
    assert await texts(talk, fork["id"]) == ["one", "Half a", "?"]


async def test_a_fork_before_the_turn_that_runs_leaves_it_out(talk: Talk) -> None:
    source, _ = await spoken(talk, "one")
    turn_id = await talk.begin(source, "wait")
    fork = await forked(talk, source, beforeTurnId=turn_id)
    assert [text_of(it) for it in fork["turns"]] == ["one"]
    refusal = await talk.refused("thread/fork", threadId=source, lastTurnId=turn_id)
    assert "in progress" in refusal.message
    await talk.ask("turn/interrupt", threadId=source, turnId=turn_id)


async def test_boundaries_that_make_no_sense_are_refused(talk: Talk) -> None:
    source, turns = await spoken(talk, "one")
    both = await talk.refused("thread/fork", threadId=source, lastTurnId=turns[0], beforeTurnId=turns[0])
    assert (both.code, both.message) == (-32600, "`beforeTurnId` cannot be combined with `lastTurnId`")
    for name in ("lastTurnId", "beforeTurnId"):
        refusal = await talk.refused("thread/fork", threadId=source, **{name: NOBODY})
        assert refusal.message == f"turn not found: {NOBODY}"


async def test_an_ephemeral_fork_lies_in_memory_alone(talk: Talk, tmp_path: Path) -> None:
    source, turns = await spoken(talk, "one", "two", cwd=str(tmp_path))
    fork = await forked(talk, source, ephemeral=True)
    assert (fork["ephemeral"], fork["path"], fork["forkedFromId"]) == (True, None, source)
    assert [text_of(it) for it in fork["turns"]] == ["one", "two"]
    await talk.turn(fork["id"], "echo three")
    assert await texts(talk, fork["id"]) == ["one", "two", "three"]
    assert await heard(talk, fork["id"]) == 9
    listed = (await talk.ask("thread/list", cwd=str(tmp_path)))["data"]
    assert [it["id"] for it in listed] == [source]
    # A fork of what lies in memory lies there, too; at a turn of the log on the disk as well.
    further = await forked(talk, fork["id"], lastTurnId=turns[0])
    assert further["ephemeral"] is True
    assert await texts(talk, further["id"]) == ["one"]


async def test_a_fork_can_leave_its_turns_out_and_change_its_settings(talk: Talk) -> None:
    source, _ = await spoken(talk, "one")
    answer = await talk.ask(
        "thread/fork", threadId=source, excludeTurns=True, approvalPolicy="never", sandbox="read-only", cwd="/"
    )
    await talk.until("thread/started")
    assert answer["thread"]["turns"] == []
    assert (answer["approvalPolicy"], answer["sandbox"]["type"], answer["cwd"]) == ("never", "readOnly", "/")
    assert await texts(talk, answer["thread"]["id"]) == ["one"]
    resumed = await talk.ask("thread/resume", threadId=source, excludeTurns=True)
    assert resumed["approvalPolicy"] == "on-request"


async def test_a_fork_outlives_its_source(talk: Talk) -> None:
    source, _ = await spoken(talk, "one")
    fork = (await forked(talk, source))["id"]
    await talk.ask("thread/delete", threadId=source)
    assert (await talk.refused("thread/read", threadId=source)).message == f"thread not loaded: {source}"
    assert await texts(talk, fork) == ["one"]
    assert await heard(talk, fork) == 3


async def test_a_fork_is_nobodys_child(talk: Talk) -> None:
    source, _ = await spoken(talk, "one")
    fork = (await forked(talk, source))["id"]
    report = (await talk.ask("thread/close", threadId=source))["report"]
    assert [it["threadId"] for it in report] == [source]
    await talk.ask("thread/archive", threadId=source)
    assert (await talk.turn(fork, "echo still"))["status"] == "completed"


async def test_a_cursor_from_before_a_fork_began_gets_a_snapshot(talk: Talk) -> None:
    """What a fork took along was told of the other thread: it cannot be told again as its own."""
    source, _ = await spoken(talk, "one")
    fork = (await forked(talk, source))["id"]
    await talk.turn(fork, "echo two")
    told = [it for it in talk.heard(thread=fork) if "seq" in it["params"]]
    first = told[0]["params"]["seq"]
    before = len(talk.log)
    resumed = await talk.ask("thread/resume", threadId=fork, sinceSeq=first - 2)
    assert resumed["truncated"] is True
    assert [text_of(it) for it in resumed["thread"]["turns"]] == ["one", "two"]
    assert [it for it in talk.heard(since=before) if "seq" in it["params"]] == []
    again = await talk.ask("thread/resume", threadId=fork, sinceSeq=first - 1)
    assert again["truncated"] is False
    await talk.turn(fork, "echo three")
    heard = [it for it in talk.heard(since=before) if "seq" in it["params"]]
    assert heard[: len(told)] == told
    assert {of_thread(it) for it in heard} == {fork}


# ── reverts ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_revert_hides_a_turn_and_all_after_it(talk: Talk) -> None:
    thread_id, turns = await spoken(talk, "one", "two", "three")
    before = len(talk.log)
    answer = await talk.ask("thread/revert", threadId=thread_id, beforeTurnId=turns[1])
    assert (answer["thread"]["id"], answer["thread"]["turns"]) == (thread_id, [])
    await talk.until("thread/reverted")
    assert "thread/reverted" in story(talk.log[before:])
    assert await texts(talk, thread_id) == ["one"]
    page = await talk.ask(
        "thread/turns/list", threadId=thread_id, cursor=answer["turnsBackwardsCursor"], sortDirection="desc"
    )
    assert [it["id"] for it in page["data"]] == [turns[0]]
    items = await talk.ask("thread/items/list", threadId=thread_id, cursor=answer["itemsBackwardsCursor"])
    assert items["data"] == []  # nothing behind the last one
    # The model has forgotten, and what is said from here on shows.
    assert await heard(talk, thread_id) == 3
    assert await texts(talk, thread_id) == ["one", "?"]
    fork = (await forked(talk, thread_id))["id"]
    assert await texts(talk, fork) == ["one", "?"]
    assert await heard(talk, fork) == 6


async def test_everything_can_be_reverted_and_reverted_again(talk: Talk) -> None:
    thread_id, turns = await spoken(talk, "one", "two")
    await talk.ask("thread/revert", threadId=thread_id, beforeTurnId=turns[1])
    third = (await talk.turn(thread_id, "echo three"))["id"]
    assert await texts(talk, thread_id) == ["one", "three"]
    await talk.ask("thread/revert", threadId=thread_id, beforeTurnId=third)
    assert await texts(talk, thread_id) == ["one"]
    answer = await talk.ask("thread/revert", threadId=thread_id, beforeTurnId=turns[0])
    assert (answer["turnsBackwardsCursor"], answer["itemsBackwardsCursor"]) == (None, None)
    assert await texts(talk, thread_id) == []
    assert await heard(talk, thread_id) == 0
    gone = await talk.refused("thread/revert", threadId=thread_id, beforeTurnId=turns[0])
    assert gone.message == f"turn not found: {turns[0]}"


async def test_a_revert_ends_the_turn_that_runs(talk: Talk) -> None:
    thread_id, turns = await spoken(talk, "one")
    running = await talk.begin(thread_id, "wait")
    await talk.ask("thread/revert", threadId=thread_id, beforeTurnId=turns[0])
    assert (await talk.until("turn/completed"))["turn"]["id"] == running
    assert await texts(talk, thread_id) == []


async def test_a_fork_may_revert_what_it_took_along(talk: Talk) -> None:
    source, turns = await spoken(talk, "one", "two")
    fork = (await forked(talk, source))["id"]
    await talk.ask("thread/revert", threadId=fork, beforeTurnId=turns[1])
    await talk.turn(fork, "echo other")
    assert await texts(talk, fork) == ["one", "other"]
    assert await texts(talk, source) == ["one", "two"]
    assert await heard(talk, fork) == 6


async def test_a_fork_from_before_a_revert_is_not_touched_by_it(talk: Talk) -> None:
    source, turns = await spoken(talk, "one", "two")
    fork = (await forked(talk, source))["id"]
    await talk.ask("thread/revert", threadId=source, beforeTurnId=turns[0])
    assert await texts(talk, fork) == ["one", "two"]
    assert await texts(talk, source) == []


# ── injected items ────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_injected_items_are_the_models_and_nobody_elses(talk: Talk) -> None:
    thread_id, _ = await spoken(talk, "one")
    before = len(talk.log)
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "four words for you"}]}
    reply = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "thanks"}]}
    assert await talk.ask("thread/inject_items", threadId=thread_id, items=[item, reply]) == {}
    assert await texts(talk, thread_id) == ["one"]
    assert talk.heard(since=before) == []
    assert await heard(talk, thread_id) == 3 + 4 + 1
    fork = (await forked(talk, thread_id))["id"]
    assert await heard(talk, fork) == 3 + 4 + 1 + 3


MISSHAPEN = "items[0] is not a response item"
CALL = {"type": "function_call", "call_id": "c", "name": "x", "arguments": "{}"}


@pytest.mark.parametrize(
    ("items", "why"),
    [
        ([], "items must not be empty"),
        ([{"x": 1}], "items[0] is not a response item: it needs a `type`"),
        ([{"type": "compaction"}, "words"], "items[1] is not a response item: it needs a `type`"),
        ([{"type": "message", "role": "user"}], f"{MISSHAPEN}: `content` is missing, or not what it should be"),
        ([{"type": "message", "role": "user", "content": ["x"]}], f"{MISSHAPEN}: a part of `content` has no `type`"),
        ([CALL | {"call_id": None}], f"{MISSHAPEN}: `call_id` is missing, or not what it should be"),
        ([CALL | {"arguments": {}}], f"{MISSHAPEN}: `arguments` is missing, or not what it should be"),
        ([{"type": "x", "@": "revert", "fromSeq": 0}], "items[0] is not a response item: it has a member `@`"),
    ],
)
async def test_what_is_no_item_is_not_injected(talk: Talk, items: list[Any], why: str) -> None:
    thread = await talk.start()
    refusal = await talk.refused("thread/inject_items", threadId=thread["id"], items=items)
    assert (refusal.code, refusal.message) == (-32600, why)
