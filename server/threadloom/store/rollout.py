"""The store of a home: a log in a file per thread, an index beside them, a lock per tree."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TypeVar
from weakref import WeakValueDictionary

from threadloom.store import history, logfile, recovery, schema
from threadloom.store.base import Fold, Missing, Progress, StoreError
from threadloom.store.blobs import Blobs, sync_folder
from threadloom.store.eventlog import StoredLog
from threadloom.store.faults import refused
from threadloom.store.folders import Folders, names
from threadloom.store.handles import Handles
from threadloom.store.headers import Kept
from threadloom.store.holds import Going, Holds
from threadloom.store.index import SqliteIndex
from threadloom.store.lease import Leases, TreeLease
from threadloom.store.lives import Lives
from threadloom.store.logfile import FileLog, RolloutLog
from threadloom.store.rows import Base, Header, Line
from threadloom.store.syncing import Syncer

Opened = TypeVar("Opened")


class Rollouts:
    """Logs and index under one folder, which other processes may use, too."""

    def __init__(self, home: Path) -> None:
        self.home = home.absolute()
        self.folders = Folders(self.home)
        self._leases = Leases(self.home)
        self._lives = Lives(self.home)
        self._blobs = Blobs(self.home)
        self._handles = Handles()
        self._syncer = Syncer()
        self._logs: WeakValueDictionary[str, RolloutLog] = WeakValueDictionary()
        self._holds = Holds()
        self._fold: Fold | None = None  # how logs are replayed, once somebody has said so
        self._index = SqliteIndex(self.home / "index.sqlite", self._seek)

    @property
    def index(self) -> SqliteIndex:
        """See `Store.index`."""
        return self._index

    # ── logs ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def path(self, header: Header) -> str:
        """See `Store.path`."""
        return self.folders.path(header)

    def create(self, header: Header, lines: Sequence[bytes]) -> RolloutLog:
        """See `Store.create`. A fork's base is held until the index knows that it is needed."""
        base = header.base
        if base is None:
            return self._created(header, lines)
        self.pin(base.thread_id)
        try:
            log = self._created(header, lines)
            self._index.put_base(header.thread_id, base, lambda: self._known_of(base.thread_id))
        except BaseException:
            self._holds.release(base.thread_id)
            raise
        return log

    def _known_of(self, base: str) -> None:
        """The index has taken in a fork. Where others have another index, the log it stands on is held to the end."""
        if self._index.shared:
            self._holds.release(base)

    def _created(self, header: Header, lines: Sequence[bytes]) -> RolloutLog:
        log = logfile.create(self.path(header), header, lines, self._blobs, self._handles, self._syncer)
        self._logs[header.thread_id] = log
        return log

    def open(self, thread_id: str) -> RolloutLog:
        """See `Store.open`."""
        mark = self._index.marks(thread_id).get(thread_id)
        log = self._located(
            thread_id,
            lambda path: RolloutLog(path, self._blobs, self._handles, self._syncer, self._kept, self._suspect),
        )
        if mark is not None:
            log.reserve(mark.seq)
            if mark.offset > log.end:  # its last lines are torn since the index took them in
                self._suspect(thread_id)
        self._logs[thread_id] = log
        return log

    def read(self, thread_id: str) -> FileLog:
        """See `Store.read`."""
        return self._located(thread_id, lambda path: FileLog(path, self._blobs, Handles(1), self._kept, self._suspect))

    def read_at(self, path: str) -> FileLog:
        """The log in a file, for whoever brings the index up to it."""
        return FileLog(path, self._blobs, Handles(1), self._kept)

    def _kept(self, thread_id: str) -> Kept:
        return Kept(self._index.get(thread_id), self._index.base(thread_id))

    def _suspect(self, thread_id: str) -> None:
        """A damaged line was met: what the index has of the thread may be of a time before."""
        fold = self._fold
        if fold is not None:
            self._index.do(lambda db: recovery.again(self, db, thread_id, fold))

    def after(
        self, thread_id: str, seq: int, stop: int | None = None, cut: int | None = None, *, model: bool = False
    ) -> Iterator[Line]:
        """See `Store.after`."""
        return history.after(self.reading, thread_id, seq, stop, cut, model=model)

    def before(self, thread_id: str, seq: int) -> Base:
        """See `Store.before`."""
        return history.before(self.reading, thread_id, seq)

    def lines(self, rows: Sequence[tuple[str, int]]) -> list[Line]:
        """See `Store.lines`."""
        return history.at(self.reading, rows)

    def reading(self, thread_id: str, stack: ExitStack) -> StoredLog:
        """A log for reading, let go of with the stack."""
        log = self.read(thread_id)
        stack.callback(log.close)
        return log

    def _seek(self, thread_id: str, seq: int) -> int:
        with ExitStack() as stack:
            return self.reading(thread_id, stack).seek(seq)

    def _located(self, thread_id: str, opened: Callable[[str], Opened]) -> Opened:
        """A log opened where it is: as known here, as the index says, or as the folders show."""
        try:
            for known in self._known(thread_id):
                if known is not None:
                    with suppress(FileNotFoundError):
                        return opened(known)
        except OSError as fault:
            raise refused("open", known or thread_id, fault) from fault
        raise Missing(f"There is no log of thread {thread_id} under {self.home}.")

    def _known(self, thread_id: str) -> Iterator[str | None]:
        log = self._logs.get(thread_id)
        yield log.path if log else None
        yield self._index.path(thread_id)
        yield self.folders.find(thread_id)

    # ── trees ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def lease(self, root_id: str) -> TreeLease:
        """See `Store.lease`."""
        self._lives.begin()
        return self._leases.take(root_id)

    def holder(self, root_id: str) -> int | None:
        """See `Store.holder`."""
        return self._leases.holder(root_id)

    # ── deleting ──────────────────────────────────────────────────────────────────────────────────────────────────

    def remove(self, thread_id: str, *, purge: bool = False) -> None:
        """See `Store.remove`."""
        path = next((it for it in self._known(thread_id) if it is not None and os.path.exists(it)), None)
        self._index.do(lambda db: self._remove(db, thread_id, path, purge))

    def pin(self, thread_id: str) -> None:
        """Keep a log for a fork: for one that lies elsewhere, and ends with the process. Raises `Missing`."""
        self._located(thread_id, lambda path: self._holds.take(thread_id, path))

    def unpin(self, thread_id: str) -> None:
        """Such a fork is gone; the log may go, too, if it was only kept."""
        self._holds.release(thread_id)
        self.sweep(thread_id)

    def sweep(self, thread_id: str) -> None:
        """See `Store.sweep`."""
        self._index.do(lambda db: self._sweep(db, thread_id))

    def _remove(self, db: sqlite3.Connection, thread_id: str, path: str | None, purge: bool) -> None:
        """Files go before their rows do: a row without a file is dropped at the next start, a file comes back."""
        with Going(self._sees_all) as going:
            erased = schema.drop(db, thread_id, lambda known: going.free(known, path), purge=purge)
            if erased:
                self._delete([*erased, schema.Erased(thread_id, path)])
            elif path is not None:
                plain, kept = names(path)
                with suppress(FileNotFoundError):
                    os.rename(plain, kept)
                    sync_folder(os.path.dirname(kept))
                db.execute("UPDATE threads SET path = ? WHERE thread_id = ?", (kept, thread_id))

    def _sweep(self, db: sqlite3.Connection, thread_id: str) -> None:
        with Going(self._sees_all) as going:
            if db.execute("SELECT 1 FROM threads WHERE thread_id = ? AND gone = 1", (thread_id,)).fetchone():
                self._delete(schema.drop(db, thread_id, going.free))

    def _sees_all(self) -> bool:
        """Whether the index has every fork that somebody was told of, or whoever told it still holds its base."""
        try:
            return self._index.shared and not self._lives.lost()
        except OSError:
            return False

    def _delete(self, erased: Sequence[schema.Erased]) -> None:
        for thread_id, path in erased:
            for name in names(path) if path is not None else ():
                with suppress(FileNotFoundError):
                    os.unlink(name)
                    sync_folder(os.path.dirname(name))
            self._blobs.drop(thread_id)
            self._leases.forget(thread_id)

    # ── beginning and end ─────────────────────────────────────────────────────────────────────────────────────────

    async def bring_up(self, thread_id: str, fold: Fold) -> None:
        """See `Store.bring_up`."""
        self._fold = fold
        await recovery.bring_up(self, thread_id, fold)

    @property
    def intact(self) -> bool:
        """See `Store.intact`."""
        try:
            return self._index.whole and not self._lives.lost()
        except (StoreError, OSError):  # a look at the logs will tell
            return False

    async def recover(self, fold: Fold, progress: Progress | None = None) -> None:
        """See `Store.recover`."""
        self._fold = fold
        lost = self._lives.lost()
        kept = await recovery.recover(self, fold, progress)
        if kept is None:
            return
        self._lives.forget(lost)
        for it in kept:
            self.sweep(it)
        with suppress(StoreError):  # the next start tries it again
            await self._index.settled()

    def close(self) -> None:
        """See `Store.close`."""
        self._syncer.close()
        made = self._index.close()
        self._lives.end(well=made and self._index.shared)
        self._leases.close()
        self._holds.close()
        self._handles.close_all()
