"""Threads, turns and items as they are read back: from the index and, by offset, from the log."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import orjson
from anyio.lowlevel import checkpoint

from threadloom.store.base import Store
from threadloom.store.rows import Direction, ItemRow, Row, TurnRow
from threadloom.threads import endings
from threadloom.threads.lost import lost_item
from threadloom.threads.pages import CHUNK, NOTHING, Known, Turns, Written, entry
from threadloom.threads.replay import Replayed
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2.history import ThreadItemEntry
from threadloom_protocol.v2.values.items import (
    AgentMessageThreadItem,
    CommandExecutionThreadItem,
    ThreadItem,
    UserMessageThreadItem,
)
from threadloom_protocol.v2.values.status import ActiveThreadStatus, NotLoadedThreadStatus
from threadloom_protocol.v2.values.threads import Thread as View
from threadloom_protocol.v2.values.turns import Turn, TurnItemsView, TurnsPage

if TYPE_CHECKING:
    from threadloom.threads.manager import Manager
    from threadloom.threads.thread import Thread

PAGE: Final = 25
_NOT_LOADED: Final = {"type": "notLoaded"}
MAX_PAGE: Final = 100


class Slice(NamedTuple):
    """Part of a longer list, with the ways on and back."""

    data: list[Any]
    next: str | None
    back: str | None


class Reader:
    """Reads what is stored; what runs in this process is shown as it stands."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager

    def view(self, thread_id: str) -> View:
        """A thread without its turns."""
        loaded = self._manager.loaded.get(thread_id)
        return loaded.state.snapshot() if loaded else self.stored(self._manager.row(thread_id))

    def stored(self, row: Row) -> View:
        """A thread as a list shows it."""
        loaded = self._manager.loaded.get(row.thread_id)
        if loaded is not None:
            return loaded.state.snapshot()
        view = View.model_validate(orjson.loads(row.thread))
        waits = isinstance(view.status, ActiveThreadStatus) and view.status.active_flags  # suspended, not stale
        status = view.status if waits else NotLoadedThreadStatus()
        return view.model_copy(update={"status": status, "seq": row.seq, "turns": []})

    def listed(self, row: Row) -> bytes:
        """The same as JSON: what the index has is nearly that."""
        loaded = self._manager.loaded.get(row.thread_id)
        if loaded is not None:
            return loaded.state.snapshot().to_json()
        view = orjson.loads(row.thread)
        waits = view["status"].get("activeFlags")  # suspended, not stale
        return orjson.dumps(view | {"status": view["status"] if waits else _NOT_LOADED, "seq": row.seq, "turns": []})

    def turns(
        self,
        thread_id: str,
        *,
        cursor: str | None = None,
        limit: int = 0,
        direction: Direction = "asc",
        items: TurnItemsView = "full",
    ) -> Slice:
        """A page of turns."""
        store = self._manager.store(thread_id)
        after = _decode(cursor, direction)
        rows = store.index.turns(thread_id, after=after, limit=limit and limit + 1, direction=direction)
        page, following, back = _page(rows, limit, direction)
        return Slice([self._turn(store, thread_id, row, items) for row in page], following, back)

    def page(
        self,
        thread_id: str,
        limit: int | None,
        direction: Direction,
        items: TurnItemsView,
        *,
        cursor: str | None = None,
    ) -> TurnsPage:
        """A page of turns, as clients get it."""
        found = self.turns(thread_id, cursor=cursor, limit=self.clamp(limit), direction=direction, items=items)
        return TurnsPage(data=found.data, next_cursor=found.next, backwards_cursor=found.back)

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
        store = self._manager.store(thread_id)
        after = _decode(cursor, direction)
        rows = store.index.turns(thread_id, after=after, limit=limit and limit + 1, direction=direction)
        page, following, back = _page(rows, limit, direction)
        return Written(Turns(self, store, thread_id, items).written(page, direction, known), following, back)

    async def gathered(self, thread_id: str) -> Known:
        """The turns of a thread, as far as they are over: others go first in between, however many they are."""
        store = self._manager.store(thread_id)
        rows = store.index.turns(thread_id)
        found: dict[TurnRow, bytes] = {}
        turns = Turns(self, store, thread_id, "full")
        for at in range(0, len(rows), CHUNK):
            found |= {row: it for row, it in turns.some(rows[at : at + CHUNK], "asc") if it is not None}
            await checkpoint()
        return found

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
        store = self._manager.store(thread_id)
        page, following, back = self._item_page(store, thread_id, turn_id, cursor, after_item, limit, direction)
        lines = store.lines([(row.thread_id, row.offset) for row in page])
        data = [entry(row, line) for row, line in zip(page, lines, strict=True)]
        if None in data:
            told = self._current(store, thread_id, self._entries(store, page))
            data = [it.to_json() for it in told]
        return Written([it for it in data if it is not None], following, back)

    def told(self, store: Store, thread_id: str, row: TurnRow, items: TurnItemsView) -> bytes:
        """One turn as JSON, whatever its state."""
        return self._turn(store, thread_id, row, items).to_json()

    def turn(self, thread_id: str, turn_id: str, *, items: TurnItemsView = "notLoaded") -> Turn | None:
        """One turn."""
        store = self._manager.store(thread_id)
        row = store.index.turn(thread_id, turn_id)
        return None if row is None else self._turn(store, thread_id, row, items)

    def last_cursor(self, thread_id: str, what: Literal["turns", "items"]) -> str | None:
        """Where paging backwards from the end begins."""
        index = self._manager.store(thread_id).index
        rows: Sequence[TurnRow | ItemRow] = getattr(index, what)(thread_id, limit=1, direction="desc")
        return _encode(rows[0].seq + 1) if rows else None

    def cursor_at(self, thread_id: str, turn_id: str) -> str:
        """A page that begins with a turn, in either direction."""
        row = self._manager.store(thread_id).index.turn(thread_id, turn_id)
        return _encode(row.seq if row is not None else 0, "at")

    @staticmethod
    def clamp(limit: int | None) -> int:
        """A page's size."""
        return PAGE if limit is None else min(max(limit, 1), MAX_PAGE)

    def _turn(self, store: Store, thread_id: str, row: TurnRow, items: TurnItemsView) -> Turn:
        if row.status == "inProgress":
            open_turn = self._open(store, thread_id)
            if open_turn is not None and open_turn.id == row.turn_id:
                return _shown(open_turn, items)
        [line] = store.lines([(row.thread_id, row.last)])
        damaged = {"id": row.turn_id, "items": [], "status": row.status}
        turn = Turn.model_validate((line.params or {}).get("turn", damaged))
        if turn.status == "inProgress":  # it is not the one that is open: nobody runs it, and nobody could say so
            turn = turn.model_copy(update={"status": "interrupted"})
        if items == "notLoaded":
            return turn.model_copy(update={"items": [], "items_view": "notLoaded"})
        entries = self._entries(store, store.index.items(thread_id, turn_id=row.turn_id))
        found = [it.item if it.completed_at_ms else self._left(store, thread_id, it.item) for it in entries]
        return _shown(turn.model_copy(update={"items": found}), items)

    def _left(self, store: Store, thread_id: str, item: ThreadItem) -> ThreadItem:
        """An item that outlived its turn: as it runs, or as one that nobody runs any more."""
        if not isinstance(item, CommandExecutionThreadItem) or item.status != "inProgress":
            return item
        loaded = self._manager.loaded.get(thread_id)
        if loaded is not None and item.id in loaded.state.rest.left:
            running = loaded.terminals.left().get(item.id)
            return item if running is None else item.model_copy(update={"aggregated_output": running.shown.text()})
        if loaded is None and store.holder(self._manager.row(thread_id).root) is not None:
            return item
        return lost_item(store, thread_id, item)

    def _open(self, store: Store, thread_id: str) -> Turn | None:
        """The turn that is open: as it runs here, or as its log tells where nobody runs it."""
        loaded = self._manager.loaded.get(thread_id)
        if loaded is not None:
            return _open(loaded)
        known = self._manager.row(thread_id)
        log = store.read(thread_id)
        try:
            state = Replayed(log, known).state
        finally:
            log.close()
        if (opened := state.turn) is None:
            return None
        goes_on = state.rest.pending or store.holder(known.root) is not None
        return opened.look() if goes_on else endings.lost(opened)

    def items(
        self,
        thread_id: str,
        *,
        turn_id: str | None = None,
        cursor: str | None = None,
        after_item: str | None = None,
        limit: int = 0,
        direction: Direction = "asc",
    ) -> Slice:
        """A page of items, of the thread or of one turn."""
        store = self._manager.store(thread_id)
        page, following, back = self._item_page(store, thread_id, turn_id, cursor, after_item, limit, direction)
        return Slice(self._current(store, thread_id, self._entries(store, page)), following, back)

    def _item_page(
        self,
        store: Store,
        thread_id: str,
        turn_id: str | None,
        cursor: str | None,
        after_item: str | None,
        limit: int,
        direction: Direction,
    ) -> tuple[list[ItemRow], str | None, str | None]:
        after = _decode(cursor, direction)
        if after_item is not None:
            anchor = store.index.item(thread_id, after_item)
            if anchor is None:
                raise InvalidRequest(f"item not found: {after_item}")
            after = anchor.seq
        rows = store.index.items(
            thread_id, turn_id=turn_id, after=after, limit=limit and limit + 1, direction=direction
        )
        return _page(rows, limit, direction)

    def _current(self, store: Store, thread_id: str, entries: list[ThreadItemEntry]) -> list[ThreadItemEntry]:
        """Items that are being streamed, or were when their server went, with what has come of them."""
        if all(it.completed_at_ms is not None for it in entries):
            return entries
        opened = self._open(store, thread_id)
        streamed = {it.id: it for it in opened.items} if opened is not None else {}
        return [
            it
            if it.completed_at_ms is not None
            else it.model_copy(update={"item": streamed.get(it.item.id) or self._left(store, thread_id, it.item)})
            for it in entries
        ]

    def _entries(self, store: Store, rows: Sequence[ItemRow]) -> list[ThreadItemEntry]:
        return [
            ThreadItemEntry.model_validate(
                {
                    "item": line.params["item"],
                    "turnId": row.turn_id,
                    "completedAtMs": line.params.get("completedAtMs"),
                    "startedAtMs": line.params.get("startedAtMs"),
                }
            )
            for row, line in zip(rows, store.lines([(row.thread_id, row.offset) for row in rows]), strict=True)
            if line.params is not None  # else it is damaged
        ]


def _open(loaded: Thread) -> Turn | None:
    opened = loaded.state.turn
    if opened is None or (loaded.running or loaded.ending) is not None:
        return opened.look() if opened is not None else None
    return opened.look().model_copy(update={"status": "interrupted"})  # it is over, and storage refuses to hear of it


def _shown(turn: Turn, items: TurnItemsView) -> Turn:
    """A turn with all, some or none of its items."""
    match items:
        case "full":
            return turn.model_copy(update={"items_view": "full"})
        case "notLoaded":
            return turn.model_copy(update={"items": [], "items_view": "notLoaded"})
        case _:
            first = next((it for it in turn.items if isinstance(it, UserMessageThreadItem)), None)
            last = next((it for it in reversed(turn.items) if isinstance(it, AgentMessageThreadItem)), None)
            kept = [it for it in (first, last) if it is not None]
            return turn.model_copy(update={"items": kept, "items_view": "summary"})


def _page(rows: list[Any], limit: int, direction: Direction) -> tuple[list[Any], str | None, str | None]:
    """A page, where it goes on, and where the other direction begins: with this page's first row, once more."""
    page = rows[:limit] if limit else rows
    following = _encode(page[-1].seq) if limit and len(rows) > limit else None
    before = 1 if direction == "desc" else -1
    return page, following, _encode(page[0].seq - before) if page else None


def _encode(seq: int, kind: Literal["s", "at"] = "s") -> str:
    """A place behind a seq, or the one of that seq itself."""
    return base64.urlsafe_b64encode(f"{kind}{seq}".encode()).decode()


def _decode(cursor: str | None, direction: Direction) -> int | None:
    if cursor is None:
        return None
    try:
        text = base64.urlsafe_b64decode(cursor.encode()).decode()
        if text.startswith("at"):
            return int(text[2:]) + (1 if direction == "desc" else -1)
        if not text.startswith("s"):
            raise ValueError
        return int(text[1:])
    except ValueError:
        raise InvalidRequest(f"invalid cursor: {cursor}") from None
