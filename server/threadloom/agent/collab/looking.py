"""The tools with which an agent sees others: which kinds there are, who is at work, what they have said."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from threadloom.agent.base import ToolResult
from threadloom.agent.collab import arguments, specs
from threadloom.agent.collab.base import TOLD, ActiveAgent
from threadloom.agent.collab.item import Act, told
from threadloom.agent.collab.spawning import Nursery
from threadloom.agent.collab.tool import Collaboration, Seat
from threadloom.agent.collab.validate import Refused, note
from threadloom.agent.templates.listing import listed

PIECE: Final = 10_000  # characters of a turn that are read at once
MOST: Final = 50_000


class ListAgents(Collaboration[arguments.ListAgents]):
    """The kinds there are."""

    name = "list_agents"
    shape = arguments.ListAgents
    described = specs.LIST_AGENTS

    def __init__(self, nursery: Nursery) -> None:
        self._nursery = nursery

    def act(self, seat: Seat, asked: arguments.ListAgents) -> Act:
        """A look around."""
        return Act(seat.turn, seat.floor, "listAgents")

    async def answer(self, seat: Seat, asked: arguments.ListAgents, act: Act | None) -> ToolResult:
        """The catalogue of where the thread works."""
        assert act is not None
        catalog = self._nursery.catalogs(seat.turn.cwd)
        try:
            agents = listed(catalog, asked.agent_type, expanded=asked.expanded)
        except ValueError as unknown:
            raise Refused(str(unknown)) from unknown
        self._nursery.warn(seat.tree, catalog.faults())
        return act.done({"agents": agents}, {})


class ListActiveAgents(Collaboration[arguments.ListActive]):
    """Who is at work, or at rest."""

    name = "list_active_agents"
    shape = arguments.ListActive
    described = specs.LIST_ACTIVE_AGENTS

    def __init__(self, clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._clock = clock

    def act(self, seat: Seat, asked: arguments.ListActive) -> Act:
        """A look around."""
        return Act(seat.turn, seat.floor, "listAgents")

    async def answer(self, seat: Seat, asked: arguments.ListActive, act: Act | None) -> ToolResult:
        """Parents before their children."""
        assert act is not None
        now = self._clock()
        found = seat.tree.active(asked.scope, include_closed=asked.include_closed)
        agents = [_shown(it, now, tree=asked.include_tree) for it in found]
        return act.done({"agents": agents}, {})


def _shown(agent: ActiveAgent, now: int, *, tree: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "thread_id": agent.thread_id,
        "thread_name": agent.name,
        "thread_note": agent.note,
        "agent_type": agent.agent_type,
        "agent_name": agent.agent_name,
        "status": TOLD[agent.status],
        "status_duration_sec": max(0, now - agent.since) // 1000,
        "model": agent.model,
        "reasoning_effort": agent.reasoning_effort,
        "updated_at": agent.updated_at,
    }
    return shown | {"parent_thread_id": agent.parent_thread_id, "depth": agent.depth} if tree else shown


class SetThreadNote(Collaboration[arguments.SetNote]):
    """Pins a line to an agent."""

    name = "set_thread_note"
    shape = arguments.SetNote
    described = specs.SET_THREAD_NOTE

    async def answer(self, seat: Seat, asked: arguments.SetNote, act: Act | None) -> ToolResult:
        """The note as it is kept."""
        kept = note(asked.note or "")
        return ToolResult(told({"submission_id": seat.tree.set_note(asked.id, kept), "thread_note": kept}))


class ReadAgent(Collaboration[arguments.ReadAgent]):
    """What an agent has said."""

    name = "read_agent"
    shape = arguments.ReadAgent
    described = specs.READ_AGENT

    async def answer(self, seat: Seat, asked: arguments.ReadAgent, act: Act | None) -> ToolResult:
        """One piece of it, and where the next begins."""
        turn_id, text = await seat.tree.read(asked.id, asked.turn_id)
        start = max(0, asked.offset)
        end = start + (PIECE if asked.limit is None else min(max(1, asked.limit), MOST))
        return ToolResult(
            told(
                {
                    "turn_id": turn_id,
                    "text": text[start:end],
                    "offset": start,
                    "next_offset": end if end < len(text) else None,
                    "total": len(text),
                }
            )
        )
