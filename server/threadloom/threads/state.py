"""What a thread is, as a fold over its log. No I/O: the live thread and a replay run the same code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from threadloom.threads.marks import MARKS, Mark
from threadloom.threads.opened import OpenTurn
from threadloom.threads.resting import Resting
from threadloom.threads.steps import STEPS
from threadloom_protocol.model import Recorded
from threadloom_protocol.v2.values.status import CollabAgentStatus
from threadloom_protocol.v2.values.threads import Thread
from threadloom_protocol.v2.values.turns import Turn, TurnStatus


class ThreadState:
    """The fold. `rest` is what is kept; `turn` lives only while one runs."""

    def __init__(self, rest: Resting, turn: OpenTurn | None = None) -> None:
        self.rest = rest
        self.turn = turn
        self.last: Turn | None = None  # the turn that ended last, with its last words, where that was in this life

    def apply(self, seq: int, at: int, event: Recorded, marks: list[Mark] | None = None) -> None:
        """Take in one record. `at` is in milliseconds."""
        self.rest.seq = seq
        step = STEPS.get(type(event))
        if step is not None and event.streamed:  # a piece changes nothing else
            step(self, event, at)
        elif step is not None:
            before = self.agent_status
            step(self, event, at)
            if self.agent_status != before:
                self.rest.status_at = at
        self.mark(marks or [])

    def mark(self, marks: list[Mark]) -> None:
        """Take in the facts that no notification carries."""
        for mark in marks:
            step = MARKS.get(str(mark.get("@")))  # other kinds change nothing here
            if step is not None:
                step(self, mark)

    @property
    def agent_status(self) -> CollabAgentStatus:
        """Its state in the tree."""
        if self.rest.closed:
            return "shutdown"
        if self.turn is not None or self.rest.pending:
            return "running"
        return _AGENT_STATUS[self.rest.last_turn] if self.rest.last_turn else "pendingInit"

    def snapshot(self) -> Thread:
        """The thread as clients see it, without turns."""
        return self.rest.thread.model_copy(update={"seq": self.rest.seq, "turns": []})


def stored_status(state: Mapping[str, Any], *, held: bool) -> CollabAgentStatus:
    """How a thread stands in its tree that is not in memory; `held`: another process has it.

    A turn that only waits for an answer goes on from that. Any other that is open and that nobody runs is over.
    """
    if state.get("closed"):
        return "shutdown"
    opened = state["thread"]["status"]["type"] == "active"
    if state.get("pending") or (opened and held):
        return "running"
    last: TurnStatus | None = "interrupted" if opened else state.get("lastTurn")
    return _AGENT_STATUS[last] if last else "pendingInit"


_AGENT_STATUS: Final[dict[TurnStatus, CollabAgentStatus]] = {
    "completed": "completed",
    "failed": "errored",
    "interrupted": "interrupted",
    "inProgress": "running",
}
