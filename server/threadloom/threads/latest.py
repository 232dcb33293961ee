"""Turns that have ended, and the index has not heard of it: another process wrote them a moment ago."""

from __future__ import annotations

from typing import NamedTuple

from threadloom.store.base import Store
from threadloom.store.rows import Line, TurnRow
from threadloom.threads.opened import OpenTurn
from threadloom.threads.replay import decode
from threadloom_protocol.v2.item import ItemCompletedNotification, ItemStartedNotification
from threadloom_protocol.v2.turn import TurnCompletedNotification, TurnStartedNotification
from threadloom_protocol.v2.values.turns import Turn


class End(NamedTuple):
    """How a turn ended, with all its items, and the line that says so."""

    turn: Turn
    line: Line


def end_of(store: Store, thread_id: str, row: TurnRow) -> End | None:
    """The end of a turn of a thread's history, as the log tells it; none where it has none."""
    opened: OpenTurn | None = None
    for line in store.after(thread_id, row.seq - 1):
        match decode(line):
            case TurnStartedNotification(turn=turn) if opened is not None or turn.id != row.turn_id:
                return None
            case TurnStartedNotification(turn=turn):
                opened = OpenTurn(turn)
            case ItemStartedNotification(item=item, turn_id=row.turn_id) if opened is not None:
                opened.start(item)
            case ItemCompletedNotification(item=item, turn_id=row.turn_id) if opened is not None:
                opened.complete(item)
            case TurnCompletedNotification(turn=turn) if opened is not None and turn.id == row.turn_id:
                return End(turn.model_copy(update={"items": opened.look().items}), line)
    return None
