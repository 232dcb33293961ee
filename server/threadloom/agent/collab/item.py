"""A call that concerns other agents, as an item of its turn."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from threadloom.agent.base import ToolResult, TurnInput
from threadloom.agent.collab.base import Standing
from threadloom.agent.floor import Floor
from threadloom.agent.sampling import Item
from threadloom.events import Emission
from threadloom.ids import uuid7
from threadloom_protocol.v2 import item
from threadloom_protocol.v2.values.item_parts import CollabAgentState, CollabAgentTool
from threadloom_protocol.v2.values.items import CollabAgentToolCallThreadItem


class Act:
    """From the call to its answer. What it says of agents is how they stood when it had its effect."""

    def __init__(
        self,
        turn: TurnInput,
        floor: Floor,
        tool: CollabAgentTool,
        receivers: Sequence[str] = (),
        prompt: str | None = None,
        **about: Any,
    ) -> None:
        self._turn = turn
        self._floor = floor
        self._begun = False
        self._item = CollabAgentToolCallThreadItem(
            id=uuid7(),
            status="inProgress",
            tool=tool,
            sender_thread_id=turn.thread_id,
            receiver_thread_ids=list(receivers),
            prompt=prompt,
            agents_states={},
            **about,
        )

    def begin(self) -> None:
        """Show that it is under way."""
        self._begun = True
        self._floor.emit(self._started())

    def _started(self) -> Emission:
        event = item.ItemStartedNotification(
            thread_id=self._turn.thread_id, turn_id=self._turn.turn_id, item=self._item, started_at_ms=_now()
        )
        return Emission(item.STARTED, event)

    def done(
        self,
        answer: Mapping[str, Any],
        standings: Mapping[str, Standing],
        consumes: Sequence[str] = (),
        **about: Any,
    ) -> ToolResult:
        """What came of it, and how the agents stood. `consumes`: the reports that it makes needless."""
        lost = any(it.status in ("errored", "notFound") for it in standings.values())
        states = {it: CollabAgentState(status=found.status, message=found.message) for it, found in standings.items()}
        receivers = list(standings) or self._item.receiver_thread_ids
        ended = self._completed(
            status="failed" if lost else "completed", agents_states=states, receiver_thread_ids=receivers, **about
        )
        return ToolResult(told(answer), ended, consumes=consumes)

    def failed(self, why: str) -> ToolResult:
        """Nothing came of it."""
        return ToolResult(why, self._completed(status="failed"), ok=False)

    def _completed(self, **update: Any) -> list[Emission]:
        event = item.ItemCompletedNotification(
            thread_id=self._turn.thread_id,
            turn_id=self._turn.turn_id,
            item=self._item.model_copy(update=update),
            completed_at_ms=_now(),
        )
        return [*([] if self._begun else [self._started()]), Emission(item.COMPLETED, event)]


def told(answer: Mapping[str, Any]) -> str:
    """An answer, as the model reads it."""
    return orjson.dumps(answer).decode()


def words(content: Sequence[Item]) -> str:
    """What an agent is told, for people to read."""
    return "\n".join(str(it.get("text") or f"[{it['type']}]") for it in content)


def _now() -> int:
    return time.time_ns() // 1_000_000
