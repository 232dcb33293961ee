"""Sub-sessions: a task that stands by itself, and the one message that comes of it."""

from __future__ import annotations

from threadloom.agent.base import ToolResult
from threadloom.agent.collab import arguments, specs
from threadloom.agent.collab.base import Standing
from threadloom.agent.collab.item import Act
from threadloom.agent.collab.spawning import Nursery, Wanted, born
from threadloom.agent.collab.tool import Collaboration, Seat
from threadloom.agent.collab.validate import Refused
from threadloom_protocol.v2.values.genealogy import CallbackConfig


class CreateSession(Collaboration[arguments.CreateSession]):
    """Starts a session."""

    name = "create_session"
    shape = arguments.CreateSession
    described = specs.CREATE_SESSION

    def __init__(self, nursery: Nursery) -> None:
        self._nursery = nursery

    def act(self, seat: Seat, asked: arguments.CreateSession) -> Act:
        """A spawn, with its prompt."""
        return Act(seat.turn, seat.floor, "spawnAgent", prompt=asked.prompt, model="")

    async def answer(self, seat: Seat, asked: arguments.CreateSession, act: Act | None) -> ToolResult:
        """Its first and only input is under way by then."""
        assert act is not None
        if not asked.prompt.strip():
            raise Refused("`prompt` must not be empty.")
        ready = await self._nursery.ready(seat.tree, self._wanted(seat, asked))
        session_id = born(seat.tree, ready)
        seat.tree.tell(f"spawned child session {session_id} with model {ready.order.model}", session_id)
        return act.done(
            {"session_id": session_id},
            {session_id: seat.tree.standing(session_id)},
            model=ready.order.model,
            reasoning_effort=ready.order.reasoning_effort,
        )

    def _wanted(self, seat: Seat, asked: arguments.CreateSession) -> Wanted:
        return Wanted(
            [{"type": "text", "text": asked.prompt}],
            asked.session_type,
            kind="subSession",
            callback=CallbackConfig(enabled=False),
            call_id=seat.call.call_id,
            spawn_point=(seat.turn.turn_id, seat.floor.item_count()),
        )


class WaitSession(Collaboration[arguments.WaitSession]):
    """Waits for a session."""

    name = "wait_session"
    shape = arguments.WaitSession
    described = specs.WAIT_SESSION

    def act(self, seat: Seat, asked: arguments.WaitSession) -> Act:
        """A wait."""
        return Act(seat.turn, seat.floor, "wait", [asked.session_id])

    async def answer(self, seat: Seat, asked: arguments.WaitSession, act: Act | None) -> ToolResult:
        """Its last message, and nothing else of it."""
        assert act is not None
        seat.tree.session(asked.session_id)
        standing = await self._ended(seat, asked)
        told = seat.tree.told([asked.session_id])
        return act.done({"result": _result(asked.session_id, standing)}, {asked.session_id: standing}, told)

    async def _ended(self, seat: Seat, asked: arguments.WaitSession) -> Standing:
        it, ms = asked.session_id, asked.timeout_ms
        if ms <= 0:
            standing = seat.tree.standing(it)
            if not standing.final:
                raise Refused(f"session {it} has not completed yet")
            return standing
        came = await seat.tree.wait([it], ms / 1000, seat.turn.steering)
        if came.steered:
            raise Refused(f"session {it} has not completed yet: the user has spoken meanwhile")
        if came.timed_out:
            raise Refused(f"session {it} did not complete within {ms}ms")
        return came.standings[it]


def _result(session_id: str, standing: Standing) -> str:
    if standing.status == "completed":
        return standing.message or ""
    if standing.status == "errored":
        raise Refused(standing.message or f"session {session_id} failed")
    raise Refused(f"session {session_id} was cancelled")


class CancelSession(Collaboration[arguments.CancelSession]):
    """Ends a session."""

    name = "cancel_session"
    shape = arguments.CancelSession
    described = specs.CANCEL_SESSION

    def act(self, seat: Seat, asked: arguments.CancelSession) -> Act:
        """A close."""
        return Act(seat.turn, seat.floor, "closeAgent", [asked.session_id])

    async def answer(self, seat: Seat, asked: arguments.CancelSession, act: Act | None) -> ToolResult:
        """Whether there was anything to end."""
        assert act is not None
        seat.tree.session(asked.session_id)
        before = seat.tree.standing(asked.session_id)
        if not before.final:
            await seat.tree.close(asked.session_id)
        told = [] if before.final else seat.tree.told([asked.session_id])
        return act.done({"cancelled": not before.final}, {asked.session_id: before}, told)
