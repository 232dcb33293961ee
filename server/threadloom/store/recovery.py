"""Bringing the index up to the logs, at start: a look at every file's size, a replay where there is more to know.

No log is written here, so no lease is needed. A tree that another process holds is left to it.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from threading import Event
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from threadloom.log import logger
from threadloom.store import schema
from threadloom.store.base import Fold, Progress, StoreError
from threadloom.store.folders import KEPT, Found, is_gone, names
from threadloom.store.logfile import FileLog
from threadloom.store.rows import Folded
from threadloom.store.schema import Mark
from threadloom.store.writer import FLUSH_SECONDS

if TYPE_CHECKING:
    from threadloom.store.rollout import Rollouts

_log = logger(__name__)

BATCH: Final = 100  # replays between two commits, so that what is queued stays small


async def recover(store: Rollouts, fold: Fold, progress: Progress | None) -> list[str] | None:
    """See `Store.recover`. The logs that are only kept for others; `None` where the index could not be written."""
    loop = asyncio.get_running_loop()
    stop = Event()

    def tell(done: int, total: int) -> None:
        if progress is not None:
            with suppress(RuntimeError):  # the loop has gone
                loop.call_soon_threadsafe(progress, done, total)

    work = _Recovery(store, fold, tell, stop)
    try:
        await anyio.to_thread.run_sync(work.run, abandon_on_cancel=True)
        await store.index.settled()
        await store.index.completed()
    except StoreError as fault:  # the logs are as they were; whoever lists or writes will hear of it
        _log.error("the index could not be brought up to the logs", reason=str(fault))
        return None
    finally:
        stop.set()
    return work.kept


async def bring_up(store: Rollouts, thread_id: str, fold: Fold) -> None:
    """See `Store.bring_up`."""
    stop = Event()
    work = _Recovery(store, fold, lambda done, total: None, stop)
    try:
        await anyio.to_thread.run_sync(work.one, thread_id, abandon_on_cancel=True)
    finally:
        stop.set()
    await store.index.settled()


def again(store: Rollouts, db: sqlite3.Connection, thread_id: str, fold: Fold) -> None:
    """A change for the index: what it has of a thread, taken from the log anew, as damage was met there."""
    found = db.execute(f"{schema.SELECT_MARK} WHERE thread_id = ?", (thread_id,)).fetchone()
    mark = schema.to_mark(found) if found else None
    if mark is None or mark.path is None or store.holder(mark.root) is not None:
        return  # nobody lists it, or whoever writes it keeps its row
    try:
        log = store.read_at(mark.path)
        try:
            if not log.guessed:  # else the index knows more than the log
                folded = Folded(*fold(log, None))
                schema.put_replay(db, schema.Replay(folded, log.header.base, mark, whole=True, gone=mark.gone))
        finally:
            log.close()
    except sqlite3.Error:
        raise
    except Exception as fault:  # the index stays as it is
        _log.error("a damaged log cannot be replayed", path=mark.path, exc_info=fault)


class _Recovery:
    """One pass over all logs of a home, in a thread."""

    def __init__(self, store: Rollouts, fold: Fold, tell: Progress, stop: Event) -> None:
        self._store = store
        self._index = store.index
        self._fold = fold
        self._tell = tell
        self._stop = stop
        self._unread = 0
        self.kept: list[str] = []

    def run(self) -> None:
        """Rows before files: a file is there before its row is, so a row without one has lost it."""
        whole = self._index.whole
        marks = self._index.marks()
        forks = self._index.forks()
        found = {it.thread_id: it for it in self._store.folders.walk(self._blocked)}
        if not whole:  # nobody knows of a log that was moved aside under the eyes of who went by: that happens once
            found |= {it.thread_id: it for it in self._store.folders.walk()}
        due = [it for it in found.values() if _is_due(it, marks.get(it.thread_id))]
        due.sort(key=lambda it: it.path, reverse=True)  # the newest first: they are asked for
        queued = self._index.passed()
        for done, it in enumerate(due):
            if done % BATCH == 0:
                queued.wait(FLUSH_SECONDS)  # while one batch is written, the next is read
                queued = self._index.passed()
                self._tell(done, len(due))
            if self._stop.is_set():
                return
            self._bring_up(it, marks.get(it.thread_id))
            time.sleep(0)  # the loop goes first
        if due:
            self._index.flush()
            self._tell(len(due), len(due))
        self._drop_lost(marks, forks, found)  # with all forks known: what they stand on is needed
        if self._index.shared and not self._unread:  # one that cannot be read may be a fork that needs what is kept
            self.kept = [it.thread_id for it in found.values() if it.kept]

    def one(self, thread_id: str) -> None:
        """One log, and those that a thread is told and taken up with: its owners', and what it stands on."""
        due, seen = [thread_id], set[str]()
        while due and not self._stop.is_set():
            if (it := due.pop()) not in seen:
                seen.add(it)
                due += self._one(it)

    def _one(self, thread_id: str) -> list[str]:
        path = self._store.folders.find(thread_id)
        if path is None:
            return []
        mark = self._index.marks(thread_id).get(thread_id)
        with suppress(OSError, StoreError):  # whoever reads it hears of it
            found = Found(thread_id, path, path.endswith(KEPT), os.path.getsize(path))
            if _is_due(found, mark):
                self._bring_up(found, mark)
            with closing(self._store.read_at(path)) as log:
                base, owner = log.header.base, log.header.owner
                return [it for it in (base and base.thread_id, owner) if it]
        return []

    def _drop_lost(self, marks: Mapping[str, Mark], forks: list[str], found: Mapping[str, Found]) -> None:
        for it in {*marks, *forks} - found.keys():
            path = marks[it].path if it in marks else None
            if is_gone(path) if path is not None else not self._unread:
                self._store.remove(it)

    def _blocked(self, path: str, reason: str) -> None:
        """Something among the logs is out of reach: the others are not."""
        self._unread += 1
        _log.warning("something among the logs cannot be read", path=path, reason=reason)

    def _bring_up(self, found: Found, mark: Mark | None) -> None:
        if mark is None and not found.size:
            return  # a birth that is under way in another process, or was cut short: there is no thread yet
        try:
            log = self._store.read_at(found.path)
        except FileNotFoundError:
            if not found.kept:  # moved aside since, or deleted
                self._bring_up(found._replace(path=names(found.path)[1], kept=True), mark)
            return
        except (OSError, StoreError) as fault:
            self._unread += 1
            _log.warning("a log cannot be read", path=found.path, reason=str(fault))
            return
        try:
            self._replay(log, found, mark)
        except Exception as fault:  # one bad log must not keep the others out of the lists
            if self._stop.is_set():  # the store may be closed, and nobody waits for this any more
                return
            self._unread += 1
            _log.error("a log cannot be replayed", path=found.path, exc_info=fault)
        finally:
            log.close()

    def _replay(self, log: FileLog, found: Found, mark: Mark | None) -> None:
        if mark is not None and self._index.shared and self._store.holder(mark.root) is not None:
            return  # whoever writes it keeps its row
        goes_on = mark is not None and mark.path == found.path and mark.offset <= found.size and not found.kept
        row = self._index.get(found.thread_id) if goes_on else None
        self._unread += log.guessed and log.header.base is None
        folded = Folded(*self._fold(log, row))
        replay = schema.Replay(folded, log.header.base, mark, whole=row is None, gone=found.kept)
        self._index.do(lambda db: schema.put_replay(db, replay))
        if log.damaged:
            _log.warning("a log has damaged lines", path=found.path, lines=log.damaged)


def _is_due(found: Found, mark: Mark | None) -> bool:
    return mark is None or (mark.offset, mark.path, mark.gone) != (found.size, found.path, found.kept)
