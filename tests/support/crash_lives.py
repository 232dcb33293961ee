"""A tree at work that is killed again and again: `python -m tests.support.crash_lives FOLDER KILLS SEED`.

Each life is a process of its own, looks first at what the one before has left, and then adds to it until it is killed.
"""

from __future__ import annotations

import os
import random
import select
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import anyio
from anyio.lowlevel import checkpoint
from tests.server.threads.family import Family, family
from tests.server.threads.house import words

from threadloom.threads.thread import Thread
from threadloom_protocol.v2.values.genealogy import CallbackConfig

KEPT = "kept"  # the prompts whose adding was answered: thread and client's id, a line each
PROMPTS = ("done", "fail", "hold x", "hold never", "x" * 3000)
SILENT = CallbackConfig(enabled=False)
CHILDREN: tuple[dict[str, Any], ...] = ({}, {"callback": SILENT}, {"callback": SILENT, "kind": "subSession"})
MOST = 12  # threads of a home
PATIENCE = 30.0  # seconds for a look


async def look(kin: Family) -> None:
    """Before anything is taken up, and after: nobody claims to run that nobody runs, and nothing waits twice."""
    await kin.manager.knowledge.whole()
    for it in everyone(kin):
        assert kin.manager.reader.view(it).status.type != "active", f"{it} claims to run"
        assert all(turn.status != "inProgress" for turn in kin.manager.reader.turns(it, items="notLoaded").data)
        assert kin.manager.status(it) != "running"
    await kin.manager.upkeep.take_up()
    await kin.until(lambda: not unborn(kin))
    for _ in range(10):
        await checkpoint()
    for thread in kin.manager.loaded.values():
        live = thread.running or thread.ending
        assert thread.state.agent_status != "running" or live is not None, f"{thread.id} claims to run"
        names = [entry.id for entry in thread.queue.entries]
        assert len(names) == len(set(names)), f"something waits twice for {thread.id}"


def unborn(kin: Family) -> list[str]:
    """The children that have not begun what they were spawned for."""
    return [it for it in everyone(kin) if kin.manager.lineage.parent(it) and kin.manager.status(it) == "pendingInit"]


def everyone(kin: Family) -> list[str]:
    """All threads that are stored."""
    found = [it.stem[-36:] for it in sorted((kin.room / "home" / "sessions").rglob("*.jsonl"))]
    return [it for it in found if kin.manager.exists(it)]


async def act(kin: Family, rng: random.Random) -> None:
    """Do things, until the end comes from outside."""
    kept = os.open(kin.room / KEPT, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    number = 0
    while True:
        threads = everyone(kin)
        if not threads or (len(threads) < MOST and rng.random() < 0.1):
            kin.root()
        elif len(threads) < MOST and rng.random() < 0.4:
            kin.child(_any(kin, rng), rng.choice(PROMPTS), **rng.choice(CHILDREN))
        elif rng.random() < 0.6:
            thread, number = _any(kin, rng), number + 1
            name = f"{os.getpid()}-{number}"
            if thread.queue.state.length < 50:
                thread.queue.add(words(rng.choice(PROMPTS)), name)
                await thread.sync()
                os.write(kept, f"{thread.id} {name}\n".encode())
                thread.queue.pump()
        else:
            thread = _any(kin, rng)
            await thread.interrupt(by_user=rng.random() < 0.3)
            if not thread.sealed:
                thread.queue.resume()
                thread.queue.pump()
        if rng.random() < 0.3:
            await anyio.sleep(rng.random() / 200)
        await checkpoint()


def _any(kin: Family, rng: random.Random) -> Thread:
    """One that takes work: a session is closed when the turn of its owner is interrupted."""
    live = [it for it in everyone(kin) if kin.manager.status(it) != "shutdown"]
    while (found := kin.manager.get(rng.choice(live))).sealed:
        pass
    return found


def _live(folder: Path, seed: int, looked: int) -> None:
    async def run() -> None:
        async with family(folder) as kin:
            await look(kin)
            os.write(looked, b"!")
            await act(kin, random.Random(seed))

    anyio.run(run)


def _warm(folder: Path) -> None:
    """A whole life in this process: what it has loaded, those that follow have."""

    async def run() -> None:
        async with family(folder) as kin:
            with anyio.move_on_after(1):
                await act(kin, random.Random(0))

    anyio.run(run)


def main(folder: Path, kills: int, seed: int) -> None:
    """So many lives, one after the other."""
    rng = random.Random(seed)
    _warm(folder.with_name("warm"))
    folder.mkdir(parents=True, exist_ok=True)
    looked, tell = os.pipe()
    for life in range(kills):
        if not (child := os.fork()):
            try:
                _live(folder, seed * 1000 + life, tell)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(1)  # it only ends by itself where something is wrong
        if rng.random() < 0.8:  # else it is killed while it looks, as a rule
            select.select([looked], [], [], PATIENCE)
        time.sleep(rng.uniform(0, 0.15))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), f"life {life} found something wrong"
        if select.select([looked], [], [], 0)[0]:
            os.read(looked, 1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
