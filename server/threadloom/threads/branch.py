"""What one thread may do in its tree: the port of the collaboration tools, and of clients that act for a thread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio

from threadloom.agent.collab.base import OUTSIDE, ActiveAgent, Closed, Scope, Sent, SpawnOrder, Standing, Waited
from threadloom.agent.collab.validate import Refused
from threadloom.agent.sampling import Item, ToolCall
from threadloom.agent.steering import Steering
from threadloom.agent.templates.resolve import Parent
from threadloom.threads import elsewhere, say
from threadloom.threads.attachments import attached
from threadloom.threads.inputs import check
from threadloom.threads.offspring import ordered
from threadloom.threads.reports import report_id
from threadloom.threads.resting import Resting
from threadloom.threads.speech import ready_to_hear, speak, written
from threadloom_protocol.errors import InvalidParams, InvalidRequest
from threadloom_protocol.v2.values.items import AgentMessageThreadItem
from threadloom_protocol.v2.values.sources import SubAgentSessionSource, ThreadSpawnSubAgentSource

if TYPE_CHECKING:
    from threadloom.threads.manager import Manager
    from threadloom.threads.thread import Thread


class Branch:
    """The tree, seen from one thread. See `agent.collab.base.Tree`."""

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

    def parent(self) -> Parent:
        """See `Tree.parent`."""
        me = self._manager.get(self._me)
        settings = me.state.rest.settings
        return Parent(
            settings.model,
            settings.model_provider,
            settings.sandbox_policy,
            settings.effort,
            me.state.rest.developer_instructions,
            me.policy,
            settings.cwd,
        )

    async def attached(self, content: Sequence[Item], cwd: str) -> Mapping[str, str]:
        """See `Tree.attached`."""
        try:
            return await attached(written(content), cwd)
        except InvalidRequest as refusal:
            raise Refused(refusal.message) from refusal

    # ── birth ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def may_spawn(self, depth: int | None = None) -> None:
        """See `Tree.may_spawn`."""
        most = self._manager.limits(self._me)
        deep = (self._manager.lineage.depth(self._me) if depth is None else depth - 1) + 1
        if deep > most.max_depth:
            raise Refused(
                f"The limit of {most.max_depth} for the depth of agents (max_depth) is reached: {self._me} is at depth "
                f"{deep - 1}, and cannot own agents that run."
            )
        held = self._manager.lineage.running_below(self._root)
        if len(held) >= most.max_threads:
            raise Refused(
                f"The limit of {most.max_threads} agents that run in one tree (max_threads) is reached. They are: "
                f"{', '.join(held)}. Wait for one, or close it."
            )

    def spawn(self, order: SpawnOrder) -> str:
        """See `Tree.spawn`."""
        return self.born(order).id

    def born(self, order: SpawnOrder) -> Thread:
        """The same, for those who want the thread."""
        self.may_spawn()
        parent = self._manager.get(self._me)
        content = written(order.content)
        try:
            check(content)
            made = self._manager.start(ordered(parent, order))
        except (InvalidParams, InvalidRequest) as refusal:
            raise Refused(refusal.message) from refusal
        made.start_turn(content, files=order.files, by_parent=order.call_id is not None).shown.set()
        made.announce()
        return made

    async def may_work_in(self, call: ToolCall, directory: str) -> bool:
        """See `Tree.may_work_in`."""
        me = self._manager.get(self._me)
        if me.state.rest.settings.approval_policy == "never":
            raise Refused("An agent may work in another directory only with the user's approval, and nobody is asked.")
        owner = None if me.owner is None else self._manager.loaded.get(me.owner)
        asked = owner if owner is not None and owner.running is not None else me
        assert asked.running is not None
        return await elsewhere.allowed(asked, asked.running.id, self._manager.lineage.origin(self._me), call, directory)

    # ── life ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def send(self, agent_id: str, content: Sequence[Item], *, interrupt: bool = False) -> Sent:
        """See `Tree.send`."""
        self._check(agent_id, "interrupt" if interrupt else "message")
        if interrupt and agent_id == self._me:
            raise Refused("You cannot interrupt yourself.")
        said = written(content)
        agent = self._manager.get(agent_id)
        before = self.told([agent_id])
        try:
            submission = speak(agent, said, await ready_to_hear(agent, said, interrupt=interrupt), by_parent=True)
        except (InvalidParams, InvalidRequest) as refusal:
            raise Refused(refusal.message) from refusal
        cut = interrupt and agent.state.rest.last_turn == "interrupted"
        return Sent(submission, [it for it in self.told([agent_id]) if cut and it not in before])

    async def wait(self, ids: Sequence[str], seconds: float, steering: Steering | None = None) -> Waited:
        """See `Tree.wait`."""
        with anyio.move_on_after(seconds):
            while True:
                changed = self._manager.observer.change(ids)
                found = {it: standing for it in ids if (standing := self.standing(it)).final}
                if found:
                    return Waited(found)
                if steering is not None and steering.waiting:
                    return Waited({}, steered=True)
                await _either(changed, steering)
        return Waited({}, timed_out=True)

    def standing(self, agent_id: str) -> Standing:
        """See `Tree.standing`."""
        if not self._in_tree(agent_id):
            return Standing("notFound")
        status = self._manager.status(agent_id)
        heard = status in ("completed", "errored") and self._me in self._manager.lineage.origin(agent_id)
        return Standing(
            status, self._last_words(agent_id) if heard else None
        )  # of others it sees that they are at rest

    def _last_words(self, agent_id: str) -> str | None:
        loaded = self._manager.loaded.get(agent_id)
        last = loaded.state.last if loaded is not None else None  # the index may lag
        if last is None:
            turns = self._manager.reader.turns(agent_id, limit=1, direction="desc", items="summary").data
            last = turns[0] if turns else None
        if last is None:
            return None
        if last.error is not None:
            return str(last.error.message)
        said = [it.text for it in last.items if isinstance(it, AgentMessageThreadItem)]
        return said[-1] if said else None

    def session(self, session_id: str) -> None:
        """See `Tree.session`."""
        if self._in_tree(session_id) and self._me in self._manager.lineage.origin(session_id)[1:]:
            spawned = self._manager.rest(session_id).thread.spawn_config
            if spawned is not None and spawned.kind == "subSession":
                return
        raise Refused(f"There is no session {session_id}.")

    def told(self, ids: Iterable[str]) -> list[str]:
        """See `Tree.told`."""
        return [report_id(it, turn) for it in ids if (turn := self._last_end(it)) is not None]

    def _last_end(self, agent_id: str) -> str | None:
        """How the report of the last thing that ended an agent's turn, or the agent, is named."""
        return self._manager.rest(agent_id).last_end if self._in_tree(agent_id) else None

    async def close(self, agent_id: str) -> Closed:
        """See `Tree.close`."""
        self._check(agent_id, "close")
        before = self._manager.status(agent_id)
        if agent_id != self._me:
            return Closed(before, await self._manager.cascade.close(agent_id))
        return Closed(before, await self._manager.cascade.leave(agent_id))

    async def resume(self, agent_id: str) -> Standing:
        """See `Tree.resume`."""
        self._check(agent_id, "resume")
        try:
            await self._manager.cascade.finished(agent_id)
        except InvalidRequest as refusal:
            raise Refused(refusal.message) from refusal
        if self._manager.status(agent_id) == "shutdown":
            self.may_spawn(self._manager.lineage.depth(agent_id))
            await self._manager.cascade.reopen(agent_id)
            await self._manager.settled()
        return self.standing(agent_id)

    # ── what is known ─────────────────────────────────────────────────────────────────────────────────────────────

    def set_note(self, agent_id: str, note: str | None) -> str:
        """See `Tree.set_note`."""
        self._check(agent_id, "annotate")
        agent = self._manager.get(agent_id)
        agent.set_note(note)
        return f"{agent_id}:{agent.seq}"

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

    async def read(self, agent_id: str, turn_id: str | None = None) -> tuple[str, str]:
        """See `Tree.read`."""
        self._check_read(agent_id)
        await self._manager.settled()
        reader = self._manager.reader
        turns = reader.turns(agent_id, limit=0 if turn_id else 1, direction="desc", items="full").data
        found: Any = next((it for it in turns if turn_id in (None, it.id)), None)
        if found is None:
            raise Refused(f"There is no turn {turn_id} of agent {agent_id}." if turn_id else "It has no turn yet.")
        said = [it.text for it in found.items if isinstance(it, AgentMessageThreadItem)]
        return found.id, "\n\n".join(said)

    def tell(self, text: str, child: str | None = None) -> None:
        """See `Tree.tell`."""
        self._manager.get(self._me).emit(say.background(self._me, text, child=child))

    def warn(self, text: str) -> None:
        """See `Tree.warn`."""
        self._manager.get(self._me).emit(say.background(self._me, text, "warning"))


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
