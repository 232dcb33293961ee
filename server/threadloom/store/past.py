"""Turns and items of a thread's history, through the logs that it and its bases lie in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Any, Final, Generic, NamedTuple, TypeVar

from threadloom.store.base import StoreError
from threadloom.store.rows import Base, Direction, Hidden, ItemRow, TurnRow, outside

AnyRow = TypeVar("AnyRow", TurnRow, ItemRow)
Ask = Callable[[str, Sequence[Any]], list[Any]]  # SQL and its values → rows
Seek = Callable[[str, int], int]  # `EventLog.seek` of a thread
_Where = list[tuple[str, Sequence[Any]]]  # conditions and their values


class _Part(NamedTuple):
    """How much of one log belongs to a history."""

    past: Past
    thread_id: str
    base: Base | None
    limit: int | None  # the last seq; none for all
    cut: int | None  # the offset behind the last line


class _Kind(NamedTuple, Generic[AnyRow]):
    """Turns or items."""

    table: str
    latest: str  # the column with the offset of the row's latest line
    key: Callable[[AnyRow], Any]
    make: Callable[..., AnyRow]
    cut: Callable[[_Part, AnyRow], AnyRow]


class Past:
    """Reads rows through bases. What this index does not know may lie in the one behind it."""

    def __init__(self, ask: Ask, seek: Seek, behind: Past | None) -> None:
        self._ask = ask
        self._seek = seek
        self._behind = behind

    def turns(self, thread_id: str, after: int | None, limit: int, direction: Direction) -> list[TurnRow]:
        """See `Index.turns`."""
        return self._rows(_TURNS, thread_id, {}, after, limit, direction)

    def turn(self, thread_id: str, turn_id: str) -> TurnRow | None:
        """See `Index.turn`."""
        return next(iter(self._rows(_TURNS, thread_id, {"turn_id": turn_id}, None, 1, "desc")), None)

    def items(
        self,
        thread_id: str,
        turn_id: str | None,
        after: int | None,
        limit: int,
        direction: Direction,
        until: int | None = None,
    ) -> list[ItemRow]:
        """See `Index.items`."""
        only = {} if turn_id is None else {"turn_id": turn_id}
        return self._rows(_ITEMS, thread_id, only, after, limit, direction, until)

    def item(self, thread_id: str, item_id: str) -> ItemRow | None:
        """See `Index.item`."""
        return next(iter(self._rows(_ITEMS, thread_id, {"item_id": item_id}, None, 1, "desc")), None)

    def offset(self, part: _Part, seq: int) -> int:
        """Where the line with a seq lies in a log."""
        return self._seek(part.thread_id, seq - 1)

    def _rows(
        self,
        kind: _Kind[AnyRow],
        thread_id: str,
        only: dict[str, str],
        after: int | None,
        limit: int,
        direction: Direction,
        until: int | None = None,
    ) -> list[AnyRow]:
        hidden: list[Hidden] = []
        own: set[Any] = set()  # rows of forks that take the place of their bases'
        pages: list[list[AnyRow]] = []
        for part in self._parts(thread_id):
            hidden += part.past._hidden(part)
            where: _Where = _where(kind, part, only)
            shown = [*where, (outside("seq", hidden), ())]
            if after is not None:
                shown.append((f"seq {'>' if direction == 'asc' else '<'} ?", (after,)))
            if until is not None:
                shown.append((f"seq {'<' if direction == 'asc' else '>'} ?", (until,)))
            # What is asked for by its id is few: it is looked up by that, and not in the order of all.
            some = (f"ORDER BY {'+' if only else ''}seq {direction} LIMIT ?", limit + len(own) if limit else -1)
            pages.append(
                [kind.cut(part, it) for it in part.past._select(kind, shown, *some) if kind.key(it) not in own]
            )
            if part.base is not None:
                inherited = part.past._select(kind, [*where, ("seq <= ?", (part.base.seq,))], "LIMIT ?", -1)
                own.update(map(kind.key, inherited))
        rows = merge(*pages, key=attrgetter("seq"), reverse=direction == "desc")
        return list(islice(rows, limit or None))

    def _select(self, kind: _Kind[AnyRow], where: _Where, tail: str, limit: int) -> list[AnyRow]:
        conditions = " AND ".join(condition for condition, _ in where)
        values: list[Any] = [value for _, given in where for value in given]
        sql = f"SELECT * FROM {kind.table} WHERE {conditions} {tail}"  # noqa: S608 (our own names)
        return [kind.make(*it) for it in self._ask(sql, [*values, limit])]

    def _parts(self, thread_id: str) -> Iterator[_Part]:
        """The logs of a history, its own first."""
        past: Past = self
        limit: int | None = None
        cut: int | None = None
        while True:
            base = past._base(thread_id)
            if limit is None or base is None or limit > base.seq:  # else it was left before this log began
                yield _Part(past, thread_id, base, limit, cut)
            if base is None:
                return
            past, thread_id = past._home(base.thread_id), base.thread_id
            if limit is None or base.seq <= limit:
                limit, cut = base.seq, base.offset
            else:
                try:
                    cut = past._seek(thread_id, limit)
                except StoreError:
                    return  # it was purged: the fork has what came after

    def _base(self, thread_id: str) -> Base | None:
        found = self._ask('SELECT base, seq, "offset" FROM bases WHERE thread_id = ?', (thread_id,))
        return Base(*found[0]) if found else None

    def _home(self, thread_id: str) -> Past:
        """Where the rows of a log are."""
        if self._behind is None or self._ask("SELECT 1 FROM threads WHERE thread_id = ?", (thread_id,)):
            return self
        return self._behind

    def _hidden(self, part: _Part) -> list[Hidden]:
        """Reverts that belong to the history, too."""
        found = self._ask("SELECT from_seq, by_seq FROM hidden WHERE thread_id = ?", (part.thread_id,))
        return [Hidden(*it) for it in found if part.limit is None or it[1] <= part.limit]


def _where(kind: _Kind[AnyRow], part: _Part, only: dict[str, str]) -> _Where:
    where: _Where = [("thread_id = ?", (part.thread_id,)), *((f"{name} = ?", (it,)) for name, it in only.items())]
    if part.limit is not None:
        where.append(("seq <= ?", (part.limit,)))
        if part.base is not None:  # one that took the place of the base's only behind the cut
            where.append((f'(seq > ? OR "{kind.latest}" < ?)', (part.base.seq, part.cut)))
    return where


def _cut_turn(part: _Part, row: TurnRow) -> TurnRow:
    if part.cut is None or (row.last < part.cut and row.status != "inProgress"):
        return row
    return row._replace(last=row.start, status="interrupted")


def _cut_item(part: _Part, row: ItemRow) -> ItemRow:
    if part.cut is None or row.offset < part.cut:
        return row
    return row._replace(offset=part.past.offset(part, row.seq))


_TURNS: Final = _Kind("turns", "last", attrgetter("turn_id"), TurnRow, _cut_turn)
_ITEMS: Final = _Kind("items", "offset", attrgetter("turn_id", "item_id"), ItemRow, _cut_item)
