"""A message that comes over two connections at once is said once, also where its files take a while to read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.support.conformance import Conformance
from tests.support.places import Place, running
from tests.support.talk import Message, Talk, said, talking

from threadloom.methods import turn
from threadloom.threads import attachments, speech

PIXEL = b"\x89PNG\r\n\x1a\n" + b"0" * 16


class Gate:
    """Files are read once two have asked for them."""

    def __init__(self) -> None:
        self._asked = 0
        self._both = anyio.Event()

    async def attached(self, content: Sequence[Any], cwd: str) -> Any:
        files = await attachments.attached(content, cwd)
        if files:
            self._asked += 1
            if self._asked == 2:
                self._both.set()
            await self._both.wait()
        return files


@pytest.fixture
async def place(tmp_path: Path, conformance: Conformance, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    async with running("memory", tmp_path, conformance) as place:
        gate = Gate()
        monkeypatch.setattr(turn, "attached", gate.attached)
        monkeypatch.setattr(speech, "attached", gate.attached)
        yield place


@pytest.fixture
def picture(tmp_path: Path) -> Message:
    path = tmp_path / "dot.png"
    path.write_bytes(PIXEL)
    return {"type": "localImage", "path": str(path)}


async def on_both(pair: tuple[Talk, Talk], method: str, params: Message) -> list[Any]:
    asked = [(talk, await talk.send(method, params)) for talk in pair]
    return [await talk.answer(identity) for talk, identity in asked]


async def said_as(talk: Talk, thread_id: str, client_id: str) -> list[str]:
    items = (await talk.ask("thread/items/list", threadId=thread_id, limit=50))["data"]
    return [it["item"]["id"] for it in items if it["item"].get("clientId") == client_id]


async def test_a_turn_begins_once(place: Place, picture: Message) -> None:
    async with talking(place) as one, talking(place) as other:
        thread = (await one.start())["id"]
        words = {"threadId": thread, "input": [*said("wait"), picture], "clientUserMessageId": "m"}
        first, second = await on_both((one, other), "turn/start", words)
        assert first["turn"]["id"] == second["turn"]["id"]
        assert len(await said_as(one, thread, "m")) == 1


async def test_a_turn_is_steered_once(place: Place, picture: Message) -> None:
    async with talking(place) as one, talking(place) as other:
        thread = (await one.start())["id"]
        turn_id = await one.begin(thread, "wait")
        words = {"threadId": thread, "input": [*said("wait"), picture], "clientUserMessageId": "m"}
        steered = await on_both((one, other), "turn/steer", words | {"expectedTurnId": turn_id})
        assert steered == [{"turnId": turn_id}] * 2
        assert len(await said_as(one, thread, "m")) == 1


@pytest.mark.parametrize("interrupt", [False, True])
async def test_an_agent_hears_it_once(place: Place, picture: Message, interrupt: bool) -> None:
    async with talking(place) as one, talking(place) as other:
        root = (await one.start())["id"]
        child = (await one.ask("agent/spawn", threadId=root, input=said("wait")))["thread"]["id"]
        words = {"threadId": child, "input": [*said("wait"), picture], "clientUserMessageId": "m"}
        first, second = await on_both((one, other), "agent/sendInput", words | {"interrupt": interrupt})
        assert first == second
        assert await said_as(one, child, "m") == [first["submissionId"]]
