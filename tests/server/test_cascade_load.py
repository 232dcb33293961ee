"""A close of a large tree at work: agents that talk, commands that ignore TERM, births in the middle of it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import anyio
import orjson
from anyio.lowlevel import checkpoint
from tests.support.counts import count

from threadloom.agent.collab.base import SpawnOrder
from threadloom.agent.collab.validate import Refused
from threadloom.app import App
from threadloom.config import Settings
from threadloom.threads.birth import Birth
from threadloom.threads.manager import Manager
from threadloom_protocol.v2.thread import ThreadStartParams

SECONDS = 60.0
PATIENCE = 30.0  # seconds: the commands are killed after two, but a busy machine takes its time over so many
FAN, DEPTH = 4, 3  # below the root: 4 + 16 + 64
WIDE = {"agents.max_depth": 8, "agents.max_threads": 5000}


@asynccontextmanager
async def managing(home: Path) -> AsyncIterator[Manager]:
    with anyio.fail_after(SECONDS):
        async with App(Settings(home, WIDE)).running() as app:
            yield app.threads


def root(manager: Manager, cwd: Path) -> str:
    params = ThreadStartParams(cwd=str(cwd), sandbox="workspace-write", approval_policy="never")
    made = manager.start(Birth(settings=manager.defaults.settings(params)))
    made.announce()
    return made.id


def spawn(manager: Manager, parent: str, prompt: str) -> str:
    held = manager.rest(parent).settings
    order = SpawnOrder(
        content=[{"type": "text", "text": prompt}],
        model=held.model,
        model_provider=held.model_provider,
        reasoning_effort=None,
        sandbox=held.sandbox_policy,
        cwd=held.cwd,
    )
    return manager.branch(parent).spawn(order)


def stubborn(mark: str) -> str:
    """Has a command run that does not mind TERM."""
    script = f"trap '' TERM HUP INT; echo ready {mark}; while :; do sleep 0.2; done"
    return f"call exec_command {orjson.dumps({'cmd': script, 'yield_time_ms': 30_000, 'login': False}).decode()}"


class Process(NamedTuple):
    """A process as the kernel lists it; a zombie has a number, a parent and a birth, but no command line any more."""

    pid: int
    parent: int
    born: int  # in ticks since the machine started: numbers are given out again
    state: str


def processes() -> dict[int, Process]:
    """All there are, zombies too."""
    found = {}
    for it in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            fields = Path(f"/proc/{it}/stat").read_text().rpartition(")")[2].split()
            found[int(it)] = Process(int(it), int(fields[1]), int(fields[19]), fields[0])
    return found


def marked(mark: str) -> list[Process]:
    """Those with a mark in their command line."""
    found = []
    for it in processes().values():
        with suppress(OSError):
            if it.pid != os.getpid() and mark.encode() in Path(f"/proc/{it.pid}/cmdline").read_bytes():
                found.append(it)
    return found


def zombies() -> set[Process]:
    """Those that this process, or one that it has started, should have taken leave of."""
    known = processes()

    def ours(it: Process | None) -> bool:
        return it is not None and (it.parent == os.getpid() or ours(known.get(it.parent)))

    return {it for it in known.values() if it.state == "Z" and ours(it)}


async def test_a_tree_of_85_closes_with_every_process_it_has(tmp_path: Path) -> None:
    mark, others = uuid4().hex, zombies()  # what tests before this one have left
    async with managing(tmp_path / "home") as manager:
        top = root(manager, tmp_path)
        level, everyone = [top], [top]
        for _ in range(DEPTH):
            level = [spawn(manager, it, stubborn(mark) if at % 2 else "wait") for it in level for at in range(FAN)]
            everyone += level
        assert len(everyone) == 85
        half = [it for at, it in enumerate(everyone[1:]) if at % 2]
        while any(not manager.get(it).terminals.running() for it in half):  # noqa: ASYNC110 (nobody tells)
            await anyio.sleep(0.05)  # until each is inside its command
        commands = {it.pid: it.born for it in marked(mark)}
        assert len(commands) >= len(half)
        more: list[str] = []

        async def breed() -> None:
            """Have children wherever that is still possible."""
            while True:
                for it in everyone:
                    try:
                        more.append(spawn(manager, it, "wait"))
                    except Refused:
                        return
                    await checkpoint()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(breed)
            await checkpoint()
            report = await manager.cascade.close(top, grace=PATIENCE)
            tasks.cancel_scope.cancel()
        closed = {it.thread_id for it in report}
        assert closed == {*everyone, *more}
        assert {it.after for it in report} == {"shutdown"}
        assert {it.how for it in report} <= {"cooperative", "forced"}
        assert manager.loaded == {}
        assert marked(mark) == []
        assert [it for it in processes().values() if commands.get(it.pid) == it.born] == []
        with anyio.fail_after(SECONDS):
            while zombies() - others:  # noqa: ASYNC110 (nobody tells)
                await anyio.sleep(0.05)  # a warden that has just said goodbye


async def test_many_children_of_one_parent_go_with_it(tmp_path: Path) -> None:
    many = count(1000)
    async with managing(tmp_path / "home") as manager:
        top = root(manager, tmp_path)
        children = [spawn(manager, top, "wait") for _ in range(many)]
        report = await manager.cascade.close(top)
        assert [it.thread_id for it in report] == [*children, top]
        assert {it.after for it in report} == {"shutdown"}
        assert manager.loaded == {}
