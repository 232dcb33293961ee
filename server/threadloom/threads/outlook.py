"""What one thread sees of its tree: who is there, how they stand, what they say, and which of them it may touch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import anyio

from threadloom.agent.collab.base import OUTSIDE, ActiveAgent, Scope, Standing, Waited
from threadloom.agent.collab.validate import Refused
from threadloom.agent.steering import Steering
from threadloom.store.errors import Missing
from threadloom.threads.reports import report_id
from threadloom.threads.resting import Resting
from threadloom_protocol.errors import InvalidParams, InvalidRequest
from threadloom_protocol.v2.values.items import AgentMessageThreadItem
from threadloom_protocol.v2.values.sources import SubAgentSessionSource, ThreadSpawnSubAgentSource
from threadloom_protocol.v2.values.turns import Turn

if TYPE_CHECKING:
    from threadloom.threads.manager import Manager


@contextmanager
def refusing() -> Iterator[None]:
    """What cannot be is an answer to the model, and its turn goes on: an agent may go at any moment, or its log."""
    try:
        yield
    except (InvalidParams, InvalidRequest, Missing) as refusal:
        raise Refused(str(refusal)) from refusal


class Outlook:
    """The half of `agent.collab.base.Tree` that changes nothing."""

    def __init__(self, manager: Manager, thread_id: str) -> None:
        self._manager = manager
        self._me = thread_id

    @property
    def me(self) -> str:
        """See `Tree.me`."""
        return self._me

    @property
    def _root(self) -> str:
        return self._manager.lineage.origin(self._me)[-1]

    def _check(self, agent_id: str, verb: str) -> None:
        """A thread may act on itself and what it owns; the root on all of its tree."""
        if not self._manager.exists(agent_id):
            raise Refused(f"There is no agent {agent_id}.")
        above = self._manager.lineage.origin(agent_id)
        if self._me not in above:
            raise Refused(OUTSIDE.format(verb=verb))

    def _check_read(self, agent_id: str) -> None:
        """The same; and whoever was above an agent that was set free reads it, too: it has its reports."""
        if not self._manager.exists(agent_id) or self._me not in self._manager.lineage.above(agent_id):
            self._check(agent_id, "read")

    def _in_tree(self, agent_id: str) -> bool:
        return self._manager.exists(agent_id) and self._manager.lineage.origin(agent_id)[-1] == self._root

    # ── how they stand ────────────────────────────────────────────────────────────────────────────────────────────

    def standing(self, agent_id: str) -> Standing:
        """See `Tree.standing`."""
        if not self._in_tree(agent_id):
            return Standing("notFound")
        status = self._manager.status(agent_id)
        heard = status in ("completed", "errored") and self._me in self._manager.lineage.origin(agent_id)
        words = self._last_words(agent_id) if heard else None  # of others it sees that they are at rest
        return Standing(status, words)

    def _last_words(self, agent_id: str) -> str | None:
        loaded = self._manager.loaded.get(agent_id)
        last = loaded.state.last if loaded is not None else None  # the index may lag
        if last is None:
            last = self._manager.reader.newest(agent_id, "summary")
        if last is None:
            return None
        if last.error is not None:
            return str(last.error.message)
        said = [it.text for it in last.items if isinstance(it, AgentMessageThreadItem)]
        return said[-1] if said else None

    async def wait(self, ids: Sequence[str], seconds: float, steering: Steering | None = None) -> Waited:
        """See `Tree.wait`."""
        with anyio.move_on_after(seconds):
            while True:
                with self._manager.observer.changing(ids) as changed:
                    found = {it: standing for it in ids if (standing := self.standing(it)).final}
                    if found:
                        return Waited(found)
                    if steering is not None and steering.waiting:
                        return Waited({}, steered=True)
                    await _either(changed, steering)
        return Waited({}, timed_out=True)

    def told(self, ids: Iterable[str]) -> list[str]:
        """See `Tree.told`."""
        return [report_id(it, turn) for it in ids if (turn := self._last_end(it)) is not None]

    def _last_end(self, agent_id: str) -> str | None:
        """How the report of the last thing that ended an agent's turn, or the agent, is named."""
        return self._manager.rest(agent_id).last_end if self._in_tree(agent_id) else None

    # ── who they are ──────────────────────────────────────────────────────────────────────────────────────────────

    def active(self, scope: Scope = "children", *, include_closed: bool = False) -> list[ActiveAgent]:
        """See `Tree.active`."""
        top = self._root if scope == "all" else self._me
        below = self._manager.lineage.children(top) if scope == "children" else self._manager.lineage.descendants(top)
        found = [self._shown(it, rest) for it in below if _spawned(rest := self._manager.rest(it))]
        return [it for it in found if include_closed or it.status != "shutdown"]

    def _shown(self, agent_id: str, rest: Resting) -> ActiveAgent:
        view = rest.thread
        return ActiveAgent(
            thread_id=agent_id,
            parent_thread_id=self._manager.lineage.parent(agent_id),
            depth=self._manager.lineage.depth(agent_id),
            name=view.name,
            note=view.note,
            agent_type=view.agent_role,
            agent_name=view.agent_nickname,
            status=self._manager.status(agent_id),
            since=rest.status_at or view.updated_at * 1000,
            model=view.model,
            reasoning_effort=view.reasoning_effort,
            updated_at=view.updated_at,
        )

    def session(self, session_id: str) -> None:
        """See `Tree.session`."""
        if self._in_tree(session_id) and self._me in self._manager.lineage.origin(session_id)[1:]:
            spawned = self._manager.rest(session_id).thread.spawn_config
            if spawned is not None and spawned.kind == "subSession":
                return
        raise Refused(f"There is no session {session_id}.")

    async def read(self, agent_id: str, turn_id: str | None = None) -> tuple[str, str]:
        """See `Tree.read`."""
        with refusing():
            self._check_read(agent_id)
            await self._manager.settled()
            found = self._turn(agent_id, turn_id)
        if found is None:
            raise Refused(f"There is no turn {turn_id} of agent {agent_id}." if turn_id else "It has no turn yet.")
        said = [it.text for it in found.items if isinstance(it, AgentMessageThreadItem)]
        return found.id, "\n\n".join(said)

    def _turn(self, agent_id: str, turn_id: str | None) -> Turn | None:
        reader = self._manager.reader
        return reader.newest(agent_id, "full") if turn_id is None else reader.turn(agent_id, turn_id, items="full")


def _spawned(rest: Resting) -> bool:
    """Whether it is an agent, and not a session."""
    source = rest.thread.source
    return isinstance(source, SubAgentSessionSource) and isinstance(source.sub_agent, ThreadSpawnSubAgentSource)


async def _either(changed: anyio.Event, steering: Steering | None) -> None:
    """Until something has changed, or the user speaks."""
    async with anyio.create_task_group() as tasks:

        async def first(wait: Any) -> None:
            await wait()
            tasks.cancel_scope.cancel()

        tasks.start_soon(first, changed.wait)
        if steering is not None:
            tasks.start_soon(first, steering.wait)
