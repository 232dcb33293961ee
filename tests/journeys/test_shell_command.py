"""The person's own commands in a thread, and the agent's that run on behind its back."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.support.conformance import Conformance
from tests.support.crash_life import life
from tests.support.flow import Flow
from tests.support.processes import THREADLOOM
from tests.support.talk import SECONDS, Message, Talk, story
from tests.support.tap import Tap
from tests.support.wire import Wire

SHELL = "thread/shellCommand"
LIST = "thread/backgroundTerminals/list"
TERMINATE = "thread/backgroundTerminals/terminate"
CLEAN = "thread/backgroundTerminals/clean"
COMMAND = "item/completed"


@pytest.fixture(autouse=True)
def nobodys_profile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A login shell reads it, and it may have something to say; servers in other processes have a home of their own."""
    monkeypatch.setenv("HOME", str(tmp_path))


async def shell(talk: Talk, thread_id: str, command: str, **more: Any) -> None:
    assert await talk.ask(SHELL, {"threadId": thread_id, "command": command, **more}) == {}


async def ended(talk: Talk) -> Message:
    """The next command that ends."""
    while True:
        item = (await talk.until("item/completed"))["item"]
        if item["type"] == "commandExecution":
            return dict(item)


def background(command: str, times: int = 1) -> str:
    """What makes the rehearsal model start commands that it does not wait for."""
    asked = json.dumps({"cmd": command, "yield_time_ms": 250, "login": False})
    return "\n".join(f"call exec_command {asked}" for _ in range(times))


async def gone(pid: int) -> None:
    """Return once nothing of a process is left."""
    with anyio.fail_after(SECONDS):
        while os.path.exists(f"/proc/{pid}"):  # noqa: ASYNC110, ASYNC240 - there is no event for somebody else's child
            await anyio.sleep(0.01)


# ── the person's own ──────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_command_of_the_person_is_a_turn_of_its_own(talk: Talk, tmp_path: Path) -> None:
    thread = await talk.start(cwd=str(tmp_path))
    before = len(talk.log)
    await shell(talk, thread["id"], "echo one; pwd >&2; exit 3")
    turn = (await talk.until("turn/completed"))["turn"]
    assert [it for it in story(talk.log[before:]) if not it.endswith("outputDelta")] == [
        "answer",
        "thread/status/changed active",
        "turn/started",
        "item/started commandExecution",
        "item/completed commandExecution",
        "thread/status/changed idle",
        "turn/completed",
    ]
    [begun] = [it["params"]["item"] for it in talk.heard("item/started", since=before)]
    [done] = [it["params"]["item"] for it in talk.heard("item/completed", since=before)]
    assert (begun["status"], begun["source"], begun["processId"]) == ("inProgress", "userShell", None)
    assert begun["command"].endswith("-lc 'echo one; pwd >&2; exit 3'")
    assert (done["id"], done["status"], done["exitCode"]) == (begun["id"], "failed", 3)
    assert sorted(done["aggregatedOutput"].split()) == sorted(["one", str(tmp_path)])
    assert done["durationMs"] >= 0
    streamed = [it["params"]["delta"] for it in talk.heard("item/commandExecution/outputDelta", since=before)]
    assert "".join(streamed) == done["aggregatedOutput"]
    assert (turn["status"], turn["items"]) == ("completed", [])


async def test_no_fence_is_around_it(talk: Talk, tmp_path: Path) -> None:
    thread = await talk.start(cwd=str(tmp_path), sandbox="read-only", approvalPolicy="untrusted")
    await shell(talk, thread["id"], "echo kept > file && cat file")
    assert (await ended(talk))["aggregatedOutput"] == "kept\n"
    assert (tmp_path / "file").read_text() == "kept\n"


async def test_it_joins_the_turn_that_runs(talk: Talk) -> None:
    thread = await talk.start()
    turn_id = await talk.begin(thread["id"], "say 3 words\nslow 60000 ms\nsay 3 words")
    await talk.until("item/agentMessage/delta")
    await shell(talk, thread["id"], "echo beside")
    item = await ended(talk)
    assert item["aggregatedOutput"] == "beside\n"
    assert {it["params"]["turnId"] for it in talk.heard("item/completed")} == {turn_id}
    await talk.ask("turn/interrupt", threadId=thread["id"], turnId=turn_id)
    assert (await talk.until("turn/completed"))["turn"]["status"] == "interrupted"


async def test_it_is_ended_when_it_takes_too_long(talk: Talk) -> None:
    thread = await talk.start()
    await shell(talk, thread["id"], "echo hi; sleep 60", timeoutMs=500)
    item = await ended(talk)
    assert (item["status"], item["exitCode"], item["aggregatedOutput"]) == ("failed", 124, "hi\n")
    assert (await talk.until("turn/completed"))["turn"]["status"] == "completed"


async def test_an_interrupt_ends_it_with_all_that_it_started(talk: Talk) -> None:
    thread = await talk.start()
    await shell(talk, thread["id"], "setsid sleep 60 & echo $!; wait")
    turn_id = (await talk.until("turn/started"))["turn"]["id"]
    child = int((await talk.until("item/commandExecution/outputDelta"))["delta"])
    await talk.ask("turn/interrupt", threadId=thread["id"], turnId=turn_id)
    await gone(child)
    assert (await ended(talk))["status"] == "failed"
    assert (await talk.until("turn/completed"))["turn"]["status"] == "interrupted"


async def test_closing_the_thread_ends_it(talk: Talk) -> None:
    thread = await talk.start()
    await shell(talk, thread["id"], "trap '' TERM; echo $$; sleep 60; sleep 60")
    child = int((await talk.until("item/commandExecution/outputDelta"))["delta"])
    report = (await talk.ask("thread/close", threadId=thread["id"]))["report"]
    assert [it["after"] for it in report] == ["shutdown"]
    await gone(child)
    refusal = await talk.refused(SHELL, threadId=thread["id"], command="true")
    assert "closed" in refusal.message


async def test_what_makes_no_sense_is_refused(talk: Talk) -> None:
    thread = await talk.start()
    assert (await talk.refused(SHELL, threadId=thread["id"], command="  ")).code == -32600
    assert (await talk.refused(SHELL, threadId=thread["id"], command="true", timeoutMs=-1)).code == -32602
    assert (await talk.refused(SHELL, threadId="none", command="true")).code == -32600


async def test_a_folder_that_has_gone_fails_the_command_and_not_the_turn(talk: Talk, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    thread = await talk.start(cwd=str(folder))
    folder.rmdir()
    await shell(talk, thread["id"], "true")
    item = await ended(talk)
    assert (item["status"], item["exitCode"]) == ("failed", -1)
    assert str(folder) in item["aggregatedOutput"]
    assert (await talk.until("turn/completed"))["turn"]["status"] == "completed"


# ── the agent's, behind its back ──────────────────────────────────────────────────────────────────────────────────────


async def open_thread(talk: Talk, folder: Path) -> str:
    """A thread whose agent may do as it likes."""
    thread = await talk.start(cwd=str(folder), sandbox="danger-full-access", approvalPolicy="never")
    return str(thread["id"])


async def test_what_runs_on_is_listed_page_by_page(talk: Talk, tmp_path: Path) -> None:
    thread_id = await open_thread(talk, tmp_path)
    assert await talk.ask(LIST, threadId=thread_id) == {"data": [], "nextCursor": None}
    await talk.turn(thread_id, background("sleep 60", times=3))
    whole = await talk.ask(LIST, threadId=thread_id)
    assert whole["nextCursor"] is None
    for it in whole["data"]:
        assert (it["command"], it["cwd"]) == ("sleep 60", str(tmp_path))
        assert os.path.exists(f"/proc/{it['osPid']}")  # noqa: ASYNC240 - it is a look at memory
        assert it["rssKb"] > 0
        assert it["cpuPercent"] >= 0
    begun = [it["params"]["item"]["id"] for it in talk.heard("item/started") if "command" in it["params"]["item"]]
    assert [it["itemId"] for it in whole["data"]] == begun
    pages, cursor = [], None
    while True:
        page = await talk.ask(LIST, threadId=thread_id, limit=1, cursor=cursor)
        pages += [it["itemId"] for it in page["data"]]
        if (cursor := page["nextCursor"]) is None:
            break
    assert pages == begun
    assert (await talk.refused(LIST, threadId=thread_id, cursor="first")).code == -32600
    assert (await talk.refused(LIST, threadId="none")).code == -32600
    await talk.ask(CLEAN, threadId=thread_id)


async def test_one_is_ended_and_then_all(talk: Talk, tmp_path: Path) -> None:
    thread_id = await open_thread(talk, tmp_path)
    await talk.turn(thread_id, background("echo up; sleep 60", times=3))
    first, *others = (await talk.ask(LIST, threadId=thread_id))["data"]
    assert await talk.ask(TERMINATE, threadId=thread_id, processId=first["processId"]) == {"terminated": True}
    item = await ended(talk)
    assert (item["id"], item["status"], item["exitCode"]) == (first["itemId"], "failed", 143)
    assert item["aggregatedOutput"] == "up\n"
    assert await talk.ask(TERMINATE, threadId=thread_id, processId=first["processId"]) == {"terminated": False}
    assert (await talk.refused(TERMINATE, threadId=thread_id, processId="it")).code == -32600
    left = (await talk.ask(LIST, threadId=thread_id))["data"]
    assert [it["itemId"] for it in left] == [it["itemId"] for it in others]
    assert await talk.ask(CLEAN, threadId=thread_id) == {}
    assert (await talk.ask(LIST, threadId=thread_id))["data"] == []
    for it in others:
        await gone(it["osPid"])


async def test_the_persons_own_are_not_among_them(talk: Talk, tmp_path: Path) -> None:
    thread_id = await open_thread(talk, tmp_path)
    await shell(talk, thread_id, "echo up; sleep 60")
    await talk.until("item/commandExecution/outputDelta")
    assert (await talk.ask(LIST, threadId=thread_id))["data"] == []
    assert await talk.ask(CLEAN, threadId=thread_id) == {}
    assert (await talk.ask("thread/read", threadId=thread_id))["thread"]["status"]["type"] == "active"
    await talk.ask("turn/interrupt", threadId=thread_id, turnId="")


async def test_one_that_outlived_its_turn_ends_where_it_began(talk: Talk, tmp_path: Path) -> None:
    """Its end comes in the middle of another turn, and belongs to the first."""
    thread_id = await open_thread(talk, tmp_path)
    os.mkfifo(tmp_path / "pipe")
    first = (await talk.turn(thread_id, background("echo up; read line < pipe; echo $line")))["id"]
    _, command, _ = await items(talk, thread_id)
    assert (command["status"], command["aggregatedOutput"]) == ("inProgress", "up\n")
    second = await talk.begin(thread_id, "say 3 words\nslow 60000 ms\nsay 3 words")
    await talk.until("item/agentMessage/delta", turnId=second)
    await anyio.Path(tmp_path / "pipe").write_text("through\n")
    done = await talk.until("item/completed", turnId=first)
    assert (done["item"]["id"], done["item"]["exitCode"]) == (command["id"], 0)
    [running] = (await talk.ask("thread/turns/list", threadId=thread_id, itemsView="full", limit=1))["data"]
    assert [it["type"] for it in running["items"]] == ["userMessage", "agentMessage"]
    await talk.ask("turn/interrupt", threadId=thread_id, turnId=second)
    found = (await talk.ask("thread/turns/list", threadId=thread_id, itemsView="full", sortDirection="asc"))["data"]
    kinds = [[it["type"] for it in turn["items"]] for turn in found]
    assert kinds == [["userMessage", "commandExecution", "agentMessage"], ["userMessage", "agentMessage"]]
    assert found[0]["items"][1]["aggregatedOutput"] == "up\nthrough\n"
    assert [it["type"] for it in await items(talk, thread_id)] == [*kinds[0], *kinds[1]]


async def items(talk: Talk, thread_id: str) -> list[Message]:
    """All items of a thread."""
    return [it["item"] for it in (await talk.ask("thread/items/list", threadId=thread_id, limit=100))["data"]]


async def test_one_that_a_crash_took_along_reads_failed(tmp_path: Path, conformance: Conformance) -> None:
    """As long as nobody loads the thread, and from then on: nobody knows how it ended."""
    async with life("websocket", tmp_path, THREADLOOM) as server:
        talk = await connected(await server.dial(), conformance)
        thread_id = await open_thread(talk, tmp_path)
        await talk.turn(thread_id, background("echo up; echo $$; sleep 60"))
        [running] = (await talk.ask(LIST, threadId=thread_id))["data"]
        await shell(talk, thread_id, "echo mine; sleep 60")
        await talk.until("item/commandExecution/outputDelta", delta="mine\n")
        server.kill()
    await gone(running["osPid"])
    async with life("websocket", tmp_path, THREADLOOM) as server:
        talk = await connected(await server.dial(), conformance)
        await _check_lost(talk, thread_id)
        await talk.ask("thread/resume", threadId=thread_id, sinceSeq=0)
        again = await talk.until("item/completed", turnId=await _turn_of(talk, thread_id, running["itemId"]))
        while again["item"]["id"] != running["itemId"]:
            again = await talk.until("item/completed")
        assert again["item"]["status"] == "failed"
        await _check_lost(talk, thread_id)


async def _turn_of(talk: Talk, thread_id: str, item_id: str) -> str:
    entries = (await talk.ask("thread/items/list", threadId=thread_id, limit=100))["data"]
    return next(str(it["turnId"]) for it in entries if it["item"]["id"] == item_id)


async def _check_lost(talk: Talk, thread_id: str) -> None:
    listed = await items(talk, thread_id)
    read = (await talk.ask("thread/read", threadId=thread_id, includeTurns=True))["thread"]["turns"]
    for found in (listed, [it for turn in read for it in turn["items"]]):
        agents, mine = [it for it in found if it["type"] == "commandExecution"]
        assert agents["status"] == "failed"
        assert agents["aggregatedOutput"].startswith("up\n")
        assert agents["aggregatedOutput"].endswith("outcome unknown, the server stopped")
        assert mine["source"] == "userShell"
        assert mine["aggregatedOutput"].startswith("mine\n")


async def connected(transport: Any, conformance: Conformance) -> Talk:
    wire = Wire(Tap(transport, Flow(conformance)), "thread/loaded/list")
    await wire.initialize(experimentalApi=True)
    return Talk(wire)
