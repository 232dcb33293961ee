"""Opening the index: one version of the tables, in one mode; what is damaged or of another version is made anew."""

from __future__ import annotations

import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from threadloom.log import logger
from threadloom.store import schema
from threadloom.store.faults import remove, touch

_log = logger(__name__)

BUSY_SECONDS: Final = 10.0  # another process may be writing; it holds the lock for milliseconds
READ_MILLISECONDS: Final = 1000  # reads happen on the loop, and wait for nobody as a rule
PATIENCE: Final = 0.01  # seconds between attempts where SQLite does not wait by itself


def connect(path: Path | None) -> sqlite3.Connection:
    """A connection for any thread; transactions are begun by hand."""
    db = sqlite3.connect(path or ":memory:", timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
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
    if _marker(path).exists():
        _discard(path)
    try:
        return _prepared(path)
    except sqlite3.DatabaseError as fault:
        if not is_damage(fault):
            raise
        _log.warning("the index is damaged and made anew", path=str(path), reason=str(fault))
        _discard(path)
        return _prepared(path)


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
    for name in ("", "-wal", "-shm", ".damaged"):
        remove(path.with_name(path.name + name))


def _prepared(path: Path) -> sqlite3.Connection:
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
