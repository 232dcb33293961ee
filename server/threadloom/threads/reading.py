"""Threads, and pages of their turns and items, as they are read back: from the index and, by offset, from the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import orjson
from anyio.lowlevel import checkpoint

from threadloom.store.rows import Direction, ItemRow, Row, TurnRow
from threadloom.threads import cursors
from threadloom.threads.pages import CHUNK, NOTHING, Json, Known, Turns, Written, entry, side_by_side
from threadloom.threads.past import Past
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2.history import ThreadItemEntry
from threadloom_protocol.v2.values.threads import Thread as View
from threadloom_protocol.v2.values.turns import Turn, TurnItemsView, TurnsPage

if TYPE_CHECKING:
    from threadloom.threads.manager import Manager

_NOT_LOADED: Final = {"type": "notLoaded"}


class Reader:
    """Reads what is stored; what runs in this process is shown as it stands."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager

    # ── threads ───────────────────────────────────────────────────────────────────────────────────────────────────

    def view(self, thread_id: str) -> View:
        """A thread without its turns."""
        loaded = self._manager.loaded.get(thread_id)
        return loaded.state.snapshot() if loaded else View.model_validate(_stored(self._manager.row(thread_id)))

    def listed(self, row: Row) -> bytes:
        """The same as JSON, as a list shows it."""
        loaded = self._manager.loaded.get(row.thread_id)
        return loaded.state.snapshot().to_json() if loaded else orjson.dumps(_stored(row))

    # ── turns ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def turns(
        self, thread_id: str, *, limit: int = 0, direction: Direction = "asc", items: TurnItemsView = "full"
    ) -> TurnsPage:
        """The first page of turns; limit 0 = all."""
        past = Past(self._manager, thread_id)
        page, following, back = _rows(past, None, limit, direction)
        data = [past.turn(row, items) for row in page]
        return TurnsPage(data=data, next_cursor=following, backwards_cursor=back)

    def written(
        self,
        thread_id: str,
        *,
        cursor: str | None = None,
        limit: int = 0,
        direction: Direction = "asc",
        items: TurnItemsView = "full",
        known: Known = NOTHING,
    ) -> Written:
        """A page of turns as JSON; what was gathered before is not read again."""
        past = Past(self._manager, thread_id)
        page, following, back = _rows(past, cursor, limit, direction)
        return Written(Turns(past, items).written(page, direction, known), following, back)

    async def gathered(self, thread_id: str) -> Known:
        """The turns of a thread, as far as they are over: others go first in between, however many they are."""
        past = Past(self._manager, thread_id)
        rows = past.store.index.turns(thread_id)
        found: dict[TurnRow, Json] = {}
        turns = Turns(past, "full")
        for at in range(0, len(rows), CHUNK):
            told = {row: it for row, it in turns.some(rows[at : at + CHUNK], "asc") if it is not None}
            found |= zip(told, side_by_side(list(told.values())), strict=True)
            await checkpoint()
        return found

    def turn(self, thread_id: str, turn_id: str, *, items: TurnItemsView = "notLoaded") -> Turn | None:
        """One turn."""
        past = Past(self._manager, thread_id)
        row = past.store.index.turn(thread_id, turn_id)
        return None if row is None else past.turn(row, items)

    def newest(self, thread_id: str, items: TurnItemsView) -> Turn | None:
        """The last turn."""
        past = Past(self._manager, thread_id)
        rows = past.store.index.turns(thread_id, limit=1, direction="desc")
        return past.turn(rows[0], items) if rows else None

    # ── items ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def items(self, thread_id: str, *, turn_id: str | None = None) -> list[ThreadItemEntry]:
        """All items, of the thread or of one turn."""
        past = Past(self._manager, thread_id)
        return past.entries(past.store.index.items(thread_id, turn_id=turn_id))

    def written_items(
        self,
        thread_id: str,
        *,
        turn_id: str | None = None,
        cursor: str | None = None,
        after_item: str | None = None,
        limit: int = 0,
        direction: Direction = "asc",
    ) -> Written:
        """A page of items as JSON."""
        past = Past(self._manager, thread_id)
        after = cursors.after(cursor, direction) if after_item is None else _place(past, after_item)
        rows = past.store.index.items(
            thread_id, turn_id=turn_id, after=after, limit=limit and limit + 1, direction=direction
        )
        page, following, back = cursors.paged(rows, limit, direction)
        lines = past.store.lines([(row.thread_id, row.offset) for row in page])
        data = [entry(row, line) for row, line in zip(page, lines, strict=True)]
        if None in data:
            data = [it.to_json() for it in past.entries(page)]
        return Written([it for it in data if it is not None], following, back)

    # ── places ────────────────────────────────────────────────────────────────────────────────────────────────────

    def last_cursor(self, thread_id: str, what: Literal["turns", "items"]) -> str | None:
        """Where paging backwards from the end begins."""
        index = self._manager.store(thread_id).index
        rows: Sequence[TurnRow | ItemRow] = getattr(index, what)(thread_id, limit=1, direction="desc")
        return cursors.behind(rows[0].seq + 1) if rows else None

    def cursor_at(self, thread_id: str, turn_id: str) -> str:
        """A page that begins with a turn, in either direction."""
        row = self._manager.store(thread_id).index.turn(thread_id, turn_id)
        return cursors.at(row.seq if row is not None else 0)


def _stored(row: Row) -> dict[str, Any]:
    """A thread that is not loaded, as clients get it: what the index has is nearly that."""
    view: dict[str, Any] = orjson.loads(row.thread)
    waits = view["status"].get("activeFlags")  # suspended, not stale
    return view | {"status": view["status"] if waits else _NOT_LOADED, "seq": row.seq, "turns": []}


def _rows(
    past: Past, cursor: str | None, limit: int, direction: Direction
) -> tuple[list[TurnRow], str | None, str | None]:
    after = cursors.after(cursor, direction)
    rows = past.store.index.turns(past.id, after=after, limit=limit and limit + 1, direction=direction)
    return cursors.paged(rows, limit, direction)


def _place(past: Past, item_id: str) -> int:
    """The seq of an item."""
    found = past.store.index.item(past.id, item_id)
    if found is None:
        raise InvalidRequest(f"item not found: {item_id}")
    return found.seq
