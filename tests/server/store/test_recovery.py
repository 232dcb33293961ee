"""The index is brought up to the logs: after a crash, after damage, from nothing."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from tests.server.store.peers import peer
from tests.support.storing import event, events, fold, fork, index, opened, row, seqs, thread

from threadloom.store import recovery
from threadloom.store.base import EventLog, StoreError
from threadloom.store.rollout import Rollouts
from threadloom.store.rows import Folded, Hidden, Query, Row


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def store(home: Path) -> Iterator[Rollouts]:
    with opened("file", home) as made:
        assert isinstance(made, Rollouts)
        yield made


def again(home: Path) -> Rollouts:
    """The same home after a restart."""
    return Rollouts(home)


def file(log: EventLog) -> Path:
    """Where a log lies."""
    assert log.path is not None
    return Path(log.path)


def dump(home: Path) -> dict[str, list[Any]]:
    """All that an index says."""
    with closing(sqlite3.connect(home / "index.sqlite")) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        tables = [it for it in tables if not it.startswith("texts")]  # how words are kept depends on their order
        return {name: sorted(db.execute(f"SELECT * FROM {name}").fetchall(), key=repr) for name in tables}


def shown(store: Rollouts) -> dict[str, str]:
    """What a list shows of each thread."""
    return {it.thread_id: it.preview for it in store.index.threads(Query(limit=100)).rows}


class Counting:
    """A fold that notes what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int | None]] = []

    def __call__(self, log: EventLog, known: Row | None) -> Folded:
        self.asked.append((log.header.thread_id, known and known.offset))
        return fold(log, known)


async def test_an_index_made_anew_is_the_one_that_was_there(store: Rollouts, home: Path) -> None:
    first = thread(store, *events(1, 25))
    second = fork(store, first, 14, *events(15, 31))
    third = fork(store, second, 20)
    for log in (first, second, third):
        index(store, log)
    store.remove(second.header.thread_id)
    store.close()
    before = dump(home)
    assert len(before["threads"]) == 3
    assert len(before["items"]) == 25 + 17
    (home / "index.sqlite").unlink()
    with closing(again(home)) as restarted:
        assert shown(restarted) == {}
        await restarted.recover(fold)
    assert dump(home) == before


async def test_nothing_is_replayed_where_nothing_changed(store: Rollouts) -> None:
    for _ in range(5):
        index(store, thread(store, *events(1, 3)))
    await store.index.settled()
    counting = Counting()
    await store.recover(counting)
    assert counting.asked == []


async def test_a_log_that_grew_is_replayed_from_where_the_row_ends(store: Rollouts) -> None:
    log = thread(store, *events(1, 3))
    index(store, log)
    untouched = thread(store, event(1))
    index(store, untouched)
    await store.index.settled()
    end = log.end
    log.append(events(4, 12))
    counting = Counting()
    await store.recover(counting)
    assert counting.asked == [(log.header.thread_id, end)]
    assert shown(store)[log.header.thread_id] == "12 lines"
    assert [it.turn_id for it in store.index.turns(log.header.thread_id)] == ["turn-0", "turn-1"]
    assert seqs(store.lines([(it.thread_id, it.offset) for it in store.index.items(log.header.thread_id)])) == [
        *range(1, 13)
    ]


async def test_a_log_that_lost_its_end_is_replayed_as_a_whole(store: Rollouts) -> None:
    log = thread(store, *events(1, 12))
    index(store, log)
    store.index.hide(log.header.thread_id, 1, 13)
    await store.index.settled()
    file(log).write_bytes(b"".join(file(log).read_bytes().splitlines(keepends=True)[:6]))
    await store.recover(fold)
    assert shown(store) == {log.header.thread_id: "5 lines"}
    assert [it.seq for it in store.index.items(log.header.thread_id)] == [1, 2, 3, 4, 5]


async def test_reverts_that_a_replay_finds_are_hidden(store: Rollouts) -> None:
    log = thread(store, *events(1, 12))
    await store.recover(lambda log, known: fold(log, known)._replace(hidden=[Hidden(5, 8)]))
    assert [it.seq for it in store.index.items(log.header.thread_id)] == [1, 2, 3, 4, 8, 9, 10, 11, 12]


async def test_a_row_whose_log_is_gone_goes_too(store: Rollouts) -> None:
    log, other = thread(store, event(1)), thread(store, event(1))
    for it in (log, other):
        index(store, it)
    await store.index.settled()
    file(log).unlink()
    await store.recover(fold)
    assert list(shown(store)) == [other.header.thread_id]


async def test_a_home_that_was_moved_is_replayed_where_it_is(store: Rollouts, home: Path, tmp_path: Path) -> None:
    log = thread(store, event(1))
    index(store, log)
    store.close()
    moved = tmp_path / "moved"
    os.rename(home, moved)
    with closing(again(moved)) as restarted:
        await restarted.recover(fold)
        found = restarted.index.get(log.header.thread_id)
        assert found is not None
        assert found.path is not None
        assert found.path.startswith(str(moved))


async def test_logs_that_cannot_be_read_are_left_out(store: Rollouts, home: Path) -> None:
    good, newer, headless, silly = (thread(store, event(1)) for _ in range(4))
    for log, content in ((newer, b'{"v":99,"threadId":"x"}\n'), (headless, b'{"v":1,"thr'), (silly, b"")):
        file(log).write_bytes(content)
    (home / "sessions" / "stray.txt").write_text("not a log")

    def broken(log: EventLog, known: Row | None) -> Folded:
        raise RuntimeError("no")

    await store.recover(broken)
    assert shown(store) == {}
    await store.recover(fold)
    assert list(shown(store)) == [good.header.thread_id]


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def nowhere(path: Path) -> None:
    path.symlink_to("nothing")


IN_THE_WAY: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "a year that is a loop": ("2020", loop),
    "a day that is a loop": ("{day}/../77", loop),
    "a loop named like a log": ("{day}/rollout-2026-01-01T00-00-00-x.jsonl", loop),
    "a link to nothing": ("{day}/rollout-2026-01-01T00-00-00-x.jsonl", nowhere),
    "a pipe named like a log": ("{day}/rollout-2026-01-01T00-00-00-x.jsonl", os.mkfifo),
    "a folder named like a log": ("{day}/rollout-2026-01-01T00-00-00-x.jsonl", Path.mkdir),
}


@pytest.mark.parametrize("what", IN_THE_WAY)
async def test_what_lies_among_the_logs_keeps_nobody_from_them(
    what: str, store: Rollouts, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []
    monkeypatch.setattr(recovery._log, "warning", lambda words, **more: told.append(more["path"]))
    log = thread(store, event(1))
    place, put = IN_THE_WAY[what]
    path = home / "sessions" / place.format(day=file(log).parent)
    put(path)
    with anyio.fail_after(5):
        await store.recover(fold)
        with pytest.raises(StoreError):  # it is looked for everywhere
            store.read("x")
    assert list(shown(store)) == [log.header.thread_id]
    assert [os.path.basename(it) for it in told] == [path.name]


async def test_what_is_out_of_reach_is_not_gone(store: Rollouts, home: Path) -> None:
    logs = [thread(store, event(1)) for _ in range(3)]
    for log in logs:
        index(store, log)
    await store.recover(fold)
    year = file(logs[0]).parents[2]
    away = year.rename(home / "elsewhere")
    loop(year)
    await store.recover(fold)
    assert len(shown(store)) == 3
    year.unlink()
    away.rename(year)
    await store.recover(fold)
    assert len(shown(store)) == 3
    lost = file(logs[0])
    lost.rename(home / "gone")
    loop(lost)
    await store.recover(fold)
    assert len(shown(store)) == 3
    lost.unlink()
    await store.recover(fold)
    assert len(shown(store)) == 2


async def test_a_log_that_may_not_be_opened_is_left_out(store: Rollouts, monkeypatch: pytest.MonkeyPatch) -> None:
    closed, good = thread(store, event(1)), thread(store, event(1))
    read_at = store.read_at

    def refusing(path: str) -> Any:
        if path == str(file(closed)):
            raise PermissionError(13, "Permission denied", path)
        return read_at(path)

    monkeypatch.setattr(store, "read_at", refusing)
    await store.recover(fold)
    assert list(shown(store)) == [good.header.thread_id]
    await store.bring_up(closed.header.thread_id, fold)


async def test_a_log_that_another_process_is_about_to_begin_is_no_fault(
    store: Rollouts, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(recovery._log, "warning", lambda words, **_: told.append(words))
    file(thread(store, event(1))).write_bytes(b"")
    await store.recover(fold)
    assert (shown(store), told) == ({}, [])


async def test_a_deleted_base_stays_out_of_the_lists_and_goes_with_its_last_fork(store: Rollouts, home: Path) -> None:
    source = thread(store, *events(1, 5))
    made = fork(store, source, 4)
    for log in (source, made):
        index(store, log)
    store.remove(source.header.thread_id)
    store.close()
    (home / "index.sqlite").unlink()
    with closing(again(home)) as restarted:
        await restarted.recover(fold)
        assert list(shown(restarted)) == [made.header.thread_id]
        assert seqs(restarted.after(made.header.thread_id, 0)) == [1, 2, 3, 4]
        assert [it.seq for it in restarted.index.items(made.header.thread_id)] == [1, 2, 3, 4]
        file(made).unlink()
        await restarted.recover(fold)
        assert shown(restarted) == {}
        assert list(restarted.folders.walk()) == []


async def test_a_deleted_base_stays_for_a_fork_that_only_its_log_knows_of(store: Rollouts, home: Path) -> None:
    source = thread(store, *events(1, 5))
    known, unknown = fork(store, source, 4), fork(store, source, 5)
    for log in (source, known, unknown):
        index(store, log)
    store.remove(source.header.thread_id)
    store.close()
    (home / "index.sqlite").unlink()
    aside = file(unknown).rename(home / "aside")
    with closing(again(home)) as restarted:  # as where it is ended before it has come to all
        await restarted.recover(fold)
    aside.rename(file(unknown))
    file(known).unlink()
    with closing(again(home)) as restarted:
        await restarted.recover(fold)
        assert list(shown(restarted)) == [unknown.header.thread_id]
        assert seqs(restarted.after(unknown.header.thread_id, 0)) == [1, 2, 3, 4, 5]


async def test_one_log_is_brought_up_with_those_that_it_stands_on(store: Rollouts, home: Path) -> None:
    first = thread(store, *events(1, 25))
    second = fork(store, first, 14, *events(15, 31))
    third, other = fork(store, second, 20), thread(store, event(1))
    for log in (first, second, third, other):
        index(store, log)
    await store.index.settled()
    items = store.index.items(third.header.thread_id)
    assert len(items) == 20
    store.close()
    (home / "index.sqlite").unlink()
    with closing(again(home)) as restarted:
        counting = Counting()
        for _ in range(2):
            await restarted.bring_up(third.header.thread_id, counting)
            assert restarted.index.items(third.header.thread_id) == items
            assert [it for it, _ in counting.asked] == [log.header.thread_id for log in (third, second, first)]
        assert restarted.index.get(other.header.thread_id) is None


async def test_a_tree_that_another_process_writes_is_left_to_it(store: Rollouts) -> None:
    log, unknown = thread(store, event(1), root="root"), thread(store, event(1), root="root")
    index(store, log)
    await store.index.settled()
    log.append([event(2)])
    with peer(store.home, "hold", "root") as other:
        assert other.hear() == "held 1"
        counting = Counting()
        await store.recover(counting)
        assert counting.asked == [(unknown.header.thread_id, None)], "what no list shows is shown as it stands"
    counting = Counting()
    await store.recover(counting)
    assert [it for it, _ in counting.asked] == [log.header.thread_id]


async def test_a_replay_does_not_undo_what_was_put_meanwhile(store: Rollouts) -> None:
    log = thread(store, event(1))
    index(store, log)
    await store.index.settled()
    log.append([event(2)])
    newer = row(log.header.thread_id, preview="newer", seq=3, offset=log.end, path=log.path)

    def late(log: EventLog, known: Row | None) -> Folded:
        store.index.put(newer)
        return fold(log, known)

    await store.recover(late)
    assert shown(store) == {log.header.thread_id: "newer"}


async def test_progress_is_told_and_the_loop_goes_on(store: Rollouts, home: Path) -> None:
    for _ in range(250):
        thread(store, event(1)).close()
    told: list[tuple[int, int]] = []
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await checkpoint()
            beats += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(beat)
        with anyio.fail_after(30):
            await store.recover(fold, lambda done, total: told.append((done, total)))
        tasks.cancel_scope.cancel()
    assert told == [(0, 250), (100, 250), (200, 250), (250, 250)]
    assert beats > 100
    assert len(store.index.marks()) == 250


# ── an index that is broken ───────────────────────────────────────────────────────────────────────────────────────────


def garbage(path: Path) -> None:
    path.write_bytes(b"not a database at all" * 500)


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 4096 * 3])


def scribbled(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096 : 4096 * 12] = b"\xa5" * (4096 * 11)
    path.write_bytes(data)


def older(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 0")


def foreign(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE threads (something)")
        db.execute("PRAGMA user_version = 99")


@pytest.mark.parametrize("damage", [garbage, torn, scribbled, older, foreign])
async def test_an_index_that_is_damaged_or_of_another_version_is_made_anew(
    store: Rollouts, home: Path, damage: Callable[[Path], None]
) -> None:
    logs = [thread(store, *events(1, 12)) for _ in range(20)]
    for log in logs:
        index(store, log)
    store.close()
    before = dump(home)
    damage(home / "index.sqlite")
    for _ in range(2):  # damage that is only met on the way is repaired at the next start
        with closing(again(home)) as restarted:
            await restarted.recover(fold)
    assert dump(home) == before
    with closing(again(home)) as restarted:
        assert len(shown(restarted)) == 20


async def test_a_home_that_nothing_can_be_kept_in_still_has_lists(store: Rollouts, home: Path) -> None:
    log = thread(store, event(1))
    store.close()
    (home / "index.sqlite").unlink()
    (home / "index.sqlite").mkdir()  # there can be no such file now
    with closing(again(home)) as restarted:
        await restarted.recover(fold)
        assert shown(restarted) == {log.header.thread_id: "1 lines"}
        index(restarted, thread(restarted, event(1)))
        await restarted.index.settled()
        assert len(shown(restarted)) == 2


async def test_a_full_disk_delays_rows_and_loses_none(store: Rollouts) -> None:
    with closing(sqlite3.connect(store.home / "index.sqlite", isolation_level=None)) as db:
        pages = db.execute("PRAGMA page_count").fetchone()[0]
    held: list[sqlite3.Connection] = []

    def full(db: sqlite3.Connection) -> None:
        db.execute(f"PRAGMA max_page_count = {pages}")
        held.append(db)

    store.index.do(full)
    await store.index.settled()
    many = [row(state=b"x" * 20_000) for _ in range(10)]
    for it in many:
        store.index.put(it)
    with pytest.raises(StoreError, match="disk is full"):
        await store.index.settled()
    assert shown(store) == {}
    held[0].execute("PRAGMA max_page_count = 1000000")
    await store.index.settled()
    assert shown(store).keys() == {it.thread_id for it in many}
