"""A fault at one write after the other while children report: a program that leaves a home per fault.

`python -m tests.support.crash_reports FOLDER cut|refuse SEED`: spawn, run, end, report, claim, the turn of the parent;
with a fork that has a child of its own, a compaction, a revert and an archive in the middle. The power goes, or one
write is refused, and whoever asked for it asks again.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import anyio
from anyio.lowlevel import checkpoint
from tests.server.threads.family import Family, family
from tests.support.counts import count
from tests.support.crash_cuts import cases
from tests.support.crash_disk import Cut, Disk, Failing, installed
from tests.support.talk import SECONDS

from threadloom.store.base import StoreError
from threadloom.threads import turns
from threadloom.threads.forks import fork
from threadloom.threads.thread import Thread

T = TypeVar("T")

ENDING = (2, 0, 4, 1, 3)  # the order in which the children end
FORKED = "fork"  # the gate of the one that the fork has


async def surely(step: Callable[[], T | Awaitable[T]]) -> T:
    """Do something; once more, where the disk has refused it."""
    try:
        done = step()
        return await done if isinstance(done, Awaitable) else done
    except StoreError:
        done = step()
        return await done if isinstance(done, Awaitable) else done


async def tell(kin: Family) -> None:
    """The story, from the birth of the parent to its last turn."""
    parent = await surely(kin.root)
    await surely(lambda: kin.turn(parent, "begin"))
    await surely(lambda: kin.turn(parent, "something that is taken back later"))
    children = [await surely(lambda at=at: kin.child(parent, f"hold {at}")) for at in range(len(ENDING))]
    for at in ENDING[:2]:  # the parent is at rest: each wakes it
        await _end(kin, children[at], str(at))
    await _until(kin, lambda: not parent.queue.entries or parent.queue.state.paused)
    await surely(parent.queue.pause)
    for at in ENDING[2:]:  # these wait
        await _end(kin, children[at], str(at))
    await _upheaval(kin, parent)
    parent = kin.manager.get(parent.id)
    await surely(parent.queue.resume)
    parent.queue.pump()
    await _until(kin, lambda: not kin.busy())
    await kin.quiet()


async def _end(kin: Family, child: Thread, gate: str) -> None:
    running = child.running
    kin.time += 1  # no two end in the same moment
    kin.voice.let_go(gate)
    if running is not None:
        await running.done.wait()
    await _until(kin, lambda: child.state.turn is None)  # an end that was refused is recorded a moment later


async def _upheaval(kin: Family, parent: Thread) -> None:
    """What a queue has to live through."""
    await _at_rest(kin, parent)
    (await surely(parent.compact)).show()
    await _at_rest(kin, parent)
    await surely(kin.manager.settled)
    await _forked(kin, parent)
    await surely(lambda: parent.revert(kin.store.index.turns(parent.id)[1].seq))
    await _until(kin, lambda: parent.queue.state.length >= len(ENDING) - 2)
    await surely(lambda: kin.manager.moves.archive(parent.id))
    await surely(lambda: _brought_back(kin, parent.id))


async def _brought_back(kin: Family, thread_id: str) -> None:
    if kin.manager.rest(thread_id).archived_by is not None:  # else only the index does not know of it yet
        await kin.manager.moves.unarchive(thread_id)


async def _forked(kin: Family, parent: Thread) -> None:
    """The child of a fork tells the fork, and nobody else."""
    other = await surely(lambda: fork(kin.manager, parent))
    other.announce()
    await _end(kin, await surely(lambda: kin.child(other, f"hold {FORKED}")), FORKED)


async def _until(kin: Family, happened: Callable[[], Any]) -> None:
    """Wait until something is so. What the disk has refused, the next sweep tries again."""
    with anyio.fail_after(SECONDS):
        while not happened():
            await kin.manager.upkeep.sweep()
            for _ in range(10):
                await checkpoint()


async def _at_rest(kin: Family, thread: Thread) -> None:
    await _until(kin, lambda: (thread.running or thread.ending) is None)


def _told(folder: Path, disk: Disk) -> None:
    folder.mkdir(parents=True)

    async def run() -> None:
        async with family(folder) as kin:
            await tell(kin)

    with installed(disk), patch.object(turns, "RETRY", 0.01):
        anyio.run(run)


def faults(how: str, kinds: list[str]) -> dict[str, Disk]:
    """A disk for each fault, by name."""
    if how == "cut":
        return {f"{step}-{moment}": Cut(step, moment) for step, moment in cases(kinds)}
    return {f"{step}-refused": Failing(step, 1) for step, _ in enumerate(kinds, 1)}


def main(folder: Path, how: str, seed: int) -> None:
    """Tell the story to its end, to learn its steps; then once for each fault, or for a tenth of them."""
    whole = Disk()
    _told(folder / "whole", whole)
    every = faults(how, whole.kinds)
    for name in random.Random(seed).sample(sorted(every), min(count(len(every)), len(every))):
        if not (child := os.fork()):
            _told(folder / name, every[name])
            os._exit(0)  # nothing was cut
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        assert code in (0, Cut.CODE), f"{name}: exit code {code}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
