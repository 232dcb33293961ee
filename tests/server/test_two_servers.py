"""Two servers on one home: one writes a tree, the other reads it, and takes it over when the first is gone."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest
from tests.support.counts import count
from tests.support.crash_chaos import text
from tests.support.crash_life import Life, life
from tests.support.crash_logs import check_index, check_logs, logs
from tests.support.crash_wire import CrashWire
from tests.support.crash_witness import Witness

from threadloom_protocol.errors import InvalidRequest

SECONDS = 60.0
STREAM = "slow 1 ms\npieces of 1 words\nsay 100000 words"

WRITES: list[tuple[str, dict[str, Any]]] = [
    ("turn/start", {"input": text("say 3 words")}),
    ("thread/resume", {}),
    ("thread/name/set", {"name": "mine"}),
    ("thread/note/set", {"note": "mine"}),
    ("thread/settings/update", {"effort": "low"}),
    ("thread/metadata/update", {"gitInfo": {"branch": "mine"}}),
    ("thread/inject_items", {"items": [{"type": "message", "role": "user", "content": []}]}),
    ("thread/archive", {}),
    ("thread/delete", {}),
    ("thread/close", {}),
    ("crash/spawn", {}),
]


@asynccontextmanager
async def server(home: Path, witness: Witness, kind: str = "websocket") -> AsyncIterator[tuple[Life, CrashWire]]:
    async with life(kind, home) as it, CrashWire(await it.dial(), witness).running() as wire:
        yield it, wire


class Tree:
    """A root with a child, and a turn that streams in both."""

    def __init__(self, wire: CrashWire) -> None:
        self._wire = wire
        self.root = self.child = ""

    async def grow(self) -> None:
        self.root = (await self._wire.ask("thread/start"))["thread"]["id"]
        self.child = (await self._wire.ask("crash/spawn", threadId=self.root))["threadId"]
        for it in (self.root, self.child):
            await self._wire.ask("turn/start", threadId=it, input=text("say 5 words"))
            await self._wire.ask("turn/interrupt", threadId=it, turnId="")
            await self._wire.ask("turn/start", threadId=it, input=text(STREAM))
        await self.spoken(20)

    async def spoken(self, more: int) -> None:
        """Until the client of the first server has heard so much more."""
        news = anyio.Event()
        self._wire.on_message = lambda: news.set()
        until = self._wire.witness.messages + more
        with anyio.fail_after(SECONDS):
            while self._wire.witness.messages < until:
                news = anyio.Event()
                await news.wait()


async def read(wire: CrashWire, thread_id: str) -> dict[str, Any]:
    answer: dict[str, Any] = await wire.look("thread/read", threadId=thread_id, includeTurns=True)
    return answer["thread"]  # type: ignore[no-any-return]


async def test_the_second_server_reads_everything_while_the_first_writes(tmp_path: Path) -> None:
    seen, other = Witness(), Witness()
    async with server(tmp_path, seen) as (_, first), server(tmp_path, other, "stdio") as (_, second):
        tree = Tree(first)
        await tree.grow()
        length = 0
        for _ in range(count(50)):
            listed = await second.look("thread/list", sourceKinds=["vscode", "subAgent"])
            assert {it["id"] for it in listed["data"]} == {tree.root, tree.child}
            whole = await read(second, tree.root)
            assert [it["status"] for it in whole["turns"]][1:] == ["inProgress"]
            [message] = [it for it in whole["turns"][-1]["items"] if it["type"] == "agentMessage"]
            known = seen.thread(tree.root).texts[message["id"]]["text"]
            assert message["text"].startswith(known) or known.startswith(message["text"])
            assert len(message["text"]) >= length, "what was there is there"
            length = len(message["text"])
            turns = await second.look("thread/turns/list", threadId=tree.root, sortDirection="asc", itemsView="full")
            assert [it["id"] for it in turns["data"]] == seen.thread(tree.root).turns
            nodes = (await second.look("thread/tree", threadId=tree.child))["data"]
            assert [it["threadId"] for it in nodes] == [tree.root, tree.child]
            await tree.spoken(5)
        for it in (tree.root, tree.child):
            await first.ask("turn/interrupt", threadId=it, turnId="")
            ours, theirs = await read(first, it), await read(second, it)
            assert theirs["turns"] == ours["turns"]
            assert theirs["seq"] == ours["seq"]
            assert theirs["status"] == {"type": "notLoaded"}
    assert check_logs(tmp_path / "threadloom", seen, torn=True) > 100


async def test_the_second_server_is_refused_for_writes_and_told_who_writes(tmp_path: Path) -> None:
    seen, other = Witness(), Witness()
    async with server(tmp_path, seen) as (writer, first), server(tmp_path, other) as (_, second):
        tree = Tree(first)
        await tree.grow()
        for it in (tree.root, tree.child):
            for method, params in WRITES:
                with pytest.raises(InvalidRequest) as refusal:
                    await second.look(method, threadId=it, **params)
                assert refusal.value.data == {"pid": writer.process.pid}, method
                assert f"(pid {writer.process.pid})" in refusal.value.message
        own = (await second.ask("thread/start"))["thread"]["id"]
        await second.ask("thread/note/set", threadId=own, note="a tree of its own")
        assert {it["id"] for it in await _everything(first)} == {tree.root, tree.child, own}
        before = seen.thread(tree.root).turns
        assert [it["id"] for it in (await read(first, tree.root))["turns"]] == before, "the first did not notice"
        await tree.spoken(20)


FORKS: list[tuple[str, str]] = [("thread/fork", "threadId"), ("session/fork", "session")]


@pytest.mark.parametrize(("method", "member"), FORKS)
async def test_the_second_server_forks_what_the_first_is_writing(method: str, member: str, tmp_path: Path) -> None:
    seen = Witness()
    async with server(tmp_path, seen) as (_, first), server(tmp_path, Witness()) as (_, second):
        tree = Tree(first)
        await tree.grow()
        for it in (tree.root, tree.child):
            made = (await second.ask(method, **{member: it}))["thread"]
            assert made["forkedFromId"] == it
            await _goes_on(second, made["id"], seen.thread(it).turns)
            assert (await read(first, it))["turns"][-1]["status"] == "inProgress"
        await tree.spoken(20)  # the first did not notice
        ended = seen.thread(tree.root).turns[0]
        whole = (await second.ask("thread/fork", threadId=tree.root, lastTurnId=ended))["thread"]
        assert [it["id"] for it in whole["turns"]] == [ended]
    check_logs(tmp_path / "threadloom", seen, torn=True)
    assert epochs(tmp_path / "threadloom", tree.root) == [1]


async def _goes_on(wire: CrashWire, fork: str, turns: list[str]) -> None:
    """A fork in the middle of a turn: that ends as if it had been interrupted there, and others follow."""
    found = (await read(wire, fork))["turns"]
    assert [it["id"] for it in found] == turns
    assert found[-1]["status"] == "interrupted"
    assert [it["type"] for it in found[-1]["items"]] == ["userMessage", "agentMessage"]
    assert found[-1]["items"][-1]["text"]
    await wire.ask("turn/start", threadId=fork, input=text("say 5 words"))
    await wire.ask("turn/interrupt", threadId=fork, turnId="")


@pytest.mark.parametrize(("method", "member"), FORKS)
async def test_a_fork_of_what_nobody_has_does_not_take_it_up(method: str, member: str, tmp_path: Path) -> None:
    seen = Witness()
    async with server(tmp_path, seen) as (writer, first), server(tmp_path, Witness()) as (_, second):
        tree = Tree(first)
        await tree.grow()
        writer.kill()
        await writer.process.wait()
        await first.lost.wait()
        made = (await second.ask(method, **{member: tree.root}))["thread"]["id"]
        await _goes_on(second, made, seen.thread(tree.root).turns)
        assert (await second.look("thread/loaded/list"))["data"] == [made]
    assert epochs(tmp_path / "threadloom", tree.root) == [1]


async def _everything(wire: CrashWire) -> list[dict[str, Any]]:
    answer: dict[str, Any] = await wire.look("thread/list", sourceKinds=["vscode", "subAgent"])
    return answer["data"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("stopped", [False, True], ids=["killed", "stopped and killed"])
async def test_the_second_server_takes_over_when_the_first_is_gone(stopped: bool, tmp_path: Path) -> None:
    seen = Witness()
    async with server(tmp_path, seen) as (writer, first), server(tmp_path, Witness()) as (_, second):
        tree = Tree(first)
        await tree.grow()
        if stopped:
            writer.process.send_signal(signal.SIGSTOP)
            for it in (tree.root, tree.child):  # it may go on at any time, so its tree is still its own
                with pytest.raises(InvalidRequest) as refusal:
                    await second.look("thread/note/set", threadId=it, note="mine")
                assert refusal.value.data == {"pid": writer.process.pid}
                assert (await read(second, it))["turns"][-1]["status"] == "inProgress"
        writer.kill()
        await writer.process.wait()
        await first.lost.wait()
        second.witness = seen  # from here on one client goes on where the other was
        for it in (tree.root, tree.child):
            assert (await read(second, it))["turns"][-1]["status"] == "interrupted"
            await second.ask("thread/resume", threadId=it, sinceSeq=seen.thread(it).cursor)
            await second.ask("thread/note/set", threadId=it, note="taken over")
            turn = await second.ask("turn/start", threadId=it, input=text("say 5 words"))
            await second.ask("turn/interrupt", threadId=it, turnId="")
            assert turn["turn"]["id"] in seen.thread(it).turns
            assert [it["status"] for it in (await read(second, it))["turns"]].count("inProgress") == 0
        await _check(second, seen, tmp_path)
    check_logs(tmp_path / "threadloom", seen, torn=False)
    assert epochs(tmp_path / "threadloom", tree.root) == [1, 2]


async def _check(wire: CrashWire, seen: Witness, home: Path) -> None:
    for thread in seen.threads.values():
        found = await read(wire, thread.id)
        assert [it["id"] for it in found["turns"]] == thread.turns
        items = {it["id"]: it for turn in found["turns"] for it in turn["items"]}
        for item_id, texts in thread.texts.items():
            for member, text_seen in texts.items():
                assert member != "text" or items[item_id]["text"].startswith(text_seen)
    await check_index(home / "threadloom", home / "rebuilt")


def epochs(home: Path, thread_id: str) -> list[int]:
    """The lives that wrote a log, as it tells."""
    [path] = [it for it in logs(home) if thread_id in it.name]
    return [mark["epoch"] for line in path.read_bytes().splitlines() for mark in _marks(orjson.loads(line))]


def _marks(line: dict[str, Any]) -> list[dict[str, Any]]:
    return [it for it in line.get("model") or () if it.get("@") == "epoch"]


async def test_a_stopped_server_that_goes_on_is_not_surprised(tmp_path: Path) -> None:
    """It was only asleep: nobody could take its tree, and nothing of it was lost."""
    seen = Witness()
    async with server(tmp_path, seen) as (writer, first), server(tmp_path, Witness()) as (_, second):
        tree = Tree(first)
        await tree.grow()
        writer.process.send_signal(signal.SIGSTOP)
        with pytest.raises(InvalidRequest):
            await second.look("thread/resume", threadId=tree.root)
        writer.process.send_signal(signal.SIGCONT)
        await tree.spoken(50)
        await first.ask("turn/interrupt", threadId=tree.root, turnId="")
        assert seen.thread(tree.root).status[seen.thread(tree.root).turns[-1]] == "interrupted"
        assert (await read(second, tree.root))["turns"] == (await read(first, tree.root))["turns"]
    check_logs(tmp_path / "threadloom", seen, torn=True)
