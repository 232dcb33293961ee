"""Reading the index: the loop has a connection to itself and waits for nobody; all other threads share one.

A connection is closed between two statements, never under one: SQLite would take the process along.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import Any

from threadloom.store.errors import StoreError


class Shared:
    """A connection that several threads use, one at a time."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.lock = threading.RLock()
        self._closed = False

    def all(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """Every row."""
        with self.lock:
            if self._closed:
                raise StoreError("The store is closed.")
            return self.db.execute(sql, values).fetchall()

    def close(self) -> None:
        """End what runs, and close."""
        if not self._closed:
            self.db.interrupt()
        with self.lock:
            if not self._closed:
                self._closed = True
                self.db.close()


class Readers:
    """Asks for rows from any thread. Belongs to the thread that made it."""

    def __init__(self, own: Shared, connect: Callable[[], sqlite3.Connection] | None) -> None:
        self._home = threading.get_ident()
        self._own = own
        self._connect = connect  # none for an index in memory: there is only one connection to that
        self._aside: Shared | None = None
        self._opening = threading.Lock()
        self._closed = False

    def all(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """Every row. Raises `sqlite3.Error`, and `StoreError` once it is closed."""
        return self._mine().all(sql, values)

    def _mine(self) -> Shared:
        if self._connect is None or threading.get_ident() == self._home:
            return self._own
        with self._opening:
            if self._closed:
                raise StoreError("The store is closed.")
            if self._aside is None:
                self._aside = Shared(self._connect())
            return self._aside

    def close(self) -> None:
        """Let go of every connection."""
        with self._opening:
            self._closed = True
        for it in (self._aside, self._own):
            if it is not None:
                it.close()
