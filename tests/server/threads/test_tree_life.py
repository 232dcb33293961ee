"""Any life of any tree: whatever happens in whatever order, nothing is lost, and nothing outlives its owner."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import orjson
from anyio.lowlevel import checkpoint
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.server.threads.house import words
from tests.support.clocks import FakeClock
from tests.support.counts import count

from threadloom.agent.base import Agent, Batch, TurnInput
from threadloom.agent.collab.base import SpawnOrder
from threadloom.agent.collab.validate import Refused
from threadloom.agent.history import text_of
from threadloom.app import App
from threadloom.config import Settings
from threadloom.events import Record
from threadloom.threads.birth import Birth
from threadloom.threads.manager import Manager
from threadloom.threads.stopping import GRACE, LAST
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2.thread import ThreadStartParams
from threadloom_protocol.v2.tree import ClosedThread

SECONDS = 30.0
WIDE = {"agents.max_depth": 8, "agents.max_threads": 200}
STEP = 0.5  # seconds of the fake clock that pass at a time
FOR_EVER = 1000.0  # seconds of the fake clock: nobody waits so long

place = st.integers(0, 30)
prompt = st.sampled_from(["wait", "say 3 words", "fail", "stubborn 1", "stubborn 5.5", "stubborn 100"])
operation = st.one_of(
    st.tuples(st.just("spawn"), place, prompt, st.booleans()),
    st.tuples(st.just("input"), place, prompt),
    st.tuples(st.just("interrupt"), place, st.booleans()),
    st.tuples(st.just("close"), place),
    st.tuples(st.just("closeTwice"), place),
    st.tuples(st.just("resume"), place),
    st.tuples(st.just("crash"), st.none() | st.integers(1, 12)),
)


class Slow:
    """An agent that, asked to be `stubborn`, does not mind being cancelled for so many seconds of a fake clock."""

    def __init__(self, usual: Agent, clock: FakeClock) -> None:
        self._usual = usual
        self._clock = clock
        self.compact = usual.compact
        self.held: set[str] = set()  # threads in such a turn

    async def run(self, turn: TurnInput) -> AsyncGenerator[Batch, None]:
        """See `Agent.run`."""
        asked = text_of(turn.history()[-1].get("content"))
        if asked.startswith("stubborn "):
            self.held.add(turn.thread_id)
            with anyio.CancelScope(shield=True):
                await self._clock.until(self._clock.now() + float(asked.removeprefix("stubborn ")))
            self.held.discard(turn.thread_id)
            return
        async with aclosing(self._usual.run(turn)) as batches:
            async for batch in batches:
                yield batch


class Told(NamedTuple):
    """What the log of a thread says of it, read without the server."""

    owner: str | None
    freed: bool
    closed: bool


def told(log: Path) -> tuple[str, Told]:
    """A thread, as its log has it."""
    header, *lines = [orjson.loads(it) for it in log.read_bytes().split(b"\n")[:-1]]
    closed = freed = False
    for it in lines:
        freed |= any(mark.get("@") == "freed" for mark in it.get("model") or ())
        if it.get("method") == "thread/closed" and it["params"]["reason"] == "closed":
            closed = True
        elif it.get("method") == "thread/status/changed" and it["params"]["status"]["type"] != "notLoaded":
            closed = False
    return header["threadId"], Told(header["owner"], freed, closed)


class Life:
    """A tree, and what must be true of it."""

    def __init__(self, room: Path) -> None:
        self.room = room
        self.lives = 0
        self.born: dict[str, str | None] = {}  # id → who spawned it
        self.manager: Manager
        self.clock: FakeClock
        self._cut_in: int | None = None  # records until the server is killed
        self._kept: set[str] = set()  # those that were there when it was

    @property
    def home(self) -> Path:
        return self.room / str(self.lives)

    @asynccontextmanager
    async def alive(self) -> AsyncIterator[None]:
        """A server on what the last one left."""
        async with App(Settings(self.home, WIDE)).running() as app:
            self.manager, self.clock = app.threads, FakeClock()
            self.manager.cascade.clock = self.clock
            self.slow = self.manager._ground.agent = Slow(self.manager._ground.agent, self.clock)
            self._publish, self.manager.hub.publish = self.manager.hub.publish, self._published  # type: ignore[method-assign]
            await self.manager.upkeep.take_up()
            self._found()
            try:
                yield
            finally:
                self.clock.move(FOR_EVER)  # nobody is stubborn any more

    def _found(self) -> None:
        """Whoever was born before the last server was killed is there; one that was just being born may be."""
        logs = self._logs()
        assert self._kept <= logs.keys() <= self.born.keys()
        self.born = {it: by for it, by in self.born.items() if it in logs}

    def _logs(self) -> dict[str, Told]:
        return dict(map(told, self.home.rglob("*.jsonl")))

    # ── the end of a process ──────────────────────────────────────────────────────────────────────────────────────

    @property
    def cut(self) -> bool:
        """Whether the server was killed."""
        return self._next.exists()

    @property
    def _next(self) -> Path:
        return self.room / str(self.lives + 1)

    def crash(self, records: int | None) -> None:
        """Kill the server: now, or in the middle of what comes next, after so many records."""
        self._cut_in = records
        if records is None:
            self.kill()

    def kill(self) -> None:
        """What the disk holds at this moment is what a killed server leaves.

        The index is being written by a thread: what would be torn in a copy is left out, and made from the logs.
        """
        shutil.copytree(self.home, self._next, ignore=shutil.ignore_patterns("index.sqlite*"))
        self._kept, self._cut_in = set(self.born), None

    def _published(self, records: Sequence[Record]) -> None:
        self._publish(records)
        if self._cut_in is not None and not self.cut:
            self._cut_in -= 1
            if self._cut_in <= 0:
                self.kill()

    # ── what happens ──────────────────────────────────────────────────────────────────────────────────────────────

    def any(self, at: int) -> str:
        return list(self.born)[at % len(self.born)]

    def root(self) -> None:
        made = self.manager.start(Birth(settings=self.manager.defaults.settings(ThreadStartParams())))
        made.announce()
        self.born[made.id] = None

    def spawn(self, at: int, prompt: str, abandon: bool) -> None:
        parent = self.any(at)
        held = self.manager.rest(parent).settings
        order = SpawnOrder(
            content=[{"type": "text", "text": prompt}],
            model=held.model,
            model_provider=held.model_provider,
            reasoning_effort=None,
            sandbox=held.sandbox_policy,
            cwd=held.cwd,
            on_parent_close="abandon" if abandon else "cancel",
        )
        closed = self.manager.status(parent) == "shutdown"
        try:
            self.born[self.manager.branch(parent).spawn(order)] = parent
        except Refused:
            assert closed, "only the dead may not have children here"
        else:
            assert not closed

    def input(self, at: int, prompt: str) -> None:
        thread_id = self.any(at)
        with suppress(InvalidRequest):
            self.manager.get(thread_id).start_turn(words(prompt)).shown.set()

    async def interrupt(self, at: int, cascade: bool) -> None:
        thread_id = self.any(at)

        async def interrupt() -> None:
            if cascade:
                await self.manager.cascade.interrupt(thread_id)
            await self.manager.get(thread_id).interrupt(by_user=True)

        await self._pass(FOR_EVER, interrupt)

    async def close(self, at: int) -> None:
        thread_id = self.any(at)
        await self.manager.settled()
        expected = self.manager.cascade.order(thread_id)
        dry = await self.manager.cascade.close(thread_id, dry_run=True)
        [report] = await self._closed(thread_id, 1)
        assert [it.thread_id for it in report] == [it.thread_id for it in dry] == expected
        left = {it.thread_id for it in report if it.how == "unverified"}
        assert {it.after for it in report if it.thread_id not in left} <= {"shutdown"}
        self._children_first(expected)
        await self._pass(FOR_EVER, lambda: self._shut_down(left))  # it was carried on

    async def closeTwice(self, at: int) -> None:  # noqa: N802 (named as the operation)
        one, other = await self._closed(self.any(at), 2)
        assert one == other
        await self._pass(FOR_EVER, lambda: self._shut_down({it.thread_id for it in one}))

    async def _closed(self, thread_id: str, times: int) -> list[list[ClosedThread]]:
        """The reports of closes, none of which may need more than its clock has: no more time passes here."""
        reports: list[list[ClosedThread]] = []

        async def close() -> None:
            reports.append(await self.manager.cascade.close(thread_id))

        await self._pass(GRACE + LAST, *[close] * times)
        assert all(it.ms is not None and it.ms <= (GRACE + LAST) * 1000 for it in chain(*reports))
        return reports

    async def _shut_down(self, ids: set[str]) -> None:
        while any(self.manager.status(it) != "shutdown" for it in ids):
            await checkpoint()
        await self.manager.cascade.finished(next(iter(ids), next(iter(self.born))))

    async def _pass(self, most: float, *works: Callable[[], Awaitable[None]]) -> None:
        """Let time pass until something is done, but no more than so much."""
        done = 0

        async def run(work: Callable[[], Awaitable[None]]) -> None:
            nonlocal done
            await work()
            done += 1

        async with anyio.create_task_group() as tasks:
            for work in works:
                tasks.start_soon(run, work)
            passed = 0.0
            while done < len(works) and passed < most:
                await self._only_stubborn()
                step = STEP if most < FOR_EVER else most
                if done < len(works):
                    self.clock.move(step)
                    passed += step

    async def _only_stubborn(self) -> None:
        """Return once nothing ends by itself any more."""
        await self.manager.settled()
        for _ in range(20):
            await checkpoint()
        while any(it.ending is not None and it.id not in self.slow.held for it in self.manager.loaded.values()):
            await checkpoint()

    async def resume(self, at: int) -> None:
        thread_id = self.any(at)
        taken = self._taken_with(thread_id)
        await self.manager.cascade.reopen(thread_id)
        assert all(self.manager.status(it) != "shutdown" for it in taken)

    def _taken_with(self, thread_id: str) -> list[str]:
        """What the close of a thread took, as each has it in its record."""
        rest = self.manager.rest(thread_id)
        if not rest.closed:
            return [thread_id]
        below = [thread_id, *self.manager.lineage.descendants(thread_id)]
        return [it for it in below if self.manager.rest(it).closed_by == rest.closed_by]

    def _children_first(self, order: list[str]) -> None:
        for at, it in enumerate(order):
            owner = self.manager.lineage.parent(it)
            assert owner not in order[:at], f"{owner} went before what it owned"

    def check(self) -> None:
        """Nothing is lost, and nothing that is shut down has a live child: in the logs, and for those who ask."""
        logs = self._logs()
        assert logs.keys() == self.born.keys()
        assert {it: told.owner for it, told in logs.items()} == self.born
        for it, told in logs.items():
            owner = None if told.freed else told.owner
            assert (self.manager.status(it) == "shutdown", self.manager.lineage.parent(it)) == (told.closed, owner)
            assert told.closed or owner is None or not logs[owner].closed, f"{it} outlived {owner}"
            assert self.manager.rest(it).thread.session_id == self.manager.lineage.origin(it)[-1]


async def run(room: Path, operations: list[tuple[Any, ...]]) -> None:
    life = Life(room)
    left = list(operations)
    with anyio.fail_after(SECONDS):
        while True:
            async with life.alive():
                if not life.born:
                    life.root()
                life.check()
                while left and not life.cut:
                    name, *arguments = left.pop(0)
                    done = getattr(life, name)(*arguments)
                    if done is not None:
                        await done
                    life.check()
                killed = life.cut
            if not killed:
                return
            life.lives += 1


@settings(max_examples=count(300), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(operation, min_size=3, max_size=20))
def test_whatever_happens_the_tree_holds_together(operations: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as room:
        anyio.run(run, Path(room), operations)
