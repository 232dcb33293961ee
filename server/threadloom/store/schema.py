"""The tables of the index, and how rows get into them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any, Final, NamedTuple

from threadloom.store import messages, saved
from threadloom.store.rows import Base, Folded, Hidden, Row
from threadloom.store.words import caseless

VERSION: Final = 5
WHOLE: Final = 1  # the mark of an index that has had all that the logs had

# What only a load or the wire needs lies apart, so that going through many threads reads little.
_BODY: Final = ("thread", "state")
COLUMNS: Final = [field.name for field in fields(Row)]
_PLAIN: Final = [name for name in COLUMNS if name not in _BODY]
_plain: Final = attrgetter(*_PLAIN)

TABLES: Final = f"""
CREATE TABLE threads (
    thread_id TEXT PRIMARY KEY, owner TEXT, root TEXT NOT NULL, forked_from TEXT,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, recency_at INTEGER NOT NULL,
    source_kind TEXT NOT NULL, provider TEXT NOT NULL, cwd TEXT NOT NULL, name TEXT, preview TEXT NOT NULL,
    archived INTEGER NOT NULL, closed INTEGER NOT NULL, "offset" INTEGER NOT NULL, seq INTEGER NOT NULL,
    originator TEXT, git_branch TEXT, path TEXT, due INTEGER NOT NULL,
    folded TEXT NOT NULL,              -- name and preview, as search sees them
    gone INTEGER NOT NULL DEFAULT 0    -- deleted, but a fork stands on it
);
CREATE INDEX threads_created ON threads (archived, created_at, thread_id) WHERE gone = 0;
CREATE INDEX threads_updated ON threads (archived, updated_at, thread_id) WHERE gone = 0;
CREATE INDEX threads_recency ON threads (archived, recency_at, thread_id) WHERE gone = 0;
CREATE INDEX threads_owner ON threads (owner, created_at, thread_id) WHERE owner IS NOT NULL;
CREATE INDEX threads_due ON threads (thread_id) WHERE due = 1 AND gone = 0;
CREATE TABLE bodies (thread_id TEXT PRIMARY KEY, thread BLOB NOT NULL, state BLOB NOT NULL);
CREATE TABLE bases (thread_id TEXT PRIMARY KEY, base TEXT NOT NULL, seq INTEGER NOT NULL, "offset" INTEGER NOT NULL);
CREATE INDEX bases_base ON bases (base);
CREATE TABLE hidden (
    thread_id TEXT, from_seq INTEGER, by_seq INTEGER, PRIMARY KEY (thread_id, from_seq, by_seq)
) WITHOUT ROWID;
CREATE TABLE turns (
    thread_id TEXT, turn_id TEXT, seq INTEGER NOT NULL, start INTEGER NOT NULL, last INTEGER NOT NULL,
    status TEXT NOT NULL, PRIMARY KEY (thread_id, turn_id)
) WITHOUT ROWID;
CREATE INDEX turns_order ON turns (thread_id, seq);
CREATE TABLE items (
    thread_id TEXT, turn_id TEXT, item_id TEXT, seq INTEGER NOT NULL, "offset" INTEGER NOT NULL,
    PRIMARY KEY (thread_id, turn_id, item_id)
) WITHOUT ROWID;
CREATE INDEX items_order ON items (thread_id, seq);
CREATE INDEX items_id ON items (thread_id, item_id);
{saved.TABLES.strip()}
{messages.TABLES.strip()}
"""


def _names(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


_SET: Final = ", ".join(f'"{name}" = excluded."{name}"' for name in [*_PLAIN[1:], "folded"])
_PUT_THREAD: Final = (
    f"INSERT INTO threads ({_names(_PLAIN)}, folded) VALUES ({', '.join('?' * (len(_PLAIN) + 1))}) "  # noqa: S608
    f"ON CONFLICT (thread_id) DO UPDATE SET {_SET}"
)
# What a process tells late of a thread that another has gone on with since does not count.
_LATER: Final = ' WHERE (excluded.seq, excluded."offset") >= (seq, "offset")'
_PUT_BODY: Final = "INSERT OR REPLACE INTO bodies (thread_id, thread, state) VALUES (?, ?, ?)"
_PUT_TURN: Final = "INSERT OR REPLACE INTO turns VALUES (?, ?, ?, ?, ?, ?)"
# An item stays where it began, however late it ends.
_PUT_ITEM: Final = (
    "INSERT INTO items VALUES (?, ?, ?, ?, ?) ON CONFLICT (thread_id, turn_id, item_id) "
    'DO UPDATE SET seq = min(seq, excluded.seq), "offset" = excluded."offset"'
)

# The same columns in the order of `Row`; lists leave the state where it is.
SELECT_ROW: Final = "SELECT " + ", ".join(f'{"b" if name in _BODY else "t"}."{name}"' for name in COLUMNS)
SELECT_LISTED: Final = SELECT_ROW.replace('b."state"', "x''")
FROM_THREADS: Final = " FROM threads t JOIN bodies b USING (thread_id) "


def to_row(values: tuple[object, ...]) -> Row:
    """A row as it was put."""
    row = Row(*values)  # type: ignore[arg-type]
    row.archived, row.closed, row.due = bool(row.archived), bool(row.closed), bool(row.due)
    return row


def search_text(row: Row) -> str:
    """What a search looks through: the sign between name and preview is in no search."""
    return caseless(f"{row.name or ''}\x1f{row.preview}")


def put(db: sqlite3.Connection, rows: Folded, *, anyway: bool = False) -> None:
    """Rows of one thread, unless later ones are there; `anyway`: the log is what counts, be it shorter than it was."""
    row, turns, items, _, texts, names = rows
    if not db.execute(_PUT_THREAD + ("" if anyway else _LATER), (*_plain(row), search_text(row))).rowcount:
        return
    db.execute(_PUT_BODY, (row.thread_id, row.thread, row.state))
    if turns:
        db.executemany(_PUT_TURN, turns)
    if items:
        db.executemany(_PUT_ITEM, items)
    if texts:
        messages.put(db, texts)
    if names:
        saved.put(db, names)


class Mark(NamedTuple):
    """What the index knows of a log: enough to see whether it lags behind it."""

    offset: int
    seq: int
    path: str | None
    root: str
    gone: bool


SELECT_MARK: Final = 'SELECT "offset", seq, path, root, gone, thread_id FROM threads'


def to_mark(values: Sequence[Any]) -> Mark:
    """A mark as it was selected."""
    offset, seq, path, root, gone, _ = values
    return Mark(offset, seq, path, root, bool(gone))


class Replay(NamedTuple):
    """What a replay found, and from where."""

    folded: Folded
    base: Base | None
    known: Mark | None  # what the index knew of the log
    whole: bool  # from the beginning: what was there before does not count
    gone: bool


def put_replay(db: sqlite3.Connection, replay: Replay) -> None:
    """Rows of one thread, as its log tells it; unless somebody wrote them since."""
    folded, base, known, whole, gone = replay
    thread_id = folded.row.thread_id
    found = db.execute(f"{SELECT_MARK} WHERE thread_id = ?", (thread_id,)).fetchone()
    if (found and to_mark(found)) != known:
        return
    if whole:
        _clear(db, thread_id, ("hidden", "turns", "items", "sessions"))
    put(db, folded, anyway=True)
    if base is not None:
        put_base(db, thread_id, base)
    for hidden in folded.hidden:
        hide(db, thread_id, hidden)
    db.execute("UPDATE threads SET gone = ? WHERE thread_id = ?", (gone, thread_id))


def put_base(db: sqlite3.Connection, thread_id: str, base: Base) -> None:
    """Where a fork starts."""
    db.execute("INSERT OR REPLACE INTO bases VALUES (?, ?, ?, ?)", (thread_id, *base))


def hide(db: sqlite3.Connection, thread_id: str, hidden: Hidden) -> None:
    """A revert."""
    db.execute("INSERT OR IGNORE INTO hidden VALUES (?, ?, ?)", (thread_id, *hidden))


def hide_up_to_now(db: sqlite3.Connection, thread_id: str, from_seq: int) -> None:
    """A revert, of all that was put before it."""
    found = db.execute("SELECT seq FROM threads WHERE thread_id = ?", (thread_id,)).fetchone()
    hide(db, thread_id, Hidden(from_seq, found[0] + 1 if found else from_seq))


class Erased(NamedTuple):
    """A thread that nothing is left of in the index."""

    thread_id: str
    path: str | None


def _is_free(path: str | None) -> bool:
    return True


def drop(
    db: sqlite3.Connection, thread_id: str, free: Callable[[str | None], bool] = _is_free, *, purge: bool = False
) -> list[Erased]:
    """Take a thread out of the lists; what nobody needs any more goes: itself, and bases it was the last to need.

    `purge`: it goes itself, whoever needs it. `free` says of a log whether it can go, for all that the index knows.
    """
    db.execute("UPDATE threads SET gone = 1 WHERE thread_id = ?", (thread_id,))
    found = db.execute("SELECT path FROM threads WHERE thread_id = ?", (thread_id,)).fetchone()
    erased: list[Erased] = []
    at: tuple[str, str | None] | None = (thread_id, found and found[0])
    while at and (purge or (not needed(db, at[0]) and free(at[1]))):
        purge = False
        erased.append(Erased(*at))
        at = db.execute(
            "SELECT t.thread_id, t.path FROM bases b JOIN threads t ON t.thread_id = b.base AND t.gone = 1 "
            "WHERE b.thread_id = ?",
            (at[0],),
        ).fetchone()
        _clear(db, erased[-1].thread_id, ("threads", "bodies", "bases", "hidden", "turns", "items", "sessions"))
    return erased


def _clear(db: sqlite3.Connection, thread_id: str, tables: Sequence[str]) -> None:
    for table in tables:
        db.execute(f"DELETE FROM {table} WHERE thread_id = ?", (thread_id,))  # noqa: S608 (our names)
    messages.drop(db, thread_id)


def needed(db: sqlite3.Connection, thread_id: str) -> bool:
    """Whether a fork or a saved name needs the log of a thread."""
    forked = db.execute("SELECT 1 FROM bases WHERE base = ? LIMIT 1", (thread_id,)).fetchone()
    return forked is not None or saved.needed(db, thread_id)
