"""Writing the index: in order, in one transaction for all that waits, off the loop."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from threadloom.log import logger
from threadloom.store import database
from threadloom.store.base import StoreError
from threadloom.store.readers import Shared
from threadloom.store.worker import Waiter, Worker, tell

_log = logger(__name__)

RETRY_SECONDS: Final = 1.0  # until what a full disk refused is tried again by itself
LINGER_SECONDS: Final = 0.02  # that a change nobody waits for waits for others to share a commit with
FLUSH_SECONDS: Final = 60.0  # longer than any transaction takes; what is not made by then is made later

# A change. May run more than once, where the transaction around it could not be committed.
Change = Callable[[sqlite3.Connection], None]


def nothing() -> None:
    """What there is to do, by default."""


class Job(NamedTuple):
    """A change, and what to do once it is committed or given up."""

    change: Change
    then: Callable[[], None] = nothing


class Writer(Protocol):
    """Makes changes in the order in which they are given."""

    def do(self, change: Change, then: Callable[[], None] = nothing) -> None:
        """Queue a change, and what to do once it is committed or given up. From any thread."""
        ...

    async def settled(self) -> None:
        """See `Index.settled`."""
        ...

    def flush(self) -> None:
        """The same for a thread that is not the loop's."""
        ...

    def passed(self) -> threading.Event:
        """Set once all that was queued before is made, or was tried."""
        ...

    def close(self) -> bool:
        """Finish what is queued; whether all of it could be made."""
        ...


class Direct:
    """Changes made at once: for an index in memory."""

    def __init__(self, own: Shared) -> None:
        self._own = own
        self._failed: StoreError | None = None

    def do(self, change: Change, then: Callable[[], None] = nothing) -> None:
        """See `Writer.do`."""
        with self._own.lock:
            self._failed = self._failed or _apply(self._own.db, [Job(change)]).error
        then()

    async def settled(self) -> None:
        """See `Writer.settled`."""
        self.flush()

    def flush(self) -> None:
        """See `Writer.flush`."""
        failed, self._failed = self._failed, None
        if failed is not None:
            raise failed

    def passed(self) -> threading.Event:
        """See `Writer.passed`."""
        done = threading.Event()
        done.set()
        return done

    def close(self) -> bool:
        """See `Writer.close`."""
        return self._failed is None


class Queued:
    """Changes made by a thread with a connection of its own, in one transaction for all that wait."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._worker = Worker[Job | Waiter | threading.Event](
            "threadloom-index", self._work, linger=LINGER_SECONDS, urgent=lambda job: not isinstance(job, Job)
        )
        self._db: sqlite3.Connection | None = None
        self._left: list[Job] = []  # could not be made yet
        self._whole = True  # none was left out
        self._failed: StoreError | None = None  # nobody was told of it yet
        self._counting = threading.Lock()
        self._waiting: list[Waiter] = []
        self._open = 0  # changes that are not made yet

    def do(self, change: Change, then: Callable[[], None] = nothing) -> None:
        """See `Writer.do`."""
        with self._counting:  # before it can be made: else who asks in between would not wait for another's
            self._open += 1
        self._worker.put(Job(change, then))

    async def settled(self) -> None:
        """See `Writer.settled`."""
        if self._open or self._failed is not None:
            if not self._waiting:  # whoever speaks in the same round of the loop shares the commit
                asyncio.get_running_loop().call_soon(self._hurry)
            self._waiting.append(waiter := Waiter.here())
            await waiter.future

    def _hurry(self) -> None:
        waiting, self._waiting = self._waiting, []
        try:
            self._worker.put(*waiting)
        except StoreError as closed:
            tell(waiting, closed)

    def flush(self) -> None:
        """See `Writer.flush`."""
        self.passed().wait(FLUSH_SECONDS)

    def passed(self) -> threading.Event:
        """See `Writer.passed`."""
        done = threading.Event()
        self._worker.put(done)
        return done

    def close(self) -> bool:
        """See `Writer.close`."""
        ended = self._worker.close()
        if ended and self._db is not None:  # nothing is closed while it is in use
            self._db.close()
            self._db = None
        return ended and self._whole and not self._left and self._failed is None

    def _work(self, jobs: list[Job | Waiter | threading.Event]) -> float | None:
        waiters = [job for job in jobs if isinstance(job, Waiter)]
        changes = self._left + [job for job in jobs if isinstance(job, Job)]
        self._left, error, lost = self._make(changes)
        self._whole = self._whole and not lost
        error = error or self._failed
        for change in changes[: len(changes) - len(self._left)]:
            change.then()
        with self._counting:
            self._open -= len(changes) - len(self._left)
            self._failed = None if waiters else error
        tell(waiters, error)
        for job in jobs:
            if isinstance(job, threading.Event):
                job.set()
        if error is not None and jobs and not waiters:
            _log.error("the index could not be written", path=str(self._path), reason=str(error))
        return RETRY_SECONDS if self._left else None

    def _make(self, changes: list[Job]) -> Outcome:
        if not changes:
            return MADE
        try:
            self._db = self._db or database.connect(self._path)
        except sqlite3.Error as fault:
            return Outcome(changes, unusable(fault))
        found = _apply(self._db, changes)
        if isinstance(cause := found.error and found.error.__cause__, sqlite3.Error) and database.is_damage(cause):
            database.mark_damaged(self._path)
        return found


class Outcome(NamedTuple):
    """What became of some changes."""

    left: list[Job]  # can be tried again: the last of them
    error: StoreError | None = None
    lost: bool = False  # one that cannot be made was left out: the index is behind the logs for good


MADE: Final = Outcome([])


def _apply(db: sqlite3.Connection, changes: Sequence[Job]) -> Outcome:
    """Make changes together.

    What the system refuses (a full disk) is tried again. A change that cannot be made is left out, so that it is in
    nobody's way, and whoever asks is told.
    """
    try:
        db.execute("BEGIN IMMEDIATE")
        for change in changes:
            change.change(db)
        db.execute("COMMIT")
    except sqlite3.OperationalError as fault:
        _roll_back(db)
        return Outcome(list(changes), unusable(fault))
    except Exception as fault:  # the writer's boundary: one change that cannot be made ends nothing else
        _roll_back(db)
        if len(changes) > 1:
            return _one_by_one(db, changes)
        return Outcome([], fault if isinstance(fault, StoreError) else unusable(fault), lost=True)
    return MADE


def _one_by_one(db: sqlite3.Connection, changes: Sequence[Job]) -> Outcome:
    failed: list[StoreError] = []
    for at, change in enumerate(changes):
        left, error, lost = _apply(db, [change])
        if left:
            return Outcome(list(changes[at:]), error, lost=bool(failed))
        failed += [error] if error and lost else []
    return Outcome([], failed[0], lost=True) if failed else MADE


def _roll_back(db: sqlite3.Connection) -> None:
    if db.in_transaction:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")


def unusable(fault: Exception) -> StoreError:
    """The error for whoever asked."""
    code = getattr(fault, "sqlite_errorcode", 0) & 0xFF
    damaged = isinstance(fault, sqlite3.Error) and fault.__class__ is sqlite3.DatabaseError
    advice = _ADVICE.get(code, " It is made anew at the next start." if damaged else "")
    error = StoreError(f"The index of threads cannot be used: {fault}.{advice}")
    error.__cause__ = fault
    return error


_ADVICE: Final = {
    sqlite3.SQLITE_FULL: " Free some space and try again.",
    sqlite3.SQLITE_READONLY: " Make the home writable, or set THREADLOOM_HOME to another folder.",
}
