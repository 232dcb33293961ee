"""Saved names in the index: which thread a name means, and what a name keeps."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from threadloom.store.rows import Keepers, SavedRow

TABLES: Final = """
CREATE TABLE sessions (
    thread_id TEXT, name TEXT, seq INTEGER NOT NULL, "offset" INTEGER NOT NULL, at INTEGER NOT NULL,
    digest TEXT NOT NULL, deleted INTEGER NOT NULL, PRIMARY KEY (thread_id, name)
) WITHOUT ROWID;
CREATE INDEX sessions_name ON sessions (name, at);
CREATE INDEX sessions_at ON sessions (at, name);
"""

_PUT: Final = (
    "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (thread_id, name) DO UPDATE SET "
    'seq = excluded.seq, "offset" = excluded."offset", at = excluded.at, digest = excluded.digest, '
    "deleted = excluded.deleted WHERE excluded.seq >= seq"
)
# A name means what was last said of it; what was said before, in another thread, does not count any more.
_COUNTS: Final = (
    "s.deleted = 0 AND NOT EXISTS (SELECT 1 FROM sessions o WHERE o.name = s.name "
    "AND (o.at, o.thread_id) > (s.at, s.thread_id))"
)
_COLUMNS: Final = 's.thread_id, s.name, s.seq, s."offset", s.at, s.digest, s.deleted'


def put(db: sqlite3.Connection, rows: Sequence[SavedRow]) -> None:
    """What a log says of names."""
    db.executemany(_PUT, rows)


def needed(db: sqlite3.Connection, thread_id: str) -> bool:
    """Whether a name needs the log of a thread."""
    sql = f"SELECT 1 FROM sessions s WHERE s.thread_id = ? AND {_COUNTS} LIMIT 1"  # noqa: S608 (our own names)
    return db.execute(sql, (thread_id,)).fetchone() is not None


class Session(NamedTuple):
    """A saved name with what its thread says of itself today."""

    row: SavedRow
    thread: bytes  # the wire Thread as JSON
    path: str | None
    gone: bool  # the thread was deleted


class SavedNames:
    """Reads them."""

    def __init__(self, ask: Callable[[str, Sequence[Any]], list[Any]]) -> None:
        self._ask = ask

    def get(self, name: str) -> SavedRow | None:
        """What a name means."""
        return next(iter(self._rows(f"s.name = ? AND {_COUNTS}", (name,))), None)

    def all(self, name: str) -> list[SavedRow]:
        """All that was ever said of a name, as far as it is known: the latest first."""
        return self._rows("s.name = ?", (name,))

    def of(self, thread_id: str) -> list[SavedRow]:
        """The names of a thread, the latest first."""
        return self._rows(f"s.thread_id = ? AND {_COUNTS}", (thread_id,))

    def page(self, limit: int, after: tuple[int, str] | None = None) -> list[Session]:
        """Saved names, the latest first."""
        where, values = (" AND (s.at, s.name) < (?, ?)", after) if after is not None else ("", ())
        sql = (
            f"SELECT {_COLUMNS}, b.thread, t.path, t.gone FROM sessions s "  # noqa: S608 (our own names)
            "JOIN threads t USING (thread_id) JOIN bodies b USING (thread_id) "
            f"WHERE {_COUNTS}{where} ORDER BY s.at DESC, s.name DESC LIMIT ?"
        )
        return [_session(it) for it in self._ask(sql, (*values, limit))]

    def session(self, row: SavedRow) -> Session | None:
        """One of them."""
        sql = "SELECT b.thread, t.path, t.gone FROM threads t JOIN bodies b USING (thread_id) WHERE t.thread_id = ?"
        return next((_session((*row, *it)) for it in self._ask(sql, (row.thread_id,))), None)

    def names(self) -> list[str]:
        """Every saved name."""
        return [name for (name,) in self._ask(f"SELECT s.name FROM sessions s WHERE {_COUNTS} ORDER BY 1", ())]  # noqa: S608

    def beginning(self, prefix: str, limit: int) -> list[str]:
        """The ids of threads that begin so."""
        sql = "SELECT thread_id FROM threads WHERE thread_id >= ? AND thread_id < ? AND gone = 0 ORDER BY 1 LIMIT ?"
        return [it for (it,) in self._ask(sql, (prefix, prefix + "~", limit))]

    def beside(self, text: str) -> list[str]:
        """The ids right before and right behind a text, in their order."""
        below = self._ask("SELECT max(thread_id) FROM threads WHERE thread_id < ? AND gone = 0", (text,))
        above = self._ask("SELECT min(thread_id) FROM threads WHERE thread_id >= ? AND gone = 0", (text,))
        return [it for (it,) in [*below, *above] if it is not None]

    def keepers(self, ids: Sequence[str]) -> Keepers:
        """What still needs the logs of threads, besides these threads themselves."""
        marks = ", ".join("?" * len(ids))
        names = self._rows(f"s.thread_id IN ({marks}) AND {_COUNTS}", ids)
        sql = f"SELECT thread_id FROM bases WHERE base IN ({marks}) AND thread_id NOT IN ({marks}) ORDER BY 1"  # noqa: S608
        return Keepers([it.name for it in names], [it for (it,) in self._ask(sql, (*ids, *ids))])

    def _rows(self, where: str, values: Sequence[Any]) -> list[SavedRow]:
        sql = f"SELECT {_COLUMNS} FROM sessions s WHERE {where} ORDER BY s.at DESC, s.thread_id DESC"  # noqa: S608
        return [_row(it) for it in self._ask(sql, values)]


def _row(values: Sequence[Any]) -> SavedRow:
    thread_id, name, seq, offset, at, digest, deleted = values
    return SavedRow(thread_id, name, seq, offset, at, digest, bool(deleted))


def _session(values: Sequence[Any]) -> Session:
    *row, thread, path, gone = values
    return Session(_row(row), thread, path, bool(gone))
