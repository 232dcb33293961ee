"""A thread: its journal, and the turn that runs in it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Final

import anyio
import orjson
from anyio.abc import TaskGroup

from threadloom.agent.base import Agent, Batch, Tool, TurnInput
from threadloom.agent.collab.base import Tree
from threadloom.agent.history import ABORTED, unanswered
from threadloom.agent.sampling import ModelError, ToolCall, Usage
from threadloom.agent.steering import Steering
from threadloom.agent.templates.policy import NOTHING, Policy
from threadloom.events import Aside, Emission
from threadloom.exec.terminals import Terminals
from threadloom.ids import uuid7
from threadloom.log import logger
from threadloom.store.base import Store, StoreError
from threadloom.threads import endings, goals, say
from threadloom.threads.attachments import attached
from threadloom.threads.compaction import Compaction
from threadloom.threads.context.additional import Additional, unheard
from threadloom.threads.context.rules import Rules, Ruling, standard
from threadloom.threads.context.telling import Surroundings
from threadloom.threads.hub import Hub
from threadloom.threads.inputs import NO_FILES, WRITTEN, Content, Files, check, taken
from threadloom.threads.journal import Journal, now
from threadloom.threads.lost import lost_item
from threadloom.threads.opened import OpenTurn
from threadloom.threads.queue import Queue
from threadloom.threads.replay import Replayed
from threadloom.threads.reports import due_report
from threadloom.threads.requests import Desk, Requests
from threadloom.threads.resting import Asked, Queued
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2.settings import ThreadSettings
from threadloom_protocol.v2.values.genealogy import CallbackConfig
from threadloom_protocol.v2.values.status import CollabAgentStatus
from threadloom_protocol.v2.values.turns import TurnError

log = logger(__name__)

NOTHING_BESIDE: Final[Additional] = MappingProxyType({})
RETRY: Final = 1.0  # seconds between attempts to record the end of a turn that storage refuses: space may come back


async def _nothing(thread_id: str) -> None:
    return None


@dataclass(slots=True)
class Ground:
    """What every thread stands on."""

    hub: Hub
    tasks: TaskGroup
    agent: Agent
    tools: dict[str, Tool]
    clock: Callable[[], int] = now
    rules: Ruling = standard
    origin: Callable[[str], Sequence[str]] = lambda thread_id: [thread_id]  # a thread and its owners, up to the root
    branch: Callable[[str], Tree] | None = None  # the tree, seen from a thread
    changed: Callable[[Journal, CollabAgentStatus], None] = lambda thread, before: None  # it stands otherwise now
    ended: Callable[[Any], None] = lambda thread: None  # a turn of it is over
    interrupted: Callable[[str], Awaitable[None]] = _nothing  # ends what does not outlive a turn
    stopping: bool = False  # turns may end, but none begins by itself any more


class Running:
    """A turn under way."""

    def __init__(self, turn_id: str, rules: Rules, compaction: Compaction) -> None:
        self.id = turn_id
        self.rules = rules
        self.compaction = compaction
        self.goes_on = True  # with another turn, where there is a goal
        self.by_user = False  # it was the user who ended it
        self.scope = anyio.CancelScope()
        self.steering = Steering()
        self.shown = anyio.Event()  # whoever asked for it has its answer: events may follow
        self.held = True  # they do not yet
        self.steerable = True  # what a person says may join it
        self.suspended = False  # it stops here, and goes on in another life of the server
        self.done = anyio.Event()  # it has ended, and its end is on the disk

    def stop(self, *, by_user: bool = False) -> None:
        """Let it end, and no other follow by itself."""
        self.goes_on = False
        self.by_user |= by_user
        self.scope.cancel()


class Thread(Journal):
    """One conversation."""

    def __init__(self, ground: Ground, store: Store, replayed: Replayed, epoch: int | None = None) -> None:
        super().__init__(ground.hub, ground.clock, store, replayed, epoch, ground.changed)
        self.sealed = False  # closing: takes no new work
        self.taken_down = False  # by a cascade, which reports for all that it takes
        self.goals = goals.Goals(self, ground.clock)
        self.requests = Requests(self, lambda: self.rules.patience)
        self.terminals = Terminals()
        self.queue = Queue(self)
        self._ground = ground
        self._running: Running | None = None
        self._ending: Running | None = None  # it has ended, but its end is not on the disk yet
        self._surroundings = Surroundings()
        self._released = anyio.Event()  # it has left memory: nothing of it waits for anything any more

    @property
    def running(self) -> Running | None:
        """The turn under way."""
        return self._running

    @property
    def ending(self) -> Running | None:
        """The turn that is over, or about to be, and whose end nobody has seen yet."""
        going = self._running is not None and self._running.scope.cancel_called
        return self._running if going else self._ending

    @cached_property
    def policy(self) -> Policy:
        """The tools that it may use: what it was born with, for good."""
        try:
            return Policy.from_json(self.header.facts.get("policy"))
        except ValueError as fault:
            log.error("a thread has lost its rights", thread=self.id, reason=str(fault))
            return NOTHING

    # ── the model's side ──────────────────────────────────────────────────────────────────────────────────────────

    def sources(self) -> list[str]:
        """The files that its instructions come from."""
        settings = self.state.rest.settings
        return self._surroundings.sources(settings, self._rules(settings))

    @property
    def rules(self) -> Rules:
        """What is configured for it, as its settings are now."""
        return self._rules(self.state.rest.settings)

    def _rules(self, settings: ThreadSettings) -> Rules:
        return self._ground.rules(settings, self.state.rest.config)

    def _context(self, rules: Rules, settings: ThreadSettings) -> list[Aside]:
        """What the model has to be told before it reads on."""
        news = self._surroundings.news(settings, rules, self.recall.told, self.clock())
        return [Aside(news)] if news else []

    @property
    def agent(self) -> Agent:
        """What answers."""
        return self._ground.agent

    def anew(self, rules: Rules) -> list[dict[str, Any]]:
        """The same, for a model that knows nothing yet."""
        return self._surroundings.news(self.state.rest.settings, rules, None, self.clock())

    # ── turns ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def known_turn(self, client_id: str | None) -> str | None:
        """The turn that a client's message went into already."""
        return self.state.rest.known.get(client_id) if client_id is not None else None

    def takes_work(self) -> None:
        """Raise where no turn may begin, and no child be born."""
        if self.sealed:
            raise InvalidRequest(f"thread {self.id} is closing")
        if self.state.rest.archived_by is not None:
            raise InvalidRequest(f"thread {self.id} is archived; unarchive it first")
        if self.state.rest.closed:
            raise InvalidRequest(f"thread {self.id} is closed; resume it first")

    def start_turn(
        self,
        content: Content,
        *,
        files: Files = NO_FILES,
        client_id: str | None = None,
        settings: ThreadSettings | None = None,
        output_schema: Any = None,
        beside: Additional = NOTHING_BESIDE,
        by_parent: bool = False,
    ) -> Running:
        """Begin a turn: it is stored, and shown once its `shown` is set. On a busy thread the input joins its turn."""
        self.takes_work()
        if self._running is not None:
            self.steer(content, files=files, client_id=client_id, beside=beside, by_parent=by_parent)
            return self._running
        check(content)
        return self.launch(
            partial(self._work, output_schema=output_schema),
            lambda running: [
                *_schema(output_schema),
                *self._beside(beside),
                *self._user_message(running.id, content, files, client_id, by_parent=by_parent),
            ],
            settings=settings,
        )

    @property
    def stopping(self) -> bool:
        """Whether the server is, and turns may end, but none begins by itself."""
        return self._ground.stopping

    @property
    def at_rest(self) -> bool:
        """Whether a turn may begin by itself."""
        rest = self.state.rest
        busy = self._running is not None or self._ending is not None or self.sealed or self._debt is not None
        return not busy and not self.stopping and not rest.closed and not rest.closing and rest.archived_by is None

    def start_queued(self, due: Sequence[Queued], files: Files = NO_FILES) -> Running:
        """Begin a turn with what waited: the line that starts it says what it has taken."""
        self.takes_work()
        if not self.at_rest:
            raise InvalidRequest("thread already has an active or pending turn")
        return self.launch(
            partial(self._work, output_schema=None),
            lambda running: self.queue.opening(running.id, due, files),
            taken=[{"@": "consumes", "ids": [it.id for it in due], "claim": True}],
        )

    def pump_later(self, seconds: float) -> None:
        """Look again in a while at what it has to tell, and what waits for it."""

        async def later() -> None:
            with anyio.move_on_after(seconds):
                await self._released.wait()
                return
            self._ground.ended(self)
            self.queue.pump()

        self.spawn(later)

    def pursue(self, prompt: Aside) -> Running:
        """Begin a turn that nobody asked for, to work on the goal."""
        return self.launch(partial(self._work, output_schema=None), lambda _: [prompt], asked=False)

    def compact(self) -> Running:
        """Have the history condensed: in a turn of its own, or in the one that is under way."""
        self.takes_work()
        if self._running is None:
            return self.launch(self._condense, None)
        self._running.compaction.wanted = True
        return self._running

    def launch(
        self,
        work: Callable[[Running], Awaitable[None]],
        opening: Callable[[Running], Sequence[Emission | Aside]] | None,
        *,
        settings: ThreadSettings | None = None,
        asked: bool = True,
        taken: list[dict[str, Any]] | None = None,
    ) -> Running:
        """Begin a turn of any kind: `opening` is what it begins with, where the model hears of it; `work` does it."""
        held = settings or self.state.rest.settings
        rules = self._rules(held)
        running = self._new_running(uuid7(), rules)
        begins = [*self._context(rules, held), *opening(running)] if opening is not None else []
        changes = [] if settings is None else [say.settings(self.id, settings)]
        began = say.turn_started(self.id, running.id, self.clock())._replace(model=taken)
        claimed = [say.queue_changed(self.id)] if taken else []
        self.quietly(*claimed, *changes, say.active(self.id), began, *begins)
        self._running = running
        self.goals.begun(asked=asked)
        self.spawn(self._run, running, work)
        return running

    def _new_running(self, turn_id: str, rules: Rules) -> Running:
        return Running(turn_id, rules, Compaction(lambda: self.recall, lambda: self.anew(rules), rules))

    def steer(
        self,
        content: Content,
        *,
        files: Files = NO_FILES,
        client_id: str | None = None,
        expected: str | None = None,
        beside: Additional = NOTHING_BESIDE,
        by_parent: bool = False,
    ) -> str:
        """Add input to the turn under way; the id of that turn."""
        running = self._running
        if running is None or running.scope.cancel_called:
            raise InvalidRequest("no active turn to steer")
        if expected is not None and expected != running.id:
            raise InvalidRequest(f"expected active turn id `{expected}` but found `{running.id}`")
        if not running.steerable:
            raise InvalidRequest("cannot steer a review turn")
        if not content:
            raise InvalidRequest("input must not be empty")
        check(content)
        message = self._user_message(running.id, content, files, client_id, by_parent=by_parent)
        self.emit(*self._beside(beside), *message)
        running.steering.steer()
        return running.id

    def _beside(self, entries: Additional) -> list[Aside]:
        """What a client adds to what is said, where the model does not know it yet."""
        new = unheard(entries, self.recall)
        return [Aside(new)] if new else []

    def _user_message(
        self, turn_id: str, content: Content, files: Files, client_id: str | None, *, by_parent: bool
    ) -> list[Emission]:
        if not content:
            return []
        item, read = taken(content, files, client_id, by_parent=by_parent)
        started, completed = say.whole_item(self.id, turn_id, item, self.clock())
        return [started, completed._replace(model=read)]

    async def interrupt(self, *, by_user: bool = False) -> None:
        """End the turn under way, and wait until it has ended; its text is kept. No other follows by itself."""
        if self._ending is not None:
            self._ending.goes_on = False
        if self._running is not None:
            self._running.stop(by_user=by_user)
        await self.ended()

    async def ended(self) -> None:
        """Wait until no turn is about to end; one that goes on is not waited for."""
        while (it := self.ending) is not None:
            await it.done.wait()

    async def _run(self, running: Running, work: Callable[[Running], Awaitable[None]]) -> None:
        status, error = "interrupted", None
        try:
            with running.scope:
                await running.shown.wait()
                self._reveal(running)
                await work(running)
                status = "completed"
        except (ModelError, StoreError) as fault:
            status, error = "failed", TurnError(message=str(fault), codex_error_info=getattr(fault, "info", None))
        except Exception as fault:  # the turn's boundary: a failed turn is an event
            log.error("a turn failed", thread=self.id, turn=running.id, exc_info=fault)
            status, error = "failed", TurnError(message=f"Internal error: {type(fault).__name__}: {fault}")
        finally:
            with anyio.CancelScope(shield=True):
                if status == "interrupted" and not running.suspended:
                    await self.terminals.end_all(running.id)
                    if not self.sealed:  # else whoever closes it sees to that
                        await self._ground.interrupted(self.id)
                await self._finish(running, status, error)

    async def _work(self, running: Running, output_schema: Any, resumed: Sequence[ToolCall] = ()) -> None:
        """Have the input answered."""
        turn, agent = self.turn_input(running, output_schema), self._ground.agent
        turn.resumed = resumed
        if self._too_long(running) and not resumed:
            await self._relay(agent.compact(turn))
        await self._relay(agent.run(turn))
        if running.compaction.wanted:
            await self._relay(agent.compact(turn))

    async def _condense(self, running: Running) -> None:
        """Have the history condensed, and what was said meanwhile answered."""
        turn, agent = self.turn_input(running, None), self._ground.agent
        await self._relay(agent.compact(turn))
        await self.heed(running)

    async def heed(self, running: Running) -> None:
        """Have answered what was said in a turn that was not about answering."""
        if running.steering.waiting:
            await self._relay(self._ground.agent.run(self.turn_input(running, None)))

    async def _relay(self, batches: AsyncGenerator[Batch, None]) -> None:
        async with aclosing(batches):
            async for batch in batches:
                self.emit(*self.goals.counted(batch))

    def _too_long(self, running: Running) -> bool:
        """Whether the last answer filled the window, and what did so is still there."""
        used = self.state.rest.usage
        return used is not None and running.compaction.overdue(used.last.total_tokens)

    def turn_input(self, running: Running, output_schema: Any = None) -> TurnInput:
        """A turn, as the agent sees it."""
        rest, settings, rules = self.state.rest, self.state.rest.settings, running.rules
        told = (
            rest.base_instructions or rules.base_instructions,
            rest.developer_instructions or rules.developer_instructions,
        )
        if self.policy.read_only:  # whatever it was set to since
            settings = settings.model_copy(update={"sandbox_policy": self.policy.sandbox(settings.sandbox_policy)})
        tools = {name: tool for name, tool in self._ground.tools.items() if self.policy.permits(name)}
        if rest.thread.ephemeral:
            tools = {name: tool for name, tool in tools.items() if name not in goals.TOOLS}
        return TurnInput(
            thread_id=self.id,
            turn_id=running.id,
            model=settings.model,
            provider=settings.model_provider,
            effort=settings.effort,
            cwd=settings.cwd,
            history=self.history,
            kinds=lambda: self.recall.kinds,
            steering=running.steering,
            instructions=[it for it in told if it],
            output_schema=output_schema,
            tools=tools,
            summary=settings.summary,
            total_usage=_usage(rest.usage),
            verbosity=rules.verbosity,
            context_window=rules.context_window,
            output_tokens=rules.output_tokens,
            compaction=running.compaction,
            goals=None if rest.thread.ephemeral else self.goals,
            settings=settings,
            floor=Desk(self, running),
            terminals=self.terminals,
            tree=None if self._ground.branch is None else self._ground.branch(self.id),
            read_only=self.policy.read_only,
            origin=self._ground.origin(self.id),
        )

    async def _finish(self, running: Running, status: str, error: TurnError | None) -> None:
        self._reveal(running)
        if notes := running.steering.notes():
            with suppress(StoreError):  # what clients have seen of it is stored
                self.emit(Aside(notes))
        opened = self.state.turn
        if running.suspended:
            self._running = None
            running.done.set()
            return
        try:
            with self._holding():
                self._running, self._ending = None, running  # whoever speaks from here on begins a new one
                self.goals.ended(status, error)
                self.end_turn(status, error, by_user=running.by_user)
                await self._log.sync()
        except StoreError as fault:
            log.error("the end of a turn could not be recorded", thread=self.id, turn=running.id, reason=str(fault))
            if self.state.turn is opened:
                self._debt = partial(self._settle, status, error, by_user=running.by_user)
                self.spawn(self._settle_later)
        except Exception as fault:  # the supervisor's boundary: this turn is over, the server goes on
            log.error("the end of a turn could not be recorded", thread=self.id, turn=running.id, exc_info=fault)
            if self.state.turn is opened:
                self.state.turn = None  # the log says so too, once it is read again: an open turn reads interrupted
        finally:
            if self._ending is running:
                self._ending = None
            running.done.set()
        self._ground.ended(self)
        if not self.queue.pump() and status == "completed" and running.goes_on and self._debt is None:
            self.goals.go_on()

    def _settle(self, status: str, error: TurnError | None, *, by_user: bool) -> None:
        """Record the end of a turn that storage refused before: nothing may come in front of it."""
        debt, self._debt = self._debt, None
        try:
            self.end_turn(status, error, by_user=by_user)
        except StoreError:
            self._debt = debt
            raise
        self.pump_later(0)

    async def _settle_later(self) -> None:
        """Whoever waits for the end of that turn sees it as soon as there is space again."""
        while self._debt is not None:
            await anyio.sleep(RETRY)
            with suppress(StoreError):
                if self._debt is not None:
                    self._debt()

    def _reveal(self, running: Running) -> None:
        """Show what was held until its asker had the answer."""
        if running.held:
            running.held = False
            self._release()

    def end_turn(
        self, status: str, error: TurnError | None = None, lost: str | None = None, *, by_user: bool = False
    ) -> None:
        """Close what is open: partial items keep their text, calls without an output get one."""
        opened = self.state.turn
        if opened is None:
            return
        at = self.clock()
        left = self.terminals.left()  # they run on, and tell their end themselves
        cut = endings.cut(self.id, opened, at, self._waiting() | opened.refused, lost, left)
        if dropped := self.requests.dropped():
            self.emit(*dropped)
            self.requests.release()
        if cut:
            self.emit(*cut)
        ended = say.turn_completed(self.id, endings.ended(opened, status, error, at))
        before = (
            [say.system_error(self.id), say.error(self.id, opened.turn.id, error)] if error else [say.idle(self.id)]
        )
        outputs = unanswered(self.history(), lost or ABORTED)
        report = due_report(self, opened.turn.id, status, lost=lost is not None)
        held = self.queue.ended(status, by_user=by_user)
        after = [say.queue_changed(self.id)] if held and self.queue.entries else []
        self.emit(*before, ended._replace(model=[*outputs, *report, *held] or None), *after)
        self.hub.withdraw(self.id)

    def _waiting(self) -> set[str]:
        """The items that wait for an answer."""
        return {it.item_id for it in self.requests.open.values()}

    # ── turns that outlive the process ────────────────────────────────────────────────────────────────────────────

    def suspend(self) -> None:
        """The server stops: a turn that only waits for answers waits on in its next life. Others are interrupted."""
        running, opened = self._running, self.state.turn
        if running is not None and opened is not None and self.requests.open:
            running.suspended = {it.id for it in opened.open_items()} <= self._waiting()

    def recover(self) -> None:
        """Nobody runs the turn that is open: its process has gone. One that waits for an answer goes on from that."""
        if lost := [lost_item(self._store, self.id, it.item) for it in self.state.rest.left.values()]:
            turns = {it.item.id: it.turn_id for it in self.state.rest.left.values()}
            self.emit(*(say.item_completed(self.id, turns[it.id], it, self.clock()) for it in lost))
        opened = self.state.turn
        if opened is None:
            if self.state.rest.thread.status.type == "active":  # the power went before the turn was written
                self.emit(say.idle(self.id))
            if self._unborn:
                self.spawn(self._first_turn)
            return
        called = {it["call_id"] for it in unanswered(self.history())}
        if not any(it.call_id in called for it in self._calls()):
            self.end_turn("interrupted", lost=endings.UNKNOWN)
            return
        self._give_up_lost(opened)
        calls = [ToolCall(it.call_id, it.name, it.arguments, bool(it.freeform)) for it in self._calls()]
        running = self._new_running(opened.turn.id, self.rules)
        running.held = False
        running.shown.set()
        self._running = running
        self.requests.put_again()
        self.spawn(self._run, running, partial(self._work, output_schema=opened.schema, resumed=calls))

    @property
    def _unborn(self) -> bool:
        """Whether what it was spawned for has not begun."""
        begun = self.state.turn is not None or self.state.rest.last_end is not None
        return not begun and bool(self.header.facts.get("input"))

    async def _first_turn(self) -> None:
        """Begin what it was spawned for: its process went between its birth and its first turn."""
        content = WRITTEN.validate_python(self.header.facts["input"])
        try:
            files = await attached(content, self.state.rest.settings.cwd)
        except InvalidRequest as fault:  # gone since: its words are there
            log.warning("files of an agent's first input are gone", thread=self.id, reason=fault.message)
            content, files = [it for it in content if it.type not in ("localImage", "skill")], {}
        if self._unborn and self.at_rest:
            by_parent = self.header.facts.get("callId") is not None
            self.start_turn(content, files=files, by_parent=by_parent).shown.set()

    def _calls(self) -> list[Asked.Call]:
        return [it.call for it in self.requests.open.values()]

    def _give_up_lost(self, opened: OpenTurn) -> None:
        """Steps that had begun are not begun again: nobody knows how far they came."""
        waiting = self._waiting()
        lost = [
            it
            for it in endings.cut(self.id, opened, self.clock(), waiting | opened.refused, endings.UNKNOWN)
            if it.event.item.id not in waiting  # type: ignore[attr-defined]
        ]
        called = {it.call_id for it in self._calls()}
        outputs = [it for it in unanswered(self.history(), endings.UNKNOWN) if it["call_id"] not in called]
        if lost or outputs:
            self.emit(*lost, *([Aside(outputs)] if outputs else ()))

    def spawn(self, work: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> None:
        """Let something run on by itself."""
        self._ground.tasks.start_soon(self._supervise, work, *args)

    async def _supervise(self, work: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> None:
        try:
            await work(*args)
        except StoreError as fault:
            log.error("what a thread did by itself could not be recorded", thread=self.id, reason=str(fault))
        except Exception as fault:  # the supervisor's boundary: whatever it was, the server goes on
            log.error("what a thread did by itself failed", thread=self.id, exc_info=fault)

    # ── what hangs on it ──────────────────────────────────────────────────────────────────────────────────────────

    def set_name(self, name: str | None) -> None:
        """Give it a name."""
        self.emit(say.named(self.id, name))

    def set_note(self, note: str | None) -> None:
        """Pin a note to it."""
        self.emit(say.noted(self.id, note))

    def set_callback(self, config: CallbackConfig) -> None:
        """Let it report like this from now on."""
        self.emit(Aside([{"@": "callback", "config": orjson.loads(config.to_json())}]))

    def set_settings(self, settings: ThreadSettings) -> None:
        """Let later turns start from these."""
        self.emit(say.settings(self.id, settings))

    def set_git(self, patch: Any) -> None:
        """Change what is known of its place in Git; a member that is null is cleared."""
        known = self.state.rest.thread.git_info
        merged = {} if known is None else known.model_dump(by_alias=True)
        merged |= patch.model_dump(by_alias=True, exclude_unset=True)
        kept = {name: value for name, value in merged.items() if value is not None}
        self.emit(Aside([{"@": "git", "info": kept or None}]))

    def reopen(self) -> None:
        """A thread that was closed takes input again."""
        if self.state.rest.closed:
            self.emit(say.idle(self.id))
            self.pump_later(0)

    def revert(self, from_seq: int) -> None:
        """Hide what came from a seq on; nothing is cut."""
        self.emit(say.reverted(self.id, from_seq))

    def release(self) -> None:
        """Let the log go: the thread leaves memory. What is owed is made good when it is read again."""
        self.sealed = True  # a timer of it may still fire
        self._debt = None
        self._released.set()
        self._log.close()


def _schema(output_schema: Any) -> list[Aside]:
    return [] if output_schema is None else [Aside([{"@": "schema", "schema": output_schema}])]


def _usage(usage: Any) -> Usage:
    if usage is None:
        return Usage()
    total = usage.total
    return Usage(total.input_tokens, total.cached_input_tokens, total.output_tokens, total.reasoning_output_tokens)
