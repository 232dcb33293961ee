"""Cuts: a WebSocket that is torn off at random, over and over, while a tree of threads streams."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest
from tests.support.conformance import Conformance
from tests.support.counts import count
from tests.support.flow import Flow
from tests.support.sockets import until
from tests.support.talk import SECONDS
from websockets.asyncio.client import ClientConnection, connect

from threadloom.app import App
from threadloom.config import Settings
from threadloom.threads.birth import Birth
from threadloom.threads.thread import Thread
from threadloom.transports.auth import Gate
from threadloom.transports.websocket import WebSocketListener
from threadloom_protocol.v2.thread import ThreadStartParams
from threadloom_protocol.v2.values.content import TextUserInput

CUTS = 1000
PROMPTS = (
    "slow 1 ms\nsay 90 words",
    "slow 2 ms\nthink\nsay 60 words",
    "slow 1 ms\npieces of 1 word\nsay 40 words\nfail",
)
HELLO = {"clientInfo": {"name": "cut", "version": "1"}, "capabilities": {"experimentalApi": True}}


class Witness:
    """A client that remembers, over all its connections, what it was told of each thread."""

    def __init__(self) -> None:
        self.cursors: dict[str, int] = defaultdict(int)
        self.texts: dict[tuple[str, str], str] = defaultdict(str)  # (thread, item) → what was streamed of it
        self.finals: dict[tuple[str, str], str] = {}

    def take(self, message: Any) -> None:
        """Check that this is exactly what comes next in its thread."""
        params = message.get("params", {})
        if "seq" not in params:
            assert message.get("method") != "thread/gap", message
            return
        thread_id = params.get("threadId") or params["thread"]["id"]
        first, seq = params.get("fromSeq", params["seq"]), params["seq"]
        expected = self.cursors[thread_id] + 1
        assert first == expected, f"{thread_id}: seq {first} came where {expected} was due: {message}"
        self.cursors[thread_id] = seq
        match message["method"]:
            case "item/agentMessage/delta":
                self.texts[thread_id, params["itemId"]] += params["delta"]
            case "item/completed" if params["item"]["type"] == "agentMessage":
                self.finals[thread_id, params["item"]["id"]] = params["item"]["text"]


class Wire:
    """One of its connections."""

    def __init__(self, socket: ClientConnection, witness: Witness, flow: Flow) -> None:
        self._socket = socket
        self._flow = flow
        self._witness = witness
        self._next = 0
        self._resuming = 0  # the request after whose answer events count; what everybody hears may come before
        self._follows = False

    async def send(self, method: str, params: Any) -> int:
        self._next += 1
        request = orjson.dumps({"id": self._next, "method": method, "params": params})
        self._flow.sent(request)
        await self._socket.send(request, text=True)
        return self._next

    async def resume(self, params: Any) -> None:
        self._resuming = await self.send("thread/resume", params)

    async def read(self) -> Any:
        with anyio.fail_after(SECONDS):
            frame = await self._socket.recv(decode=False)
        self._flow.received(frame)
        message = orjson.loads(frame)
        if self._follows:
            self._witness.take(message)
        self._follows = self._follows or message.get("id") == self._resuming
        return message

    async def resumed(self) -> Any:
        """The answer to the resume."""
        while not self._follows:
            message = await self.read()
        return message["result"]

    def cut(self) -> None:
        """Gone, without a word."""
        self._socket.transport.abort()


@asynccontextmanager
async def wired(url: str, witness: Witness, conformance: Conformance) -> AsyncIterator[Wire]:
    """A connection that has shaken hands and does not say goodbye."""
    socket = await connect(url, compression=None, max_size=None, proxy=None, close_timeout=1)
    try:
        wire = Wire(socket, witness, Flow(conformance))
        await wire.send("initialize", HELLO)
        while "result" not in await wire.read():
            pass  # a broadcast may be quicker than we are, but not than the handshake
        yield wire
    finally:
        socket.transport.abort()


class Tree:
    """Five threads of one tree that talk without end."""

    def __init__(self, app: App) -> None:
        self.app = app
        settings = app.threads.defaults.settings(ThreadStartParams())

        def born(owner: Thread | None) -> Thread:
            made = app.threads.start(Birth(settings=settings, owner=owner.id if owner else None))
            made.announce()
            return made

        self.root = born(None)
        first, second = born(self.root), born(self.root)
        self.threads = [self.root, first, second, born(first), born(second)]
        self.resting = False

    async def talk(self, thread: Thread, chance: random.Random) -> None:
        """Turn after turn, some of them cut short."""
        while not self.resting:
            running = thread.start_turn([TextUserInput(text=chance.choice(PROMPTS))])
            running.show()
            if chance.random() < 0.2:
                with anyio.move_on_after(chance.random() / 20):
                    await running.done.wait()
                await thread.interrupt()
            await running.done.wait()

    def resume(self, witness: Witness) -> Any:
        """How the witness takes up the thread."""
        return {
            "threadId": self.root.id,
            "sinceSeq": witness.cursors[self.root.id],
            "descendants": {it.id: witness.cursors[it.id] for it in self.threads[1:]},
        }


async def one_connection(
    url: str, tree: Tree, witness: Witness, chance: random.Random, conformance: Conformance
) -> None:
    """Connect, take up the threads, listen for a while, be torn off."""
    async with wired(url, witness, conformance) as wire:
        await wire.resume(tree.resume(witness))
        behind = sum(it.seq - witness.cursors[it.id] for it in tree.threads)
        for _ in range(chance.choice((0, 1, chance.randrange(10), chance.randrange(2 * behind + 20)))):
            await wire.read()
        wire.cut()


async def to_the_end(url: str, tree: Tree, witness: Witness, conformance: Conformance) -> None:
    """Connect, and hear all that is left."""
    async with wired(url, witness, conformance) as wire:
        await wire.resume(tree.resume(witness))
        while any(witness.cursors[it.id] < it.seq for it in tree.threads):
            await wire.read()


async def test_no_event_is_lost_doubled_or_out_of_order(tmp_path: Path, conformance: Conformance) -> None:
    cuts = count(CUTS)
    chance = random.Random(3)
    witness = Witness()
    async with App(Settings(home=tmp_path)).running() as app:
        tree = Tree(app)
        async with WebSocketListener("127.0.0.1", 0, Gate()).serving(app.serve) as address:
            async with anyio.create_task_group() as tasks:
                for number, thread in enumerate(tree.threads):
                    tasks.start_soon(tree.talk, thread, random.Random(number))
                for _ in range(cuts):
                    await one_connection(address.url, tree, witness, chance, conformance)
                tree.resting = True
            await to_the_end(address.url, tree, witness, conformance)
            await until(lambda: not any(app.threads.hub.followed(it.id) for it in tree.threads))
        stored = {
            (it.id, item.id): item.text
            for it in tree.threads
            for turn in app.threads.reader.turns(it.id).data
            for item in turn.items
            if item.type == "agentMessage"
        }
        heads = {it.id: it.seq for it in tree.threads}
    assert dict(witness.cursors) == heads
    assert min(heads.values()) > 100  # there was something to lose
    assert witness.finals == stored
    assert witness.texts == {key: text for key, text in stored.items() if text}


def _text(turn: Any) -> str:
    return "".join(it["text"] for it in turn["items"] if it["type"] == "agentMessage")


@pytest.mark.parametrize("seed", range(3))
async def test_without_a_cursor_the_partial_text_and_the_rest_are_the_whole(
    tmp_path: Path, seed: int, conformance: Conformance
) -> None:
    chance = random.Random(seed)
    heard: list[str] = []
    async with App(Settings(home=tmp_path)).running() as app:
        tree = Tree(app)
        tree.root.start_turn([TextUserInput(text="slow 1 ms\npieces of 1 word\nsay 300 words")]).show()
        async with WebSocketListener("127.0.0.1", 0, Gate()).serving(app.serve) as address:
            while tree.root.running is not None:
                witness = Witness()
                async with wired(address.url, witness, conformance) as wire:
                    await wire.resume({"threadId": tree.root.id})
                    answer = await wire.resumed()
                    witness.cursors[tree.root.id] = answer["seq"]
                    while tree.root.running is not None and chance.random() < 0.95:
                        await wire.read()
                    heard.append(_text(answer["thread"]["turns"][0]) + "".join(witness.texts.values()))
        await app.threads.settled()
        [turn] = app.threads.reader.turns(tree.root.id).data
        whole = _text(orjson.loads(turn.to_json()))
    assert len(whole.split()) == 300
    assert len(heard) > 3
    assert [text for text in heard if not whole.startswith(text)] == []
    assert [len(text) for text in heard] == sorted(len(text) for text in heard)
