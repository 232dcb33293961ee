"""A thread: its journal, and what may be asked of it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Final

import anyio
import orjson

from threadloom.agent.base import Agent
from threadloom.agent.templates.policy import NOTHING, Policy
from threadloom.events import Aside
from threadloom.exec.terminals import Terminals
from threadloom.log import logger
from threadloom.store.base import Store, StoreError
from threadloom.threads import say
from threadloom.threads.answering import answer, condense
from threadloom.threads.briefing import Briefing
from threadloom.threads.context.additional import Additional
from threadloom.threads.context.rules import Rules
from threadloom.threads.goals import Goals
from threadloom.threads.ground import Ground
from threadloom.threads.inputs import NO_FILES, Content, Files, check
from threadloom.threads.journal import Journal
from threadloom.threads.node import spawned
from threadloom.threads.queue import Queue
from threadloom.threads.replay import Replayed
from threadloom.threads.requests import Requests
from threadloom.threads.resting import Queued
from threadloom.threads.running import Running
from threadloom.threads.turns import Turns
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2.settings import ThreadSettings
from threadloom_protocol.v2.values.genealogy import CallbackConfig

log = logger(__name__)

NOTHING_BESIDE: Final[Additional] = MappingProxyType({})


class Thread(Journal):
    """One conversation."""

    def __init__(self, ground: Ground, store: Store, replayed: Replayed, epoch: int | None = None) -> None:
        super().__init__(ground.hub, ground.clock, store, replayed, epoch, ground.changed)
        self.sealed = False  # closing: takes no new work
        self.taken_down = False  # by a cascade, which reports for all that it takes
        self.put_away: str | None = None  # how, where it is this one that is to go: its turn ends with that
        self.ground = ground
        self.turns = Turns(self)
        self.briefing = Briefing(self)
        self.goals = Goals(self, ground.clock)
        self.requests = Requests(self, lambda: self.rules.patience)
        # Each command has had an event of its own: a number that a model knows does not come again when this is loaded.
        self.terminals = Terminals(self.seq if self.state.turn or self.state.rest.last_end else 0)
        self.queue = Queue(self)
        self.spawned = spawned(self.state.rest.thread)
        self._left = anyio.Event()  # memory: nothing of it waits for anything any more

    @property
    def agent(self) -> Agent:
        """What answers."""
        return self.ground.agent

    @cached_property
    def policy(self) -> Policy:
        """The tools that it may use: what it was born with, for good."""
        try:
            return Policy.from_json(self.header.facts.get("policy"))
        except ValueError as fault:
            log.error("a thread has lost its rights", thread=self.id, reason=str(fault))
            return NOTHING

    @property
    def rules(self) -> Rules:
        """What is configured for it, as its settings are now."""
        return self.rules_for(self.state.rest.settings)

    def rules_for(self, settings: ThreadSettings) -> Rules:
        """The same, as its settings may be next."""
        return self.ground.rules(settings, self.state.rest.config)

    # ── whether it is at work ─────────────────────────────────────────────────────────────────────────────────────

    @property
    def running(self) -> Running | None:
        """The turn under way."""
        return self.turns.running

    @property
    def ending(self) -> Running | None:
        """The turn that is over, or about to be, and whose end nobody has seen yet."""
        return self.turns.ending

    @property
    def stopping(self) -> bool:
        """Whether the server is, and turns may end, but none begins by itself."""
        return self.ground.stopping

    @property
    def at_rest(self) -> bool:
        """Whether a turn may begin by itself."""
        rest = self.state.rest
        busy = self.running is not None or self.ending is not None or self.sealed or self.owes
        return not busy and not self.stopping and not rest.closed and not rest.closing and rest.archived_by is None

    def takes_work(self) -> None:
        """Raise where no turn may begin, and no child be born."""
        if self.sealed:
            raise InvalidRequest(f"thread {self.id} is closing")
        if self.state.rest.archived_by is not None:
            raise InvalidRequest(f"thread {self.id} is archived; unarchive it first")
        if self.state.rest.closed:
            raise InvalidRequest(f"thread {self.id} is closed; resume it first")

    def known_turn(self, client_id: str | None) -> str | None:
        """The turn that a client's message went into already."""
        return self.state.rest.known.get(client_id) if client_id is not None else None

    # ── turns ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def start_turn(
        self,
        content: Content,
        *,
        files: Files = NO_FILES,
        client_id: str | None = None,
        settings: ThreadSettings | None = None,
        output_schema: Any = None,
        service_tier: str | None = None,
        beside: Additional = NOTHING_BESIDE,
        by_parent: bool = False,
    ) -> Running:
        """Begin a turn: it is stored, and shown once its `shown` is set. On a busy thread the input joins its turn.

        The schema and the service tier are for this turn alone.
        """
        self.takes_work()
        if self.running is not None:
            self.steer(content, files=files, client_id=client_id, beside=beside, by_parent=by_parent)
            return self.running
        check(content)
        return self.turns.launch(
            partial(answer, self),
            lambda running: [
                *_own(output_schema, service_tier),
                *self.briefing.heard(running.id, content, files, client_id, beside, by_parent=by_parent),
            ],
            settings=settings,
        )

    def start_queued(self, due: Sequence[Queued], files: Files = NO_FILES) -> Running:
        """Begin a turn with what waited: the line that starts it says what it has taken."""
        self.takes_work()
        if not self.at_rest:
            raise InvalidRequest("thread already has an active or pending turn")
        return self.turns.launch(
            partial(answer, self),
            lambda running: self.queue.opening(running.id, due, files),
            taken=[{"@": "consumes", "ids": [it.id for it in due], "claim": True}],
        )

    def pursue(self, prompt: Aside) -> Running:
        """Begin a turn that nobody asked for, to work on the goal."""
        return self.turns.launch(partial(answer, self), lambda _: [prompt], asked=False)

    def compact(self) -> Running:
        """Have the history condensed: in a turn of its own, or in the one that is under way."""
        self.takes_work()
        if self.running is None:
            return self.turns.launch(partial(condense, self), None)
        self.running.compaction.wanted = True
        return self.running

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
        running = self.running
        if running is None or running.scope.cancel_called:
            raise InvalidRequest("no active turn to steer")
        if expected is not None and expected != running.id:
            raise InvalidRequest(f"expected active turn id `{expected}` but found `{running.id}`")
        if not running.steerable:
            raise InvalidRequest("cannot steer a review turn")
        if not content:
            raise InvalidRequest("input must not be empty")
        check(content)
        self.emit(*self.briefing.heard(running.id, content, files, client_id, beside, by_parent=by_parent))
        running.steering.steer()
        return running.id

    async def interrupt(self, *, by_user: bool = False) -> None:
        """End the turn under way, and wait until it has ended; its text is kept. No other follows by itself."""
        self.turns.stop(by_user=by_user)
        await self.ended()

    async def ended(self) -> None:
        """Wait until no turn is about to end; one that goes on is not waited for."""
        while (it := self.ending) is not None:
            await it.done.wait()

    # ── what runs by itself ───────────────────────────────────────────────────────────────────────────────────────

    def pump_later(self, seconds: float) -> None:
        """Look again in a while at what it has to tell, and what waits for it."""

        async def later() -> None:
            with anyio.move_on_after(seconds):
                await self._left.wait()
                return
            self.ground.ended(self)
            self.queue.pump()

        self.spawn(later)

    def spawn(self, work: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> None:
        """Let something run on by itself."""
        self.ground.tasks.start_soon(self._supervise, work, *args)

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

    def set_own(self, base: str | None, developer: str | None, config: Mapping[str, Any]) -> None:
        """Let later turns be told this, and run with that configuration of its own; what is left out stays."""
        rest = self.state.rest
        said = {"baseInstructions": base, "developerInstructions": developer, "config": {**rest.config, **config}}
        known = {
            "baseInstructions": rest.base_instructions,
            "developerInstructions": rest.developer_instructions,
            "config": rest.config,
        }
        new = {name: value for name, value in said.items() if value and value != known[name]}
        if new:
            self.emit(Aside([{"@": "own", **new}]))

    def set_git(self, patch: Any) -> None:
        """Change what is known of its place in Git; a member that is null is cleared."""
        known = self.state.rest.thread.git_info
        merged = {} if known is None else known.model_dump(by_alias=True)
        merged |= _trimmed(patch.model_dump(by_alias=True, exclude_unset=True))
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
        """See `Journal.release`: the thread leaves memory."""
        self.sealed = True  # a timer of it may still fire
        self._left.set()
        super().release()


def _own(output_schema: Any, service_tier: str | None) -> list[Aside]:
    """What holds for one turn alone."""
    marks: list[dict[str, Any]] = []
    if output_schema is not None:
        marks.append({"@": "schema", "schema": output_schema})
    if service_tier is not None:
        marks.append({"@": "tier", "tier": service_tier})
    return [Aside(marks)] if marks else []


def _trimmed(facts: dict[str, str | None]) -> dict[str, str | None]:
    """Facts about Git without the space around them. Raises `InvalidRequest` where nothing is left of one."""
    trimmed = {name: value and value.strip() for name, value in facts.items()}
    for name, value in trimmed.items():
        if value == "":
            raise InvalidRequest(f"gitInfo.{name} must not be empty")
    return trimmed
