"""Rows on their way into the tables: known at once, and written together where several of a thread wait."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from threadloom.store.rows import Folded, ItemRow, Row


class Put:
    """Rows of one thread that are written in one step. It grows until the writer takes it."""

    __slots__ = ("rows",)

    def __init__(self, rows: Folded) -> None:
        self.rows = rows

    def join(self, later: Folded) -> None:
        """Write these, too: of the thread itself only what was said last."""
        first = self.rows
        self.rows = Folded(
            later.row,
            [*first.turns, *later.turns],
            _joined([*first.items, *later.items]),
            (),
            [*first.texts, *later.texts],
            [*first.saved, *later.saved],
        )


def _joined(items: Iterable[ItemRow]) -> list[ItemRow]:
    """Each item once: where it began, and as it is now."""
    found: dict[tuple[str, str], ItemRow] = {}
    for it in items:
        known = found.get((it.turn_id, it.item_id), it)
        found[it.turn_id, it.item_id] = it._replace(seq=min(known.seq, it.seq))
    return list(found.values())


class Unwritten:
    """What the tables do not have yet. Whoever asks for a row gets what was put last."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._growing: dict[str, Put] = {}
        self._lock = threading.Lock()

    def get(self, thread_id: str) -> Row | None:
        """The row of a thread, if the tables do not have it yet."""
        return self._rows.get(thread_id)

    def add(self, rows: Folded) -> Put | None:
        """From now on it is this one. What has to be queued for it; none where that has not been taken yet."""
        thread_id = rows.row.thread_id
        with self._lock:
            self._rows[thread_id] = rows.row
            if (waiting := self._growing.get(thread_id)) is not None:
                waiting.join(rows)
                return None
            self._growing[thread_id] = put = Put(rows)
            return put

    def part(self) -> None:
        """What is put from here on comes behind all that is queued."""
        with self._lock:
            self._growing.clear()

    def take(self, put: Put) -> Folded:
        """What is to be written: from here on it does not grow."""
        with self._lock:
            if self._growing.get(put.rows.row.thread_id) is put:
                del self._growing[put.rows.row.thread_id]
            return put.rows

    def discard(self, put: Put) -> None:
        """It is in the tables, or can never be; a later one may be on its way."""
        with self._lock:
            row = put.rows.row
            if self._rows.get(row.thread_id) is row:
                del self._rows[row.thread_id]
