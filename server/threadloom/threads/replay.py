"""Log → state: what a load starts from, and how the index is brought up to the logs."""

from __future__ import annotations

from typing import Any, Final

import orjson
from pydantic import ValidationError

from threadloom.log import logger
from threadloom.store.base import EventLog
from threadloom.store.rows import Folded, Line, Row
from threadloom.threads.marks import Mark
from threadloom.threads.projection import Projection, row
from threadloom.threads.resting import Resting
from threadloom.threads.state import ThreadState
from threadloom_protocol.model import Delta, Recorded
from threadloom_protocol.spec import ServerNotification
from threadloom_protocol.v2 import V2, item
from threadloom_protocol.v2.item import ItemCompletedNotification
from threadloom_protocol.v2.turn import TurnCompletedNotification

log = logger(__name__)

_DELTAS: Final = frozenset(
    it.method for it in vars(item).values() if isinstance(it, ServerNotification) and issubclass(it.params, Delta)
)


class Replayed:
    """A thread as its log tells it, up to the end."""

    def __init__(self, log: EventLog, known: Row | None) -> None:
        self.log = log
        self.projection = Projection(log.header.thread_id, log.header.facts.get("openTurn"))
        if known is not None and known.offset:
            self.state = ThreadState(Resting.model_validate(orjson.loads(known.state)))
        else:
            self.state = ThreadState(born(log))
        self.resting = known.offset if known is not None else 0  # how far the log was read when no turn was open
        self._pieces: dict[str, list[Line]] = {}  # of items that are open: what is done says all of it at once
        for line in log.scan(self.resting):
            self._take(line)
        for pieces in self._pieces.values():
            for line in pieces:
                self._add(line)
        # A line that cannot be read had a seq, too, and somebody may have seen it.
        self.state.rest.seq = max(self.state.rest.seq, log.seq)

    def _take(self, line: Line) -> None:
        if line.method in _DELTAS and line.model is None and line.params is not None:
            self._keep(line, str(line.params.get("itemId")))
        else:
            self._apply(line)
        if self.state.turn is None:
            self.resting = line.offset + line.size

    def _keep(self, line: Line, item_id: str) -> None:
        if self.state.turn is not None:
            self._pieces.setdefault(item_id, []).append(line)
        self.state.rest.seq = line.seq

    def _apply(self, line: Line) -> None:
        event = decode(line)
        marks = marks_of(line.model)
        if event is not None:
            self.state.apply(line.seq, line.at, event, marks)
            self.projection.take(line.offset, line.seq, event, marks)
            if isinstance(event, ItemCompletedNotification):
                self._pieces.pop(event.item.id, None)
            elif isinstance(event, TurnCompletedNotification):
                self._pieces.clear()
        else:
            self.state.mark(marks)
            self.projection.mark(line.offset, self.state.rest.seq, marks)

    def _add(self, line: Line) -> None:
        seq, event = self.state.rest.seq, decode(line)
        if event is not None:
            self.state.apply(line.seq, line.at, event)
            self.state.rest.seq = seq

    def row(self) -> Row:
        """The row of this thread in the index."""
        return row(self.log.header, self.state.rest, self.resting, self.log.path)


def fold(log: EventLog, known: Row | None) -> Folded:
    """What the index lacks of a log."""
    replayed = Replayed(log, known)
    return replayed.projection.drain(replayed.row())


def born(log: EventLog) -> Resting:
    """A thread as its header says; its first record, `thread/started`, has the rest."""
    header = log.header
    thread = header.facts["thread"]
    settings = header.settings or {"settings": careful(thread)}
    return Resting.model_validate({**settings, "thread": thread, "seq": _base_seq(log)})


def careful(thread: dict[str, Any]) -> dict[str, Any]:
    """Settings for a thread whose own are lost: it may do nothing that nobody has allowed."""
    model, effort = thread.get("model") or "", thread.get("reasoningEffort")
    return {
        "cwd": thread["cwd"],
        "approvalPolicy": "untrusted",
        "approvalsReviewer": "user",
        "sandboxPolicy": {"type": "readOnly"},
        "model": model,
        "modelProvider": thread["modelProvider"],
        "effort": effort,
        "collaborationMode": {"mode": "default", "settings": {"model": model, "reasoning_effort": effort}},
    }


def _base_seq(log: EventLog) -> int:
    return log.header.base.seq if log.header.base else 0


def decode(line: Line) -> Recorded | None:
    """The event of a line; none where only the model sees it, or where it means nothing here.

    A newer server may have written it, or it is damaged: one bad record never keeps a thread from being loaded.
    """
    notification = V2.notification(line.method) if line.method else None
    if notification is None or line.params is None:
        return None
    try:
        event: Recorded = notification.params.model_validate(line.params)
    except ValidationError as fault:
        log.warning("a record is passed over", method=line.method, seq=line.seq, reason=str(fault))
        return None
    return event


def epoch_mark(epoch: int) -> Mark:
    """Says whose lines follow: the lease of a tree has another number each time it is taken."""
    return {"@": "epoch", "epoch": epoch}


def marks_of(model: list[dict[str, Any]] | None) -> list[Mark]:
    """The facts among what only the model sees."""
    return [item for item in model or () if "@" in item]
