"""How a turn ends before it is done: what is open keeps what has come of it, and says that it was cut."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from threadloom.agent.history import message_item
from threadloom.agent.sampling import Item
from threadloom.events import Emission
from threadloom.threads import say, shell_text
from threadloom.threads.opened import OpenTurn
from threadloom_protocol.v2.values.items import (
    AgentMessageThreadItem,
    CollabAgentToolCallThreadItem,
    CommandExecutionThreadItem,
    ContextCompactionThreadItem,
)
from threadloom_protocol.v2.values.turns import Turn, TurnError

UNKNOWN: Final = "outcome unknown, the server stopped"  # of a step that had begun


def cut(
    thread_id: str,
    opened: OpenTurn,
    at: int,
    waiting: Collection[str],
    lost: str | None = None,
    left: Collection[str] = (),
) -> list[Emission]:
    """The ends of all that is open, but for what is `left` to itself; what only waited for somebody was not done."""
    ends = [
        _cut(it, it.id in waiting, lost)
        for it in opened.open_items()
        if it.id not in left
        and not isinstance(it, ContextCompactionThreadItem)  # one that failed has condensed nothing
    ]
    return [say.item_completed(thread_id, opened.turn.id, it, at)._replace(model=said(it)) for it in ends]


def _cut(item: Any, waited: bool, lost: str | None) -> Any:
    if getattr(item, "status", None) != "inProgress":
        return item
    if waited:
        return item.model_copy(update={"status": "declined"})
    if isinstance(item, CommandExecutionThreadItem) and lost is not None:
        told = "\n".join(filter(None, (item.aggregated_output, lost)))
        return item.model_copy(update={"status": "failed", "aggregated_output": told})
    if isinstance(item, CollabAgentToolCallThreadItem):
        return item.model_copy(update={"status": "interrupted"})
    return item.model_copy(update={"status": "failed"})


def lost(opened: OpenTurn) -> Turn:
    """A turn whose process has gone, as it will read once its thread is loaded."""
    ends = {it.id: _cut(it, it.id in opened.refused, UNKNOWN) for it in opened.open_items()}
    turn = opened.look()
    return turn.model_copy(update={"status": "interrupted", "items": [ends.get(it.id, it) for it in turn.items]})


def said(item: Any) -> list[Item] | None:
    """A message cut short is still something the model said; what a person ran is still something that it knows."""
    if isinstance(item, CommandExecutionThreadItem) and item.source == "userShell":
        return shell_text.cut(item)
    return [message_item(item.text)] if isinstance(item, AgentMessageThreadItem) and item.text else None


def ended(opened: OpenTurn, status: str, error: TurnError | None, at: int) -> Turn:
    """A turn that is over, as lists show it."""
    turn = opened.turn
    last = next((it for it in reversed(opened.look().items) if isinstance(it, AgentMessageThreadItem)), None)
    return turn.model_copy(
        update={
            "status": status,
            "error": error,
            "completed_at": at // 1000,
            "duration_ms": max(0, at - (turn.started_at or at // 1000) * 1000),
            "items": [last] if last else [],
            "items_view": "summary",
        }
    )
