"""Parents and children over a home, and a model whose every word is decided by what it was asked."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import orjson
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint
from tests.server.threads.house import words
from tests.support.talk import SECONDS

from threadloom.agent.collab.base import SpawnOrder
from threadloom.agent.history import text_of
from threadloom.agent.loop import Loop
from threadloom.agent.sampling import Done, ModelError, ModelEvent, Sampling, TextDelta, Usage
from threadloom.config.values import Agents
from threadloom.store.memory import MemoryStore
from threadloom.store.rollout import Rollouts
from threadloom.threads.birth import Birth
from threadloom.threads.defaults import Defaults, plain
from threadloom.threads.journal import now
from threadloom.threads.manager import Manager
from threadloom.threads.running import Running
from threadloom.threads.thread import Thread
from threadloom_protocol.v2.values.genealogy import CallbackConfig, Coalesce

REPORT = "<agent_report"


class Voice:
    """A model: `hold NAME` waits for a gate, `fail` fails, a report is noted, and anything else is said back."""

    def __init__(self) -> None:
        self.out = False  # nothing works
        self.heard: dict[str, list[str]] = defaultdict(list)  # thread → the last message of each request
        self.most: Counter[str] = Counter()  # thread → how many of its requests were ever open at once
        self._open: Counter[str] = Counter()
        self._gates: dict[str, anyio.Event] = defaultdict(anyio.Event)

    def let_go(self, name: str) -> None:
        """Open a gate."""
        self._gates[name].set()

    async def stream(self, sampling: Sampling) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """See `Model.stream`."""
        thread, asked = sampling.cache_key or "", text_of(sampling.history[-1].get("content"))
        self.heard[thread].append(asked)
        self._open[thread] += 1
        self.most[thread] = max(self.most[thread], self._open[thread])
        try:
            if asked.startswith("hold "):
                await self._gates[asked.removeprefix("hold ")].wait()
            if self.out or asked == "fail":
                raise ModelError("the model is out")
            yield [TextDelta("noted" if asked.startswith(REPORT) else asked)]
            yield [Done(Usage(input=1, output=1))]
        finally:
            self._open[thread] -= 1


class Family:
    """One process, and those after it on the same home."""

    def __init__(self, room: Path, tasks: TaskGroup) -> None:
        self.room = room
        self.voice = Voice()
        self.time = 0  # milliseconds that are added to the clock
        self._tasks = tasks
        self.open()

    def open(self) -> None:
        """Start the server, or start it again: nothing is in memory."""
        self.store = Rollouts(self.room / "home")
        self.manager = Manager(
            self.store,
            MemoryStore(self.store),
            Loop(lambda model, provider: self.voice),
            self._tasks,
            Defaults(lambda cwd, overrides: plain(cwd=str(self.room))),
            clock=lambda: now() + self.time,
            limits=lambda *of: Agents(max_threads=10_000, max_depth=9),
        )

    async def again(self, *, up: bool = True) -> None:
        """A restart; `up`: of a server that takes up what is open by itself."""
        await self.close()
        self.open()
        if up:
            await self.manager.upkeep.take_up()

    async def close(self) -> None:
        """The end of the process."""
        await self.manager.stop()
        self.manager.close()

    def root(self, **birth: Any) -> Thread:
        """A thread of a person."""
        made = self.manager.start(Birth(settings=plain(cwd=str(self.room)), **birth))
        made.announce()
        return made

    def order(self, prompt: str, **order: Any) -> SpawnOrder:
        """An agent to be born."""
        held = plain(cwd=str(self.room))
        return SpawnOrder(
            content=[{"type": "text", "text": prompt}],
            model=held.model,
            model_provider=held.model_provider,
            reasoning_effort=None,
            sandbox=held.sandbox_policy,
            cwd=held.cwd,
            **order,
        )

    def child(self, parent: Thread, prompt: str = "done", **order: Any) -> Thread:
        """An agent at work."""
        return self.manager.branch(parent.id).born(self.order(prompt, **order))

    def begin(self, thread: Thread, text: str) -> Running:
        """Start a turn."""
        running = thread.start_turn(words(text))
        running.show()
        return running

    async def held(self, thread: Thread) -> None:
        """Start a turn that waits for gate `x`; the model has heard of it when this returns."""
        self.begin(thread, "hold x")
        await self.until(lambda: self.voice.heard[thread.id])

    async def turn(self, thread: Thread, text: str) -> None:
        """A whole turn."""
        with anyio.fail_after(SECONDS):
            await self.begin(thread, text).done.wait()

    async def until(self, happened: Callable[[], Any]) -> None:
        """Wait until something is so."""
        with anyio.fail_after(3 * SECONDS):  # looking at many threads, over and over, takes its time
            while not happened():
                await checkpoint()

    def busy(self) -> list[str]:
        """Those that do something, or are about to."""
        return [
            it.id
            for it in self.manager.loaded.values()
            if it.running
            or it.ending
            or it.state.rest.moving
            or it.state.rest.due_reports
            or (it.queue.entries and it.queue.state.paused is None)
        ]

    async def quiet(self) -> None:
        """Return once everything has been done that was to be done."""
        await self.until(lambda: not self.busy())
        for _ in range(20):  # nothing follows by itself
            await checkpoint()
        assert self.busy() == []

    def lines(self, thread: Thread | str) -> list[dict[str, Any]]:
        """A log, as it lies on the disk."""
        thread_id = thread if isinstance(thread, str) else thread.id
        path = self.manager.rest(thread_id).thread.path
        assert path is not None
        whole = Path(path).read_bytes().split(b"\n")[:-1]  # behind the last line is nothing, or a torn one
        return [orjson.loads(it) for it in whole]

    def marks(self, thread: Thread | str, kind: str) -> list[dict[str, Any]]:
        """The facts of a kind in a log."""
        return [mark for it in self.lines(thread) for mark in it.get("model") or () if mark.get("@") == kind]

    def claims(self, thread: Thread | str) -> list[list[str]]:
        """What each turn began with, in order: of reports the child, of prompts the entry."""
        begun = [it for it in self.lines(thread) if it.get("method") == "turn/started"]
        marks = [mark for it in begun for mark in it.get("model") or () if mark.get("@") == "consumes"]
        return [[it.partition(":")[0] for it in mark["ids"]] for mark in marks]

    def reports(self, thread: Thread | str) -> list[dict[str, Any]]:
        """The reports among the messages of a thread: as clients see them."""
        done = [it["params"]["item"] for it in self.lines(thread) if it.get("method") == "item/completed"]
        return [it for it in done if it["type"] == "userMessage" and it.get("report")]

    def told(self, thread: Thread | str) -> list[tuple[str, str]]:
        """Which children reported, and how they ended."""
        return [(it["report"]["childThreadId"], it["report"]["status"]) for it in self.reports(thread)]

    def background(self, thread: Thread | str, level: str) -> list[str]:
        """What clients were told beside the conversation."""
        told = [it["params"] for it in self.lines(thread) if it.get("method") == "backgroundEvent"]
        return [it["message"] for it in told if it["level"] == level]


def gathering(most: int, window_ms: int = 60_000, **more: Any) -> CallbackConfig:
    """Reports come together."""
    return CallbackConfig(coalesce=Coalesce(window_ms=window_ms, max=most), **more)


@asynccontextmanager
async def family(room: Path) -> AsyncIterator[Family]:
    """A server with nothing in it."""
    (room / "home").mkdir(parents=True, exist_ok=True)
    async with anyio.create_task_group() as tasks:
        made = Family(room, tasks)
        yield made
        await made.close()
        tasks.cancel_scope.cancel()
