"""The past of one thread as models: what runs is told as it stands, and what nobody runs any more as it ended."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from threadloom.store.rows import ItemRow, TurnRow
from threadloom.threads import endings
from threadloom.threads.latest import end_of
from threadloom.threads.lost import lost_item
from threadloom.threads.pages import times
from threadloom.threads.replay import Replayed
from threadloom_protocol.v2.history import ThreadItemEntry
from threadloom_protocol.v2.values.items import (
    AgentMessageThreadItem,
    CommandExecutionThreadItem,
    ThreadItem,
    UserMessageThreadItem,
)
from threadloom_protocol.v2.values.turns import Turn, TurnItemsView

if TYPE_CHECKING:
    from threadloom.threads.manager import Manager
    from threadloom.threads.thread import Thread


class Past:
    """The turns and items of a thread, for one look at them: nothing is kept."""

    def __init__(self, manager: Manager, thread_id: str) -> None:
        self._manager = manager
        self.id = thread_id
        self.store = manager.store(thread_id)

    def turn(self, row: TurnRow, items: TurnItemsView) -> Turn:
        """A turn, whatever its state."""
        if row.status == "inProgress":
            open_turn = self._open()
            if open_turn is not None and open_turn.id == row.turn_id:
                return _shown(open_turn, items)
        [line] = self.store.lines([(row.thread_id, row.last)])
        damaged = {"id": row.turn_id, "items": [], "status": row.status}
        turn = Turn.model_validate((line.params or {}).get("turn", damaged))
        if turn.status == "inProgress":  # it is not the one that is open
            if (end := end_of(self.store, self.id, row)) is not None:
                whole = [self._left(it) for it in end.turn.items]
                return _shown(end.turn.model_copy(update={"items": whole}), items)
            turn = turn.model_copy(update={"status": "interrupted"})  # nobody runs it, and nobody could say so
        if items == "notLoaded":
            return turn.model_copy(update={"items": [], "items_view": "notLoaded"})
        entries = self._stored(self.store.index.items(self.id, turn_id=row.turn_id))
        found = [it.item if it.completed_at_ms else self._left(it.item) for it in entries]
        return _shown(turn.model_copy(update={"items": found}), items)

    def entries(self, rows: Sequence[ItemRow]) -> list[ThreadItemEntry]:
        """Items, each with its turn; those that have no end in the index come with what has become of them."""
        found = self._stored(rows)
        if all(it.completed_at_ms is not None for it in found):
            return found
        streamed = self._streamed({it.turn_id for it in found if it.completed_at_ms is None})
        return [
            it
            if it.completed_at_ms is not None
            else it.model_copy(update={"item": streamed.get(it.item.id) or self._left(it.item)})
            for it in found
        ]

    def _stored(self, rows: Sequence[ItemRow]) -> list[ThreadItemEntry]:
        return [
            ThreadItemEntry.model_validate(
                {
                    "item": line.params["item"],
                    "turnId": row.turn_id,
                    **times(line.params),
                }
            )
            for row, line in zip(rows, self.store.lines([(row.thread_id, row.offset) for row in rows]), strict=True)
            if line.params is not None  # else it is damaged
        ]

    def _streamed(self, turns: set[str]) -> dict[str, ThreadItem]:
        """The items of these turns, as far as they are open or the index has not heard of their ends."""
        opened = self._open()
        found = [] if opened is None else [opened]
        for it in turns - {turn.id for turn in found}:
            row = self.store.index.turn(self.id, it)
            end = end_of(self.store, self.id, row) if row is not None and row.status == "inProgress" else None
            found += [] if end is None else [end.turn]
        return {it.id: it for turn in found for it in turn.items}

    def _open(self) -> Turn | None:
        """The turn that is open: as it runs here, or as its log tells where nobody runs it."""
        loaded = self._manager.loaded.get(self.id)
        if loaded is not None:
            return _running(loaded)
        known = self._manager.row(self.id)
        with closing(self.store.read(self.id)) as log:
            state = Replayed(log, known).state
        if (opened := state.turn) is None:
            return None
        goes_on = state.rest.pending or self.store.holder(known.root) is not None
        return opened.look() if goes_on else endings.lost(opened)

    def _left(self, item: ThreadItem) -> ThreadItem:
        """An item that outlived its turn: as it runs, or as one that nobody runs any more."""
        if not isinstance(item, CommandExecutionThreadItem) or item.status != "inProgress":
            return item
        loaded = self._manager.loaded.get(self.id)
        if loaded is not None and item.id in loaded.state.rest.left:
            running = loaded.terminals.left().get(item.id)
            return item if running is None else item.model_copy(update={"aggregated_output": running.shown.text()})
        if loaded is None and self.store.holder(self._manager.row(self.id).root) is not None:
            return item
        return lost_item(self.store, self.id, item)


def _running(loaded: Thread) -> Turn | None:
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
