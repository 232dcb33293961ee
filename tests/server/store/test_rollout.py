"""Logs in files: what damage, torn writes and a refusing system do to them, and what they must not."""

from __future__ import annotations

import errno
import os
import random
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import orjson
import pytest
from tests.support.counts import count
from tests.support.storing import BORN, aside, event, events, fork, header, index, opened, resealed, row, seqs, thread

from threadloom.ids import uuid7
from threadloom.seal import unsealed
from threadloom.store import logfile
from threadloom.store.base import StoreError
from threadloom.store.blobs import Blobs
from threadloom.store.handles import LIMIT
from threadloom.store.logfile import RolloutLog
from threadloom.store.rollout import Rollouts
from threadloom.store.rows import VERSION, Base, Query

LONG = "x" * 70_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Rollouts]:
    with opened("file", tmp_path / "home") as made:
        assert isinstance(made, Rollouts)
        yield made


def made(store: Rollouts, *lines: bytes) -> tuple[str, Path]:
    """A log that nobody has open; its thread and its file."""
    log = thread(store, *lines)
    assert log.path is not None
    log.close()
    return log.header.thread_id, Path(log.path)


# ── form and place ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_log_is_a_file_by_its_day_with_the_header_in_front(store: Rollouts) -> None:
    store.create(header("source"), [])
    born = header(base=Base("source", 4, 99), owner="parent", root="root", settings={"a": 1})
    log = store.create(born, [event(5)])
    assert log.path == store.path(born)
    assert Path(log.path) == store.home / f"sessions/2026/05/28/rollout-2026-05-28T20-26-40-{born.thread_id}.jsonl"
    head = orjson.loads(Path(log.path).read_bytes().splitlines()[0])
    assert len(head.pop("crc")) == 8
    assert head == {
        "v": VERSION,
        "threadId": born.thread_id,
        "createdAt": BORN,
        "base": {"threadId": "source", "seq": 4, "offset": 99},
        "owner": "parent",
        "root": "root",
        "spawn": None,
        "settings": {"a": 1},
        "facts": {},
    }


async def test_nobody_else_may_read_what_is_stored(store: Rollouts) -> None:
    index(store, thread(store, event(1, LONG)))
    await store.index.settled()
    files = [it for it in store.home.rglob("*") if it.is_file()]
    assert {it.name for it in files} >= {"index.sqlite", "index.sqlite-wal", "index.sqlite-shm"}
    assert [it for it in files if it.stat().st_mode & 0o077] == []


async def test_an_index_that_others_could_read_is_no_more(store: Rollouts) -> None:
    index(store, thread(store, event(1)))
    await store.index.settled()
    parts = [*store.home.glob("index.sqlite*")]
    for part in parts:
        part.chmod(0o644)
    with opened("file", store.home):
        assert {it.stat().st_mode & 0o777 for it in parts} == {0o600}


def test_what_is_written_together_is_one_write(store: Rollouts, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[bytes] = []
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: writes.append(bytes(data)) or write(fd, data))
    log = thread(store, event(1), event(2))
    log.append([event(3), aside({"a": 1}), event(4)])
    assert [it.count(b"\n") for it in writes] == [3, 3]


@pytest.mark.parametrize("index_knows", [False, True])
async def test_a_log_is_found_by_its_id_alone(store: Rollouts, tmp_path: Path, index_knows: bool) -> None:
    by_time, anywhere = uuid7(), "no-time-in-here"
    for thread_id in (by_time, anywhere):
        log = store.create(header(thread_id), [event(1)])
        if index_knows:
            store.index.put(row(thread_id, path=log.path))
    await store.index.settled()
    store.close()
    with opened("file", store.home) as again:
        assert seqs(again.read(by_time).scan()) == [1]
        assert seqs(again.read(anywhere).scan()) == [1]
    moved = store.home.rename(tmp_path / "moved")
    with opened("file", moved) as again:
        assert seqs(again.read(by_time).scan()) == [1], "what the index says may be old"


def test_the_end_of_an_id_stands_for_no_log(store: Rollouts) -> None:
    thread_id, _ = made(store, event(1))
    for it in (thread_id[9:], thread_id[-12:], thread_id[:-1], ""):
        with pytest.raises(StoreError, match="no log of thread"):
            store.read(it)


def test_a_header_of_a_newer_version_is_refused_and_an_older_one_is_read(store: Rollouts) -> None:
    thread_id, path = made(store, event(1))
    head, _, rest = path.read_bytes().partition(b"\n")
    newer = orjson.dumps({**orjson.loads(unsealed(head + b"\n")), "v": VERSION + 1})
    path.write_bytes(resealed(newer + b"\n") + rest)
    for attempt in (store.open, store.read):
        with pytest.raises(StoreError, match="newer version"):
            attempt(thread_id)
    path.write_bytes(orjson.dumps({"v": 0, "threadId": thread_id}) + b"\n" + rest)
    log = store.read(thread_id)
    assert (log.header.v, log.header.root, log.header.settings) == (0, thread_id, {})
    assert seqs(log.scan()) == [1]


def blobs(store: Rollouts) -> list[Path]:
    """The long values that lie in a home."""
    return [it for it in (store.home / "blobs").rglob("*") if it.is_file() and it.parent.parent.name != "by"]


async def test_a_long_value_goes_with_the_last_log_that_needs_it(store: Rollouts) -> None:
    first, _ = made(store, event(1, LONG), event(2, LONG + "of the first alone"))
    second, _ = made(store, event(1, LONG), event(2, LONG))
    standing = fork(store, store.read(second), 2, event(3, LONG + "of the fork"))
    for it in (store.read(first), store.read(second), standing):
        index(store, it)
    assert len(blobs(store)) == 3
    store.remove(first)
    store.remove(second)
    await store.index.settled()
    assert len(blobs(store)) == 2, "the fork needs what its base needs"
    assert next(store.after(standing.header.thread_id, 0)).params == {"text": LONG}
    store.remove(standing.header.thread_id)
    await store.index.settled()
    assert [*(store.home / "blobs").rglob("*")] == [it for it in (store.home / "blobs").rglob("*") if it.is_dir()]


async def test_a_long_value_that_nobody_has_noted_is_kept_for_whoever_needs_it(store: Rollouts) -> None:
    made(store, event(1, LONG))
    shutil.rmtree(store.home / "blobs" / "by")  # as an older version left it
    other, _ = made(store, event(1, LONG))
    store.remove(other)
    await store.index.settled()
    assert len(blobs(store)) == 1


def test_a_long_value_is_not_dropped_while_somebody_finds_that_it_is_there(
    store: Rollouts, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = Blobs(store.home), Blobs(store.home)  # of two processes
    small = one.shrink(event(1, LONG), "first")
    held = one._held

    def looking(digest: str) -> bool:
        needed = held(digest)
        keeper.start()
        keeper.join(0.2)  # it would be through by now, if it could
        return needed

    keeper = threading.Thread(target=lambda: other.shrink(event(1, LONG), "second"))
    monkeypatch.setattr(one, "_held", looking)
    one.drop("first")
    keeper.join()
    assert other.restore(orjson.loads(small)) is not None
    other.drop("second")
    assert blobs(store) == []


def test_a_long_value_that_was_not_finished_is_nobodys_in_the_end(
    store: Rollouts, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Blobs(store.home)
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", refusing(errno.EIO))
        with pytest.raises(StoreError):
            kept.shrink(event(1, LONG), "first")
    kept.shrink(event(1, LONG), "first")
    kept.drop("first")
    assert blobs(store) == []


def test_a_long_value_that_is_damaged_is_written_anew(store: Rollouts) -> None:
    made(store, event(1, LONG))
    [blob] = blobs(store)
    blob.write_bytes(b"?" + blob.read_bytes()[1:])
    log = thread(store, event(1))
    log.append([event(2, LONG), event(3)])
    assert seqs(store.read(log.header.thread_id).scan()) == [1, 2, 3]


def test_a_long_value_that_two_keep_at_the_same_moment_is_whole_for_both(
    store: Rollouts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In two containers, processes may have the same number."""
    first, second = Blobs(store.home), Blobs(store.home)
    rename = os.rename

    def meanwhile(draft: Path, path: Path) -> None:
        monkeypatch.setattr(os, "rename", rename)
        second.shrink(event(1, LONG), "second")
        rename(draft, path)

    monkeypatch.setattr(os, "rename", meanwhile)
    line = first.shrink(event(1, LONG), "first")
    assert first.restore(orjson.loads(line)) is not None
    for owner in ("first", "second"):
        first.drop(owner)
    assert blobs(store) == []


def test_long_values_lie_once_beside_the_log(store: Rollouts) -> None:
    first, path = made(store, event(1, LONG))
    second, _ = made(store, event(1, LONG), event(2, LONG + "y"))
    assert len(blobs(store)) == 2
    assert path.stat().st_size < 1000
    for thread_id in (first, second):
        [line, *_] = store.after(thread_id, 0)
        assert line.params == {"text": LONG}
    for blob in blobs(store):
        blob.write_bytes(b"something else")
    log = store.read(second)
    assert list(log.scan()) == []
    assert log.damaged == 2


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What has been made to outlive a loss of power, in order."""
    found: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        real(descriptor)
        found.append(os.readlink(f"/proc/self/fd/{descriptor}"))

    monkeypatch.setattr(os, "fsync", fsync)
    return found


async def test_every_folder_on_the_way_to_what_is_new_is_on_the_disk(store: Rollouts, synced: list[str]) -> None:
    log = thread(store, event(1, LONG))
    [blob] = blobs(store)
    note = store.home / "blobs" / "by" / log.header.thread_id
    new = [note, note.parent, blob.parent, store.home / "blobs", store.home]  # each has a new name in it
    assert set(synced) >= {str(it) for it in new}
    assert log.path is not None
    synced.clear()
    await log.sync()
    assert set(synced) == {str(it) for it in list(Path(log.path).parents)[:5]}
    assert str(store.home) in synced


async def test_the_name_of_a_log_is_on_the_disk_whoever_gave_it(store: Rollouts, synced: list[str]) -> None:
    thread_id, path = made(store, event(1))  # and nobody has waited for it
    log = store.open(thread_id)
    await log.sync()
    assert str(path.parent) in synced
    log.append([event(2)])
    synced.clear()
    await log.sync()
    assert synced == [], "once is enough"


async def test_a_log_that_is_only_kept_is_so_after_a_loss_of_power(store: Rollouts, synced: list[str]) -> None:
    source = thread(store, *events(1, 5))
    index(store, source)
    index(store, fork(store, source, 4))
    assert source.path is not None
    await store.index.settled()
    synced.clear()
    store.remove(source.header.thread_id)
    await store.index.settled()
    assert synced == [os.path.dirname(source.path)]


def test_more_threads_than_files_can_be_open(store: Rollouts) -> None:
    before = len(os.listdir("/proc/self/fd"))
    logs = [thread(store, event(1)) for _ in range(LIMIT + 50)]
    for log in logs:
        log.append([event(2)])
    assert len(os.listdir("/proc/self/fd")) <= before + LIMIT
    assert all(seqs(log.scan()) == [1, 2] for log in logs)
    readings = [store.read(log.header.thread_id) for log in logs[:20]]
    del readings
    assert len(os.listdir("/proc/self/fd")) <= before + LIMIT


# ── torn and damaged ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("last", [event(4, "the end"), event(4, "ü" * 3) + event(5)], ids=["one line", "two lines"])
def test_a_tail_torn_at_any_byte_is_cut_and_reported(
    store: Rollouts, last: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[str] = []
    monkeypatch.setattr(logfile, "_log", SimpleNamespace(warning=lambda words, **_: reports.append(words)))
    thread_id, path = made(store, *events(1, 3))
    whole = path.read_bytes()
    for size in range(1, len(last)):
        path.write_bytes(whole + last[:size])
        kept = last[:size].rpartition(b"\n")[0]
        expected = [1, 2, 3, 4] if kept else [1, 2, 3]
        torn = size != len(kept) + bool(kept)
        reading = store.read(thread_id)
        assert seqs(reading.scan()) == expected
        assert path.read_bytes() == whole + last[:size], "whoever only reads cuts nothing"
        log = store.open(thread_id)
        assert (log.seq, log.damaged) == (expected[-1], int(torn))
        assert len(reports) == torn
        reports.clear()
        log.append([event(expected[-1] + 1, "goes on")])
        assert seqs(log.scan()) == [*expected, expected[-1] + 1]
        log.close()


def test_a_file_whose_header_was_never_finished_is_no_log(store: Rollouts) -> None:
    thread_id, path = made(store, event(1))
    head = path.read_bytes().partition(b"\n")[0]
    for size in (0, 1, len(head) // 2, len(head)):
        path.write_bytes(head[:size])
        for attempt in (store.open, store.read):
            with pytest.raises(StoreError, match="no header"):
                attempt(thread_id)


def test_a_damaged_bit_costs_its_line_and_no_other(store: Rollouts) -> None:
    thread_id, path = made(store, *(event(seq, f"number {seq}") for seq in range(1, 41)))
    whole = path.read_bytes()
    lines = list(store.read(thread_id).scan())
    chance = random.Random(5)
    for _ in range(count(2000)):
        at = chance.randrange(lines[10].offset, lines[30].offset)
        broken = bytearray(whole)
        broken[at] ^= 1 << chance.randrange(8)
        path.write_bytes(broken)
        log = store.open(thread_id)
        read = {line.offset: line for line in log.scan()}
        touched = [it for it in lines if it.offset <= at < it.offset + it.size]
        if at == touched[0].offset + touched[0].size - 1:  # its newline: the next line is part of it now
            touched.append(lines[lines.index(touched[0]) + 1])
        for line in lines:
            assert line in touched or read[line.offset] == line
        assert log.damaged <= 2
        assert log.seq >= 40, "a damaged number may leave some out, but gives none out again"
        assert log.append([event(41)]) == len(whole)
        log.close()


@pytest.mark.parametrize("lost", [1, 3])
def test_no_seq_of_a_damaged_line_is_given_out_again(store: Rollouts, lost: int) -> None:
    thread_id, path = made(store, *events(1, 10))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:-lost], *(b"?" * (len(it) - 1) + b"\n" for it in lines[-lost:])]))
    log = store.open(thread_id)
    assert log.seq == 10
    log.append([event(11)])
    assert seqs(log.scan()) == [*range(1, 11 - lost), 11]
    assert log.damaged == lost


async def test_no_seq_that_the_index_has_seen_is_given_out_again(store: Rollouts) -> None:
    thread_id, path = made(store, *events(1, 10))
    store.index.put(row(thread_id, seq=10, path=str(path)))
    await store.index.settled()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:6]))  # as after a loss of power
    assert store.open(thread_id).seq == 10


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"7",
        b"{}",
        b'{"seq":2}',
        b'{"seq":2,"at":1,"method":"a"}',
        b'{"seq":2,"at":1,"method":7,"params":{}}',
        b'{"seq":-2,"at":1,"method":"a","params":{}}',
        b'{"seq":"2","at":1,"method":"a","params":{}}',
        b'{"seq":true,"at":1,"method":"a","params":{}}',
        b'{"at":1,"model":{}}',
        b'{"at":1,"method":"a","params":{}}',
        b'{"seq":2,"at":1,"method":"a","params":{"b":{"$blob":"../../etc/passwd"}},"blobs":["x"]}',
        b"\xff\xfe",
        b"\0" * 50,
    ],
)
def test_what_is_no_line_is_left_out_and_counted(store: Rollouts, line: bytes) -> None:
    thread_id, path = made(store, event(1))
    path.write_bytes(path.read_bytes() + line + b"\n" + event(3))
    log = store.open(thread_id)
    assert seqs(log.scan()) == [1, 3]
    assert (log.damaged, log.seq) == (1, 3)
    assert seqs(log.scan(log.seek(1))) == seqs(log.scan(log.seek(2))) == [3]


# ── a system that refuses ─────────────────────────────────────────────────────────────────────────────────────────────

Write = Callable[[int, Any], int]


def failing(write: Write, size: int, reason: int | None) -> Write:
    """A write that gets so far: then an error, or nothing but the short count."""

    def partial(descriptor: int, data: bytes) -> int:
        written = write(descriptor, data[:size])
        if reason is None:
            return written
        raise OSError(reason, os.strerror(reason))

    return partial


def refusing(reason: int) -> Callable[..., None]:
    """A call that fails."""

    def refuse(*_: object) -> None:
        raise OSError(reason, os.strerror(reason))

    return refuse


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (None, "disk is full"),
        (errno.ENOSPC, "disk is full"),
        (errno.EDQUOT, "disk is full"),
        (errno.EROFS, "Make it writable"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_an_append_that_fails_has_written_nothing(
    store: Rollouts, monkeypatch: pytest.MonkeyPatch, reason: int | None, words: str
) -> None:
    log = thread(store, *events(1, 3))
    assert log.path is not None
    before = Path(log.path).read_bytes()
    batch = [event(4, "four"), event(5, "five")]
    for size in range(len(b"".join(batch))):
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", failing(os.write, size, reason))
            with pytest.raises(StoreError, match=words):
                log.append(batch)
        assert Path(log.path).read_bytes() == before
        assert (log.seq, log.end) == (3, len(before))
    assert log.append(batch) == len(before)
    assert seqs(log.scan()) == [1, 2, 3, 4, 5]


def test_what_could_not_be_cut_at_once_is_cut_before_the_next_write(
    store: Rollouts, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = thread(store, event(1))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", failing(os.write, 10, errno.EIO))
        patch.setattr(os, "ftruncate", refusing(errno.EIO))
        with pytest.raises(StoreError):
            log.append([event(2)])
    log.append([event(2)])
    assert seqs(log.scan()) == [1, 2]
    assert seqs(store.read(log.header.thread_id).scan()) == [1, 2]


@pytest.mark.parametrize("reason", [None, errno.ENOSPC, errno.EROFS, errno.EIO])
def test_a_thread_that_could_not_be_written_does_not_exist(
    store: Rollouts, monkeypatch: pytest.MonkeyPatch, reason: int | None
) -> None:
    born = header()
    for size in (0, 1, 100, 250):
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", failing(os.write, size, reason))
            with pytest.raises(StoreError, match="Cannot create"):
                store.create(born, events(1, 3))
        assert list(store.folders.walk()) == []
    assert seqs(store.create(born, events(1, 3)).scan()) == [1, 2, 3]


def test_a_long_value_that_cannot_be_kept_stops_its_line(store: Rollouts, monkeypatch: pytest.MonkeyPatch) -> None:
    log = thread(store, event(1))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refusing(errno.ENOSPC))
        with pytest.raises(StoreError, match="disk is full"):
            log.append([event(2, LONG)])
    assert seqs(log.scan()) == [1]
    assert blobs(store) == []
    log.append([event(2, LONG)])
    assert seqs(log.scan()) == [1, 2]


# ── onto the disk ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_who_waits_for_the_same_file_shares_one_fdatasync(
    store: Rollouts, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go_on = threading.Event(), threading.Event()
    calls: list[int] = []

    def slow(descriptor: int) -> None:
        calls.append(descriptor)
        began.set()
        assert go_on.wait(20)

    monkeypatch.setattr(os, "fdatasync", slow)
    logs = [thread(store, event(1)), thread(store, event(1))]
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(logs[0].sync)
            assert await anyio.to_thread.run_sync(began.wait, 20)
            for seq in range(2, 42):
                for log in logs:
                    log.append([event(seq)])
                    tasks.start_soon(log.sync)
            await anyio.wait_all_tasks_blocked()
            go_on.set()
        assert len(calls) == 3, "the one under way, and one for each file"
        await logs[0].sync()
        assert len(calls) == 3, "what is on the disk needs no other call"


async def test_a_disk_that_fails_is_told_to_whoever_waits(store: Rollouts, monkeypatch: pytest.MonkeyPatch) -> None:
    log = thread(store, event(1))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", refusing(errno.EIO))
        with pytest.raises(StoreError, match="Input/output error"):
            await log.sync()
    await log.sync()


async def test_a_log_that_was_deleted_meanwhile_needs_no_sync(store: Rollouts) -> None:
    log = thread(store, event(1))
    store.remove(log.header.thread_id)
    await store.index.settled()
    assert list(store.folders.walk()) == []
    await log.sync()


async def test_a_closed_store_says_so(store: Rollouts) -> None:
    log = thread(store, event(1))
    store.index.put(row())
    store.close()
    with pytest.raises(StoreError, match="closed"):
        await log.sync()
    with pytest.raises(StoreError, match="closed"):
        store.index.put(row())
    with opened("file", store.home) as again:
        assert len(again.index.threads(Query()).rows) == 1, "what was queued is there"


def test_a_log_is_its_files_only_writer(store: Rollouts) -> None:
    log = thread(store, event(1))
    assert isinstance(log, RolloutLog)
    assert log is not store.open(log.header.thread_id)
