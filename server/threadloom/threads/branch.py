"""What one thread may do in its tree: the port of the collaboration tools, and of clients that act for a thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from threadloom.agent.collab.base import Closed, Sent, SpawnOrder, Standing
from threadloom.agent.collab.validate import Refused
from threadloom.agent.sampling import Item, ToolCall
from threadloom.agent.templates.resolve import Parent
from threadloom.threads import elsewhere, say
from threadloom.threads.attachments import attached
from threadloom.threads.inputs import check
from threadloom.threads.offspring import ordered
from threadloom.threads.outlook import Outlook, refusing
from threadloom.threads.speech import ready_to_hear, speak, written

if TYPE_CHECKING:
    from threadloom.threads.thread import Thread


class Branch(Outlook):
    """The tree, in the hands of one thread. See `agent.collab.base.Tree`."""

    # ── birth ─────────────────────────────────────────────────────────────────────────────────────────────────────

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
        with refusing():
            return await attached(written(content), cwd)

    def may_spawn(self) -> None:
        """See `Tree.may_spawn`."""
        self._has_room(self._me)

    def _has_room(self, owner: str) -> None:
        """Raise `Refused` where the limits leave no room for one more that this thread owns."""
        most = self._manager.limits(self._me)
        depth = self._manager.lineage.depth(owner)
        if depth >= most.max_depth:
            raise Refused(
                f"The limit of {most.max_depth} for the depth of agents (max_depth) is reached: {owner} is at depth "
                f"{depth}, and cannot own agents that run."
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
        with refusing():
            check(content)
            made = self._manager.start(ordered(parent, order))
        made.start_turn(content, files=order.files, by_parent=order.call_id is not None).show()
        made.announce()
        return made

    async def may_work_in(self, call: ToolCall, directory: str) -> bool:
        """See `Tree.may_work_in`."""
        me = self._manager.get(self._me)
        if me.state.rest.settings.approval_policy == "never":
            raise Refused("An agent may work in another directory only with the user's approval, and nobody is asked.")
        origin = self._manager.lineage.origin(self._me)
        owner = None if me.owner is None else self._manager.loaded.get(me.owner)
        for it in (owner, me):  # where the owner's turn ends first, it is asked here: nobody has decided yet
            if it is not None and it.running is not None:
                answer = await elsewhere.allowed(it, it.running.id, origin, call, directory)
                if answer is not None:
                    return answer
        return False

    # ── life ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def send(self, agent_id: str, content: Sequence[Item], *, interrupt: bool = False) -> Sent:
        """See `Tree.send`."""
        self._check(agent_id, "interrupt" if interrupt else "message")
        if interrupt and agent_id == self._me:
            raise Refused("You cannot interrupt yourself.")
        said = written(content)
        before = self.told([agent_id])
        with refusing():
            agent = self._manager.get(agent_id)
            submission = speak(agent, said, await ready_to_hear(agent, said, interrupt=interrupt), by_parent=True)
        cut = interrupt and agent.state.rest.last_turn == "interrupted"
        return Sent(submission, [it for it in self.told([agent_id]) if cut and it not in before])

    async def close(self, agent_id: str) -> Closed:
        """See `Tree.close`."""
        self._check(agent_id, "close")
        before = self._manager.status(agent_id)
        close = self._manager.cascade.leave if agent_id == self._me else self._manager.cascade.close
        with refusing():
            return Closed(before, await close(agent_id))

    async def resume(self, agent_id: str) -> Standing:
        """See `Tree.resume`."""
        self._check(agent_id, "resume")
        with refusing():
            await self._manager.cascade.finished(agent_id)
            shut = self._manager.status(agent_id) == "shutdown"
            if self._manager.row(agent_id).archived:
                raise Refused(f"thread {agent_id} is archived; unarchive it first")
        if shut:
            self._has_room(self._manager.lineage.parent(agent_id) or agent_id)
            with refusing():
                await self._manager.cascade.reopen(agent_id)
            await self._manager.settled()
        return self.standing(agent_id)

    # ── what is said ──────────────────────────────────────────────────────────────────────────────────────────────

    def set_note(self, agent_id: str, note: str | None) -> str:
        """See `Tree.set_note`."""
        self._check(agent_id, "annotate")
        with refusing():
            agent = self._manager.get(agent_id)
            agent.set_note(note)
        return f"{agent_id}:{agent.seq}"

    def tell(self, text: str, child: str | None = None) -> None:
        """See `Tree.tell`."""
        self._manager.get(self._me).emit(say.background(self._me, text, child=child))

    def warn(self, text: str) -> None:
        """See `Tree.warn`."""
        self._manager.get(self._me).emit(say.background(self._me, text, "warning"))
