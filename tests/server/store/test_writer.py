"""Changes to the index: many share one commit, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import errno
import sqlite3
import tempfile
import threading
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.storing import AnyStore, opened, row

from threadloom.store import database
from threadloom.store.base import StoreError
from threadloom.store.rollout import Rollouts
from threadloom.store.rows import ItemRow, Query, Row, TurnRow
from threadloom.store.writer import Change, Job, Queued


def waiting(gate: threading.Event) -> Change:
    """A change that takes until the gate opens."""

    def wait(db: sqlite3.Connection) -> None:
        assert gate.wait(20)

    return wait


async def test_changes_that_wait_are_committed_together(tmp_path: Path) -> None:
    with opened("file", tmp_path) as store:
        statements: list[str] = []
        begun, go_on = threading.Event(), threading.Event()

        def trace(db: sqlite3.Connection) -> None:
            db.set_trace_callback(statements.append)
            begun.set()
            assert go_on.wait(20)

        store.index.do(trace)
        assert await anyio.to_thread.run_sync(begun.wait, 20)
        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                for _ in range(50):
                    store.index.put(row())
                    tasks.start_soon(store.index.settled)
                await anyio.wait_all_tasks_blocked()
                go_on.set()
        assert len(store.index.threads(Query(limit=100)).rows) == 50
        assert statements.count("COMMIT") == 2, "the one under way, and one for all the others"


def made(db: sqlite3.Connection) -> None:
    """A change that can be made."""
    db.execute("DELETE FROM threads WHERE thread_id = 'nobody'")


def refused(db: sqlite3.Connection) -> None:
    """One that cannot: the system says no to what it does beside."""
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("changes", "whole"), [([], True), ([made], True), ([refused], False), ([made, refused, made], False)]
)
async def test_whoever_has_left_a_change_out_does_not_end_well(
    changes: list[Change], whole: bool, tmp_path: Path
) -> None:
    """Though whoever waited was told: the next server has to look at the logs."""
    path = tmp_path / "index.sqlite"
    database.open_index(path).close()
    writer = Queued(path)
    for it in changes:
        writer.do(it)
    with nullcontext() if whole else pytest.raises(StoreError):
        await writer.settled()
    assert writer.close() == whole


async def test_a_change_that_cannot_be_made_does_not_take_its_neighbours_along(tmp_path: Path) -> None:
    with opened("file", tmp_path) as store:
        go_on = threading.Event()
        store.index.do(waiting(go_on))
        for preview in ("before", None, "behind"):
            store.index.put(row(preview=preview))
        go_on.set()
        with anyio.fail_after(20), pytest.raises(StoreError):
            await store.index.settled()
        assert {it.preview for it in store.index.threads(Query()).rows} == {"before", "behind"}


async def test_who_waits_at_the_moment_of_the_close_is_told_of_it(tmp_path: Path) -> None:
    with opened("file", tmp_path) as store:
        gate = threading.Event()
        store.index.do(waiting(gate))
        asked = asyncio.ensure_future(store.index.settled())
        await checkpoint()  # it waits; those who ask in one round of the loop are put through at the end of it
        gate.set()
        store.close()
        with anyio.fail_after(20), pytest.raises(StoreError, match="closed"):
            await asked


async def test_who_is_slow_to_queue_a_change_keeps_nobody_from_waiting_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened("file", tmp_path) as store:
        writer = store.index._writer
        assert isinstance(writer, Queued)
        put, queued, go_on, gate = writer._worker.put, threading.Event(), threading.Event(), threading.Event()

        def slowly(job: Job) -> None:
            put(job, done := threading.Event())
            assert done.wait(20)  # it is made before whoever queued it comes to itself again
            queued.set()
            assert go_on.wait(20)

        other = threading.Thread(target=store.index.put, args=(row(),))
        with monkeypatch.context() as patch:
            patch.setattr(writer._worker, "put", slowly)
            other.start()
            assert await anyio.to_thread.run_sync(queued.wait, 20)
        store.index.do(waiting(gate))
        with anyio.move_on_after(0.05) as patience:
            await store.index.settled()
        assert patience.cancelled_caught
        gate.set()
        go_on.set()
        other.join()
        with anyio.fail_after(20):
            await store.index.settled()


async def test_who_was_told_of_an_error_is_not_told_again(tmp_path: Path) -> None:
    with opened("file", tmp_path) as store:
        store.index.put(row(preview=None))
        with anyio.fail_after(20), pytest.raises(StoreError):
            await store.index.settled()
        await store.index.settled()


async def test_a_waiter_that_gave_up_is_in_nobodys_way(tmp_path: Path) -> None:
    with opened("file", tmp_path) as store:
        go_on = threading.Event()
        store.index.do(waiting(go_on))
        with anyio.move_on_after(0.01) as patience:
            await store.index.settled()
        assert patience.cancelled_caught
        go_on.set()
        store.index.put(row())
        with anyio.fail_after(20):
            await store.index.settled()


async def test_a_change_that_breaks_is_an_error_and_not_the_end(tmp_path: Path) -> None:
    def broken(db: sqlite3.Connection) -> None:
        raise RuntimeError("a mistake")

    for kind in ("file", "memory"):
        with opened(kind, tmp_path) as store:
            store.index.do(broken)
            with pytest.raises(StoreError, match="a mistake"):
                await store.index.settled()
            store.index.put(row())
            await store.index.settled()
            assert len(store.index.threads(Query()).rows) == 1


async def test_another_process_that_writes_is_waited_for(tmp_path: Path) -> None:
    with opened("file", tmp_path) as store:
        assert isinstance(store, Rollouts)
        other = database.connect(tmp_path / "index.sqlite")
        other.execute("BEGIN IMMEDIATE")
        store.index.put(row())
        with anyio.move_on_after(0.05) as patience:
            await store.index.settled()
        assert patience.cancelled_caught
        assert store.index.threads(Query()).rows == [], "reading waits for nobody"
        other.execute("COMMIT")
        other.close()
        with anyio.fail_after(20):
            await store.index.settled()
        assert len(store.index.threads(Query()).rows) == 1


async def test_a_row_is_known_before_it_is_written(tmp_path: Path) -> None:
    with opened("file", tmp_path) as store:
        gate = threading.Event()
        store.index.do(waiting(gate))
        first, second = row(seq=1), row(seq=1)
        later = replace(first, seq=2)
        for it in (first, second, later):
            store.index.put(it)
        assert store.index.get(first.thread_id) == later
        assert store.index.get(second.thread_id) == second
        assert store.index.threads(Query()).rows == []
        gate.set()
        await store.index.settled()
        assert store.index._unwritten._rows == {}
        assert store.index.get(first.thread_id) == later
        assert store.index.get(second.thread_id) == second


async def test_what_a_thread_puts_while_it_waits_is_written_once(tmp_path: Path) -> None:
    with opened("file", tmp_path) as store:
        statements: list[str] = []
        gate = threading.Event()
        store.index.do(lambda db: db.set_trace_callback(statements.append))
        store.index.do(waiting(gate))
        first, other = row(), row()
        for seq in range(1, 11):
            store.index.put(replace(first, seq=seq), items=[ItemRow(first.thread_id, "turn", "item", seq, 10 * seq)])
        store.index.put(other)
        gate.set()
        await store.index.settled()
        assert [it.partition(" (")[0] for it in statements if "INTO threads" in it] == ["INSERT INTO threads"] * 2
        assert store.index.get(first.thread_id) == replace(first, seq=10)
        assert store.index.items(first.thread_id) == [ItemRow(first.thread_id, "turn", "item", 1, 100)]


THREADS = [row(f"00000000-0000-7000-8000-00000000000{digit}") for digit in range(3)]
STEPS = st.tuples(st.sampled_from("ppppphd"), st.sampled_from(THREADS), st.integers(0, 2), st.integers(0, 3))


@settings(deadline=None)
@given(st.lists(STEPS, max_size=30))
def test_the_tables_are_the_same_whether_rows_are_written_together_or_one_by_one(steps: list[tuple]) -> None:
    with (
        tempfile.TemporaryDirectory() as home,
        opened("file", Path(home)) as later,
        opened("memory", Path()) as now,
    ):
        gate = threading.Event()
        later.index.do(waiting(gate))
        for seq, step in enumerate(steps, 1):
            for store in (later, now):
                _take(store, seq, *step)
        gate.set()
        later.index.flush()
        assert _tables(later) == _tables(now)


def _take(store: AnyStore, seq: int, kind: str, it: Row, turn: int, item: int) -> None:
    match kind:
        case "p":
            turns = [TurnRow(it.thread_id, f"turn-{turn}", seq, seq, seq, "completed")]
            items = [ItemRow(it.thread_id, f"turn-{turn}", f"item-{turn}-{item}", seq, seq)]
            store.index.put(replace(it, seq=seq, name=f"at {seq}"), turns, items)
        case "h":
            store.index.hide(it.thread_id, max(1, seq - 2 - turn))
        case "d":
            store.index.drop(it.thread_id)


def _tables(store: AnyStore) -> list[object]:
    return [
        (store.index.get(it.thread_id), store.index.turns(it.thread_id), store.index.items(it.thread_id))
        for it in THREADS
    ]


async def test_closing_ends_what_another_thread_reads_and_nothing_can_be_asked_afterwards(tmp_path: Path) -> None:
    with opened("file", tmp_path) as store:
        for _ in range(50):
            store.index.put(row())
        await store.index.settled()
        reading = threading.Event()
        ends: list[str] = []

        def read() -> None:
            try:
                while True:
                    assert len(store.index.marks()) == 50
                    reading.set()
            except StoreError as fault:
                ends.append(str(fault))

        threads = [threading.Thread(target=read, daemon=True) for _ in range(4)]
        for it in threads:
            it.start()
        assert reading.wait(20)
        store.close()
        for it in threads:
            it.join(20)
        assert len(ends) == 4
        with pytest.raises(StoreError, match="closed"):
            store.index.get("anybody")


async def test_an_index_that_another_process_is_writing_is_opened_all_the_same(tmp_path: Path) -> None:
    """That one may be stopped in the middle of it."""
    with opened("file", tmp_path) as first:
        it = row()
        first.index.put(it)
        await first.index.settled()
        other = sqlite3.connect(tmp_path / "index.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        try:
            with opened("file", tmp_path) as second:
                assert second.index.shared
                assert second.index.get(it.thread_id) == it
        finally:
            other.close()


def test_of_several_that_find_the_index_damaged_only_one_makes_it_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.open_index(tmp_path / "index.sqlite").close()
    database.mark_damaged(tmp_path / "index.sqlite")
    discarding, met, go_on = threading.Event(), threading.Event(), threading.Event()
    discards: list[Path] = []
    discard, marker = database._discard, database._marker

    def slow(path: Path) -> None:
        discards.append(path)
        discarding.set()
        assert go_on.wait(20)
        discard(path)

    def looked_for(path: Path) -> Path:
        if discarding.is_set():
            met.set()
        return marker(path)

    monkeypatch.setattr(database, "_discard", slow)
    monkeypatch.setattr(database, "_marker", looked_for)
    stores: list[Rollouts] = []
    starts = [threading.Thread(target=lambda: stores.append(Rollouts(tmp_path))) for _ in range(2)]
    starts[0].start()
    assert discarding.wait(20)
    starts[1].start()
    assert met.wait(20)
    go_on.set()
    for it in starts:
        it.join(20)
    assert len(discards) == 1
    assert [it.index.shared for it in stores] == [True, True]
    for store in stores:
        store.close()
