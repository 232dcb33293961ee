"""All threads of a server: born, loaded, found, put away. The tree is in the stored owner edges alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import anyio
import orjson
from anyio.abc import TaskGroup

from threadloom.agent.base import Agent, Tool
from threadloom.config.values import Agents
from threadloom.events import Aside, line, model_line, record
from threadloom.ids import uuid7
from threadloom.log import logger
from threadloom.store.base import Store, StoreError
from threadloom.store.errors import Missing
from threadloom.store.rows import Header, Row
from threadloom.threads import outliving, say
from threadloom.threads.answers import Answers
from threadloom.threads.birth import Birth, kept, viewed
from threadloom.threads.branch import Branch
from threadloom.threads.cascade import Cascade
from threadloom.threads.context.rules import Ruling, standard
from threadloom.threads.defaults import Defaults
from threadloom.threads.ground import Ground
from threadloom.threads.hub import Hub
from threadloom.threads.journal import now
from threadloom.threads.knowledge import Knowledge
from threadloom.threads.leases import Leases
from threadloom.threads.lineage import Lineage
from threadloom.threads.logs import Logs
from threadloom.threads.moving import Moves
from threadloom.threads.observer import Observer
from threadloom.threads.reading import Reader
from threadloom.threads.replay import Replayed, epoch_mark
from threadloom.threads.reports import Reports
from threadloom.threads.resting import Resting
from threadloom.threads.state import stored_status
from threadloom.threads.thread import Thread
from threadloom.threads.treeview import TreeView
from threadloom.threads.upkeep import Upkeep
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2.values.status import CollabAgentStatus

log = logger(__name__)

TRIES: Final = 100  # waits for one thread that tells more all the time, until it is read as it was a moment ago
STOPPING: Final = 0.5  # seconds that commands get to end by themselves when the server stops


class Manager:
    """The threads of one process over one home."""

    def __init__(
        self,
        durable: Store,
        ephemeral: Store,
        agent: Agent,
        tasks: TaskGroup,
        defaults: Defaults,
        tools: Mapping[str, Tool] | None = None,
        clock: Callable[[], int] = now,
        rules: Ruling = standard,
        limits: Callable[[str, Mapping[str, Any]], Agents] = lambda cwd, own: Agents(),
        *,
        patient: bool = False,
    ) -> None:
        self.leases = Leases()
        self.logs = Logs(self)
        self.lineage = Lineage(self)
        self.hub = Hub(self.logs, self.lineage.parent, lambda records: self.trees.published(records))
        self.reader = Reader(self)
        self.cascade = Cascade(self)
        self.moves = Moves(self, self.cascade)
        self.answers = Answers(self)
        self.trees = TreeView(self)
        self.knowledge = Knowledge(self)
        self.upkeep = Upkeep(self)
        self.spawn = tasks.start_soon  # lets something run on by itself
        self.defaults = defaults
        self.clock = clock
        self._stores = durable, ephemeral
        self._limits = limits
        self.observer = Observer(self)
        self.reports = Reports(self)
        self._ground = Ground(
            self.hub,
            tasks,
            agent,
            dict(tools or {}),
            clock,
            rules,
            self.lineage.origin,
            partial(Branch, self),
            self.observer.changed,
            self.reports.deliver,
            self.cascade.end_sessions,
        )
        self.leaving: set[str] = set()  # threads that are being deleted
        self._threads: dict[str, Thread] = {}
        self.patient = patient  # lists wait until they are whole

    # ── who is there ──────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def loaded(self) -> Mapping[str, Thread]:
        """The threads in memory, by id."""
        return self._threads

    @property
    def durable(self) -> Store:
        """Where threads are kept that outlive the process."""
        return self._stores[0]

    def store(self, thread_id: str) -> Store:
        """The store that a thread lies in."""
        durable, ephemeral = self._stores
        return ephemeral if ephemeral.index.get(thread_id) is not None else durable

    def row(self, thread_id: str) -> Row:
        """What the index knows of a thread."""
        found = self.store(thread_id).index.get(thread_id) if thread_id not in self.leaving else None
        if found is None and thread_id in self._threads:  # it is being deleted, and no list shows it any more
            return self._threads[thread_id].row()
        if found is None:
            raise InvalidRequest(f"thread not found: {thread_id}")
        return found

    def ephemeral(self, thread_id: str) -> bool:
        """Whether a thread ends with the process."""
        return self.store(thread_id) is self._stores[1]

    def exists(self, thread_id: str) -> bool:
        """Whether there is such a thread."""
        return thread_id in self._threads or self.store(thread_id).index.get(thread_id) is not None

    def status(self, thread_id: str) -> CollabAgentStatus:
        """How a thread stands in its tree, loaded or not."""
        loaded = self._threads.get(thread_id)
        if loaded is not None:
            return loaded.state.agent_status
        row = self.row(thread_id)
        return stored_status(orjson.loads(row.state), held=self.held(row.root))

    def held(self, root: str) -> bool:
        """Whether another process has a tree."""
        return self.store(root).holder(root) is not None

    def abandoned(self, thread_id: str) -> bool:
        """Whether no process has a thread: a turn that is open there has been lost."""
        return thread_id not in self._threads and self.durable.holder(self.row(thread_id).root) is None

    def rest(self, thread_id: str) -> Resting:
        """What is known of a thread, loaded or not."""
        loaded = self._threads.get(thread_id)
        return loaded.state.rest if loaded else Resting.model_validate(orjson.loads(self.row(thread_id).state))

    async def settled(self, thread_id: str | None = None) -> None:
        """Return once every list shows what was done before; of one thread, also what it has done meanwhile."""
        for store in self._stores:
            await store.index.settled()
        if thread_id is not None:
            index = self.store(thread_id).index
            for _ in range(TRIES):
                if index.written(thread_id):
                    return
                await index.settled()

    def get(self, thread_id: str) -> Thread:
        """A thread, loaded if it was not. Raises `InvalidRequest` where there is none, or another process has it."""
        return self._threads.get(thread_id) or self._load(thread_id)

    def shown(self, thread_id: str) -> int:
        """The last seq of a thread that anybody may have seen."""
        return self._threads[thread_id].shown if thread_id in self._threads else self.row(thread_id).seq

    def branch(self, thread_id: str) -> Branch:
        """The tree, seen from a thread."""
        return Branch(self, thread_id)

    def limits(self, thread_id: str) -> Agents:
        """How far the tree of a thread may grow: all of it as its root is configured."""
        root = self.rest(self.lineage.origin(thread_id)[-1])
        return self._limits(root.settings.cwd, root.config)

    # ── birth and life ────────────────────────────────────────────────────────────────────────────────────────────

    def start(self, birth: Birth) -> Thread:
        """A new thread. It exists once this returns; `announce` shows it."""
        owner = self.get(birth.owner) if birth.owner is not None else None
        if owner is not None:
            owner.takes_work()
        ephemeral = birth.ephemeral or (owner is not None and owner.state.rest.thread.ephemeral)
        store = self._stores[ephemeral]
        thread_id = uuid7()
        root = owner.state.rest.thread.session_id if owner is not None else thread_id
        at = self.clock()
        header = Header(thread_id, at, birth.base, birth.owner, root, settings=kept(birth))
        above = self.lineage.origin(owner.id) if owner is not None else []
        view = viewed(birth, header, len(above), store.path(header), ephemeral=ephemeral)
        known = {"above": above} if above else {}
        header = replace(header, facts={**birth.facts, **known, "thread": orjson.loads(view.to_json())})
        emissions = [say.started(view), *(birth.beginning(thread_id) if birth.beginning else ())]
        first = (birth.base.seq if birth.base else 0) + 1
        records = [record(thread_id, seq, at, it) for seq, it in enumerate(emissions, first)]
        with self.leases.needed(store, root, thread_id) as epoch:
            lines = [model_line(at, [epoch_mark(epoch)])]
            lines += [line(it, emission.model) for it, emission in zip(records, emissions, strict=True)]
            thread = Thread(self._ground, store, Replayed(store.create(header, lines), None))
        self._threads[thread_id] = thread
        self.hub.adopt(thread_id, first - 1)
        thread.begin(records)
        return thread

    def _load(self, thread_id: str) -> Thread:
        known = self.row(thread_id)
        store = self.store(thread_id)
        first = known.root not in self.leases.roots  # of its tree
        with self.leases.needed(store, known.root, thread_id) as epoch:
            thread = Thread(self._ground, store, Replayed(store.open(thread_id), known), epoch)
        self._threads[thread_id] = thread
        self.hub.adopt(thread_id, thread.seq)
        try:
            outliving.recover(thread)
            self.cascade.go_on(thread_id)
            self.moves.go_on(thread_id)
            if first:  # others may have ended before it
                thread.spawn(self.upkeep.take_up_tree, store, known.root)
            else:
                self.reports.deliver(thread)
            thread.pump_later(0)
            if thread.seq > known.seq:
                thread.project()
        except BaseException:
            self.unload(thread)
            raise
        return thread

    def set_free(self, thread_id: str) -> None:
        """End the edge between a thread and its owner: with all that it owns, it is a tree of its own from now on."""
        root, ids = self.lineage.origin(thread_id)[-1], [*self.lineage.descendants(thread_id), thread_id]
        for it in ids:  # the edge last: where this is cut short, it is done again
            try:
                thread = self.get(it)
            except Missing as fault:  # nothing of it can run
                log.warning("a thread is passed over", thread=it, reason=str(fault))
                continue
            before = thread.state.rest.thread.session_id
            with self.leases.needed(thread.store, thread_id, it):
                freed = [{"@": "freed"}] if it == thread_id else []
                thread.emit(Aside([*freed, {"@": "thread", "set": {"session_id": thread_id}}]))
            if before != thread_id:  # else an earlier attempt came this far
                self.leases.let_go(before, it)
            self.observer.wake(it)
        self.trees.left(root, ids)

    def unload(self, thread: Thread) -> None:
        """Let a thread leave memory. Its subscriptions stay: they go on when it is loaded again."""
        thread.release()
        self._threads.pop(thread.id, None)
        self.leases.let_go(thread.state.rest.thread.session_id, thread.id)

    # ── the end ───────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def stopping(self) -> bool:
        """Whether nothing is loaded to go on with it any more."""
        return self._ground.stopping

    async def drain(self, seconds: float) -> None:
        """Let the turns under way end by themselves, as far as they do so in time; what waits, waits."""
        self._ground.stopping = True
        with anyio.move_on_after(seconds):
            while running := [it.running for it in self._threads.values() if it.running is not None]:
                for turn in running:
                    await turn.done.wait()

    async def stop(self) -> None:
        """End every turn, its text kept, and let every thread go."""
        self._ground.stopping = True
        for thread in self._threads.values():
            thread.sealed = True
            thread.terminals.hurry(STOPPING)
            outliving.suspend(thread)
            if thread.running is not None:
                thread.running.scope.cancel()
        await self._quiet(list(self._threads.values()))
        try:
            await self.settled()
        except StoreError as fault:  # the logs have it: the index is brought up to them at the next start
            log.error("the index could not be written", reason=str(fault))
        for thread in list(self._threads.values()):
            self.unload(thread)

    async def _quiet(self, threads: Sequence[Thread]) -> None:
        """End the commands and the turns of threads, side by side."""
        async with anyio.create_task_group() as tasks:
            for thread in threads:
                tasks.start_soon(thread.terminals.end_all)
                tasks.start_soon(thread.interrupt)

    def close(self) -> None:
        """Let go of what is stored; nothing can be asked any more."""
        for store in self._stores:
            store.close()
