"""A story that writes in every way there is: once through, over a wire, whatever the disk does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
from tests.support.crash_chaos import text
from tests.support.crash_server import CrashApp
from tests.support.crash_wire import CrashWire
from tests.support.crash_witness import Witness
from tests.support.processes import ungrouped

from threadloom.config import Settings
from threadloom.transports.memory import pair
from threadloom_protocol.errors import InternalError, InvalidRequest

NONE = "01a1e24f-0000-7000-8000-000000000000"  # the id of what could not be made
PATIENCE = 1.0  # seconds; where the disk fails, what is waited for may never come


@asynccontextmanager
async def served(home: Path, witness: Witness) -> AsyncIterator[CrashWire]:
    """A server in this process, and a wire to it."""
    async with ungrouped(), CrashApp(Settings(home=home)).running() as app, anyio.create_task_group() as tasks:
        ours, theirs = pair()
        tasks.start_soon(app.serve, theirs)
        async with CrashWire(ours, witness).running() as wire:
            yield wire
        tasks.cancel_scope.cancel()


class Story:
    """Threads, turns, steering, notes, forks, reverts, archives, closes, deletes. Refusals are noted, not raised."""

    def __init__(self, wire: CrashWire) -> None:
        self._wire = wire

    async def tell(self) -> None:
        """All of it."""
        first = await self._thread("thread/start")
        second = await self._thread("thread/start")
        await self._ask("thread/name/set", threadId=first, name="first")
        await self._ask("thread/note/set", threadId=first, note="a note")
        await self._turn(first, "say 9 words")
        await self._turn(first, "think\npieces of 500 words\nsay 20000 words")
        fork = await self._fork_amid(first)
        await self._ask("thread/note/set", threadId=fork, note="a fork")
        await self._turn(fork, "say 3 words")
        await self._history(first)
        await self._tree(first)
        await self._put_away(fork, second)

    async def _fork_amid(self, thread_id: str) -> str:
        """A turn under way: steered, forked, interrupted."""
        await self._begin(thread_id, "slow 1 ms\npieces of 1 words\nsay 12 words\nwait")
        await self._spoken(thread_id, 8)
        turns = self._turns(thread_id)
        steered = text("slow 1 ms\nsay 20 words\nwait")
        await self._ask("turn/steer", threadId=thread_id, expectedTurnId=turns[-1], input=steered)
        await self._spoken(thread_id, 6)
        fork = await self._thread("thread/fork", threadId=thread_id)
        await self._ask("turn/interrupt", threadId=thread_id, turnId="")
        return fork

    async def _history(self, thread_id: str) -> None:
        turns = self._turns(thread_id)
        await self._thread("thread/fork", threadId=thread_id, lastTurnId=turns[0])
        await self._ask("thread/revert", threadId=thread_id, beforeTurnId=turns[-1])
        await self._ask(
            "thread/inject_items", threadId=thread_id, items=[{"type": "message", "role": "user", "content": []}]
        )
        await self._ask("thread/settings/update", threadId=thread_id, effort="low")
        await self._turn(thread_id, 'call update_plan {"plan":[{"step":"weave","status":"pending"}]}\nsay 2 words')

    async def _tree(self, thread_id: str) -> None:
        child = (await self._ask("crash/spawn", threadId=thread_id)).get("threadId", thread_id)
        await self._ask("crash/spawn", threadId=child)
        await self._begin(child, "say 3 words\nwait")
        await self._ask("thread/close", threadId=thread_id, grace=1)
        await self._ask("thread/resume", threadId=thread_id)
        await self._turn(thread_id, "say 1 word")

    async def _put_away(self, fork: str, other: str) -> None:
        await self._ask("thread/archive", threadId=fork)
        await self._ask("thread/unarchive", threadId=fork)
        await self._ask("thread/archive", threadId=other)
        await self._ask("thread/delete", threadId=fork)

    def _turns(self, thread_id: str) -> list[str]:
        seen = self._wire.witness.threads.get(thread_id)
        return list(seen.turns) if seen and seen.turns else [NONE]

    async def _thread(self, method: str, **params: Any) -> str:
        answer = await self._ask(method, **params)
        return str(answer["thread"]["id"]) if answer else NONE

    async def _turn(self, thread_id: str, words: str) -> None:
        turn_id = await self._begin(thread_id, words)
        if turn_id is not None:
            await self._until(lambda: turn_id in self._wire.witness.thread(thread_id).status)

    async def _begin(self, thread_id: str, words: str) -> str | None:
        answer = await self._ask("turn/start", threadId=thread_id, input=text(words))
        return answer["turn"]["id"] if answer else None

    async def _spoken(self, thread_id: str, count: int) -> None:
        """Until so many pieces of something have been heard."""
        heard = self._wire.witness.messages + count
        await self._until(lambda: self._wire.witness.messages >= heard)

    async def _until(self, done: Any) -> None:
        news = anyio.Event()
        self._wire.on_message = lambda: news.set()
        with anyio.move_on_after(PATIENCE):
            while not done():
                news = anyio.Event()
                await news.wait()

    async def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        with suppress(InternalError, InvalidRequest):
            answer: dict[str, Any] = await self._wire.ask(method, **params)
            return answer
        return {}
