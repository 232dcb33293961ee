"""Turns and items as JSON, straight from the log: what was stored is what clients were shown, so nothing is built anew.

What is open, damaged or left running is told by the `Past`; all else is copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from threadloom.store.rows import Direction, ItemRow, Line, TurnRow
from threadloom_protocol.v2.values.turns import TurnItemsView

if TYPE_CHECKING:
    from threadloom.threads.past import Past

CHUNK: Final = 100  # turns read at once: others go first in between

Json = bytes | memoryview
Known = Mapping[TurnRow, Json]  # turns that were copied before
NOTHING: Final[Known] = MappingProxyType({})


class Written(NamedTuple):
    """Part of a longer list as JSON, with the ways on and back."""

    data: Sequence[Json]
    next: str | None
    back: str | None

    def json(self) -> bytes:
        """As clients get it."""
        tail = orjson.dumps({"nextCursor": self.next, "backwardsCursor": self.back})
        return b'{"data":[%b],%b' % (b",".join(self.data), tail[1:])


class Turns:
    """The turns of one thread, as its logs have them."""

    def __init__(self, past: Past, items: TurnItemsView) -> None:
        self._past = past
        self._store = past.store
        self._items = items

    def written(self, rows: Sequence[TurnRow], direction: Direction, known: Known = NOTHING) -> list[Json]:
        """Each as JSON, in the order of its rows."""
        new = [it for it in rows if it not in known]
        found = dict(self.some(new, direction)) if new else {}
        return [known[it] if it in known else self._told(it, found[it]) for it in rows]

    def _told(self, row: TurnRow, written: Json | None) -> Json:
        return written if written is not None else self._past.turn(row, self._items).to_json()

    def some(self, rows: Sequence[TurnRow], direction: Direction) -> Iterator[tuple[TurnRow, bytes | None]]:
        """Turns with their JSON: none for those that cannot be copied."""
        for at in range(0, len(rows), CHUNK):
            yield from self._chunk(rows[at : at + CHUNK], direction)

    def _chunk(self, rows: Sequence[TurnRow], direction: Direction) -> Iterator[tuple[TurnRow, bytes | None]]:
        ended = self._store.lines([(row.thread_id, row.last) for row in rows])
        items = self._item_rows(rows, direction) if self._items != "notLoaded" else {}
        wanted = {row.turn_id: self._wanted(items.get(row.turn_id, [])) for row in rows}
        lines = iter(self._store.lines([(it.thread_id, it.offset) for row in rows for it in wanted[row.turn_id]]))
        for row, line in zip(rows, ended, strict=True):
            found = [next(lines) for _ in wanted[row.turn_id]]
            turn = self._turn(line, found)
            yield row, orjson.dumps(turn) if turn is not None else None

    def _item_rows(self, rows: Sequence[TurnRow], direction: Direction) -> dict[str, list[ItemRow]]:
        """The items of neighbouring turns, found at once: those of a turn begin before the next turn does."""
        first, last = (rows[0], rows[-1]) if direction == "asc" else (rows[-1], rows[0])
        behind = self._store.index.turns(self._past.id, after=last.seq, limit=1)
        found: dict[str, list[ItemRow]] = {}
        until = behind[0].seq if behind else None
        for it in self._store.index.items(self._past.id, after=first.seq, until=until):
            found.setdefault(it.turn_id, []).append(it)
        return found

    def _wanted(self, rows: list[ItemRow]) -> list[ItemRow]:
        """A summary has what was asked and what was answered: that comes first, and with the end of the turn."""
        return rows[:1] if self._items == "summary" else rows

    def _turn(self, line: Line, items: list[Line]) -> dict[str, Any] | None:
        """A turn that is over, and whose records are all there."""
        turn = (line.params or {}).get("turn")
        if turn is None or turn["status"] == "inProgress":
            return None
        if any(it.params is None or it.params.get("completedAtMs") is None for it in items):
            return None
        shown = [it.params["item"] for it in items if it.params is not None]
        if self._items == "summary":
            if not shown or shown[0]["type"] != "userMessage" or turn.get("itemsView") != "summary":
                return None
            shown += [it for it in turn["items"] if it["type"] == "agentMessage"]
        return {**turn, "items": shown, "itemsView": self._items}


def side_by_side(pieces: Sequence[bytes]) -> Iterator[memoryview]:
    """The same in one block: strewn among what was needed to make them, they would hold twice the memory they take."""
    block, at = memoryview(b"".join(pieces)), 0
    for it in pieces:
        yield block[at : at + len(it)]
        at += len(it)


def entry(row: ItemRow, line: Line) -> bytes | None:
    """An item as JSON, with the turn that it is of; none where it is not done, or damaged."""
    if line.params is None or line.params.get("completedAtMs") is None:
        return None
    return orjson.dumps({"item": line.params["item"], "turnId": row.turn_id, **times(line.params)})


def times(told: Mapping[str, Any]) -> dict[str, int | None]:
    """When an item began and ended, by its last record: that of the end has the beginning in the item alone."""
    started = told.get("startedAtMs") or told["item"].get("startedAtMs")
    return {"completedAtMs": told.get("completedAtMs"), "startedAtMs": started}
