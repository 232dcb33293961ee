"""Saved sessions as clients see them, over every transport."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Any

import pytest
from tests.support.talk import Talk, text_of


async def saved(talk: Talk, *words: str, name: str, **params: Any) -> tuple[str, Any]:
    """A thread in which these words were said, saved; its id, and the session."""
    thread = await talk.start(**params)
    for it in words:
        await talk.turn(thread["id"], f"echo {it}")
    answer = await talk.ask("session/save", threadId=thread["id"], name=name)
    return thread["id"], answer["session"]


def texts(thread: Any) -> list[str]:
    return [text_of(it) for it in thread["turns"]]


async def listed(talk: Talk) -> list[Any]:
    """All saved sessions, page by page."""
    found, cursor = [], None
    while True:
        page = await talk.ask("session/list", limit=2, cursor=cursor)
        found += page["data"]
        cursor = page["nextCursor"]
        if cursor is None:
            return found


async def forget_all(talk: Talk) -> None:
    for it in await listed(talk):
        await talk.ask("session/delete", name=it["name"])


async def test_explore_once_save_and_fork_many_times(talk: Talk, tmp_path: Any) -> None:
    await forget_all(talk)
    thread_id, session = await saved(talk, "one", "two", name="core", cwd=str(tmp_path))
    told = await talk.until("session/saved", threadId=thread_id)
    assert told["session"] == session
    assert told["seq"] == session["seq"]
    read = (await talk.ask("thread/read", threadId=thread_id))["thread"]
    assert read["savedAs"] == [{"name": "core", "seq": session["seq"], "savedAt": session["savedAt"]}]
    assert (read["name"], read["seq"]) == ("core", session["seq"])
    assert [it["name"] for it in await listed(talk)] == ["core"]
    [shown] = await listed(talk)
    assert shown == session | {"updatedAt": shown["updatedAt"]}
    assert (shown["threadId"], shown["cwd"], shown["path"]) == (thread_id, str(tmp_path), read["path"])
    assert (shown["model"], shown["createdAt"]) == (read["model"], read["createdAt"])

    await talk.turn(thread_id, "echo three")
    for feature in ("feature A", "feature B"):
        answer = await talk.ask("session/fork", session="core")
        made = answer["thread"]
        await talk.until("thread/started")
        assert made["id"] != thread_id
        assert (made["forkedFromId"], made["parentThreadId"], made["sessionId"]) == (thread_id, None, made["id"])
        assert (texts(made), made["savedAs"], made["cwd"]) == (["one", "two"], [], str(tmp_path))
        assert answer["model"] == read["model"]
        await talk.turn(made["id"], f"echo {feature}")
        whole = (await talk.ask("thread/read", threadId=made["id"], includeTurns=True))["thread"]
        assert texts(whole) == ["one", "two", feature]

    head = (await talk.ask("session/fork", session="core", at="head"))["thread"]
    assert texts(head) == ["one", "two", "three"]
    by_id = (await talk.ask("session/fork", session=thread_id))["thread"]
    assert texts(by_id) == ["one", "two", "three"]
    point = (await talk.ask("session/fork", session=thread_id, at="saved", excludeTurns=True))["thread"]
    assert point["turns"] == []
    assert len((await talk.ask("thread/read", threadId=point["id"], includeTurns=True))["thread"]["turns"]) == 2
    refusal = await talk.refused("session/fork", session=point["id"], at="saved")
    assert refusal.message == f"thread {point['id']} has no saved session"


async def test_resume_opens_the_thread_itself_and_says_how_far_it_has_moved(talk: Talk) -> None:
    thread_id, session = await saved(talk, "one", name="resumed")
    answer = await talk.ask("session/resume", session="resumed")
    assert (answer["thread"]["id"], answer["moved"]) == (thread_id, {"turns": 0, "seq": 0})
    await talk.turn(thread_id, "echo two")
    answer = await talk.ask("session/resume", session="resumed")
    assert texts(answer["thread"]) == ["one", "two"]
    assert answer["moved"] == {"turns": 1, "seq": answer["seq"] - session["seq"]}
    answer = await talk.ask("session/resume", session=thread_id, excludeTurns=True)
    assert (answer["thread"]["id"], answer["thread"]["turns"], answer["moved"]) == (thread_id, [], None)
    assert answer["model"]


async def test_saving_again_overwrites_and_the_conversation_goes_on(talk: Talk) -> None:
    await forget_all(talk)
    one, _ = await saved(talk, "of the first", name="taken")
    other, _ = await saved(talk, "of the second", name="taken")
    assert [(it["name"], it["threadId"]) for it in await listed(talk)] == [("taken", other)]
    assert texts((await talk.ask("session/fork", session="taken"))["thread"]) == ["of the second"]
    assert (await talk.ask("thread/read", threadId=one))["thread"]["savedAs"] == []
    await talk.turn(other, "echo more")
    again = await talk.ask("session/save", threadId=other, name="taken")
    assert texts((await talk.ask("session/fork", session="taken"))["thread"]) == ["of the second", "more"]
    assert [it["seq"] for it in await listed(talk)] == [again["session"]["seq"]]
    await talk.ask("session/save", threadId=other, name="beside")
    assert {it["name"] for it in (await talk.ask("thread/read", threadId=other))["thread"]["savedAs"]} == {
        "taken",
        "beside",
    }


async def test_only_saved_sessions_are_listed_the_latest_first_page_by_page(talk: Talk) -> None:
    await forget_all(talk)
    await talk.turn((await talk.start())["id"], "echo unsaved")
    for name in ("a", "b", "c", "d", "b"):
        await saved(talk, name=name)
    assert [it["name"] for it in await listed(talk)] == ["b", "d", "c", "a"]
    refusal = await talk.refused("session/list", cursor="nonsense")
    assert refusal.message == "invalid cursor: nonsense"
    far = urlsafe_b64encode(b"99999999999999999999/x").decode()
    assert (await talk.refused("session/list", cursor=far)).message == f"invalid cursor: {far}"


async def test_a_saved_name_outlives_its_thread(talk: Talk) -> None:
    await forget_all(talk)
    thread_id, _ = await saved(talk, "kept", name="lasting")
    made = (await talk.ask("session/fork", session="lasting"))["thread"]
    answer = await talk.ask("thread/delete", threadId=thread_id)
    assert answer == {"keptBy": {"sessions": ["lasting"], "forks": [made["id"]]}}
    refusal = await talk.refused("session/resume", session="lasting")
    assert "is gone: it was deleted" in refusal.message
    assert "is gone" in (await talk.refused("session/fork", session="lasting", at="head")).message
    assert texts((await talk.ask("session/fork", session="lasting"))["thread"]) == ["kept"]
    assert texts((await talk.ask("session/fork", session=thread_id, at="saved"))["thread"]) == ["kept"]
    assert [it["threadId"] for it in await listed(talk)] == [thread_id]
    assert thread_id not in [it["id"] for it in (await talk.ask("thread/list", limit=100))["data"]]
    assert await talk.ask("session/delete", name="lasting") == {}
    told = await talk.until("session/deleted")
    assert (told["threadId"], told["name"]) == (thread_id, "lasting")
    assert await listed(talk) == []
    assert texts((await talk.ask("thread/read", threadId=made["id"], includeTurns=True))["thread"]) == ["kept"]
    assert "no session is saved as `lasting`" in (await talk.refused("session/delete", name="lasting")).message


async def test_a_purge_leaves_nothing(talk: Talk) -> None:
    await forget_all(talk)
    thread_id, _ = await saved(talk, "gone", name="purged")
    assert await talk.ask("thread/delete", threadId=thread_id, purge=True) == {}
    assert (await talk.until("session/deleted"))["name"] == "purged"
    assert await listed(talk) == []
    assert (
        "there is no saved session or thread `purged`" in (await talk.refused("session/fork", session="purged")).message
    )
    plain = (await talk.start())["id"]
    assert await talk.ask("thread/delete", threadId=plain) == {}
    assert (await talk.refused("thread/delete", threadId=plain, purge=True)).message == f"thread not found: {plain}"


async def test_who_reads_what_keeps_a_deleted_thread_can_still_purge_it(talk: Talk) -> None:
    await forget_all(talk)
    thread_id, _ = await saved(talk, "gone", name="late")
    assert (await talk.ask("thread/delete", threadId=thread_id))["keptBy"]["sessions"] == ["late"]
    assert await talk.ask("thread/delete", threadId=thread_id, purge=True) == {}
    told = await talk.until("session/deleted")
    assert (told["threadId"], told["name"]) == (thread_id, "late")
    assert await listed(talk) == []


async def test_saved_in_mid_turn_is_as_if_interrupted_there(talk: Talk) -> None:
    thread_id = (await talk.start())["id"]
    turn_id = await talk.begin(thread_id, "echo Half a sentence.\nwait")
    while "sentence." not in (await talk.until("item/agentMessage/delta"))["delta"]:
        pass
    await talk.ask("session/save", threadId=thread_id, name="half")
    await talk.ask("turn/interrupt", threadId=thread_id, turnId=turn_id)
    await talk.turn(thread_id, "echo later")
    made = (await talk.ask("session/fork", session="half"))["thread"]
    [turn] = made["turns"]
    assert (turn["id"], turn["status"], text_of(turn)) == (turn_id, "interrupted", "Half a sentence.")
    assert (await talk.turn(made["id"], "echo on"))["status"] == "completed"


@pytest.mark.parametrize("name", ["", "x" * 101, "a\tb", "-x"])
async def test_what_is_no_name_is_refused(talk: Talk, name: str) -> None:
    thread_id = (await talk.start())["id"]
    assert (await talk.refused("session/save", threadId=thread_id, name=name)).code == -32602


async def test_what_is_unknown_is_told_with_what_is_near(talk: Talk) -> None:
    thread_id, _ = await saved(talk, name="codex-core")
    refusal = await talk.refused("session/resume", session="codexcore")
    assert refusal.message == "there is no saved session or thread `codexcore`; did you mean `codex-core`?"
    assert (await talk.refused("session/resume", session="codex-core", byId=True)).code == -32600
    assert (await talk.ask("session/resume", session=thread_id.upper(), byId=True))["thread"]["id"] == thread_id
    fleeting = (await talk.start(ephemeral=True))["id"]
    assert "cannot be saved" in (await talk.refused("session/save", threadId=fleeting, name="x")).message
    assert (await talk.refused("session/save", threadId="nobody", name="x")).code == -32600


async def test_everyone_hears_of_names(pair: tuple[Talk, Talk]) -> None:
    one, other = pair
    thread_id, session = await saved(one, "x", name="heard")
    told = await other.until("session/saved", threadId=thread_id)
    assert told["session"] == session
    await one.ask("session/delete", name="heard")
    assert (await other.until("session/deleted"))["name"] == "heard"
