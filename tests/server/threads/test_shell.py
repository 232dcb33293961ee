"""What the model is told of the commands that a person runs, and when."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import anyio
import pytest
from tests.server.agent.stage import Gate
from tests.server.threads.house import words
from tests.server.threads.studio import Studio
from tests.support.talk import SECONDS

from threadloom.exec import terminals
from threadloom.exec.base import Order, Process
from threadloom.exec.launch import Host
from threadloom.store.errors import StoreError
from threadloom.store.logfile import RolloutLog
from threadloom.threads.shell import UserCommand
from threadloom.threads.thread import Thread

ENV = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}  # no profile of anybody


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    host = Host({})
    yield host
    await host.close()


def begin(thread: Thread, host: Any, line: str, seconds: float = SECONDS) -> None:
    """The person runs something."""
    UserCommand(thread, host, line, seconds, ENV).begin()()


async def run(loom: Studio, thread: Thread, host: Host, line: str, seconds: float = SECONDS) -> None:
    """The same in a turn of its own, to the end."""
    begin(thread, host, line, seconds)
    assert thread.running is not None
    await loom.ended(thread, thread.running)


async def test_a_command_asks_the_model_nothing_and_is_read_with_the_next_prompt(loom: Studio, host: Host) -> None:
    thread = loom.born()
    await run(loom, thread, host, "echo warp; exit 3")
    assert loom.model.asked == []
    await loom.turn(thread, "What was that?")
    told, prompt = loom.model.said()
    assert prompt == "What was that?"
    assert told.startswith("<user_shell_command>\n<command>\necho warp; exit 3\n</command>\n<result>\nExit code: 3\n")
    assert told.endswith("Output:\nwarp\n\n</result>\n</user_shell_command>")


async def test_beside_an_answer_it_is_read_behind_it_in_the_same_turn(loom: Studio, host: Host) -> None:
    thread, gate = loom.born(), Gate()
    loom.model.will(("One, ", gate, "two."), "I see.")
    running = thread.start_turn(words("Count"))
    running.show()
    with anyio.fail_after(SECONDS):
        await gate.reached.wait()
    begin(thread, host, "echo weft")
    await loom.until(lambda: "completed commandExecution" in loom.items(thread))
    gate.open.set()
    assert await loom.ended(thread, running) == "completed"
    assert len(loom.model.asked) == 2
    prompt, answer, told = loom.model.said()
    assert (prompt, answer) == ("Count", "One, two.")
    assert "weft" in told
    await loom.again()
    await loom.turn(loom.load(thread), "And now?")
    assert loom.model.said() == [prompt, answer, told, "I see.", "And now?"]


async def test_an_interrupted_answer_loses_nothing_of_it(loom: Studio, host: Host) -> None:
    thread, gate = loom.born(), Gate()
    loom.model.will(("One, ", gate))
    running = thread.start_turn(words("Count"))
    running.show()
    with anyio.fail_after(SECONDS):
        await gate.reached.wait()
    begin(thread, host, "echo weft")
    await loom.until(lambda: "completed commandExecution" in loom.items(thread))
    await thread.interrupt()
    await loom.turn(thread, "And now?")
    assert [it for it in loom.model.said() if "weft" in it]


async def test_what_is_said_while_it_runs_is_answered_when_it_has_ended(loom: Studio, host: Host) -> None:
    thread = loom.born()
    os.mkfifo(loom.work / "pipe")
    begin(thread, host, "read line < pipe; echo $line")
    running = thread.running
    assert running is not None
    await loom.until(lambda: "started commandExecution" in loom.items(thread))
    assert thread.start_turn(words("What is it?")) is running
    assert loom.model.asked == []
    begin(thread, host, "echo thread > pipe")  # beside it, in the same turn
    assert await loom.ended(thread, running) == "completed"
    assert len(loom.model.asked) == 1
    assert loom.model.said()[0] == "What is it?"
    assert any("thread\n\n</result>" in it for it in loom.model.said())


async def test_one_that_takes_too_long_is_told_so(loom: Studio, host: Host) -> None:
    thread = loom.born()
    await run(loom, thread, host, "echo hi; sleep 60", seconds=0.3)
    await loom.turn(thread)
    told = loom.model.said()[0]
    assert "Exit code: 124\n" in told
    assert "longer than 0.3 seconds" in told
    assert "hi\n" in told


async def test_the_number_of_a_command_never_comes_again(loom: Studio, host: Host) -> None:
    """Who knows it from before would type into another command, or end it."""
    thread = loom.born()
    assert thread.terminals.number() == 1
    for _ in range(3):
        await run(loom, thread, host, "true")
    used = thread.terminals.number()
    await loom.again()
    assert loom.load(thread).terminals.number() > used


async def test_an_interrupt_in_the_middle_is_told_too(loom: Studio, host: Host) -> None:
    thread = loom.born()
    begin(thread, host, "echo hi; sleep 60")
    await loom.until(lambda: bool(loom.events(thread, "item/commandExecution/outputDelta")))
    await thread.interrupt()
    assert thread.state.rest.last_turn == "interrupted"
    await loom.turn(thread)
    assert "Exit code: 143\n" in loom.model.said()[0]


class Slow:
    """A host on which starting takes as long as the test likes."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.reached = anyio.Event()
        self.open = anyio.Event()

    async def launch(self, order: Order) -> Process:
        self.reached.set()
        await self.open.wait()
        return await self._host.launch(order)


async def test_a_turn_that_ends_while_a_command_starts_leaves_it_to_itself(loom: Studio, host: Host) -> None:
    thread, gate, slow = loom.born(), Gate(), Slow(host)
    loom.model.will(("One.", gate))
    running = thread.start_turn(words("Count"))
    running.show()
    with anyio.fail_after(SECONDS):
        await gate.reached.wait()
        begin(thread, slow, "echo weft")
        await slow.reached.wait()
    gate.open.set()
    assert await loom.ended(thread, running) == "completed"
    assert list(thread.state.rest.left)
    slow.open.set()
    await loom.until(lambda: not thread.state.rest.left)
    [done] = [it for it in loom.events(thread, "item/completed") if "command" in it["params"]["item"]]
    assert (done["params"]["turnId"], done["params"]["item"]["aggregatedOutput"]) == (running.id, "weft\n")


@pytest.mark.parametrize("how", ["interrupt", "close"])
async def test_a_command_is_given_up_before_it_has_started(loom: Studio, host: Host, how: str) -> None:
    thread, gate, slow = loom.born(), Gate(), Slow(host)
    loom.model.will(("One.", gate))
    running = thread.start_turn(words("Count"))
    running.show()
    with anyio.fail_after(SECONDS):
        await gate.reached.wait()
        begin(thread, slow, "touch made")
        await slow.reached.wait()
        await loom.manager.settled()
        await (thread.interrupt() if how == "interrupt" else loom.manager.cascade.close(thread.id))
    slow.open.set()
    [done] = [it for it in loom.events(thread, "item/completed") if "command" in it["params"]["item"]]
    assert (done["params"]["item"]["status"], done["params"]["item"]["exitCode"]) == ("failed", -1)
    assert host.live == frozenset()
    assert not (loom.work / "made").exists()


class Patient:
    """A host whose commands end when the last of those who end them has come; it knows how long each gave them."""

    def __init__(self, host: Host, ends: int) -> None:
        self._host = host
        self.graces: list[float] = []
        self.ends = ends
        self.due = anyio.Event()

    async def launch(self, order: Order) -> Process:
        process = await self._host.launch(order)
        process.end = partial(self._end, process.end)  # type: ignore[method-assign]
        return process

    async def _end(self, end: Callable[[float], Awaitable[None]], grace: float) -> None:
        self.graces.append(grace)
        if len(self.graces) == self.ends:
            self.due.set()
        await self.due.wait()
        await end(0)


async def test_output_that_cannot_be_stored_as_it_comes_is_there_in_the_end(
    loom: Studio, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread, real = loom.born(), RolloutLog.append

    def append(log: RolloutLog, lines: list[bytes]) -> int:
        if any(b"outputDelta" in it for it in lines):
            raise StoreError("the disk is full")
        return real(log, lines)

    monkeypatch.setattr(RolloutLog, "append", append)
    await run(loom, thread, host, "echo warp; sleep 0.01; echo weft; exit 3")
    await loom.until(lambda: not host.live)
    [done] = [it["params"]["item"] for it in loom.events(thread, "item/completed")]
    assert (done["exitCode"], done["aggregatedOutput"]) == (3, "warp\nweft\n")


class Stuck:
    """A host whose commands take no signal: somebody else's, like those of `sudo`."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.free = anyio.Event()

    async def launch(self, order: Order) -> Process:
        process = await self._host.launch(order)
        process.end = partial(self._end, process.end)  # type: ignore[method-assign]
        return process

    async def _end(self, end: Callable[[float], Awaitable[None]], grace: float) -> None:
        await self.free.wait()
        await end(0)


@pytest.mark.parametrize("how", ["interrupt", "timeout"])
async def test_what_no_signal_ends_runs_on_and_its_turn_ends_without_it(
    loom: Studio, host: Host, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(terminals, "STUCK", 0.01)
    thread, stuck = loom.born(), Stuck(host)
    thread.terminals.hurry(0.01)
    begin(thread, stuck, "echo on; sleep 60", seconds=0.01 if how == "timeout" else SECONDS)
    running = thread.running
    assert running is not None
    await loom.until(lambda: bool(thread.terminals.running()))
    if how == "interrupt":
        with anyio.fail_after(SECONDS):
            await thread.interrupt()
    assert await loom.ended(thread, running) == ("interrupted" if how == "interrupt" else "completed")
    assert [it.over for it in thread.terminals.running()] == [False]
    assert await loom.turn(thread) == "completed"  # the thread is free again
    assert loom.events(thread, "item/completed")[-1]["params"]["item"]["type"] != "commandExecution"
    stuck.free.set()
    with anyio.fail_after(SECONDS):
        await thread.terminals.end_all(grace=0, bounded=False)
    await loom.until(lambda: not thread.state.rest.left)
    done = loom.events(thread, "item/completed")[-1]["params"]
    assert (done["turnId"], done["item"]["status"]) == (running.id, "failed")


async def test_a_close_waits_for_what_no_signal_ends_and_tells_of_it(loom: Studio, host: Host) -> None:
    thread, stuck = loom.born(), Stuck(host)
    begin(thread, stuck, "sleep 60")
    await loom.until(lambda: bool(thread.terminals.running()))
    thread.terminals.hurry(0.01)
    with anyio.fail_after(SECONDS):
        [closed] = await loom.manager.cascade.close(thread.id, grace=0.01)
    assert (closed.how, closed.after) == ("unverified", "running")
    stuck.free.set()
    await loom.until(lambda: thread.state.rest.closed)


async def test_a_server_that_stops_gives_a_command_half_a_second(loom: Studio, host: Host) -> None:
    thread, patient = loom.born(), Patient(host, ends=2)
    begin(thread, patient, "sleep 60")
    await loom.until(lambda: bool(thread.terminals.running()))
    with anyio.fail_after(SECONDS):
        await loom.manager.stop()
    assert patient.graces == [0.5, 0.5]  # for its turn, and for its thread


async def test_also_one_that_was_being_ended_more_patiently(loom: Studio, host: Host) -> None:
    thread, patient = loom.born(), Patient(host, ends=2)
    begin(thread, patient, "sleep 60")
    await loom.until(lambda: bool(thread.terminals.running()))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(thread.interrupt)
        await loom.until(lambda: patient.graces == [2.0])
        with anyio.fail_after(SECONDS):
            await loom.manager.stop()
    assert patient.graces == [2.0, 0.5]
