"""Messages in the index: every one once, under the log it lies in, with its words for a search."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from threadloom.store.rows import TextRow

# A message is found by its number: that of its log, then its seq. Logs have numbers because they make short keys.
# `plain` is a function of ours (see `words`), which every connection brings along.
TABLES: Final = """
CREATE TABLE shelves (no INTEGER PRIMARY KEY, thread_id TEXT NOT NULL UNIQUE);
CREATE TABLE messages (no INTEGER PRIMARY KEY, turn_id TEXT NOT NULL, item_id TEXT NOT NULL, text TEXT NOT NULL);
CREATE VIRTUAL TABLE texts USING fts5 (text, content = '');
CREATE TRIGGER messages_in AFTER INSERT ON messages BEGIN
    INSERT INTO texts (rowid, text) VALUES (new.no, plain(new.text)); END;
CREATE TRIGGER messages_out AFTER DELETE ON messages BEGIN
    INSERT INTO texts (texts, rowid, text) VALUES ('delete', old.no, plain(old.text)); END;
"""

SEQS: Final = 2**32  # numbers of messages in one log
SHELF: Final = "SELECT no FROM shelves WHERE thread_id = ?"
_PUT: Final = "INSERT OR IGNORE INTO messages VALUES (?, ?, ?, ?)"


def put(db: sqlite3.Connection, rows: Sequence[TextRow]) -> None:
    """Messages of one thread; those that are there already stay."""
    shelf = _shelf(db, rows[0].thread_id)
    db.executemany(_PUT, [(shelf * SEQS + it.seq, it.turn_id, it.item_id, it.text) for it in rows])


def _shelf(db: sqlite3.Connection, thread_id: str) -> int:
    found = db.execute(SHELF, (thread_id,)).fetchone()
    return (
        int(found[0]) if found else int(db.execute("INSERT INTO shelves VALUES (NULL, ?)", (thread_id,)).lastrowid or 0)
    )


def drop(db: sqlite3.Connection, thread_id: str) -> None:
    """Nothing was said in it."""
    for (shelf,) in db.execute(SHELF, (thread_id,)).fetchall():
        db.execute("DELETE FROM messages WHERE no BETWEEN ? AND ?", numbers(shelf, None))
        db.execute("DELETE FROM shelves WHERE no = ?", (shelf,))


def numbers(shelf: int, last: int | None) -> tuple[int, int]:
    """The first and the last number that a message of a log can have, up to a seq."""
    return shelf * SEQS, shelf * SEQS + (SEQS - 1 if last is None else min(last, SEQS - 1))
