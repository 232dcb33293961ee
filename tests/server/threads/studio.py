"""Threads over a home, and a model that a test can listen to: what it is told is what counts here."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import orjson
from anyio.abc import TaskGroup
from tests.server.agent.stage import Gate
from tests.server.threads.house import words
from tests.support.talk import SECONDS

from threadloom.agent.history import text_of
from threadloom.agent.loop import Loop
from threadloom.agent.sampling import Done, ModelEvent, Sampling, TextDelta, ToolCall, Usage
from threadloom.agent.tools.goal import goal_tools
from threadloom.agent.tools.plan import UpdatePlan
from threadloom.store.memory import MemoryStore
from threadloom.store.rollout import Rollouts
from threadloom.threads.birth import Birth
from threadloom.threads.context.documents import Places
from threadloom.threads.context.rules import Rules
from threadloom.threads.defaults import Defaults, changed, plain
from threadloom.threads.manager import Manager
from threadloom.threads.thread import Thread
from threadloom_protocol.v2.turn import TurnStartParams

MORNING = 1_789_992_000_000  # milliseconds: a day in September 2026
DAY = 24 * 60 * 60 * 1000

Answer = str | ToolCall | Exception | tuple[Any, ...]  # a text, a call, a fault, or several of these and gates


class Listener:
    """A model that says what it is given, one answer after the other, then `ok`; and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Sampling] = []
        self.answers: deque[Answer] = deque()
        self.tokens = 10  # of every answer's input

    def will(self, *answers: Answer) -> None:
        """Prepare what comes next."""
        self.answers.extend(answers)

    async def stream(self, sampling: Sampling) -> AsyncGenerator[Sequence[ModelEvent], None]:
        self.asked.append(sampling)
        answer = self.answers.popleft() if self.answers else "ok"
        tokens = self.tokens
        for part in answer if type(answer) is tuple else (answer,):
            match part:
                case str():
                    yield [TextDelta(part)]
                case ToolCall():
                    yield [part]
                case Gate():
                    await part.pass_through()
                case int():
                    tokens = part
                case _:
                    raise part
        yield [Done(Usage(input=tokens, output=1))]

    def told(self, at: int = -1) -> list[str]:
        """What is in the history of a request: the text of each item, or its type."""
        return [text_of(it.get("content")) or str(it["type"]) for it in self.asked[at].history]

    def said(self, at: int = -1) -> list[str]:
        """The same, without where it takes place."""
        return [it for it in self.told(at) if not it.startswith(("<environment_context>", "# Instructions"))]


class Studio:
    """One process."""

    def __init__(self, room: Path, model: Listener, tasks: TaskGroup) -> None:
        self.room = room
        self.model = model
        self.work = room / "work"
        self.now = MORNING
        self.rules: dict[str, Any] = {"shell": "bash", "base_instructions": "You are a weaver."}
        self._tasks = tasks
        self.open()

    def open(self) -> None:
        """Start the server, or start it again: nothing is in memory."""
        self.store = Rollouts(self.room / "home")
        self.manager = Manager(
            self.store,
            MemoryStore(self.store),
            Loop(lambda model, provider: self.model),
            self._tasks,
            Defaults(lambda cwd, overrides: plain(cwd=str(self.work))),
            {tool.name: tool for tool in [UpdatePlan(), *goal_tools()]},
            clock=lambda: self.now,
            rules=lambda settings, own: Rules(**({"places": Places(homes=(self.room / "home",))} | self.rules)),
        )

    async def again(self) -> None:
        """A restart."""
        await self.close()
        self.open()

    async def close(self) -> None:
        """The end of the process."""
        await self.manager.stop()
        self.manager.close()

    def born(self, **birth: Any) -> Thread:
        """A new thread."""
        settings = plain(cwd=str(self.work))
        thread = self.manager.start(Birth(settings=settings, **birth))
        thread.announce()
        return thread

    def load(self, thread: Thread) -> Thread:
        """The same thread, as this process has it."""
        return self.manager.get(thread.id)

    async def turn(self, thread: Thread, text: str | list[Any] = "Hello", **params: Any) -> str:
        """A whole turn; how it ended."""
        content = words(text) if isinstance(text, str) else text
        files = params.pop("files", {})
        asked = TurnStartParams.model_validate({"threadId": thread.id, "input": [], **params})
        running = thread.start_turn(content, files=files, settings=changed(thread.state.rest.settings, asked))
        running.show()
        return await self.ended(thread, running)

    async def compact(self, thread: Thread) -> str:
        """A whole compaction; how it ended."""
        running = thread.compact()
        running.show()
        return await self.ended(thread, running)

    async def ended(self, thread: Thread, running: Any) -> str:
        """Wait for the end of a turn."""
        with anyio.fail_after(SECONDS):
            await running.done.wait()
        return str(thread.state.rest.last_turn)

    async def until(self, happened: Callable[[], bool]) -> None:
        """Wait until something is so."""
        with anyio.fail_after(SECONDS):
            while not happened():
                await anyio.lowlevel.checkpoint()

    def lines(self, thread: Thread) -> list[dict[str, Any]]:
        """The log of a thread, as it lies on the disk."""
        assert thread.state.rest.thread.path is not None
        return [orjson.loads(it) for it in Path(thread.state.rest.thread.path).read_bytes().splitlines()]

    def events(self, thread: Thread, *methods: str) -> list[dict[str, Any]]:
        """What happened in a thread, of these kinds."""
        return [it for it in self.lines(thread) if it.get("method") in methods]

    def items(self, thread: Thread) -> list[str]:
        """The items of a thread, in the order in which they began, and ended."""
        told = self.events(thread, "item/started", "item/completed")
        return [f"{it['method'].split('/')[1]} {it['params']['item']['type']}" for it in told]

    async def turns(self, thread: Thread) -> list[str]:
        """The ids of the turns that are listed."""
        await self.manager.settled()
        return [it.turn_id for it in self.store.index.turns(thread.id)]

    async def revert(self, thread: Thread, turn_id: str) -> None:
        """Take back a turn and all after it."""
        await self.manager.settled()
        row = self.store.index.turn(thread.id, turn_id)
        assert row is not None
        thread.revert(row.seq)


@asynccontextmanager
async def studio(room: Path) -> AsyncIterator[Studio]:
    """A server with nothing in it."""
    (room / "home").mkdir(parents=True, exist_ok=True)
    (room / "work").mkdir(exist_ok=True)
    async with anyio.create_task_group() as tasks:
        made = Studio(room, Listener(), tasks)
        yield made
        await made.close()
        tasks.cancel_scope.cancel()
