"""The turns of a thread, one at a time: each begins in the log, does its work, and ends on the disk."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio

from threadloom.agent.history import ABORTED, unanswered
from threadloom.agent.sampling import ModelError, ToolCall
from threadloom.events import Aside, Emission
from threadloom.ids import uuid7
from threadloom.log import logger
from threadloom.store.base import StoreError
from threadloom.threads import endings, say
from threadloom.threads.answering import answer
from threadloom.threads.compaction import Compaction
from threadloom.threads.context.rules import Rules
from threadloom.threads.opened import OpenTurn
from threadloom.threads.reports import due_report
from threadloom.threads.running import Running
from threadloom_protocol.v2.settings import ThreadSettings
from threadloom_protocol.v2.values.turns import TurnError

if TYPE_CHECKING:
    from threadloom.threads.thread import Thread

log = logger(__name__)

RETRY: Final = 1.0  # seconds between attempts to record the end of a turn that storage refuses: space may come back

Work = Callable[[Running], Awaitable[None]]


class Turns:
    """Of one thread."""

    def __init__(self, thread: Thread) -> None:
        self._thread = thread
        self.running: Running | None = None  # the turn under way
        self._over: Running | None = None  # it has ended, but its end is not on the disk yet

    @property
    def ending(self) -> Running | None:
        """The turn that is over, or about to be, and whose end nobody has seen yet."""
        going = self.running is not None and self.running.scope.cancel_called
        return self.running if going else self._over

    # ── how they begin ────────────────────────────────────────────────────────────────────────────────────────────

    def launch(
        self,
        work: Work,
        opening: Callable[[Running], Sequence[Emission | Aside]] | None,
        *,
        settings: ThreadSettings | None = None,
        asked: bool = True,
        taken: list[dict[str, Any]] | None = None,
    ) -> Running:
        """Begin a turn of any kind: `opening` is what it begins with, where the model hears of it; `work` does it."""
        thread = self._thread
        held = settings or thread.state.rest.settings
        rules = thread.rules_for(held)
        running = self._new(uuid7(), rules)
        begins = [*thread.briefing.news(rules, held), *opening(running)] if opening is not None else []
        changes = [] if settings is None else [say.settings(thread.id, settings)]
        began = say.turn_started(thread.id, running.id, thread.clock())._replace(model=taken)
        claimed = [say.queue_changed(thread.id)] if taken else []
        running.held = thread.quietly(*claimed, *changes, say.active(thread.id), began, *begins)
        self.running = running
        thread.goals.begun(asked=asked)
        thread.spawn(self._run, running, work)
        return running

    def resume(self, opened: OpenTurn, calls: Sequence[ToolCall]) -> None:
        """Go on with a turn of an earlier life of the server: from the calls in it that wait for an answer."""
        thread = self._thread
        running = self._new(opened.turn.id, thread.rules)
        running.show()
        self.running = running
        thread.requests.put_again()
        thread.spawn(self._run, running, partial(answer, thread, resumed=calls))

    def _new(self, turn_id: str, rules: Rules) -> Running:
        thread = self._thread
        since = thread.state.rest.seq
        return Running(
            turn_id, rules, Compaction(lambda: thread.recall, lambda: thread.briefing.anew(rules), rules, since)
        )

    # ── how they run ──────────────────────────────────────────────────────────────────────────────────────────────

    def stop(self, *, by_user: bool) -> None:
        """Let the turn under way end, and no other follow by itself."""
        if self._over is not None:
            self._over.goes_on = False
        if self.running is not None:
            self.running.stop(by_user=by_user)

    async def _run(self, running: Running, work: Work) -> None:
        thread = self._thread
        status, error = "interrupted", None
        try:
            with running.scope:
                try:
                    await work(running)
                finally:  # no turn ends before whoever asked for it knows of it
                    await running.once_shown()
                status = "completed"
        except (ModelError, StoreError) as fault:
            status, error = "failed", TurnError(message=str(fault), codex_error_info=getattr(fault, "info", None))
        except Exception as fault:  # the turn's boundary: a failed turn is an event
            log.error("a turn failed", thread=thread.id, turn=running.id, exc_info=fault)
            status, error = "failed", TurnError(message=f"Internal error: {type(fault).__name__}: {fault}")
        finally:
            with anyio.CancelScope(shield=True):
                if status == "interrupted" and not running.suspended:
                    await self._take_along(running)
                await self._finish(running, status, error)

    async def _take_along(self, running: Running) -> None:
        """End what does not outlive an interrupted turn. Whatever becomes of that, the turn itself ends."""
        thread = self._thread
        try:
            await thread.terminals.end_all(running.id)
            if not thread.sealed:  # else whoever closes it sees to that
                await thread.ground.interrupted(thread.id)
        except Exception as fault:  # the supervisor's boundary
            log.error("a turn has left something behind", thread=thread.id, turn=running.id, exc_info=fault)

    # ── how they end ──────────────────────────────────────────────────────────────────────────────────────────────

    async def _finish(self, running: Running, status: str, error: TurnError | None) -> None:
        thread = self._thread
        running.reveal()
        if notes := running.steering.notes():
            with suppress(StoreError):  # what clients have seen of it is stored
                thread.emit(Aside(notes))
        if running.suspended:
            self.running = None
            running.done.set()
            return
        await self._conclude(running, status, error)
        thread.ground.ended(thread)
        if not thread.queue.pump() and status == "completed" and running.goes_on and not thread.owes:
            thread.goals.go_on()

    async def _conclude(self, running: Running, status: str, error: TurnError | None) -> None:
        """Have its end on the disk, then shown."""
        thread, opened = self._thread, self._thread.state.turn
        try:
            with thread.holding():
                self.running, self._over = None, running  # whoever speaks from here on begins a new one
                thread.goals.ended(status, error)
                self.end(status, error, by_user=running.by_user)
                await thread.sync()
        except StoreError as fault:
            log.error("the end of a turn could not be recorded", thread=thread.id, turn=running.id, reason=str(fault))
            if thread.state.turn is opened:
                thread.owe(partial(self._end_late, status, error, by_user=running.by_user))
                thread.spawn(self._settle)
        except Exception as fault:  # the supervisor's boundary: this turn is over, the server goes on
            log.error("the end of a turn could not be recorded", thread=thread.id, turn=running.id, exc_info=fault)
            if thread.state.turn is opened:
                thread.state.turn = None  # the log says so too, once it is read again: an open turn reads interrupted
        finally:
            if self._over is running:
                self._over = None
            running.done.set()

    def _end_late(self, status: str, error: TurnError | None, *, by_user: bool) -> None:
        """Record the end of a turn that storage refused before."""
        self.end(status, error, by_user=by_user)
        self._thread.pump_later(0)

    async def _settle(self) -> None:
        """Whoever waits for the end of that turn sees it as soon as there is space again."""
        while self._thread.owes:
            await anyio.sleep(RETRY)
            with suppress(StoreError):
                self._thread.settle()

    def end(
        self, status: str, error: TurnError | None = None, lost: str | None = None, *, by_user: bool = False
    ) -> None:
        """Close what is open: partial items keep their text, calls without an output get one."""
        thread, opened = self._thread, self._thread.state.turn
        if opened is None:
            return
        at = thread.clock()
        left = thread.terminals.left()  # they run on, and tell their end themselves
        cut = endings.cut(thread.id, opened, at, thread.requests.waiting | opened.refused, lost, left)
        if dropped := thread.requests.dropped():
            thread.emit(*dropped)
            thread.requests.release()
        if cut:
            thread.emit(*cut)
        ended = say.turn_completed(thread.id, endings.ended(opened, status, error, at))
        before = (
            [say.system_error(thread.id), say.error(thread.id, opened.turn.id, error)]
            if error
            else [say.idle(thread.id)]
        )
        outputs = unanswered(thread.history(), lost or ABORTED)
        report = due_report(thread, opened.turn.id, status, lost=lost is not None)
        held = thread.queue.ended(status, by_user=by_user)
        after = [say.queue_changed(thread.id)] if held and thread.queue.entries else []
        thread.emit(*before, ended._replace(model=[*outputs, *report, *held] or None), *after)
        thread.hub.withdraw(thread.id)
