"""A client that wants everything at once: turns, forks, notes, names, closes, reverts, archives, in any order."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import anyio
from tests.support.crash_wire import CrashWire
from tests.support.crash_witness import SeenThread

from threadloom_client.errors import Disconnected
from threadloom_protocol.errors import InvalidRequest

HANDS = 4  # things done at once
PROMPTS = (
    "say 40 words",
    "slow 1 ms\nsay 60 words",
    "slow 2 ms\nthink\nsay 30 words",
    'call update_plan {"plan":[{"step":"weave","status":"pending"}]}\nsay 10 words',
    "slow 1 ms\npieces of 1 words\nsay 50 words",
    "say 5 words\nfail no more thread",
    "wait",
    "say 16000 words",  # an item of more than 64 KiB: it is stored out of line
)


class Chaos:
    """Acts at random until the connection is lost."""

    def __init__(self, wire: CrashWire, rng: random.Random) -> None:
        self._wire = wire
        self._rng = rng
        self._deeds: list[tuple[int, Callable[[], Awaitable[Any]]]] = [
            (4, self._start),
            (12, self._turn),
            (3, self._steer),
            (2, self._interrupt),
            (4, self._name),
            (4, self._note),
            (5, self._fork),
            (3, self._spawn),
            (3, self._resume),
            (2, self._close),
            (2, self._revert),
            (2, self._archive),
            (2, self._unarchive),
            (1, self._delete),
            (1, self._inject),
            (1, self._settings),
        ]

    async def run(self) -> None:
        """Go on until the server is gone."""
        await self._start()
        async with anyio.create_task_group() as tasks:
            for _ in range(HANDS):
                tasks.start_soon(self._work)

    async def _work(self) -> None:
        weights, deeds = zip(*self._deeds, strict=True)
        with suppress(Disconnected):
            while True:
                [deed] = self._rng.choices(deeds, weights)
                with suppress(InvalidRequest):  # another hand was faster: closed, archived, no turn to steer …
                    await deed()

    def _any(self) -> SeenThread:
        return self._rng.choice(self._live()[-12:])  # the newer ones, so that much happens to few

    def _live(self) -> list[SeenThread]:
        return [it for it in self._wire.witness.threads.values() if not it.deleted]

    async def _start(self) -> None:
        await self._wire.ask("thread/start")

    async def _turn(self) -> None:
        prompt = self._rng.choice(PROMPTS)
        await self._wire.ask("turn/start", threadId=self._any().id, input=text(prompt))

    async def _steer(self) -> None:
        thread = self._any()
        if thread.turns:
            await self._wire.ask(
                "turn/steer", threadId=thread.id, expectedTurnId=thread.turns[-1], input=text("say 9 words")
            )

    async def _interrupt(self) -> None:
        await self._wire.ask("turn/interrupt", threadId=self._any().id, turnId="")

    async def _name(self) -> None:
        await self._wire.ask("thread/name/set", threadId=self._any().id, name=f"name {self._rng.random()}")

    async def _note(self) -> None:
        note = self._rng.choice((f" note {self._rng.random()} ", " "))
        await self._wire.ask("thread/note/set", threadId=self._any().id, note=note)

    async def _fork(self) -> None:
        thread = self._any()
        turn = self._rng.choice(thread.turns) if thread.turns else None
        where = self._rng.choice(({}, {"lastTurnId": turn}, {"beforeTurnId": turn})) if turn else {}
        await self._wire.ask("thread/fork", threadId=thread.id, **where)

    async def _spawn(self) -> None:
        await self._wire.ask("crash/spawn", threadId=self._any().id)

    async def _resume(self) -> None:
        thread = self._any()
        since = {"sinceSeq": self._rng.randint(0, thread.cursor)} if self._rng.random() < 0.5 else {}
        await self._wire.ask("thread/resume", threadId=thread.id, **since)

    async def _close(self) -> None:
        await self._wire.ask("thread/close", threadId=self._any().id, grace=1)

    async def _revert(self) -> None:
        thread = self._any()
        if thread.turns:
            await self._wire.ask("thread/revert", threadId=thread.id, beforeTurnId=self._rng.choice(thread.turns))

    async def _archive(self) -> None:
        await self._wire.ask("thread/archive", threadId=self._any().id)

    async def _unarchive(self) -> None:
        await self._wire.ask("thread/unarchive", threadId=self._any().id)

    async def _delete(self) -> None:
        thread = self._any()
        if len([it for it in self._live() if it.parent is None]) > 2 * HANDS:  # something is left for the others
            await self._wire.ask("thread/delete", threadId=thread.id)

    async def _inject(self) -> None:
        item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "by the way"}]}
        await self._wire.ask("thread/inject_items", threadId=self._any().id, items=[item])

    async def _settings(self) -> None:
        effort = self._rng.choice(("low", "high"))
        await self._wire.ask("thread/settings/update", threadId=self._any().id, effort=effort)


def text(words: str) -> list[dict[str, Any]]:
    """A person's words, as input."""
    return [{"type": "text", "text": words}]
