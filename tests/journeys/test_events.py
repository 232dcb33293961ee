"""Events: who hears what, and that nobody loses any."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.places import Place
from tests.support.talk import Message, Talk, said, story, streamed, talking, text_of

Pair = tuple[Talk, Talk]


def seqs(messages: list[Message]) -> list[int]:
    return [it["params"]["seq"] for it in messages]


async def in_step(talk: Talk) -> None:
    """All that the server has sent up to now has come."""
    await talk.ask("thread/loaded/list", limit=1)


# ── who hears what ────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_every_connection_hears_how_threads_fare(pair: Pair) -> None:
    one, other = pair
    thread = await one.start()
    thread_id = thread["id"]
    await one.turn(thread_id, "echo Between us.")
    await one.ask("thread/name/set", threadId=thread_id, name="Known to all")
    await one.ask("thread/note/set", threadId=thread_id, note="and so is this")
    await one.ask("thread/settings/update", threadId=thread_id, effort="low")
    await one.ask("thread/archive", threadId=thread_id)
    await one.ask("thread/unarchive", threadId=thread_id)
    await one.ask("thread/close", threadId=thread_id)
    await one.ask("thread/delete", threadId=thread_id)
    await in_step(other)
    told = other.heard(thread=thread_id)
    assert story(told) == [
        "thread/started",
        "thread/status/changed active",
        "thread/status/changed idle",
        "thread/name/updated",
        "thread/note/updated",
        "thread/archived",
        "thread/unarchived",
        "thread/closed",
        "thread/deleted",
    ]
    assert seqs(told) == sorted(seqs(told))
    assert told[3]["params"]["threadName"] == "Known to all"
    assert told[4]["params"]["note"] == "and so is this"


async def test_whoever_started_a_thread_hears_each_event_once(pair: Pair) -> None:
    one, _ = pair
    thread = await one.start()
    await one.turn(thread["id"], "say 40 words")
    await one.ask("thread/resume", threadId=thread["id"])  # once more makes no difference
    await one.turn(thread["id"], "say 40 words")
    heard = [it for it in one.heard(thread=thread["id"]) if "seq" in it["params"]]
    assert seqs(heard) == list(range(1, len(heard) + 1))


async def test_what_a_client_opted_out_of_is_not_sent(open_place: Place) -> None:
    muted = ["thread/started", "thread/status/changed", "item/agentMessage/delta"]
    async with talking(open_place, optOutNotificationMethods=muted) as talk:
        answer = await talk.ask("thread/start")
        await talk.turn(answer["thread"]["id"], "say 9 words")
        assert not {it["method"] for it in talk.heard()} & set(muted)
        assert "turn/started" in story(talk.heard())


async def test_a_connection_that_never_shook_hands_hears_nothing(open_place: Place) -> None:
    async with open_place.wire(initialize=False) as stranger, talking(open_place) as talk:
        thread = await talk.start()
        await talk.turn(thread["id"], "echo Psst.")
        await talk.ask("thread/delete", threadId=thread["id"])
        refusal = await stranger.ask("thread/loaded/list")  # the next thing that it is sent is the answer to this
        assert refusal["error"]["message"] == "Not initialized"


async def test_subscribers_hear_the_same_in_the_same_order(pair: Pair) -> None:
    one, other = pair
    thread = await one.start()
    resumed = await other.ask("thread/resume", threadId=thread["id"])
    assert resumed["seq"] == 1
    await one.turn(thread["id"], "think\nsay 60 words")
    await other.until("turn/completed", threadId=thread["id"])
    told = one.heard(thread=thread["id"])[1:]  # but for `thread/started`
    assert [it for it in other.heard(thread=thread["id"]) if it["method"] != "thread/started"] == told


async def test_any_client_may_speak_in_any_thread(pair: Pair) -> None:
    one, other = pair
    thread = await one.start()
    turn_id = await one.begin(thread["id"], "wait")
    answer = await other.ask("turn/steer", threadId=thread["id"], expectedTurnId=turn_id, input=said("echo From you."))
    assert answer["turnId"] == turn_id
    ended = await one.until("turn/completed", threadId=thread["id"])
    assert text_of(ended["turn"]) == "From you."


async def test_unsubscribing_ends_the_stream_but_not_the_turn(pair: Pair) -> None:
    one, other = pair
    thread = await one.start()
    await other.ask("thread/resume", threadId=thread["id"])
    turn_id = await one.begin(thread["id"], "slow 10 ms\nsay 300 words")
    await other.until("item/agentMessage/delta")
    assert await other.ask("thread/unsubscribe", threadId=thread["id"]) == {"status": "unsubscribed"}
    before = len(other.log)
    assert await other.ask("thread/unsubscribe", threadId=thread["id"]) == {"status": "notSubscribed"}
    await one.until("item/agentMessage/delta")
    await one.ask("turn/interrupt", threadId=thread["id"], turnId=turn_id)
    await in_step(other)
    assert story(other.heard(since=before)) == ["thread/status/changed idle"]
    nobody = "01a1e24a-0000-7000-8000-000000000000"
    assert await other.ask("thread/unsubscribe", threadId=nobody) == {"status": "notLoaded"}


# ── coming back ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_client_that_leaves_does_not_end_the_turn(open_place: Place) -> None:
    async with talking(open_place) as talk:
        thread = await talk.start()
        turn_id = await talk.begin(thread["id"], "echo All of\nslow 20 ms\necho it is said in the end.")
        await talk.until("item/agentMessage/delta")
    async with talking(open_place) as talk:
        [turn] = (await talk.ask("thread/resume", threadId=thread["id"]))["thread"]["turns"]
        if turn["status"] == "inProgress":
            turn = (await talk.until("turn/completed"))["turn"]
        assert (turn["id"], turn["status"]) == (turn_id, "completed")
        assert text_of(turn) == "All of\nit is said in the end."


async def test_the_same_message_after_a_cut_gets_the_first_answer(open_place: Place) -> None:
    words: dict[str, Any] = {"input": said("wait"), "clientUserMessageId": "m-1"}
    async with talking(open_place) as talk:
        thread = await talk.start()
        first = await talk.ask("turn/start", words, threadId=thread["id"])
    async with talking(open_place) as talk:
        again = await talk.ask("turn/start", words, threadId=thread["id"])
        assert again["turn"]["id"] == first["turn"]["id"]
        steer = {"threadId": thread["id"], "input": said("echo Once."), "clientUserMessageId": "m-2"}
        await talk.ask("turn/steer", steer, expectedTurnId=first["turn"]["id"])
    async with talking(open_place) as talk:
        assert (await talk.ask("turn/steer", steer, expectedTurnId="lost"))["turnId"] == first["turn"]["id"]
        resumed = await talk.ask("thread/resume", threadId=thread["id"])
        if resumed["thread"]["turns"][0]["status"] == "inProgress":
            await talk.until("turn/completed")
        read = await talk.ask("thread/read", threadId=thread["id"], includeTurns=True)
        [turn] = read["thread"]["turns"]
        assert text_of(turn) == "Once."
        assert [it["clientId"] for it in turn["items"] if it["type"] == "userMessage"] == ["m-1", "m-2"]


async def test_without_a_cursor_the_snapshot_and_the_stream_make_the_whole(pair: Pair) -> None:
    """The partial text is in the answer, the rest follows: no gap between them, and nothing twice."""
    one, other = pair
    thread = await one.start()
    for _ in range(5):
        turn_id = await one.begin(thread["id"], "slow 2 ms\nsay 150 words")
        await one.until("item/agentMessage/delta")
        before = len(other.log)
        resumed = await other.ask("thread/resume", threadId=thread["id"])
        snapshot = resumed["thread"]["turns"][-1]
        assert (snapshot["id"], snapshot["status"], snapshot["itemsView"]) == (turn_id, "inProgress", "full")
        assert resumed["thread"]["status"]["type"] == "active"
        ended = (await other.until("turn/completed", threadId=thread["id"]))["turn"]
        assert (await one.until("turn/completed", threadId=thread["id"]))["turn"] == ended
        live = [
            it for it in other.heard(since=before, thread=thread["id"]) if it["params"].get("seq", 0) > resumed["seq"]
        ]
        assert seqs(live) == list(range(resumed["seq"] + 1, resumed["seq"] + 1 + len(live)))
        assert text_of(snapshot)
        assert text_of(snapshot) + streamed(live) == text_of(ended)
        await other.ask("thread/unsubscribe", threadId=thread["id"])


async def test_with_a_cursor_what_was_missed_follows_the_answer(pair: Pair) -> None:
    one, other = pair
    thread = await one.start()
    await one.turn(thread["id"], "say 40 words")
    await one.begin(thread["id"], "slow 5 ms\nsay 100 words")
    for _ in range(3):
        await one.until("item/agentMessage/delta")
    for since in (0, 1, 7):
        before = len(other.log)
        identity = await other.send("thread/resume", {"threadId": thread["id"], "sinceSeq": since})
        resumed = await other.answer(identity)
        assert (resumed["truncated"], resumed["thread"]["turns"]) == (False, [])
        while True:
            if other.heard(since=before, thread=thread["id"])[-1:] and (
                other.heard(since=before, thread=thread["id"])[-1]["params"]["seq"] > resumed["seq"]
            ):
                break
            await other.read()
        at = next(number for number, it in enumerate(other.log) if it.get("id") == identity)
        after = [it for it in other.log[at + 1 :] if "method" in it]
        assert seqs(after) == list(range(since + 1, since + 1 + len(after)))
        assert not any("fromSeq" in it["params"] for it in after)  # each as it was
        await other.ask("thread/unsubscribe", threadId=thread["id"])
    await one.until("turn/completed", threadId=thread["id"])
    head = one.heard(thread=thread["id"])[-1]["params"]["seq"]
    assert (await one.ask("thread/read", threadId=thread["id"]))["thread"]["seq"] == head


async def test_a_child_that_was_born_during_a_cut_is_heard_from_its_birth(open_place: Place) -> None:
    async with talking(open_place) as one:
        root = str((await one.start())["id"])
        await one.turn(root, "spawn echo Heard.\nwait for agents")
        seen = one.heard(thread=root)[-1]["params"]["seq"]
        [first] = {it["params"]["threadId"] for it in one.heard("turn/completed")} - {root}
        cursors = {first: one.heard(thread=first)[-1]["params"]["seq"]}
        await one.turn(root, "spawn echo Unheard.\nwait for agents")
        [second] = {it["params"]["threadId"] for it in one.heard("turn/completed")} - {root, first}
        async with talking(open_place) as again:
            await again.ask("thread/resume", threadId=root, sinceSeq=seen, descendants=cursors)
            await in_step(again)
            assert again.heard(thread=second) == one.heard(thread=second)
            assert seqs(again.heard(thread=second))[0] == 1
            assert again.heard(thread=first) == []


async def test_a_replay_says_what_was_said(pair: Pair) -> None:
    one, other = pair
    thread = await one.start()
    await one.turn(thread["id"], "think\nsay 100 words")
    await one.ask("thread/name/set", threadId=thread["id"], name="x")
    await one.turn(thread["id"], "fail")
    told = one.heard(thread=thread["id"])
    before = len(other.log)
    resumed = await other.ask("thread/resume", threadId=thread["id"], sinceSeq=0)
    await other.until("error")
    await other.until("turn/completed")
    assert [it for it in other.log[before:] if "method" in it and it not in told] == []
    replayed = other.log[other.log.index(next(it for it in other.log[before:] if "id" in it)) + 1 :]
    assert replayed == told
    assert resumed["seq"] == seqs(told)[-1]


@pytest.mark.parametrize("since", ["head", "beyond"])
async def test_a_cursor_at_the_end_or_beyond_brings_only_what_is_new(pair: Pair, since: str) -> None:
    one, other = pair
    thread = await one.start()
    await one.turn(thread["id"], "echo x")
    head = one.log[-1]["params"]["seq"]
    await in_step(other)
    before = len(other.log)
    cursor = head if since == "head" else head + 1_000_000
    resumed = await other.ask("thread/resume", threadId=thread["id"], sinceSeq=cursor)
    assert resumed["seq"] == head
    await one.turn(thread["id"], "echo y")
    await other.until("turn/completed")
    new = other.heard(since=before)
    assert seqs(new) == list(range(head + 1, head + 1 + len(new)))
    assert story(new)[:2] == ["thread/status/changed active", "turn/started"]


async def test_what_a_thread_has_used_is_told_on_resume_and_fork(pair: Pair) -> None:
    one, other = pair
    thread = await one.start()
    first = await one.turn(thread["id"], "echo x")
    second = await one.turn(thread["id"], "echo y z")
    usages = [it["params"] for it in one.heard("thread/tokenUsage/updated", thread=thread["id"])]
    await in_step(other)
    before = len(other.log)
    await other.ask("thread/resume", threadId=thread["id"])
    told = await other.until("thread/tokenUsage/updated")
    assert story(other.log[before:]) == ["answer", "thread/tokenUsage/updated"]
    assert (told["turnId"], told["tokenUsage"]) == (second["id"], usages[1]["tokenUsage"])
    for boundary, usage in (({}, usages[1]), ({"lastTurnId": first["id"]}, usages[0])):
        before = len(other.log)
        fork = await other.ask("thread/fork", threadId=thread["id"], **boundary)
        await other.until("thread/started")
        assert story(other.log[before:]) == ["answer", "thread/tokenUsage/updated", "thread/started"]
        told = other.heard("thread/tokenUsage/updated", since=before)[0]["params"]
        assert told["threadId"] == fork["thread"]["id"]
        assert (told["turnId"], told["tokenUsage"]) == (usage["turnId"], usage["tokenUsage"])
    before = len(other.log)
    fork = await other.ask("thread/fork", threadId=thread["id"], beforeTurnId=first["id"])
    await other.until("thread/started")
    assert story(other.log[before:]) == ["answer", "thread/started"]
