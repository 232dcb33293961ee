"""The clock of a close: who is told to end when, what counts as forced, and what becomes of what does not end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from anyio.lowlevel import checkpoint
from tests.server.threads.disk import Disk
from tests.server.threads.house import House, Stubborn, house, words
from tests.support.clocks import FakeClock
from tests.support.conformance import Conformance
from tests.support.talk import SECONDS

from threadloom.exec.base import Output
from threadloom.exec.terminals import Terminal
from threadloom.threads.stopping import GRACE, KILL, LAST
from threadloom.threads.thread import Thread
from threadloom_protocol.errors import InvalidRequest


class Command:
    """A command that ends when it is let go, and remembers what it was told."""

    pid = 0
    returncode: int | None = None

    def __init__(self, thread: Thread, turn_id: str = "turn") -> None:
        self.gone = False
        self.graces: list[float] = []  # between TERM and KILL, each time it was told to end
        self.let_go = anyio.Event()
        number = thread.terminals.number()
        self._terminal = Terminal(number, f"item-{number}", turn_id, "sleep", "/", self)
        thread.terminals.keep(self._terminal)

    async def end(self, grace: float = 2.0) -> None:
        self.graces.append(grace)
        await self.let_go.wait()
        self.gone = True
        self._terminal.ended.set()

    def output(self) -> AsyncGenerator[Output, None]:
        raise NotImplementedError

    async def write(self, data: bytes) -> None:
        raise NotImplementedError

    async def close_stdin(self) -> None:
        raise NotImplementedError

    def resize(self, rows: int, cols: int) -> None:
        raise NotImplementedError

    async def wait(self) -> int:
        raise NotImplementedError

    def abort(self) -> None:
        raise NotImplementedError


class Stage:
    """A root with a child whose turns do not mind being cancelled, and a clock that stands still."""

    def __init__(self, home: House) -> None:
        self.home = home
        self.agent = Stubborn()
        self.clock = FakeClock()
        home.threads._ground.agent = self.agent  # type: ignore[assignment]
        home.threads.cascade.clock = self.clock
        self.root = home.born()
        self.child = home.born(self.root)

    def thread(self, thread_id: str) -> Thread:
        return self.home.thread(thread_id)

    def statuses(self) -> list[str]:
        return [self.home.threads.status(it) for it in (self.child, self.root)]

    async def closed(self, **how: Any) -> list[Any]:
        """The report of a close of the root."""
        return await self.home.threads.cascade.close(self.root, **how)


@pytest.fixture
async def stage(home: House) -> Stage:
    return Stage(home)


async def until(happened: Callable[[], Any]) -> None:
    with anyio.fail_after(SECONDS):
        while not happened():
            await checkpoint()


class Asked:
    """A request under way, and its answer."""

    def __init__(self) -> None:
        self.report: list[Any] | None = None

    async def run(self, work: Callable[[], Any]) -> None:
        self.report = await work()

    @property
    def how(self) -> list[str]:
        assert self.report is not None
        return [it.how for it in self.report]


# ── who is told when ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("grace", "kill"), [(GRACE, KILL), (0.5, 0.5), (0.0, 0.0)])
async def test_commands_are_ended_while_the_turn_still_ends_and_killed_within_the_grace(
    stage: Stage, grace: float, kill: float
) -> None:
    running = stage.home.speak(stage.child, "go")
    await until(lambda: stage.thread(stage.child).state.turn)
    behind = Command(stage.thread(stage.child))
    asked = Asked()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(asked.run, lambda: stage.closed(grace=grace))
        await until(lambda: behind.graces)
        assert not running.done.is_set()
        assert behind.graces[0] == kill
        behind.let_go.set()
        stage.agent.let_go.set()


@pytest.mark.parametrize(("seconds", "how"), [(KILL - 0.1, "cooperative"), (KILL, "forced")])
async def test_a_command_that_had_to_be_killed_is_told(stage: Stage, seconds: float, how: str) -> None:
    command = Command(stage.thread(stage.child))
    asked = Asked()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(asked.run, stage.closed)
        await until(lambda: command.graces)
        stage.clock.move(seconds)
        command.let_go.set()
    assert asked.how == [how, "cooperative"]


@pytest.mark.parametrize("action", ["archive", "delete"])
async def test_archive_and_delete_end_all_work_at_once(stage: Stage, action: Literal["archive", "delete"]) -> None:
    commands = [Command(stage.thread(it)) for it in (stage.root, stage.child, stage.home.born(stage.root))]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(getattr(stage.home.threads.moves, action), stage.root)
        await until(lambda: all(it.graces for it in commands))
        for it in commands:
            it.let_go.set()
    assert stage.home.threads.loaded == {}


# ── what does not end in time ─────────────────────────────────────────────────────────────────────────────────────────


async def unverified(stage: Stage) -> None:
    """A close whose clock ran out before a turn had ended."""
    stage.home.speak(stage.child, "go")
    await until(lambda: stage.thread(stage.child).state.turn)
    asked = Asked()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(asked.run, stage.closed)
        await until(lambda: stage.thread(stage.child).sealed)
        stage.clock.move(GRACE)
        for _ in range(20):
            await checkpoint()
        assert asked.report is None  # it gets a last moment
        stage.clock.move(LAST)
    assert asked.how == ["unverified", "unverified"]
    assert asked.report is not None
    assert [it.after for it in asked.report] == ["running", "pendingInit"]
    assert [it.ms for it in asked.report] == [(GRACE + LAST) * 1000] * 2


async def test_what_did_not_end_in_time_is_closed_as_soon_as_it_has(stage: Stage) -> None:
    await unverified(stage)
    for it in (stage.child, stage.root):
        with pytest.raises(InvalidRequest, match="is closing"):
            stage.thread(it).start_turn(words("Hello"))
    stage.agent.let_go.set()
    await until(lambda: stage.statuses() == ["shutdown"] * 2)
    await until(lambda: not stage.home.threads.loaded)
    await stage.closed()  # joins the last moment of the first
    assert stage.home.threads.durable.index.due() == []
    assert [it.how for it in await stage.closed()] == ["already"] * 2


async def test_who_closes_once_more_meanwhile_hears_how_it_ends(stage: Stage) -> None:
    await unverified(stage)
    again, asked = Asked(), Asked()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(again.run, stage.closed)
        for _ in range(20):
            await checkpoint()
        stage.clock.move(GRACE + LAST)
        await until(lambda: again.report)
        tasks.start_soon(asked.run, stage.closed)
        for _ in range(20):
            await checkpoint()
        assert asked.report is None
        stage.agent.let_go.set()
    assert again.how == ["unverified"] * 2
    assert asked.how == ["forced", "cooperative"]
    assert stage.statuses() == ["shutdown"] * 2


async def test_a_thread_cannot_be_taken_up_while_its_close_lasts(stage: Stage) -> None:
    await unverified(stage)
    asked = Asked()
    async with anyio.create_task_group() as tasks:

        async def refused() -> str:
            with pytest.raises(InvalidRequest) as refusal:
                await stage.home.threads.cascade.finished(stage.child)
            return refusal.value.message

        tasks.start_soon(asked.run, refused)
        for _ in range(20):
            await checkpoint()
        stage.clock.move(GRACE + LAST)
    assert asked.report == f"thread {stage.root} is closing"
    stage.agent.let_go.set()
    await until(lambda: stage.statuses() == ["shutdown"] * 2)


async def test_a_thread_alone_that_did_not_end_in_time_is_closed_after_a_crash(
    tmp_path: Path, conformance: Conformance
) -> None:
    async with house(tmp_path, conformance) as home:
        stage = Stage(home)
        await home.threads.cascade.close(stage.child)
        running = home.speak(stage.root, "go")
        await until(lambda: stage.thread(stage.root).state.turn)
        asked = Asked()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asked.run, stage.closed)
            await until(lambda: running.scope.cancel_called)
            stage.clock.move(GRACE)
            stage.clock.move(LAST)
        assert asked.how == ["already", "unverified"]
        assert home.threads.rest(stage.root).closing
        await home.threads.settled()
        assert home.threads.durable.index.due() == [stage.root]
        stage.agent.let_go.set()


# ── what the disk takes ───────────────────────────────────────────────────────────────────────────────────────────────


async def test_siblings_wait_for_the_disk_together_and_their_owner_for_both(stage: Stage, disk: Disk) -> None:
    children = [stage.child, stage.home.born(stage.root)]
    asked = Asked()
    async with anyio.create_task_group() as tasks, disk.busy():
        tasks.start_soon(asked.run, stage.closed)
        await until(lambda: [stage.home.threads.status(it) for it in children] == ["shutdown"] * 2)
        for _ in range(20):
            await checkpoint()
        assert stage.home.threads.status(stage.root) != "shutdown"
    assert asked.how == ["cooperative"] * 3
    assert stage.home.threads.loaded == {}


async def test_what_is_not_on_the_disk_in_time_has_not_ended(stage: Stage, disk: Disk) -> None:
    asked, again = Asked(), Asked()
    async with anyio.create_task_group() as tasks, disk.busy():
        tasks.start_soon(asked.run, stage.closed)
        await disk.reached.wait()
        stage.clock.move(GRACE + LAST)
        await until(lambda: asked.report)
        assert asked.how == ["unverified"] * 2
        tasks.start_soon(again.run, stage.closed)
        for _ in range(20):
            await checkpoint()
        assert again.report is None
    assert again.how == ["cooperative"] * 2
    assert stage.statuses() == ["shutdown"] * 2
    await until(lambda: not stage.home.threads.loaded)


async def test_what_is_closed_and_not_on_the_disk_in_time_has_not_to_be_closed_again(stage: Stage, disk: Disk) -> None:
    asked = Asked()
    async with anyio.create_task_group() as tasks, disk.busy():
        tasks.start_soon(asked.run, lambda: stage.home.threads.cascade.close(stage.child))
        await disk.reached.wait()
        stage.clock.move(GRACE + LAST)
        await until(lambda: asked.report)
        assert asked.how == ["unverified"]
        rest = stage.thread(stage.child).state.rest
        assert (rest.closing, rest.closed) == (False, True)
    await until(lambda: stage.child not in stage.home.threads.loaded)
