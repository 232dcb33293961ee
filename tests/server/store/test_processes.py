"""Two processes on one home: one writes a tree, and what it has shown outlives it."""

from __future__ import annotations

import fcntl
import os
import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from signal import SIGCONT, SIGSTOP

import pytest
from tests.server.store.peers import SECONDS, peer
from tests.support.counts import count
from tests.support.storing import event, fold, opened, seqs, thread

from threadloom.store.base import Held, StoreError
from threadloom.store.rollout import Rollouts
from threadloom.store.rows import Query


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Rollouts]:
    with opened("file", tmp_path / "home") as made:
        assert isinstance(made, Rollouts)
        yield made


def test_a_tree_that_another_process_writes_is_refused_with_its_pid(store: Rollouts) -> None:
    with peer(store.home, "hold", "root") as other:
        assert other.hear() == "held 1"
        assert store.holder("root") == other.pid
        with pytest.raises(Held, match=f"pid {other.pid}") as refusal:
            store.lease("root")
        assert refusal.value.pid == other.pid
        store.lease("another").release()
        other.tell()
        assert other.hear() == "released"
        assert store.holder("root") is None
        assert store.lease("root").epoch == 2


@pytest.mark.parametrize("stopped", [False, True])
def test_a_lease_falls_with_its_process(store: Rollouts, stopped: bool) -> None:
    with peer(store.home, "hold", "root") as other:
        assert other.hear() == "held 1"
        if stopped:
            os.kill(other.pid, SIGSTOP)
            with pytest.raises(Held):
                store.lease("root")
        other.kill()
        assert store.holder("root") is None
        assert store.lease("root").epoch == 2


def test_a_process_that_sleeps_keeps_its_lease(store: Rollouts) -> None:
    with peer(store.home, "hold", "root") as other:
        assert other.hear() == "held 1"
        os.kill(other.pid, SIGSTOP)
        assert store.holder("root") == other.pid
        os.kill(other.pid, SIGCONT)
        other.tell()
        assert other.hear() == "released"


def test_no_two_processes_hold_a_tree_even_if_its_file_comes_and_goes(store: Rollouts) -> None:
    (store.home / "counter").write_text("0")
    with ExitStack() as stack:
        others = [stack.enter_context(peer(store.home, "count", "root", "100")) for _ in range(3)]
        until = time.monotonic() + SECONDS
        while any(other.process.poll() is None for other in others) and time.monotonic() < until:
            store.holder("root")  # a look must not be in anybody's way
        epochs = [other.rest() for other in others]
    assert (store.home / "counter").read_text() == "300"
    assert [len(it) for it in epochs] == [100, 100, 100]


def test_a_look_at_a_lock_is_in_nobodys_way(store: Rollouts, monkeypatch: pytest.MonkeyPatch) -> None:
    store.lease("root").release()
    with (store.home / "locks" / "root").open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)  # what `holder` does, for a moment
        monkeypatch.setattr(time, "sleep", lambda _: fcntl.flock(looking, fcntl.LOCK_UN))
        assert store.lease("root").epoch == 2


def test_a_lock_on_a_file_that_was_removed_meanwhile_is_none(store: Rollouts, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store.home / "locks" / "root"
    store.lease("another")  # what a first lease brings about is done
    lock = fcntl.flock

    def late(descriptor: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        path.unlink()  # by somebody who held it, between our opening and our locking
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    store.lease("root")
    with path.open() as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_what_a_killed_process_has_shown_is_there_and_no_seq_is_given_out_twice(store: Rollouts) -> None:
    log = thread(store, event(1))
    log.close()
    chance = random.Random(3)
    shown = 1
    for _ in range(count(200) // 4):
        with peer(store.home, "append", log.header.thread_id) as other:
            for _ in range(chance.randrange(1, 60)):
                shown = int(other.hear())
            shown = max([shown, *map(int, other.kill()[:-1])])
        again = store.open(log.header.thread_id)
        assert again.seq >= shown
        written = seqs(again.scan())
        assert written == list(range(1, again.seq + 1))
        again.append([event(again.seq + 1)])
        again.close()
    assert log.damaged == 0


async def test_a_thread_of_a_killed_process_is_there_if_it_was_shown(store: Rollouts) -> None:
    for _ in range(3):
        with peer(store.home, "create") as other:
            shown = [other.hear() for _ in range(20)]
            shown += other.kill()[:-1]
        for thread_id in shown:
            assert seqs(store.read(thread_id).scan()) == [1, 2]
        await store.recover(fold)
        assert all(store.index.get(thread_id) for thread_id in shown)


async def test_several_processes_write_one_index(store: Rollouts) -> None:
    with ExitStack() as stack:
        others = [stack.enter_context(peer(store.home, "put", "60")) for _ in range(3)]
        assert [other.rest()[-1] for other in others] == ["done"] * 3
    first = store.index.threads(Query(cwds=["/together"], limit=100))
    second = store.index.threads(Query(cwds=["/together"], limit=100, cursor=first.next))
    assert len({it.thread_id for it in (*first.rows, *second.rows)}) == 180


def test_an_id_that_is_a_path_is_refused(store: Rollouts) -> None:
    for bad in ("../root", "a/b", "", "..", ".hidden"):
        with pytest.raises(StoreError, match="Not the id"):
            store.lease(bad)
