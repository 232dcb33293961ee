"""Whatever a command did to hide, it goes with its turn, its thread or its server, and nothing is left open."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from math import ceil
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.support.census import Person, below, come, gone, left_of, standing
from tests.support.conformance import Conformance
from tests.support.counts import count
from tests.support.crash_life import life
from tests.support.flow import Flow
from tests.support.processes import THREADLOOM, listening
from tests.support.talk import SECONDS, Talk
from tests.support.tap import Tap
from tests.support.vitals import descriptors
from tests.support.wire import Wire

from threadloom.exec.launch import diagnose
from threadloom_client import Transport, open_transport

WAYS = 4  # of ending them
AT_ONCE = 6  # commands of one round: those that take no TERM are given two seconds
ROUNDS = range(max(2, ceil(count(500) / (WAYS * AT_ONCE))))

# What each of them does, after it has marked all that comes of it. Four processes stay, and none of them listens.
HIDING = """\
trap '' TERM HUP INT
sleep 1000 &
setsid sleep 1000 &
( ( setsid sh -c 'while :; do sleep 1; done' </dev/null >/dev/null 2>&1 & ) & )
while :; do sleep 1; done"""
MANNERED = """\
sleep 1000 &
setsid sleep 1000 </dev/null >/dev/null 2>&1 &
( ( setsid sh -c 'while :; do sleep 1; done' & ) & )
wait"""
STAYING = 4

FENCED = diagnose().kind != "none"


def turn_of(mark: str, number: int, *, ends: bool) -> str:
    """A turn with such a command: it waits for it, or leaves it to itself and waits, or ends."""
    hides = HIDING if number % 3 else MANNERED
    order: dict[str, Any] = {"cmd": f"export LOOM={mark}\n{hides}", "login": False}
    order |= {"tty": number % 4 == 1, "yield_time_ms": 250 if ends or number % 2 else 30_000}
    return f"call exec_command {json.dumps(order)}\n" + ("echo It runs on." if ends else "wait")


def fence(number: int) -> str:
    """In a sandbox, where there is one, or outside of it."""
    return "workspace-write" if FENCED and number % 2 else "danger-full-access"


@asynccontextmanager
async def client(transport: Transport, conformance: Conformance) -> AsyncIterator[Talk]:
    """A client whose messages are checked."""
    tapped = Tap(transport, Flow(conformance))
    wire = Wire(tapped, "thread/loaded/list")
    try:
        await wire.initialize(experimentalApi=True)
        yield Talk(wire)
    finally:
        await tapped.aclose()


async def threads(talk: Talk, work: Path) -> list[str]:
    """As many as are at work at once, each with its own fence."""
    settings = {"cwd": str(work), "approvalPolicy": "never"}
    return [(await talk.start(**settings, sandbox=fence(number)))["id"] for number in range(AT_ONCE)]


async def unruly(talk: Talk, ids: Sequence[str], mark: str, *, ends: bool = False) -> list[str]:
    """Put a command to work in each thread; the ids of their turns."""
    turns = [await talk.begin(it, turn_of(mark, number, ends=ends)) for number, it in enumerate(ids)]
    if ends:
        for _ in turns:
            assert (await talk.until("turn/completed"))["turn"]["status"] == "completed"
    return turns


async def at_work(mark: str, pid: int) -> set[Person]:
    """All that is there once every command has done what it wanted, from the server down."""
    return await come(mark, AT_ONCE * STAYING) | below(pid)


def keeper(pid: int) -> Person:
    """The process beside the server that forks for it."""
    [found] = [it for it in below(pid) if (known := standing(it.pid)) is not None and known.parent == pid]
    return found


async def as_before(pid: int, opened: Sequence[int]) -> None:
    """The server and the process beside it have as many files open as before; nothing else is left of it."""
    with anyio.move_on_after(SECONDS):
        while open_files(pid) != opened or len(below(pid)) > 1:  # noqa: ASYNC110
            await anyio.sleep(0.01)
    assert open_files(pid) == opened
    assert below(pid) == {keeper(pid)}


def open_files(pid: int) -> list[int]:
    return [descriptors(pid), descriptors(keeper(pid).pid)]


@pytest.fixture
def mark() -> str:
    return f"loom-{secrets.token_hex(8)}"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


async def test_they_go_with_their_turn(tmp_path: Path, work: Path, mark: str, conformance: Conformance) -> None:
    async with (
        listening("ws://127.0.0.1:0", tmp_path) as server,
        client(await open_transport(server.url), conformance) as talk,
    ):
        pid, ids = server.process.pid, await threads(talk, work)
        await unruly(talk, ids[:1], mark, ends=True)
        await talk.ask("thread/close", threadId=ids[0])
        await talk.ask("thread/resume", threadId=ids[0])
        opened = open_files(pid)
        for _ in ROUNDS:
            turns = await unruly(talk, ids, mark)
            people = await at_work(mark, pid)
            asked = [
                await talk.send("turn/interrupt", {"threadId": thread_id, "turnId": turn_id})
                for thread_id, turn_id in zip(ids, turns, strict=True)
            ]
            for it in asked:
                assert await talk.answer(it) == {}
            assert left_of(people - {keeper(pid)}) == set()  # by the time that it is answered
            await gone((), mark)
            await as_before(pid, opened)
            talk.forget()


async def test_they_go_with_their_thread(tmp_path: Path, work: Path, mark: str, conformance: Conformance) -> None:
    async with (
        listening("ws://127.0.0.1:0", tmp_path) as server,
        client(await open_transport(server.url), conformance) as talk,
    ):
        pid, [first, *_] = server.process.pid, await threads(talk, work)
        await unruly(talk, [first], mark, ends=True)
        await talk.ask("thread/close", threadId=first)
        opened = open_files(pid)
        for number in ROUNDS:
            ids = await threads(talk, work)
            await unruly(talk, ids, mark, ends=number % 2 > 0)
            people = await at_work(mark, pid)
            for it in [await talk.send("thread/close", {"threadId": it}) for it in ids]:
                assert [closed["after"] for closed in (await talk.answer(it))["report"]] == ["shutdown"]
            assert left_of(people - {keeper(pid)}) == set()
            await gone((), mark)
            await as_before(pid, opened)
            talk.forget()


async def test_they_go_when_the_server_is_asked_to(
    tmp_path: Path, work: Path, mark: str, conformance: Conformance
) -> None:
    for number in ROUNDS:
        async with (
            listening("ws://127.0.0.1:0", tmp_path) as server,
            client(await open_transport(server.url), conformance) as talk,
        ):
            await unruly(talk, await threads(talk, work), mark, ends=number % 2 > 0)
            people = await at_work(mark, server.process.pid)
            assert await server.stop() == 0
            assert left_of(people) == set()  # it leaves after them
        await gone(people, mark)


async def test_they_go_when_the_server_is_killed(
    tmp_path: Path, work: Path, mark: str, conformance: Conformance
) -> None:
    for number in ROUNDS:
        async with (
            life("websocket", tmp_path, THREADLOOM) as server,
            client(await server.dial(), conformance) as talk,
        ):
            await unruly(talk, await threads(talk, work), mark, ends=number % 2 > 0)
            people = await at_work(mark, server.process.pid)
            server.kill()
            await gone(people, mark)
