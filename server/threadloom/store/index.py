"""The index over the logs, in SQLite: what lists, names and trees are read from. It never leads."""

from __future__ import annotations

import sqlite3
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from threadloom.log import logger
from threadloom.store import database, listing, schema
from threadloom.store.past import Past
from threadloom.store.readers import Readers, Shared
from threadloom.store.rows import Base, Direction, Folded, Hidden, ItemRow, Page, Query, Row, SavedRow, TextRow, TurnRow
from threadloom.store.saved import SavedNames
from threadloom.store.texts import Texts
from threadloom.store.unwritten import Unwritten
from threadloom.store.writer import Change, Direct, Queued, Writer, nothing, unusable

_log = logger(__name__)


class SqliteIndex:
    """The index of a home, or one in memory where there is no path or nothing can be written there.

    Reads happen at once, on a connection of their own; changes are made by a thread. In memory both share one.
    """

    def __init__(self, path: Path | None, seek: Callable[[str, int], int], behind: SqliteIndex | None = None) -> None:
        self._path = path
        db, at = _opened(path)
        own = Shared(db)
        self._file = _identity(at)
        self._readers = Readers(own, partial(database.connect, at) if at else None)
        self._writer: Writer = Queued(at) if at else Direct(own)
        self._unwritten = Unwritten()
        self._past: Past = Past(self._all, seek, behind._past if behind else None)
        self.saved = SavedNames(self._all)
        self.texts: Texts = Texts(self._all, seek, behind.texts if behind else None)

    @property
    def shared(self) -> bool:
        """Whether other processes see it, and it sees what they write: no other has taken its place meanwhile."""
        return self._file is not None and self._file == _identity(self._path)

    # ── changes ───────────────────────────────────────────────────────────────────────────────────────────────────

    def put(
        self,
        row: Row,
        turns: Sequence[TurnRow] = (),
        items: Sequence[ItemRow] = (),
        texts: Sequence[TextRow] = (),
        saved: Sequence[SavedRow] = (),
    ) -> None:
        """See `Index.put`."""
        waiting = self._unwritten
        if (put := waiting.add(Folded(row, turns, items, (), texts, saved))) is not None:
            self._writer.do(lambda db: schema.put(db, waiting.take(put)), lambda: waiting.discard(put))

    def hide(self, thread_id: str, from_seq: int, by_seq: int | None = None) -> None:
        """See `Index.hide`."""
        if by_seq is None:
            self.do(lambda db: schema.hide_up_to_now(db, thread_id, from_seq))
        else:
            self.do(lambda db: schema.hide(db, thread_id, Hidden(from_seq, by_seq)))

    def conceal(self, thread_id: str, *, concealed: bool) -> None:
        """See `Index.conceal`."""
        self.do(lambda db: _nothing(db.execute(_CONCEAL, (concealed, thread_id))))

    def drop(self, thread_id: str) -> None:
        """See `Index.drop`."""
        self.do(lambda db: _nothing(schema.drop(db, thread_id)))

    def put_base(self, thread_id: str, base: Base, then: Callable[[], None] = nothing) -> None:
        """Queue where a fork starts: from now on its base is needed. `then`: other processes know, too."""
        self.do(lambda db: schema.put_base(db, thread_id, base), then)

    def do(self, change: Change, then: Callable[[], None] = nothing) -> None:
        """Queue a change, and what to do once it is made or given up."""
        self._unwritten.part()
        self._writer.do(change, then)

    async def settled(self) -> None:
        """See `Index.settled`."""
        await self._writer.settled()

    def written(self, thread_id: str) -> bool:
        """See `Index.written`."""
        return self._unwritten.get(thread_id) is None

    def flush(self) -> None:
        """Wait for what is queued, in a thread that is not the loop's."""
        self._writer.flush()

    def passed(self) -> threading.Event:
        """Set once all that was queued before is made, or was tried."""
        return self._writer.passed()

    @property
    def whole(self) -> bool:
        """Whether it has had all that the logs had, at some time: it was not made anew since."""
        return bool(self._all("PRAGMA application_id") == [(schema.WHOLE,)])

    async def completed(self) -> None:
        """It has all that the logs have. Raises `StoreError`."""
        if not self.whole:  # who is idle writes nothing
            self.do(lambda db: _nothing(db.execute(f"PRAGMA application_id = {schema.WHOLE}")))
            await self.settled()

    def close(self) -> bool:
        """Make what is queued and let the file go; whether all of it could be made."""
        made = self._writer.close()
        self._readers.close()
        return made

    # ── threads ───────────────────────────────────────────────────────────────────────────────────────────────────

    def get(self, thread_id: str) -> Row | None:
        """See `Index.get`."""
        if (row := self._unwritten.get(thread_id)) is not None:
            return row
        sql = f"{schema.SELECT_ROW}{schema.FROM_THREADS}WHERE t.thread_id = ? AND t.gone = 0"
        return next((schema.to_row(values) for values in self._all(sql, (thread_id,))), None)

    def threads(self, query: Query) -> Page:
        """See `Index.threads`."""
        return listing.page(query, [schema.to_row(values) for values in self._all(*listing.statement(query))])

    def children(self, thread_id: str) -> list[str]:
        """See `Index.children`."""
        sql = "SELECT thread_id FROM threads WHERE owner = ? AND gone = 0 ORDER BY created_at, thread_id"
        return [child for (child,) in self._all(sql, (thread_id,))]

    def descendants(self, thread_id: str) -> list[str]:
        """See `Index.descendants`."""
        return list(self.owned(thread_id))

    def owned(self, thread_id: str) -> dict[str, str]:
        """See `Index.owned`."""
        owners = dict[str, str](self._all(_DESCENDANTS, (thread_id,)))
        children: dict[str, list[str]] = defaultdict(list)
        for child, owner in owners.items():
            children[owner].append(child)
        found = list(children.pop(thread_id, []))
        for it in found:
            found += children.pop(it, [])
        return {it: owners[it] for it in found}

    def states(self, ids: Sequence[str]) -> dict[str, bytes]:
        """See `Index.states`."""
        found: dict[str, bytes] = {}
        for at in range(0, len(ids), MANY):
            some = ids[at : at + MANY]
            marks = ", ".join("?" * len(some))
            found |= dict(self._all(f"SELECT thread_id, state FROM bodies WHERE thread_id IN ({marks})", some))  # noqa: S608
        return found

    def due(self, root: str | None = None) -> list[str]:
        """See `Index.due`."""
        sql = "SELECT thread_id FROM threads WHERE due = 1 AND gone = 0 AND root = coalesce(?, root) ORDER BY 1"
        return [it for (it,) in self._all(sql, (root,))]

    def path(self, thread_id: str) -> str | None:
        """Where a log lies, of a deleted thread too."""
        return next((path for (path,) in self._all("SELECT path FROM threads WHERE thread_id = ?", (thread_id,))), None)

    def base(self, thread_id: str) -> Base | None:
        """Where a fork starts; none for another thread."""
        found = self._all('SELECT base, seq, "offset" FROM bases WHERE thread_id = ?', (thread_id,))
        return Base(*found[0]) if found else None

    def marks(self, thread_id: str | None = None) -> dict[str, schema.Mark]:
        """What is known of every log, or of one."""
        only, values = ("", ()) if thread_id is None else (" WHERE thread_id = ?", (thread_id,))
        return {it[-1]: schema.to_mark(it) for it in self._all(schema.SELECT_MARK + only, values)}

    def forks(self) -> list[str]:
        """All threads that are known to be forks."""
        return [it for (it,) in self._all("SELECT thread_id FROM bases")]

    # ── turns and items ───────────────────────────────────────────────────────────────────────────────────────────

    def turns(
        self, thread_id: str, *, after: int | None = None, limit: int = 0, direction: Direction = "asc"
    ) -> list[TurnRow]:
        """See `Index.turns`."""
        return self._past.turns(thread_id, after, limit, direction)

    def turn(self, thread_id: str, turn_id: str) -> TurnRow | None:
        """See `Index.turn`."""
        return self._past.turn(thread_id, turn_id)

    def items(
        self,
        thread_id: str,
        *,
        turn_id: str | None = None,
        after: int | None = None,
        until: int | None = None,
        limit: int = 0,
        direction: Direction = "asc",
    ) -> list[ItemRow]:
        """See `Index.items`."""
        return self._past.items(thread_id, turn_id, after, limit, direction, until)

    def item(self, thread_id: str, item_id: str) -> ItemRow | None:
        """See `Index.item`."""
        return self._past.item(thread_id, item_id)

    def _all(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        try:
            return self._readers.all(sql, values)
        except sqlite3.Error as fault:
            if self._path is not None and database.is_damage(fault):
                database.mark_damaged(self._path)
            raise unusable(fault) from fault


MANY: Final = 500  # threads asked for in one statement
_CONCEAL: Final = "UPDATE threads SET gone = ? WHERE thread_id = ?"
_DESCENDANTS: Final = """
WITH RECURSIVE owned (thread_id, owner, created_at) AS (
    SELECT thread_id, owner, created_at FROM threads WHERE owner = ? AND gone = 0
    UNION SELECT t.thread_id, t.owner, t.created_at FROM threads t JOIN owned ON t.owner = owned.thread_id
        WHERE t.gone = 0
) SELECT thread_id, owner FROM owned ORDER BY created_at, thread_id
"""


def _opened(path: Path | None) -> tuple[sqlite3.Connection, Path | None]:
    """A connection, and to which file: without one the index lives as long as the process."""
    if path is not None:
        try:
            return database.open_index(path), path
        except (sqlite3.Error, OSError) as fault:
            _log.warning("the index cannot be kept, lists are made anew", path=str(path), reason=str(fault))
    db = database.connect(None)
    database.make_tables(db)
    return db, None


def _identity(path: Path | None) -> tuple[int, int] | None:
    """Which file has a name now; none where there is no such file."""
    try:
        found = path and path.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found else None


def _nothing(_: object) -> None:
    return None
