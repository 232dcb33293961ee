"""The tools with which an agent starts others, talks to them, waits for them and ends them."""

from __future__ import annotations

from typing import Any

from threadloom.agent.base import ToolResult
from threadloom.agent.collab import arguments, specs
from threadloom.agent.collab.base import TOLD, Closed
from threadloom.agent.collab.item import Act, words
from threadloom.agent.collab.spawning import Nursery, Ready, Wanted, born
from threadloom.agent.collab.tool import Collaboration, Seat
from threadloom.agent.collab.validate import Refused, content, wait_timeout, waited_for


class SpawnAgent(Collaboration[arguments.SpawnAgent]):
    """Starts an agent."""

    name = "spawn_agent"
    shape = arguments.SpawnAgent
    described = specs.SPAWN_AGENT
    asks = True

    def __init__(self, nursery: Nursery) -> None:
        self._nursery = nursery

    def act(self, seat: Seat, asked: arguments.SpawnAgent) -> Act:
        """A spawn, with its prompt."""
        prompt = asked.message if asked.message is not None else words(asked.given() or ())
        effort = asked.reasoning_effort or seat.turn.effort
        model = asked.model or ""
        return Act(seat.turn, seat.floor, "spawnAgent", prompt=prompt, model=model, reasoning_effort=effort)

    async def answer(self, seat: Seat, asked: arguments.SpawnAgent, act: Act | None) -> ToolResult:
        """Check, ask, and only then make it."""
        assert act is not None
        ready = await self._nursery.ready(seat.tree, self._wanted(seat, asked))
        await _allowed(seat, ready)
        act.begin()
        agent_id = born(seat.tree, ready)
        return act.done(
            {"agent_id": agent_id},
            {agent_id: seat.tree.standing(agent_id)},
            model=ready.order.model,
            reasoning_effort=ready.order.reasoning_effort,
        )

    def _wanted(self, seat: Seat, asked: arguments.SpawnAgent) -> Wanted:
        return Wanted(
            content(asked.message, asked.given()),
            asked.agent_type,
            asked.agent_name,
            asked.working_directory,
            asked.model,
            asked.reasoning_effort,
            asked.thread_note,
            on_parent_close=asked.on_parent_close,
            callback=None if asked.callback is None else asked.callback.config(),
            call_id=seat.call.call_id,
            spawn_point=(seat.turn.turn_id, seat.floor.item_count()),
        )


async def _allowed(seat: Seat, ready: Ready) -> None:
    """Whoever is to work elsewhere does so only with the user's word."""
    where = ready.elsewhere
    if where is not None and not await seat.tree.may_work_in(seat.call, where):
        raise Refused(f"The user does not let an agent work in {where}. None was started.")


class SendInput(Collaboration[arguments.SendInput]):
    """Tells an agent something."""

    name = "send_input"
    shape = arguments.SendInput
    described = specs.SEND_INPUT

    def act(self, seat: Seat, asked: arguments.SendInput) -> Act:
        """A message, with its words."""
        prompt = asked.message if asked.message is not None else words(asked.given() or ())
        return Act(seat.turn, seat.floor, "sendInput", [asked.id], prompt)

    async def answer(self, seat: Seat, asked: arguments.SendInput, act: Act | None) -> ToolResult:
        """It is in the agent's log before this answers."""
        assert act is not None
        said = content(asked.message, asked.given())
        sent = await seat.tree.send(asked.id, said, interrupt=asked.interrupt)
        return act.done({"submission_id": sent.submission}, {asked.id: seat.tree.standing(asked.id)}, sent.cut)


class Wait(Collaboration[arguments.Wait]):
    """Waits for agents."""

    name = "wait"
    shape = arguments.Wait
    described = specs.WAIT

    def act(self, seat: Seat, asked: arguments.Wait) -> Act:
        """A wait for all of them."""
        return Act(seat.turn, seat.floor, "wait", list(dict.fromkeys(asked.ids)))

    async def answer(self, seat: Seat, asked: arguments.Wait, act: Act | None) -> ToolResult:
        """Until one is at rest, the time is over, or the user speaks."""
        assert act is not None
        ids, seconds = waited_for(asked.ids), wait_timeout(asked.timeout_ms) / 1000
        if seat.tree.me in ids:
            raise Refused("You cannot wait for yourself.")
        came = await seat.tree.wait(ids, seconds, seat.turn.steering)
        answer: dict[str, Any] = {
            "status": {it: standing.told() for it, standing in came.standings.items()},
            "timed_out": came.timed_out,
        }
        if came.steered:
            answer["steered"] = True
        return act.done(answer, came.standings, seat.tree.told(came.standings))


class ResumeAgent(Collaboration[arguments.Named]):
    """Takes up an agent again."""

    name = "resume_agent"
    shape = arguments.Named
    described = specs.RESUME_AGENT

    def act(self, seat: Seat, asked: arguments.Named) -> Act:
        """A resume."""
        return Act(seat.turn, seat.floor, "resumeAgent", [asked.id])

    async def answer(self, seat: Seat, asked: arguments.Named, act: Act | None) -> ToolResult:
        """How it stands then."""
        assert act is not None
        standing = await seat.tree.resume(asked.id)
        return act.done({"status": standing.told()}, {asked.id: standing})


class CloseAgent(Collaboration[arguments.Named]):
    """Ends an agent and all it owns."""

    name = "close_agent"
    shape = arguments.Named
    described = specs.CLOSE_AGENT

    def act(self, seat: Seat, asked: arguments.Named) -> Act:
        """A close."""
        return Act(seat.turn, seat.floor, "closeAgent", [asked.id])

    async def answer(self, seat: Seat, asked: arguments.Named, act: Act | None) -> ToolResult:
        """How it stood before, and all that went."""
        assert act is not None
        before = seat.tree.standing(asked.id)
        earlier = seat.tree.told([asked.id])
        gone = await seat.tree.close(asked.id)
        told = [it for it in seat.tree.told([asked.id]) if it not in earlier]
        consumed = [*(earlier if before.final else ()), *told]  # while it runs, nothing here tells of earlier turns
        return act.done({"previous_status": before.told(), "closed": _gone(gone)}, {asked.id: before}, consumed)


def _gone(closed: Closed) -> list[dict[str, Any]]:
    return [
        {
            "thread_id": it.thread_id,
            "before": TOLD[it.before],
            "after": TOLD[it.after],
            "how": it.how,
            "ms": it.ms,
        }
        for it in closed.report
    ]
