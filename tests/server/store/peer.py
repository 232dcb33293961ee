"""Another process on the same home: `python -m tests.server.store.peer HOME TASK …`, led by lines on stdin."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.support.storing import event, header, row

from threadloom.store.base import Held
from threadloom.store.rollout import Rollouts


def say(*words: object) -> None:
    print(*words, flush=True)


def hold(store: Rollouts, root_id: str) -> None:
    """Take a lease and keep it until told otherwise."""
    lease = store.lease(root_id)
    say("held", lease.epoch)
    sys.stdin.readline()
    lease.release()
    say("released")
    sys.stdin.readline()


def append(store: Rollouts, thread_id: str) -> None:
    """Write line after line, and say each seq once it is written; never ends by itself."""
    log = store.open(thread_id)
    text = "x" * 20_000  # several pages, so that a kill can come in the middle of one
    while True:
        seq = log.seq + 1
        log.append([event(seq, text), event(seq + 1, text)])
        say(seq + 1)


def create(store: Rollouts) -> None:
    """Make thread after thread, and say each id once it is made; never ends by itself."""
    while True:
        log = store.create(header(), [event(1, "x" * 20_000), event(2)])
        log.close()
        say(log.header.thread_id)


def count(store: Rollouts, root_id: str, times: str) -> None:
    """Count up in a file, under the lease: what is read and written back by two at once is lost."""
    counter = store.home / "counter"
    done = 0
    while done < int(times):
        try:
            lease = store.lease(root_id)
        except Held:
            continue
        value = int(counter.read_text())
        counter.write_text(str(value + 1))
        say(lease.epoch)
        lease.release()
        store._leases.forget(root_id)
        done += 1


def put(store: Rollouts, times: str) -> None:
    """Put rows, each settled by itself."""

    async def each() -> None:
        for _ in range(int(times)):
            store.index.put(row(cwd="/together"))
            await store.index.settled()

    asyncio.run(each())
    say("done")


TASKS = {"hold": hold, "append": append, "create": create, "count": count, "put": put}


if __name__ == "__main__":
    opened = Rollouts(Path(sys.argv[1]))
    say("ready")
    TASKS[sys.argv[2]](opened, *sys.argv[3:])
    opened.close()
