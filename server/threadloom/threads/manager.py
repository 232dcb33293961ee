"""All threads of a server: born, loaded, found, put away. The tree is in the stored owner edges alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final

import anyio
import orjson
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from threadloom.agent.base import Agent, Tool
from threadloom.config.values import Agents
from threadloom.events import Aside, line, model_line, record
from threadloom.ids import uuid7
from threadloom.log import logger
from threadloom.store.base import Header, Lease, Row, Store, StoreError
from threadloom.threads import say
from threadloom.threads.answers import Answers
from threadloom.threads.birth import Birth, spawned
from threadloom.threads.branch import Branch
from threadloom.threads.cascade import Cascade
from threadloom.threads.catchup import Late, as_own, late
from threadloom.threads.context.rules import Ruling, standard
from threadloom.threads.defaults import Defaults
from threadloom.threads.hub import BROADCAST, Hub
from threadloom.threads.journal import Journal, now
from threadloom.threads.observer import Observer
from threadloom.threads.projection import unfinished
from threadloom.threads.reading import Reader
from threadloom.threads.recovering import Recovery
from threadloom.threads.replay import Replayed, epoch_mark, fold
from threadloom.threads.reports import Reports
from threadloom.threads.resting import Resting
from threadloom.threads.state import stored_status
from threadloom.threads.thread import Ground, Thread
from threadloom.threads.treeview import TreeView
from threadloom.threads.warming import warm
from threadloom_protocol.errors import InvalidRequest, RpcError
from threadloom_protocol.v2.search import ThreadListResponse
from threadloom_protocol.v2.stream import BackgroundEventNotification
from threadloom_protocol.v2.thread import ThreadResumeResponse
from threadloom_protocol.v2.values.sources import SessionSource
from threadloom_protocol.v2.values.status import CollabAgentStatus, IdleThreadStatus
from threadloom_protocol.v2.values.threads import Thread as View

log = logger(__name__)

IDLE: Final = 30 * 60.0  # seconds without a subscriber and without activity after which a thread leaves memory
TRIES: Final = 100  # waits for one thread that tells more all the time, until it is read as it was a moment ago
STOPPING: Final = 0.5  # seconds that commands get to end by themselves when the server stops
COMPATIBLE: Final = "0.166.0"  # what `cliVersion` says: clients compare it with Codex's


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
        limits: Callable[[str], Agents] = lambda cwd: Agents(),
        *,
        patient: bool = False,
    ) -> None:
        self.hub = Hub(self, lambda records: self.trees.published(records))
        self.reader = Reader(self)
        self.cascade = Cascade(self)
        self.answers = Answers(self)
        self.trees = TreeView(self)
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
            self.origin,
            partial(Branch, self),
            self.observer.changed,
            self.reports.deliver,
            self.cascade.end_sessions,
        )
        self.leaving: set[str] = set()  # threads that are being deleted
        self._threads: dict[str, Thread] = {}
        self._recovery = Recovery(self)
        self.patient = patient  # lists wait until they are whole
        self._leases: dict[str, tuple[Lease, set[str]]] = {}  # root → the lease, and the loaded threads that need it

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

    def parent(self, thread_id: str) -> str | None:
        """The owner of a thread."""
        if thread_id in self._threads:
            return self._threads[thread_id].owner
        found = self.store(thread_id).index.get(thread_id)
        return found.owner if found else None

    def get(self, thread_id: str) -> Thread:
        """A thread, loaded if it was not. Raises `InvalidRequest` where there is none, or another process has it."""
        return self._threads.get(thread_id) or self._load(thread_id)

    def descendants(self, thread_id: str) -> list[str]:
        """All that a thread owns, parents before their children: those born a moment ago, too."""
        return list(self.owned(thread_id))

    def owned(self, thread_id: str) -> dict[str, str]:
        """The same, each with its owner."""
        found = {thread_id: ""} | self.store(thread_id).index.owned(thread_id)
        for it in self._threads.values():  # in the order in which they came: an owner is there before what it owns
            if (owner := it.owner) is not None and owner in found:
                found.setdefault(it.id, owner)
        del found[thread_id]
        return found

    def children(self, thread_id: str) -> list[str]:
        """The threads that a thread owns itself, older ones first: those born a moment ago, too."""
        found = dict.fromkeys(self.store(thread_id).index.children(thread_id))
        found |= {it.id: None for it in self._threads.values() if it.owner == thread_id}
        return list(found)

    def running_below(self, thread_id: str) -> list[str]:
        """All that a thread owns and that runs, or is about to."""
        return [
            it.id
            for it in self._threads.values()
            if it.state.agent_status in ("running", "pendingInit") and thread_id in self.origin(it.id)[1:]
        ]

    def shown(self, thread_id: str) -> int:
        """The last seq of a thread that anybody may have seen."""
        return self._threads[thread_id].shown if thread_id in self._threads else self.row(thread_id).seq

    async def recovered(self) -> None:
        """Return once the index knows of every log."""
        await self._recovery.whole()

    async def known(self, thread_id: str) -> None:
        """Return once the index knows of one thread, if there is such a thread; others may not be known yet."""
        if thread_id in self._threads:
            return
        await self._recovery.soon()
        if not self._recovery.done:
            await self.settled()
            if self.durable.index.get(thread_id) is None or self._lags(thread_id):
                await self.durable.bring_up(thread_id, fold)
                self.spawn(self._take_up_later, thread_id)

    async def _take_up_later(self, thread_id: str) -> None:
        """A thread is used before all of its tree is known: the rest is taken up once it is."""
        try:
            await self.recovered()
            if thread_id in self._threads:
                await self._take_up_tree(self.durable, self._threads[thread_id].state.rest.thread.session_id)
        except StoreError as fault:
            log.error("a tree may have work that nobody goes on with", thread=thread_id, reason=str(fault))

    async def prepare(self) -> None:
        """Get ready for whoever comes back to a thread: no first request pays for all."""
        self._recovery.begin()
        await warm(View, Resting, ThreadListResponse, ThreadResumeResponse)

    async def take_up(self) -> None:
        """Take up every tree that has work to go on with: what it waits for is asked again, what was cut goes on."""
        try:
            await self.recovered()
        except StoreError as fault:  # whoever asks for threads hears of it
            log.error("nobody knows what is left to do", reason=str(fault))
            return
        for it in self.durable.index.due():
            self._take_up([it])  # the rest of its tree comes with it
            await checkpoint()

    def _take_up(self, ids: Sequence[str]) -> list[Thread]:
        found = []
        for it in ids:
            try:
                found.append(self.get(it))
            except (StoreError, RpcError) as fault:  # another server has it, or it cannot be read
                log.info("a thread with open work is left alone", thread=it, reason=str(fault))
        return found

    async def _take_up_tree(self, store: Store, root: str) -> None:
        """A thread was loaded: what else of its tree has work to go on with is, too, and reports in order."""
        self.reports.deliver(*self._take_up(store.index.due(root)))

    async def readable(self, thread_id: str | None = None) -> None:
        """The same for one who only reads: what is not known in a moment is not waited for."""
        whole = self.patient and thread_id is None
        try:
            await (self._recovery.whole() if whole else self._recovery.soon())
            await self.settled()
            if thread_id is not None and (self._unknown(thread_id) or self._lags(thread_id)):
                await self.durable.bring_up(thread_id, fold)
            await self.settled(thread_id)
        except StoreError as fault:
            log.warning("the index may lag", reason=str(fault))

    @property
    def lag(self) -> BackgroundEventNotification | None:
        """What is said to one whose list is not whole: how far the index is."""
        return self._recovery.lag

    def _unknown(self, thread_id: str) -> bool:
        return not self._recovery.done and not self.exists(thread_id)

    def _lags(self, thread_id: str) -> bool:
        """Whether another process wrote a thread, and went before the index had all of it."""
        row = self.durable.index.get(thread_id)
        if row is None or thread_id in self._threads or self.durable.holder(row.root) is not None:
            return False
        return _last(self.durable, thread_id) > row.seq

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
        header = Header(thread_id, at, birth.base, birth.owner, root, settings=_kept(birth))
        view = self._view(header, birth, ephemeral)
        view.path = store.path(header)
        above = {"above": self.origin(owner.id)} if owner is not None else {}
        header = replace(header, facts={**birth.facts, **above, "thread": orjson.loads(view.to_json())})
        emissions = [say.started(view), *(birth.beginning(thread_id) if birth.beginning else ())]
        first = (birth.base.seq if birth.base else 0) + 1
        records = [record(thread_id, seq, at, it) for seq, it in enumerate(emissions, first)]
        with self._leased(store, root, thread_id) as epoch:
            lines = [model_line(at, [epoch_mark(epoch)])]
            lines += [line(it, emission.model) for it, emission in zip(records, emissions, strict=True)]
            thread = Thread(self._ground, store, Replayed(store.create(header, lines), None))
        self._threads[thread_id] = thread
        self.hub.adopt(thread_id, first - 1)
        thread.begin(records)
        return thread

    def _view(self, header: Header, birth: Birth, ephemeral: bool) -> View:
        seconds = header.created_at // 1000
        return View(
            id=header.thread_id,
            session_id=header.root,
            project_id=None,
            forked_from_id=birth.forked_from,
            parent_thread_id=birth.owner,
            preview=birth.preview,
            ephemeral=ephemeral,
            model_provider=birth.settings.model_provider,
            model=birth.settings.model,
            reasoning_effort=birth.settings.effort,
            created_at=seconds,
            updated_at=seconds,
            recency_at=seconds,
            status=IdleThreadStatus(),
            cwd=birth.settings.cwd,
            cli_version=COMPATIBLE,
            source=birth.source or self._source(birth),
            agent_role=birth.role,
            agent_nickname=birth.nickname,
            spawn_config=birth.spawn_config,
            spawn_point=birth.spawn_point,
            name=birth.name,
            note=birth.note,
            originator=birth.originator,
            thread_source=birth.thread_source,
            history_mode="paginated",
            turns=[],
        )

    def _source(self, birth: Birth) -> SessionSource:
        if birth.owner is None:
            return "vscode"
        return spawned(birth.owner, self.depth(birth.owner) + 1, birth.role, birth.nickname)

    def branch(self, thread_id: str) -> Branch:
        """The tree, seen from a thread."""
        return Branch(self, thread_id)

    def limits(self, thread_id: str) -> Agents:
        """How far the tree of a thread may grow."""
        return self._limits(self.rest(thread_id).settings.cwd)

    def change(self, ids: Sequence[str]) -> anyio.Event:
        """Set as soon as one of these threads stands otherwise than now."""
        return self.observer.change(ids)

    def origin(self, thread_id: str) -> list[str]:
        """A thread and its owners, up to the root."""
        owner = self.parent(thread_id)
        return [thread_id] if owner is None else [thread_id, *self.origin(owner)]

    def depth(self, thread_id: str) -> int:
        """How many owners a thread has above it."""
        return len(self.origin(thread_id)) - 1

    def _load(self, thread_id: str) -> Thread:
        known = self.row(thread_id)
        store = self.store(thread_id)
        first = known.root not in self._leases  # of its tree
        with self._leased(store, known.root, thread_id) as epoch:
            thread = Thread(self._ground, store, Replayed(store.open(thread_id), known), epoch)
        self._threads[thread_id] = thread
        self.hub.adopt(thread_id, thread.seq)
        try:
            thread.recover()
            self.cascade.go_on(thread_id)
            if first:  # others may have ended before it
                thread.spawn(self._take_up_tree, store, known.root)
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
        root, ids = self.origin(thread_id)[-1], [*self.descendants(thread_id), thread_id]
        for it in ids:  # the edge last: where this is cut short, it is done again
            thread = self.get(it)
            before = thread.state.rest.thread.session_id
            with self._leased(thread.store, thread_id, it):
                freed = [{"@": "freed"}] if it == thread_id else []
                thread.emit(Aside([*freed, {"@": "thread", "set": {"session_id": thread_id}}]))
            self._let_go(before, it)
        self.trees.left(root, ids)

    def above(self, thread_id: str) -> list[str]:
        """Those that owned a thread when it was born, the nearest first: it reports to them, also once it is free."""
        loaded = self._threads.get(thread_id)
        header = loaded.header if loaded is not None else _header(self.store(thread_id), thread_id)
        return list(header.facts.get("above", ()))

    def unload(self, thread: Thread) -> None:
        """Let a thread leave memory. Its subscriptions stay: they go on when it is loaded again."""
        thread.release()
        self._threads.pop(thread.id, None)
        self._let_go(thread.state.rest.thread.session_id, thread.id)

    @contextmanager
    def _leased(self, store: Store, root: str, thread_id: str) -> Iterator[int]:
        """Hold the lease of a tree for one more thread, unless that fails to come to life; the lease's epoch."""
        if root not in self._leases:
            self._leases[root] = store.lease(root), set()
        self._leases[root][1].add(thread_id)
        try:
            yield self._leases[root][0].epoch
        except BaseException:
            self._let_go(root, thread_id)
            raise

    @contextmanager
    def writing(self, thread_id: str) -> Iterator[Journal]:
        """The journal of a thread, to note something in it: of one that is not loaded, or only kept, too."""
        if thread_id in self._threads:
            yield self._threads[thread_id]
            return
        known = self.durable.index.get(thread_id)
        root = known.root if known is not None else _header(self.durable, thread_id).root
        with self._leased(self.durable, root, thread_id) as epoch:
            log = self.durable.open(thread_id)
            try:
                yield Journal(self.hub, self.clock, self.durable, Replayed(log, known), epoch)
            finally:
                log.close()
        self._let_go(root, thread_id)

    @contextmanager
    def reading(self, thread_id: str) -> Iterator[Journal]:
        """A thread as it stands. One that is not loaded is not: its log tells, whoever writes it."""
        if thread_id in self._threads:
            yield self._threads[thread_id]
            return
        known, store = self.row(thread_id), self.store(thread_id)
        log = store.read(thread_id)
        try:
            yield Journal(self.hub, self.clock, store, Replayed(log, known))
        finally:
            log.close()

    def abandoned(self, thread_id: str) -> bool:
        """Whether no process has a thread: a turn that is open there has been lost."""
        return thread_id not in self._threads and self.durable.holder(self.row(thread_id).root) is None

    def _let_go(self, root: str, thread_id: str) -> None:
        lease, needed = self._leases.get(root, (None, set()))
        needed.discard(thread_id)
        if lease is not None and not needed:
            lease.release()
            del self._leases[root]

    async def sweep(self, idle: float | None = None) -> list[str]:
        """Let go of threads that nobody follows and that have done nothing for a while; which ones."""
        for root in list(self._leases):  # of a tree that is ours, nobody else goes on with anything
            self._take_up(self.store(root).index.due(root))
        self.reports.deliver(*self._threads.values())  # what a missed wake has left behind
        for it in list(self._threads.values()):
            it.queue.pump()
        late = self.clock() - (IDLE if idle is None else idle) * 1000
        unused = [
            it
            for it in self._threads.values()
            if (it.running or it.ending) is None
            and it.active_at <= late
            and not it.terminals.busy
            and not self.hub.followed(it.id)
            and not it.sealed
            and not unfinished(it.header, it.state.rest)
            and not self.reports.awaited(it)
        ]
        return [it.id for it in unused if self._unload_unused(it)]

    def _unload_unused(self, thread: Thread) -> bool:
        try:
            thread.emit(say.unloaded(thread.id))
        except StoreError as fault:
            log.error("a thread could not be unloaded", thread=thread.id, reason=str(fault))
            return False
        self.unload(thread)
        return True

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
            thread.suspend()
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

    # ── for the hub ───────────────────────────────────────────────────────────────────────────────────────────────

    def behind(self, thread_id: str, seq: int, limit: int, *, merge: bool) -> tuple[list[Late], int]:
        """See `hub.Source`."""
        loaded = self._threads.get(thread_id)
        store = loaded.store if loaded else self.store(thread_id)
        head = loaded.shown if loaded else _last(store, thread_id)
        lines = as_own(store.after(thread_id, seq, min(head, seq + limit)), thread_id, BROADCAST)
        return list(late(lines, merge=merge)), head


def _last(store: Store, thread_id: str) -> int:
    """The last seq of a thread that is not in memory: from its log, as the index may lag."""
    log = store.read(thread_id)
    try:
        return log.seq
    finally:
        log.close()


def _header(store: Store, thread_id: str) -> Header:
    log = store.read(thread_id)
    try:
        return log.header
    finally:
        log.close()


def _kept(birth: Birth) -> dict[str, Any]:
    kept = {
        "settings": orjson.loads(birth.settings.to_json()),
        "baseInstructions": birth.base_instructions,
        "developerInstructions": birth.developer_instructions,
        "config": dict(birth.config) or None,
        "callback": orjson.loads(birth.spawn_config.callback_config.to_json()) if birth.spawn_config else None,
        "usage": orjson.loads(birth.usage.token_usage.to_json()) if birth.usage else None,
        "usageTurn": birth.usage.turn_id if birth.usage else None,
        "compactions": list(birth.compactions) or None,
    }
    return {name: value for name, value in kept.items() if value is not None}
