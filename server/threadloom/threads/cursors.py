"""Pages of long lists: how much is on one, and the cursors from one to the next."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from threadloom.store.listing import number
from threadloom.store.rows import Direction, ItemRow, TurnRow
from threadloom_protocol.errors import InvalidRequest

PAGE: Final = 25
MAX_PAGE: Final = 100

T = TypeVar("T")
RowT = TypeVar("RowT", TurnRow, ItemRow)


def size(asked: int | None) -> int:
    """How much a page has."""
    return PAGE if asked is None else min(max(asked, 1), MAX_PAGE)


def encode(place: str) -> str:
    """A place in a list, as clients carry it."""
    return base64.urlsafe_b64encode(place.encode()).decode()


def decode(cursor: str | None, read: Callable[[str], T]) -> T | None:
    """The place that a cursor means; `read` raises `ValueError` where no such list has given it."""
    if cursor is None:
        return None
    try:
        return read(base64.urlsafe_b64decode(cursor.encode()).decode())
    except ValueError:
        raise InvalidRequest(f"invalid cursor: {cursor}") from None


# ── lists in the order of a log ───────────────────────────────────────────────────────────────────────────────────────


def behind(seq: int) -> str:
    """The place behind a seq, in either direction."""
    return encode(f"s{seq}")


def at(seq: int) -> str:
    """The place of that seq itself."""
    return encode(f"at{seq}")


def after(cursor: str | None, direction: Direction) -> int | None:
    """The seq behind which a page begins."""
    return decode(cursor, partial(_seq, direction))


def _seq(direction: Direction, place: str) -> int:
    if place.startswith("at"):
        return number(place[2:]) + (1 if direction == "desc" else -1)
    if not place.startswith("s"):
        raise ValueError(place)
    return number(place[1:])


def paged(rows: list[RowT], limit: int, direction: Direction) -> tuple[list[RowT], str | None, str | None]:
    """A page, where it goes on, and where the other direction begins: with this page's first row, once more."""
    page = rows[:limit] if limit else rows
    following = behind(page[-1].seq) if limit and len(rows) > limit else None
    before = 1 if direction == "desc" else -1
    return page, following, behind(page[0].seq - before) if page else None
