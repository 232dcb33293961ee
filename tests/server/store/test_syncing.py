"""Logs on the disk: who waits hears how it went, and what can be shared is done once."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from tests.support.storing import event, opened, seqs, thread

from threadloom.store import syncing
from threadloom.store.base import EventLog, StoreError
from threadloom.store.rollout import Rollouts
from threadloom.store.syncing import HANDS, MANY, Syncer, _Job
from threadloom.store.worker import Waiter


def job(path: Path, *, folder: bool) -> _Job:
    return _Job(str(path), folder, Waiter.here())


async def heard(jobs: list[_Job]) -> list[str]:
    """How it went for each: nothing is good."""
    words = []
    with anyio.fail_after(20):
        for it in jobs:
            try:
                await it.waiter.future
                words.append("")
            except StoreError as fault:
                words.append(str(fault))
    return words


async def test_many_new_files_share_their_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders: list[Path] = []
    monkeypatch.setattr(syncing, "sync_folder", folders.append)
    day = tmp_path / "sessions" / "2026" / "11" / "16"
    day.mkdir(parents=True)
    jobs = []
    for at in range(20):
        (path := day / f"{at}.jsonl").write_text("{}\n")
        jobs.append(job(path, folder=True))
    syncer = Syncer()
    syncer._work(jobs)
    assert await heard(jobs) == [""] * 20
    assert folders.count(day) == 1
    assert folders == [day, *list(day.parents)[:4]]
    assert folders[-1] == tmp_path, "the folder of all may be new, too"


async def test_many_files_get_onto_the_disk_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(HANDS, timeout=20)
    monkeypatch.setattr(syncing, "_sync", lambda path, doubtful: together.wait())
    jobs = [job(tmp_path / str(at), folder=False) for at in range(MANY)]
    Syncer()._work(jobs)
    assert await heard(jobs) == [""] * MANY


async def test_where_there_can_be_no_more_threads_one_does_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    done: list[str] = []
    monkeypatch.setattr(syncing, "_sync", lambda path, doubtful: done.append(path))
    monkeypatch.setattr(threading.Thread, "start", none)
    jobs = [job(tmp_path / str(at), folder=False) for at in range(MANY)]
    Syncer()._work(jobs)
    assert await heard(jobs) == [""] * MANY
    assert sorted(done) == sorted(it.path for it in jobs)


async def test_a_folder_that_fails_is_told_to_those_whose_files_are_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(folder: Path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(syncing, "sync_folder", refuse)
    jobs = []
    for name, new in (("new", True), ("old", False)):
        (tmp_path / name).write_text("{}\n")
        jobs.append(job(tmp_path / name, folder=new))
    Syncer()._work(jobs)
    told, nothing = await heard(jobs)
    assert "Input/output error" in told
    assert nothing == ""


async def test_a_file_that_is_gone_needs_nothing(tmp_path: Path) -> None:
    jobs = [job(tmp_path / "gone" / "file", folder=True)]
    Syncer()._work(jobs)
    assert await heard(jobs) == [""]


class Forgetful:
    """A disk that cannot be written for a while, under a system that forgets then what was to be written."""

    def __init__(self, log: EventLog, patch: pytest.MonkeyPatch) -> None:
        assert log.path is not None
        self.path = log.path
        self.durable = bytearray()
        self.broken = False
        self.rewritten = 0
        self._dirty = [(0, os.path.getsize(self.path))]
        self._write, self._pwrite = os.write, os.pwrite
        for name in ("write", "pwrite", "fdatasync"):
            patch.setattr(os, name, getattr(self, name))

    def content(self) -> bytes:
        return Path(self.path).read_bytes()

    def write(self, descriptor: int, data: bytes) -> int:
        if self._is_it(descriptor):
            self._dirty.append((os.path.getsize(self.path), len(data)))
        return self._write(descriptor, data)

    def pwrite(self, descriptor: int, data: bytes, offset: int) -> int:
        if self._is_it(descriptor):
            self.rewritten += len(data)
            self._dirty.append((offset, len(data)))
        return self._pwrite(descriptor, data, offset)

    def fdatasync(self, descriptor: int) -> None:
        assert self._is_it(descriptor)
        dirty, self._dirty = self._dirty, []
        if self.broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        for offset, size in dirty:
            self.durable[len(self.durable) :] = bytes(max(0, offset + size - len(self.durable)))
            self.durable[offset : offset + size] = self.content()[offset : offset + size]

    def lose(self, line: bytes) -> None:
        """What it had in memory goes."""
        with open(self.path, "r+b") as file:
            file.seek(self.content().index(line))
            file.write(bytes(len(line)))

    def _is_it(self, descriptor: int) -> bool:
        return os.path.samestat(os.fstat(descriptor), os.stat(self.path))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Rollouts]:
    with opened("file", tmp_path / "home") as made:
        assert isinstance(made, Rollouts)
        yield made


@pytest.mark.parametrize("reopened", [False, True])
async def test_what_could_not_be_written_is_written_again_before_anybody_hears_that_it_is_there(
    store: Rollouts, monkeypatch: pytest.MonkeyPatch, reopened: bool
) -> None:
    log: EventLog = thread(store, event(1))
    disk = Forgetful(log, monkeypatch)
    await log.sync()
    assert disk.durable == disk.content()
    safe = log.end
    disk.broken = True
    for seq in (2, 3):
        log.append([event(seq)])
        with pytest.raises(StoreError, match="Input/output error"):
            await log.sync()
    disk.broken = False
    if reopened:
        log.close()
        log = store.open(log.header.thread_id)
    log.append([event(4)])
    again = disk.rewritten
    await log.sync()
    assert disk.durable == disk.content()
    assert disk.rewritten - again == log.end - safe, "and nothing else"
    log.append([event(5)])
    again = disk.rewritten
    await log.sync()
    assert disk.durable == disk.content()
    assert disk.rewritten == again, "once it is there, all is as ever"


async def test_the_birth_of_a_thread_is_written_again_too(store: Rollouts, monkeypatch: pytest.MonkeyPatch) -> None:
    log = thread(store, event(1))
    disk = Forgetful(log, monkeypatch)
    disk.broken = True
    with pytest.raises(StoreError, match="Input/output error"):
        await log.sync()
    disk.broken = False
    await log.sync()
    assert disk.durable == disk.content()


async def test_what_the_system_has_lost_itself_is_never_said_to_be_there(
    store: Rollouts, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = thread(store, event(1))
    disk = Forgetful(log, monkeypatch)
    await log.sync()
    disk.broken = True
    log.append([event(2), event(3)])
    with pytest.raises(StoreError, match="Input/output error"):
        await log.sync()
    disk.broken = False
    disk.lose(event(3))
    log.append([event(4)])
    for _ in range(2):
        with pytest.raises(StoreError, match=r"The disk has lost what was written from byte \d+ on"):
            await log.sync()
    assert seqs(log.scan()) == [1, 2, 4]
