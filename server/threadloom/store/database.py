"""Opening the index: one version of the tables, in one mode; what is damaged or of another version is made anew."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from threadloom.log import logger
from threadloom.store import schema
from threadloom.store.faults import remove, touch
from threadloom.store.words import plain

_log = logger(__name__)

BUSY_SECONDS: Final = 10.0  # another process may be writing; it holds the lock for milliseconds
READ_MILLISECONDS: Final = 1000  # reads happen on the loop, and wait for nobody as a rule
PARTS: Final = ("", "-wal", "-shm")  # what the names of its files end with
PRIVATE: Final = 0o600
PATIENCE: Final = 0.01  # seconds between attempts where SQLite does not wait by itself


def connect(path: Path | None) -> sqlite3.Connection:
    """A connection for any thread; transactions are begun by hand."""
    db = sqlite3.connect(path or ":memory:", timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    db.create_function("plain", 1, plain, deterministic=True)
    if path is not None:
        try:
            db.execute("PRAGMA synchronous = NORMAL")  # with WAL: a loss of power may take the last rows, no more
        except sqlite3.Error:
            db.close()
            raise
    return db


def open_index(path: Path) -> sqlite3.Connection:
    """The index of a home, with its tables. Raises `sqlite3.Error` or `OSError` where there can be none."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = None if _marker(path).exists() else _sound(path)
    if found is None:
        with _alone(path):  # of several that start, only the first makes it anew
            found = None if _marker(path).exists() else _sound(path)
            if found is None:
                mark_damaged(path)  # who comes now, or after one that is killed here, begins with that
                _discard(path)
                found = _prepared(path)
    return found


def _sound(path: Path) -> sqlite3.Connection | None:
    """The index, unless it is damaged."""
    try:
        return _prepared(path)
    except sqlite3.DatabaseError as fault:
        if not is_damage(fault):
            raise
        _log.warning("the index is damaged and made anew", path=str(path), reason=str(fault))
        return None


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    descriptor = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
    until = time.monotonic() + BUSY_SECONDS
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:  # one that is stopped in the middle of it keeps nobody from starting
                if time.monotonic() > until:
                    raise
                time.sleep(PATIENCE)
        yield
    finally:
        os.close(descriptor)


def is_damage(fault: sqlite3.Error) -> bool:
    """Whether the file is broken, and not only out of reach."""
    return getattr(fault, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def mark_damaged(path: Path) -> None:
    """Have the index made anew at the next start: other processes may be using it now."""
    with suppress(OSError):
        touch(_marker(path))


def _marker(path: Path) -> Path:
    return path.with_name(f"{path.name}.damaged")


def _discard(path: Path) -> None:
    for name in (*PARTS, ".damaged"):
        remove(path.with_name(path.name + name))


def _keep_private(path: Path) -> None:
    """Let nobody else read what was said. A new file beside it gets its mode from SQLite, which copies this one's.

    One that is there already is not opened: closing it would let go of the locks that this process has on it.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE))
    for name in PARTS:
        part = path.with_name(path.name + name)
        with suppress(OSError):
            if part.stat().st_mode & 0o077:
                part.chmod(PRIVATE)


def _prepared(path: Path) -> sqlite3.Connection:
    _keep_private(path)
    db = connect(path)
    try:
        _switch_to_wal(db)
        if _version(db) != schema.VERSION:
            make_tables(db)
        _try_to_write(db)
        db.execute(f"PRAGMA busy_timeout = {READ_MILLISECONDS}")
    except sqlite3.Error:
        db.close()
        raise
    return db


def _try_to_write(db: sqlite3.Connection) -> None:
    """Raise where it can only be read: it may lag behind the logs then, and nobody could change that."""
    db.execute("PRAGMA busy_timeout = 0")
    try:
        db.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as fault:
        if fault.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:  # another process is at it, and may be stopped there
            return
        raise
    try:
        db.execute(f"PRAGMA user_version = {schema.VERSION}")
    finally:
        db.execute("ROLLBACK")


def _switch_to_wal(db: sqlite3.Connection) -> None:
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as fault:  # several that open a new file at once do not wait for each other
            if fault.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(PATIENCE)


def make_tables(db: sqlite3.Connection) -> None:
    """Empty tables of this version, in place of whatever is there."""
    db.execute("BEGIN IMMEDIATE")
    try:
        if _version(db) != schema.VERSION:  # else another process was faster
            for virtual in (True, False):  # those that stand for others first, which go with them
                sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND (sql LIKE 'CREATE VIRTUAL %') = ?"
                for (name,) in db.execute(sql, (virtual,)).fetchall():
                    db.execute(f'DROP TABLE "{name}"')
            for statement in schema.TABLES.split(";\n"):
                db.execute(statement)
            db.execute("PRAGMA application_id = 0")
            db.execute(f"PRAGMA user_version = {schema.VERSION}")
        db.execute("COMMIT")
    except sqlite3.Error:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])
