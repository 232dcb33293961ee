"""Pages of threads: what a query means in SQL, and the cursors between pages."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import orjson

from threadloom.store.rows import Page, Query, Row
from threadloom.store.schema import FROM_THREADS, SELECT_LISTED
from threadloom.store.words import caseless

_LOWEST: Final = ""  # before and behind every id
_HIGHEST: Final = "~"
_LARGEST: Final = 2**62  # an integer that SQLite can hold

AMONG: Final = "(SELECT value FROM json_each(?))"  # `many` of them: a statement has only so many values of its own

_SUBTREE: Final = """t.thread_id IN (
    WITH RECURSIVE owned (thread_id) AS (
        SELECT thread_id FROM threads WHERE owner = ?
        UNION SELECT threads.thread_id FROM threads JOIN owned ON threads.owner = owned.thread_id
    ) SELECT thread_id FROM owned)"""

_BEGUN: Final = """(t.preview <> '' OR t.name IS NOT NULL
    OR EXISTS (SELECT 1 FROM turns n WHERE n.thread_id = t.thread_id))"""


class Cursor(NamedTuple):
    """A place between two rows of a list."""

    key: int  # the time that is sorted by
    thread_id: str

    def encode(self) -> str:
        """As clients carry it."""
        return base64.urlsafe_b64encode(f"{self.key}/{self.thread_id}".encode()).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str) -> Cursor:
        """As a page gave it. Raises `ValueError`."""
        try:
            data = base64.b64decode(text.encode() + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
            key, thread_id = data.decode().split("/")
            return cls(number(key), thread_id)
        except (binascii.Error, ValueError):
            raise ValueError(f"invalid cursor: {text}") from None


def many(values: Sequence[int | str]) -> str:
    """Values for `AMONG`."""
    return orjson.dumps(values).decode()


def number(text: str) -> int:
    """A number in a cursor. Raises `ValueError` where it is none, or none that a table could have."""
    found = int(text)
    if abs(found) > _LARGEST:
        raise ValueError(f"too large: {text}")
    return found


def statement(query: Query) -> tuple[str, list[Any]]:
    """One row more than the page has, to know whether there is another."""
    where, values = _filters(query)
    key = f"t.{query.sort}"
    if query.cursor is not None:
        where.append(f"({key}, t.thread_id) {'>' if query.direction == 'asc' else '<'} (?, ?)")
        values += Cursor.decode(query.cursor)
    order = f"ORDER BY {key} {query.direction}, t.thread_id {query.direction} LIMIT ?"
    return f"{SELECT_LISTED}{FROM_THREADS}WHERE {' AND '.join(where)} {order}", [*values, query.limit + 1]


def page(query: Query, rows: list[Row]) -> Page:
    """The page that these rows are, the one too many included."""
    shown = rows[: query.limit]
    if not shown:
        return Page([], None, None)
    first = Cursor(getattr(shown[0], query.sort), _HIGHEST if query.direction == "asc" else _LOWEST)
    return Page(shown, behind(query, shown[-1]) if len(rows) > query.limit else None, first.encode())


def behind(query: Query, row: Row) -> str:
    """The cursor that goes on behind a row."""
    return Cursor(getattr(row, query.sort), row.thread_id).encode()


def _filters(query: Query) -> tuple[list[str], list[Any]]:
    among_all = "" if query.only is None else "+"  # they are looked up by their ids, not sought in the order of all
    where, values = ["t.gone = 0", f"{among_all}t.archived = ?"], [query.archived]

    def only(condition: str, *given: Any) -> None:
        where.append(condition)
        values.extend(given)

    for column, wanted in (
        ("source_kind", query.source_kinds),
        ("provider", query.providers),
        ("cwd", query.cwds),
        ("originator", query.originators),
    ):
        if wanted:
            only(f"t.{column} IN ({_marks(wanted)})", *wanted)
    if query.only is not None:
        only(f"t.thread_id IN {AMONG}", many(query.only))
    if query.excluded:
        only(f"t.thread_id NOT IN ({_marks(query.excluded)})", *query.excluded)
    if query.begun:
        only(_BEGUN)
    if query.owner is not None:
        only("t.owner = ?", query.owner)
    if query.ancestor is not None:
        only(_SUBTREE, query.ancestor)
    if query.search:
        only("instr(t.folded, ?) > 0", caseless(query.search))
    return where, values


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
