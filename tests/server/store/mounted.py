"""What a home does on a disk that is full or read-only: run by `test_mounts`, in a mount namespace of its own."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from tests.support.storing import event, events, fold, header, index, row, seqs, thread

from threadloom.store.base import EventLog, StoreError
from threadloom.store.memory import MemoryStore
from threadloom.store.rollout import Rollouts
from threadloom.store.rows import Query


def mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def refused(words: str, attempt: Callable[[], object]) -> None:
    with pytest.raises(StoreError, match=words):
        attempt()


def fill(ballast: Path) -> None:
    """Leave no room on the disk."""
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"x" * 4096):
            pass


def append_until_full(log: EventLog) -> int:
    """Write until the last page of the file is full, too; the last seq. What is refused leaves no trace."""
    assert log.path is not None
    seq = log.seq
    while True:
        before = Path(log.path).read_bytes()
        batch = [event(seq + 1, "y" * 300), event(seq + 2, "y" * 300)]
        try:
            log.append(batch)
        except StoreError:
            refused("disk is full", partial(log.append, batch))
            assert Path(log.path).read_bytes() == before, "nothing is half-written"
            return seq
        seq += 2


async def full(home: Path) -> None:
    """A disk fills up, line by line; then there is room again."""
    mount("-t", "tmpfs", "-o", "size=768k", "tmpfs", str(home))
    store = Rollouts(home)
    log = thread(store, event(1))
    index(store, log)
    await store.index.settled()
    ballast = home / "ballast"
    fill(ballast)
    seq = append_until_full(log)
    assert log.seq == seq
    refused("disk is full", lambda: log.append([event(seq + 1, "z" * 100_000)]))
    refused("disk is full", lambda: store.create(header(), events(1, 50)))
    assert [it.thread_id for it in store.folders.walk()] == [log.header.thread_id]
    assert seqs(store.read(log.header.thread_id).scan()) == [*range(1, seq + 1)]

    for _ in range(100):
        store.index.put(row(state=b"s" * 5_000))
    with pytest.raises(StoreError, match="index of threads"):
        await store.index.settled()
    assert len(store.index.threads(Query()).rows) == 1, "reading goes on"
    assert MemoryStore().create(header(), [event(1)]).seq == 1

    ballast.unlink()
    mount("-o", "remount,size=8m", str(home))
    log.append([event(seq + 1)])
    await log.sync()
    assert seqs(store.create(header(), events(1, 50)).scan()) == [*range(1, 51)]
    await store.index.settled()
    assert len(store.index.threads(Query(limit=100)).rows) == 100, "what waited is there now"
    assert len(store.index.marks()) == 101
    store.close()


async def read_only(home: Path) -> None:
    """A home that can be read, but not written."""
    store = Rollouts(home)
    log = thread(store, *events(1, 3))
    index(store, log)
    store.close()
    mount("--bind", str(home), str(home))
    mount("-o", "remount,ro,bind", str(home))
    store = Rollouts(home)
    advice = "Make it writable, or set THREADLOOM_HOME"
    refused(advice, lambda: store.create(header(), [event(1)]))
    refused(advice, lambda: store.open(log.header.thread_id))
    refused(advice, lambda: store.lease(log.header.root))
    assert store.holder(log.header.root) is None
    assert seqs(store.read(log.header.thread_id).scan()) == [1, 2, 3]
    await store.recover(fold)
    assert [it.thread_id for it in store.index.threads(Query()).rows] == [log.header.thread_id]
    assert len(store.index.items(log.header.thread_id)) == 3
    store.close()


async def nowhere(home: Path) -> None:
    """A home that is not there, and cannot be made."""
    mount("--bind", str(home), str(home))
    mount("-o", "remount,ro,bind", str(home))
    store = Rollouts(home / "new")
    refused("Make it writable", lambda: store.create(header(), [event(1)]))
    refused("Make it writable", lambda: store.lease("root"))
    await store.recover(fold)
    assert store.index.threads(Query()).rows == []
    store.close()


if __name__ == "__main__":
    asyncio.run({"full": full, "read_only": read_only, "nowhere": nowhere}[sys.argv[1]](Path(sys.argv[2])))
