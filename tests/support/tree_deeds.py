"""What a tree is asked to do, on a clock that only moves when nothing else can."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import anyio
from anyio.lowlevel import checkpoint
from tests.server.threads.house import words
from tests.support.clocks import FakeClock
from tests.support.tree_killing import Killing

from threadloom.agent.base import Agent, Batch, TurnInput
from threadloom.agent.collab.base import SpawnOrder
from threadloom.agent.collab.validate import Refused
from threadloom.agent.history import text_of
from threadloom.threads.birth import Birth
from threadloom.threads.manager import Manager
from threadloom.threads.stopping import GRACE, LAST
from threadloom.threads.thread import Thread
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2.thread import ThreadStartParams

STEP = 0.5  # seconds of the fake clock that pass at a time
FOR_EVER = 10_000.0  # seconds of the fake clock: nobody waits so long
LEAP = 1000.0  # the same, at a time
POLL = 0.001  # seconds: processes and disks ring no bell
STUBBORN = "stubborn "


class Slow:
    """An agent that, asked to be `stubborn`, does not mind being cancelled for so many seconds of a fake clock."""

    def __init__(self, usual: Agent, clock: FakeClock) -> None:
        self._usual = usual
        self._clock = clock
        self.compact = usual.compact
        self.held: set[str] = set()  # threads in such a turn

    async def run(self, turn: TurnInput) -> AsyncGenerator[Batch, None]:
        """See `Agent.run`."""
        asked = text_of(turn.history()[-1].get("content"))
        if asked.startswith(STUBBORN):
            self.held.add(turn.thread_id)
            with anyio.CancelScope(shield=True):
                await self._clock.until(self._clock.now() + float(asked.removeprefix(STUBBORN)))
            self.held.discard(turn.thread_id)
            return
        async with aclosing(self._usual.run(turn)) as batches:
            async for batch in batches:
                yield batch


class Settling:
    """Who waits for the index. That takes real time, and theirs may not begin to run before."""

    def __init__(self, manager: Manager) -> None:
        self._settled = manager.settled
        self._waiting = 0
        manager.settled = self._counted  # type: ignore[method-assign]

    async def _counted(self, thread_id: str | None = None) -> None:
        self._waiting += 1
        try:
            await self._settled(thread_id)
        finally:
            self._waiting -= 1

    async def over(self) -> None:
        """Return once whoever can go on has, and none of them waits for the index."""
        waited = True
        while waited:
            await self._settled()
            for _ in range(20):
                await checkpoint()
            waited = self._waiting > 0


class Deeds:
    """A server's threads, and what may be asked of them; the answers say what came of it, and judge nothing."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._cascade = manager.cascade
        self._settling = Settling(manager)
        self._clock = self._cascade.clock = FakeClock()
        self._slow = manager._ground.agent = Slow(manager._ground.agent, self._clock)
        self._killing = Killing(self._clock)

    # ── life ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def begin(self) -> dict[str, Any]:
        """Take up what the last server has left; what of it is still cut short once all has been done."""
        await self._manager.upkeep.take_up()
        await self._pass(FOR_EVER, self._carried_on)
        return {"cutShort": self._cut_short()}

    async def _carried_on(self) -> None:
        await _until(lambda: not self._cut_short())

    def _cut_short(self) -> list[str]:
        rests = {it: thread.state.rest for it, thread in self._manager.loaded.items()}
        return [it for it, rest in rests.items() if rest.closing and not rest.closed]

    async def root(self, cwd: str) -> dict[str, Any]:
        """A thread of a person, whose commands are not fenced in."""
        params = ThreadStartParams(cwd=cwd, sandbox="danger-full-access", approval_policy="never")
        made = self._manager.start(Birth(settings=self._manager.defaults.settings(params)))
        made.announce()
        return {"id": made.id}

    async def spawn(self, parent: str, prompt: str, *, abandon: bool, runs: bool = False) -> dict[str, Any]:
        """An agent at work; or who refused it, and whether that one was gone or going."""
        going = self._going(parent)
        try:
            made = self._born(parent, prompt, abandon=abandon)
        except Refused as refusal:
            return {"refused": str(refusal), "going": going}
        await self._under_way(made, runs=runs)
        return {"id": made.id, "going": going}

    def _going(self, thread_id: str) -> bool:
        loaded = self._manager.loaded.get(thread_id)
        return self._manager.status(thread_id) == "shutdown" or (loaded is not None and loaded.sealed)

    def _born(self, parent: str, prompt: str, *, abandon: bool) -> Thread:
        held = self._manager.rest(parent).settings
        order = SpawnOrder(
            content=[{"type": "text", "text": prompt}],
            model=held.model,
            model_provider=held.model_provider,
            reasoning_effort=None,
            sandbox=held.sandbox_policy,
            cwd=held.cwd,
            on_parent_close="abandon" if abandon else "cancel",
        )
        return self._manager.branch(parent).born(order)

    async def _under_way(self, thread: Thread, *, runs: bool) -> None:
        """Return once the command of a turn has done what it wanted, where it has one."""
        await _until(lambda: not runs or any(it.shown.total for it in thread.terminals.running()))

    async def input(self, thread: str, prompt: str, *, runs: bool = False) -> dict[str, Any]:
        """Say something to a thread. A command is given only to one that is at rest: others might pass over it."""
        agent = self._manager.get(thread)
        if runs and not agent.at_rest:
            return {"taken": False, "going": self._going(thread)}
        going = self._going(thread)
        try:
            agent.start_turn(words(prompt)).show()
        except InvalidRequest:
            return {"taken": False, "going": going}
        await self._under_way(agent, runs=runs)
        return {"taken": True, "going": going}

    async def interrupt(self, thread: str, *, cascade: bool) -> None:
        """End its turn, or those of all below it, too."""

        async def interrupt() -> None:
            if cascade:
                await self._cascade.interrupt(thread)
            await self._manager.get(thread).interrupt(by_user=True)

        await self._pass(FOR_EVER, interrupt)

    async def resume(self, thread: str) -> dict[str, Any]:
        """Take a thread up again; what went with it, and which of those are shut down still."""
        lasts: list[str] = []

        async def finished() -> None:
            try:
                await self._cascade.finished(thread)
            except InvalidRequest as refusal:
                lasts.append(refusal.message)

        await self._pass(GRACE + LAST, finished)
        went = [] if lasts else self._went_with(thread)
        if not lasts:
            await self._cascade.reopen(thread)
        return {"left": [it for it in went if self._manager.status(it) == "shutdown"]}

    def _went_with(self, thread_id: str) -> list[str]:
        """What the close of a thread took, as each has it in its record; without what the dead in between own."""
        rest, lineage = self._manager.rest, self._manager.lineage

        def went(it: str) -> bool:
            owner = lineage.parent(it)
            within = owner is not None and (owner == thread_id or not rest(owner).closed or went(owner))
            return within and rest(it).closed_by == rest(thread_id).closed_by

        below = lineage.descendants(thread_id) if rest(thread_id).closed else []
        return [thread_id, *filter(went, below)]

    # ── end ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def close(self, thread: str, times: int = 1, *, patient: bool = True) -> dict[str, Any]:
        """Close a thread, or several times at once, while others try to have children in it.

        No more time passes than its clock has; what is left then is waited for, where one is patient.
        """
        await self._manager.settled()
        order, joined = self._cascade.order(thread), thread in self._cascade._closing
        dry = [it.thread_id for it in await self._cascade.close(thread, dry_run=True)]
        reports: list[list[dict[str, Any]]] = []
        intruders: list[str] = []

        async def close() -> None:
            reports.append([it.model_dump() for it in await self._cascade.close(thread)])

        async def intrude() -> None:
            while len(reports) < times and not (sealed := self._sealed(order)):
                await checkpoint()
            intruders.extend([it for it in (sealed if len(reports) < times else []) if self._lets_in(it)])

        await self._pass(GRACE + LAST, *[close] * times, intrude)
        if patient:
            await self.wait()
        owners = {it: self._manager.lineage.parent(it) for it in order}
        told = {"order": order, "dry": dry, "reports": reports, "intruders": intruders, "owners": owners}
        return {**told, "joined": joined}

    def _sealed(self, order: list[str]) -> list[str]:
        return [it for it in order if it in self._manager.loaded and self._manager.loaded[it].sealed]

    def _lets_in(self, thread_id: str) -> bool:
        try:
            self._born(thread_id, "wait", abandon=False)
        except Refused:
            return False
        return True

    async def wait(self) -> None:
        """Let time pass until no close is under way."""
        await self._pass(FOR_EVER, self._all_closed)

    async def _all_closed(self) -> None:
        await _until(lambda: not self._cascade._closing)

    async def look(self, ids: list[str]) -> dict[str, Any]:
        """How threads stand: whether they are shut down, who owns them, which tree they are of, and its root."""
        return {it: self._standing(it) for it in ids}

    def _standing(self, thread_id: str) -> tuple[bool, str | None, str, str]:
        shut = self._manager.status(thread_id) == "shutdown"
        session = self._manager.rest(thread_id).thread.session_id
        lineage = self._manager.lineage
        return shut, lineage.parent(thread_id), session, lineage.origin(thread_id)[-1]

    # ── time ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _pass(self, most: float, *works: Callable[[], Awaitable[None]]) -> None:
        """Let time pass until something is done, but no more than so much."""
        left = len(works)

        async def run(work: Callable[[], Awaitable[None]]) -> None:
            nonlocal left
            await work()
            left -= 1

        async with anyio.create_task_group() as tasks:
            for work in works:
                tasks.start_soon(run, work)
            passed, step = 0.0, STEP if most < FOR_EVER else LEAP
            await self._calm()
            while left and passed < most:
                self._clock.move(step)
                passed += step
                await self._calm()

    async def _calm(self) -> None:
        """Return once nothing ends by itself any more, and nobody waits for a commit before it looks at the clock."""
        await self._settling.over()
        await _until(lambda: not (self._killing.dying or any(map(self._ends, self._manager.loaded.values()))))
        await _until(lambda: not any(it.landing for it in self._cascade._closing.values()))

    def _ends(self, thread: Thread) -> bool:
        """Whether a turn is about to end, and waits for no clock."""
        waits = any(it.process in self._killing.waiting for it in thread.terminals.running())
        return thread.ending is not None and thread.id not in self._slow.held and not waits


async def _until(done: Callable[[], bool]) -> None:
    while not done():  # noqa: ASYNC110
        await anyio.sleep(POLL)
