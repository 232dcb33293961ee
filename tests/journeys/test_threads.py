"""Threads as a client sees them: begun, read, named, noted, put away."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
from tests.support.conformance import Conformance
from tests.support.places import Place, running
from tests.support.talk import Message, Talk, said, story, talking, text_of

UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
NOBODY = "01a1e24a-0000-7000-8000-000000000000"


def on_disk(thread: Message) -> bool:
    return Path(thread["path"]).exists()


async def read(talk: Talk, thread_id: str, **params: Any) -> Message:
    return dict((await talk.ask("thread/read", threadId=thread_id, **params))["thread"])


# ── beginning ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_thread_begins_and_is_announced_after_the_answer(talk: Talk, tmp_path: Path) -> None:
    before = int(time.time())
    answer = await talk.ask("thread/start", cwd=str(tmp_path), approvalPolicy="never", sandbox="read-only")
    assert [it for it in talk.log if "method" in it] == []
    started = await talk.until("thread/started")
    assert story(talk.log) == ["answer", "thread/started"]

    thread = answer["thread"]
    assert UUID7.fullmatch(thread["id"])
    assert (thread.pop("seq"), started) == (1, {"thread": thread, "seq": 1})
    assert thread["sessionId"] == thread["id"]
    assert (thread["source"], thread["historyMode"], thread["status"]) == ("vscode", "paginated", {"type": "idle"})
    assert (thread["cwd"], thread["preview"], thread["turns"]) == (str(tmp_path), "", [])
    assert (thread["ephemeral"], thread["projectId"], thread["forkedFromId"]) == (False, None, None)
    assert (thread["parentThreadId"], thread["name"], thread["note"]) == (None, None, None)
    assert before <= thread["createdAt"] == thread["updatedAt"] <= time.time()
    assert thread["originator"] == "wire"
    assert Path(thread["path"]).is_absolute()
    assert thread["id"] in thread["path"]
    assert on_disk(thread)

    assert (answer["model"], answer["modelProvider"]) == ("rehearsal", "rehearsal")
    assert (answer["cwd"], answer["approvalPolicy"], answer["approvalsReviewer"]) == (str(tmp_path), "never", "user")
    assert answer["sandbox"]["type"] == "readOnly"


async def test_a_relative_directory_becomes_absolute(talk: Talk) -> None:
    here = Path((await talk.ask("thread/start"))["cwd"])
    answer = await talk.ask("thread/start", cwd="some/../where")
    assert Path(answer["cwd"]) == here / "where"
    own = {"approval_policy": "untrusted"}
    answer = await talk.ask("thread/fork", threadId=answer["thread"]["id"], cwd="further", config=own)
    assert (Path(answer["cwd"]), answer["approvalPolicy"]) == (here / "where" / "further", "untrusted")


async def test_a_directory_may_be_anybody_s_and_yet_no_nonsense(talk: Talk) -> None:
    here = Path((await talk.ask("thread/start"))["cwd"])
    answer = await talk.ask("thread/start", cwd="~nobody-here/x")
    assert Path(answer["cwd"]) == here / "~nobody-here" / "x"
    for method in ("thread/start", "agent/list", "command/exec"):
        refusal = await talk.refused(method, cwd="/a\0b", **({"command": ["true"]} if method == "command/exec" else {}))
        assert (refusal.code, refusal.message) == (-32600, "cwd must not contain a NUL character"), method


async def test_a_server_whose_own_directory_has_gone_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, conformance: Conformance
) -> None:
    (gone := tmp_path / "gone").mkdir()
    monkeypatch.chdir(gone)
    async with running("memory", tmp_path / "home", conformance) as place, talking(place) as talk:
        gone.rmdir()
        for method in ("thread/start", "agent/list", "command/exec"):
            refusal = await talk.refused(method, **({"command": ["true"]} if method == "command/exec" else {}))
            assert (refusal.code, refusal.message.endswith("is gone: name another as cwd")) == (-32600, True), method
        assert (await talk.ask("thread/start", cwd=str(tmp_path)))["cwd"] == str(tmp_path)
        assert (await talk.ask("agent/list", cwd=str(tmp_path)))["data"]


async def test_ids_grow_in_the_order_of_birth(talk: Talk) -> None:
    ids = [(await talk.start())["id"] for _ in range(5)]
    assert ids == sorted(ids)


async def test_unknown_settings_are_refused_and_nothing_is_born(talk: Talk) -> None:
    before = await talk.ask("thread/list", limit=1)
    refusal = await talk.refused("thread/start", sandbox="wide-open")
    assert refusal.code == -32602
    assert "sandbox" in refusal.message
    assert await talk.ask("thread/list", limit=1) == before


@pytest.mark.parametrize("how", [{"modelProvider": "moon"}, {"config": {"model_provider": "moon"}}])
async def test_a_provider_that_is_not_there_is_refused_at_once(talk: Talk, how: dict[str, Any]) -> None:
    thread = await talk.start()
    before = await talk.ask("thread/list", limit=1)
    for method, params in (("start", {}), ("resume", {"threadId": thread["id"]}), ("fork", {"threadId": thread["id"]})):
        refusal = await talk.refused(f"thread/{method}", **params, **how)
        assert refusal.code == -32600
        assert refusal.message.startswith("There is no model provider `moon`.")
    assert await talk.ask("thread/list", limit=1) == before
    assert (await talk.ask("thread/resume", threadId=thread["id"]))["modelProvider"] == thread["modelProvider"]


# ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_thread_reads_with_its_turns_or_without(talk: Talk) -> None:
    thread = await talk.start()
    turns = [await talk.turn(thread["id"], f"echo {word}") for word in ("one", "two")]
    short = await read(talk, thread["id"])
    assert (short["turns"], short["preview"], short["status"]) == ([], "echo one", {"type": "idle"})
    whole = await read(talk, thread["id"], includeTurns=True)
    assert [it["id"] for it in whole["turns"]] == [it["id"] for it in turns]
    assert [text_of(it) for it in whole["turns"]] == ["one", "two"]
    assert {it["itemsView"] for it in whole["turns"]} == {"full"}
    assert [[item["type"] for item in it["items"]] for it in whole["turns"]] == [["userMessage", "agentMessage"]] * 2
    assert whole["turns"][0]["items"][0]["content"] == said("echo one")


async def test_a_running_turn_reads_with_what_it_has_said(talk: Talk) -> None:
    thread = await talk.start()
    turn_id = await talk.begin(thread["id"], "echo So far.\nwait")
    await talk.until("item/agentMessage/delta")
    whole = await read(talk, thread["id"], includeTurns=True)
    assert whole["status"] == {"type": "active", "activeFlags": []}
    [turn] = whole["turns"]
    assert (turn["id"], turn["status"], text_of(turn)) == (turn_id, "inProgress", "So far.")
    await talk.ask("turn/interrupt", threadId=thread["id"], turnId=turn_id)


@pytest.mark.parametrize(
    ("method", "words"),  # clients know some of them by heart
    [
        ("thread/read", "thread not loaded: "),
        ("thread/turns/list", "thread not loaded: "),
        ("thread/items/list", "thread not loaded: "),
        ("thread/resume", "no rollout found for thread id "),
        ("thread/fork", "no rollout found for thread id "),
        ("thread/archive", "thread not found: "),
        ("thread/unarchive", "thread not found: "),
        ("thread/delete", "thread not found: "),
        ("thread/close", "thread not found: "),
        ("thread/tree", "thread not found: "),
        ("thread/settings/update", "thread not found: "),
    ],
)
async def test_a_thread_that_is_not_there_is_not_found(talk: Talk, method: str, words: str) -> None:
    refusal = await talk.refused(method, threadId=NOBODY)
    assert (refusal.code, refusal.message) == (-32600, f"{words}{NOBODY}")


# ── name, note, settings, metadata ────────────────────────────────────────────────────────────────────────────────────


async def test_a_name_is_trimmed_and_told(talk: Talk) -> None:
    thread = await talk.start()
    assert await talk.ask("thread/name/set", threadId=thread["id"], name="  The loom  ") == {}
    told = await talk.until("thread/name/updated")
    assert (told["threadId"], told["threadName"]) == (thread["id"], "The loom")
    assert (await read(talk, thread["id"]))["name"] == "The loom"
    blank = await talk.refused("thread/name/set", threadId=thread["id"], name=" \n ")
    assert blank.message == "thread name must not be empty"
    assert (await talk.refused("thread/name/set", threadId=NOBODY, name="x")).message == f"thread not found: {NOBODY}"


async def test_a_note_is_trimmed_bounded_and_cleared(talk: Talk) -> None:
    thread = await talk.start()
    assert await talk.ask("thread/note/set", threadId=thread["id"], note="  due\non Friday ") == {
        "note": "due\non Friday"
    }
    assert (await talk.until("thread/note/updated"))["note"] == "due\non Friday"
    longest = "ö" * 500
    assert await talk.ask("thread/note/set", threadId=thread["id"], note=f" {longest} ") == {"note": longest}
    too_long = await talk.refused("thread/note/set", threadId=thread["id"], note=longest + "x")
    assert too_long.code == -32602
    assert "500" in too_long.message
    assert (await read(talk, thread["id"]))["note"] == longest
    assert await talk.ask("thread/note/set", threadId=thread["id"], note=" \t ") == {"note": None}
    assert (await read(talk, thread["id"]))["note"] is None


async def test_a_note_never_reaches_the_model(talk: Talk) -> None:
    plain, noted = await talk.start(), await talk.start()
    await talk.ask(
        "thread/note/set", threadId=noted["id"], note="twelve words that only people should ever get to read here"
    )
    for thread in (plain, noted):
        assert (await talk.turn(thread["id"], "echo x"))["status"] == "completed"
    told = talk.heard("thread/tokenUsage/updated")
    [without, with_note] = [it["params"]["tokenUsage"]["last"]["inputTokens"] for it in told]
    assert without == with_note  # a word is a token to the offline model


async def test_settings_change_for_later_turns_and_are_told_once(talk: Talk) -> None:
    thread = await talk.start()
    change = {"threadId": thread["id"], "effort": "low", "approvalPolicy": "never", "cwd": "/"}
    assert await talk.ask("thread/settings/update", change) == {}
    told = (await talk.until("thread/settings/updated"))["threadSettings"]
    assert (told["effort"], told["approvalPolicy"], told["cwd"]) == ("low", "never", "/")
    assert (await read(talk, thread["id"]))["cwd"] == "/"
    before = len(talk.log)
    assert await talk.ask("thread/settings/update", change) == {}
    assert await talk.ask("thread/settings/update", threadId=thread["id"]) == {}
    await talk.turn(thread["id"], "echo x")
    assert talk.heard("thread/settings/updated", since=before) == []
    resumed = await talk.ask("thread/resume", threadId=thread["id"], excludeTurns=True)
    assert (resumed["reasoningEffort"], resumed["approvalPolicy"]) == ("low", "never")


async def test_settings_may_change_while_a_turn_runs(talk: Talk) -> None:
    thread = await talk.start()
    turn_id = await talk.begin(thread["id"], "wait")
    await talk.ask("thread/settings/update", threadId=thread["id"], effort="high")
    assert (await talk.until("thread/settings/updated"))["threadSettings"]["effort"] == "high"
    await talk.ask("turn/interrupt", threadId=thread["id"], turnId=turn_id)


async def test_permissions_and_a_sandbox_policy_exclude_each_other(talk: Talk) -> None:
    thread = await talk.start()
    both = {"sandboxPolicy": {"type": "dangerFullAccess"}, "permissions": "workspace"}
    refusal = await talk.refused("thread/settings/update", threadId=thread["id"], **both)
    assert "cannot be combined" in refusal.message


async def test_git_facts_are_patched_and_cleared(talk: Talk) -> None:
    thread = await talk.start()

    async def patch(**info: Any) -> Any:
        answer = await talk.ask("thread/metadata/update", threadId=thread["id"], gitInfo=info)
        assert (await read(talk, thread["id"]))["gitInfo"] == answer["thread"]["gitInfo"]
        return answer["thread"]["gitInfo"]

    assert await patch(branch="main", sha="abc") == {"branch": "main", "sha": "abc", "originUrl": None}
    assert await patch(branch=" topic\n") == {"branch": "topic", "sha": "abc", "originUrl": None}
    for blank in ("", " \n"):
        refusal = await talk.refused("thread/metadata/update", threadId=thread["id"], gitInfo={"branch": blank})
        assert refusal.message == "gitInfo.branch must not be empty"
    assert await patch(branch=None) == {"branch": None, "sha": "abc", "originUrl": None}
    assert await patch(sha=None) is None
    for empty in ({}, {"gitInfo": {}}, {"gitInfo": None}):
        assert (
            "at least one field"
            in (await talk.refused("thread/metadata/update", threadId=thread["id"], **empty)).message
        )


# ── putting away ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_archived_thread_rests_until_it_is_taken_out(talk: Talk, tmp_path: Path) -> None:
    thread = await talk.start(cwd=str(tmp_path))
    await talk.turn(thread["id"], "echo Kept.")
    here = {"cwd": str(tmp_path)}
    assert await talk.ask("thread/archive", threadId=thread["id"]) == {}
    await talk.until("thread/archived", threadId=thread["id"])
    assert (await talk.ask("thread/list", here))["data"] == []
    [listed] = (await talk.ask("thread/list", here, archived=True))["data"]
    assert (listed["id"], listed["status"]) == (thread["id"], {"type": "notLoaded"})
    assert text_of((await read(talk, thread["id"], includeTurns=True))["turns"][0]) == "Kept."
    changes: dict[str, dict[str, Any]] = {
        "turn/start": {"input": said("Hello")},
        "thread/name/set": {"name": "x"},
        "thread/settings/update": {"model": "another"},
        "thread/inject_items": {"items": [{"type": "message", "role": "user", "content": []}]},
        "thread/revert": {"beforeTurnId": "any"},
        "thread/compact/start": {},
    }
    for method, more in changes.items():
        refusal = await talk.refused(method, threadId=thread["id"], **more)
        assert refusal.message == f"thread {thread['id']} is archived; unarchive it first"
    refusal = await talk.refused("thread/resume", threadId=thread["id"])  # a sentence that the TUI knows
    how = f"Run `codex unarchive {thread['id']}` to unarchive it first."
    assert refusal.message == f"session {thread['id']} is archived. {how}"
    assert await talk.ask("thread/archive", threadId=thread["id"]) == {}  # it is where it should be

    back = await talk.ask("thread/unarchive", threadId=thread["id"])
    assert (back["thread"]["id"], back["thread"]["status"]) == (thread["id"], {"type": "notLoaded"})
    assert thread["id"] not in (await talk.ask("thread/loaded/list"))["data"]
    await talk.until("thread/unarchived", threadId=thread["id"])
    assert [it["id"] for it in (await talk.ask("thread/list", here))["data"]] == [thread["id"]]
    assert "not archived" in (await talk.refused("thread/unarchive", threadId=thread["id"])).message
    await talk.ask("thread/resume", threadId=thread["id"])
    assert text_of(await talk.turn(thread["id"], "echo Again.")) == "Again."


async def test_archiving_ends_the_turn_that_runs(talk: Talk) -> None:
    thread = await talk.start()
    await talk.begin(thread["id"], "echo Half\nwait")
    await talk.until("item/agentMessage/delta")
    await talk.ask("thread/archive", threadId=thread["id"])
    ended = await talk.until("turn/completed")
    assert (ended["turn"]["status"], text_of(ended["turn"])) == ("interrupted", "Half")
    await talk.until("thread/archived", threadId=thread["id"])


async def test_a_deleted_thread_is_gone_with_its_log(talk: Talk) -> None:
    thread = await talk.start()
    await talk.turn(thread["id"], "echo Gone.")
    assert await talk.ask("thread/delete", threadId=thread["id"]) == {}
    await talk.until("thread/deleted", threadId=thread["id"])
    assert (await talk.refused("thread/read", threadId=thread["id"])).message == f"thread not loaded: {thread['id']}"
    assert (await talk.ask("thread/unsubscribe", threadId=thread["id"])) == {"status": "notLoaded"}
    assert not on_disk(thread)


async def test_a_thread_can_be_deleted_while_it_speaks(talk: Talk) -> None:
    thread = await talk.start()
    await talk.begin(thread["id"], "slow 5 ms\nsay 4000 words")
    await talk.until("item/agentMessage/delta")
    await talk.ask("thread/delete", threadId=thread["id"])
    told = story(talk.heard(thread=thread["id"]))
    assert told[-3:] == ["thread/status/changed idle", "turn/completed", "thread/deleted"]


# ── closing ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_close_reports_what_it_ended_and_a_resume_opens_again(talk: Talk) -> None:
    thread = await talk.start()
    await talk.begin(thread["id"], "echo Half\nwait")
    await talk.until("item/agentMessage/delta")
    dry = (await talk.ask("thread/close", threadId=thread["id"], dryRun=True))["report"]
    expected = {"threadId": thread["id"], "before": "running", "after": "running", "how": None, "ms": None}
    assert dry == [expected]
    [closed] = (await talk.ask("thread/close", threadId=thread["id"]))["report"]
    assert closed | {"ms": 0} == expected | {"after": "shutdown", "how": "cooperative", "ms": 0}
    told = story(talk.heard(thread=thread["id"]))
    assert told[-3:] == ["thread/status/changed idle", "turn/completed", "thread/closed"]
    last = talk.heard("thread/closed")[-1]["params"]
    assert (last["reason"], last["by"]) == ("closed", thread["id"])
    [again] = (await talk.ask("thread/close", threadId=thread["id"]))["report"]
    assert (again["before"], again["after"], again["how"]) == ("shutdown", "shutdown", "already")

    refusal = await talk.refused("turn/start", threadId=thread["id"], input=said("Hello"))
    assert refusal.message == f"thread {thread['id']} is closed; resume it first"
    resumed = await talk.ask("thread/resume", threadId=thread["id"])
    assert [text_of(it) for it in resumed["thread"]["turns"]] == ["Half"]
    assert text_of(await talk.turn(thread["id"], "echo Open.")) == "Open."


async def test_a_grace_out_of_bounds_is_refused(talk: Talk) -> None:
    thread = await talk.start()
    for grace in (-1, 3601, float("1e300")):
        assert (await talk.refused("thread/close", threadId=thread["id"], grace=grace)).code == -32602


# ── ephemeral ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_ephemeral_thread_leaves_nothing_behind(talk: Talk, tmp_path: Path) -> None:
    thread = await talk.start(ephemeral=True, cwd=str(tmp_path))
    assert (thread["ephemeral"], thread["path"]) == (True, None)
    assert text_of(await talk.turn(thread["id"], "echo Passing.")) == "Passing."
    assert thread["id"] in (await talk.ask("thread/loaded/list"))["data"]
    assert (await talk.ask("thread/list", cwd=str(tmp_path)))["data"] == []
    assert text_of((await read(talk, thread["id"], includeTurns=True))["turns"][0]) == "Passing."
    refusal = await talk.refused("thread/archive", threadId=thread["id"])
    assert refusal.message == f"thread {thread['id']} is ephemeral and cannot be archived"
    metadata = await talk.refused("thread/metadata/update", threadId=thread["id"], gitInfo={"branch": "x"})
    assert metadata.message == f"ephemeral thread does not support metadata updates: {thread['id']}"
    await talk.ask("thread/delete", threadId=thread["id"])
    assert (await talk.refused("thread/read", threadId=thread["id"])).code == -32600


# ── over a restart ────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_another_server_finds_everything(tmp_path: Path, conformance: Conformance) -> None:
    async with running("stdio", tmp_path, conformance) as place:
        await _everything_is_found(place)


async def _everything_is_found(place: Place) -> None:
    """Over pipes every connection has a server of its own."""
    async with talking(place) as talk:
        thread = await talk.start()
        await talk.turn(thread["id"], "echo Remember me.", clientUserMessageId="m-1")
        await talk.ask("thread/name/set", threadId=thread["id"], name="Kept")
        await talk.ask("thread/note/set", threadId=thread["id"], note="noted")
        await talk.ask("thread/settings/update", threadId=thread["id"], effort="low")
        fleeting = await talk.start(ephemeral=True)
        cut = await talk.start()
        await talk.begin(cut["id"], "echo Cut off\nwait")
        await talk.until("item/agentMessage/delta")
    async with talking(place) as talk:
        [first, second] = (await talk.ask("thread/list", sortDirection="asc"))["data"]
        assert (first["id"], first["name"], first["note"]) == (thread["id"], "Kept", "noted")
        assert first["status"] == {"type": "notLoaded"}
        [turn] = (await read(talk, second["id"], includeTurns=True))["turns"]
        assert (turn["status"], text_of(turn)) == ("interrupted", "Cut off")
        assert (await talk.ask("thread/loaded/list"))["data"] == []
        assert (await talk.refused("thread/read", threadId=fleeting["id"])).code == -32600
        again = await talk.ask(
            "turn/start", threadId=thread["id"], input=said("echo Remember me."), clientUserMessageId="m-1"
        )
        assert again["turn"]["status"] == "completed"
        resumed = await talk.ask("thread/resume", threadId=thread["id"])
        assert resumed["reasoningEffort"] == "low"
        assert [text_of(it) for it in resumed["thread"]["turns"]] == ["Remember me."]
