"""The person's own command line: outside every fence, in the turn under way or in one of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal

from threadloom.events import Emission
from threadloom.exec.base import Fence, LaunchError, Order, Process
from threadloom.exec.lookup import login_shell
from threadloom.exec.shell.actions import actions
from threadloom.exec.shell.line import shell_line
from threadloom.exec.terminals import Terminal
from threadloom.ids import uuid7
from threadloom.store.errors import StoreError
from threadloom.threads import say
from threadloom.threads.answering import heed
from threadloom.threads.shell_text import NEVER_RAN, told
from threadloom_protocol.v2 import item
from threadloom_protocol.v2.values.items import CommandExecutionThreadItem

if TYPE_CHECKING:
    from threadloom.exec.launch import Host
    from threadloom.threads.running import Running
    from threadloom.threads.thread import Thread

SECONDS: Final = 3600.0  # that a command gets unless its client says otherwise
GRACE: Final = 2.0  # seconds between TERM and KILL
OPEN: Final = Fence("danger-full-access", network=True)


class UserCommand:
    """One command of the person, as an item of its turn."""

    def __init__(self, thread: Thread, host: Host, line: str, seconds: float, env: Mapping[str, str]) -> None:
        self._thread = thread
        self._host = host
        self._line = line
        self._seconds = seconds
        self._late = False
        self._began = time.monotonic()
        cwd = thread.state.rest.settings.cwd
        argv = [login_shell(), "-lc", line]
        self._order = Order(argv, cwd, env, OPEN, stdin=False)
        self._item = CommandExecutionThreadItem(
            id=uuid7(),
            command=shell_line(argv),
            cwd=cwd,
            source="userShell",
            status="inProgress",
            command_actions=actions(argv, cwd),
        )
        self._running: Running | None = None  # the turn that it has joined
        self._turn_id = ""

    def begin(self) -> Callable[[], None]:
        """Store that it begins; what is returned shows it, and lets it."""
        thread, running = self._thread, self._thread.running
        if running is None:
            return thread.turns.launch(self._alone, self._opening).show
        self._running, self._turn_id = running, running.id
        show = thread.quietly(self._started())
        thread.spawn(self._run)
        return show

    def _opening(self, running: Running) -> list[Emission]:
        self._turn_id = running.id
        return [self._started()]

    async def _alone(self, running: Running) -> None:
        """A turn of its own; what is said meanwhile is answered behind it."""
        await running.once_shown()
        await self._run()
        await heed(self._thread, running)

    async def _run(self) -> None:
        terminals = self._thread.terminals
        process: Process | None = None
        self._began = time.monotonic()
        try:
            with terminals.starting(self._item.id, self._turn_id):
                process = await self._host.launch(self._order)
        except LaunchError as fault:
            self._end(NEVER_RAN, f"The command could not be started: {fault}")
            return
        if process is None:
            self._end(NEVER_RAN, "The command was ended before it began.")
            return
        where = self._item.id, self._turn_id, self._item.command, self._order.cwd
        terminal = Terminal(terminals.number(), *where, process, own=True)
        terminals.keep(terminal)
        self._thread.spawn(self._watch, terminal)
        await terminal.rest(self._seconds)
        if not terminal.ended.is_set():
            self._late = True
            terminal.late_ms = round(self._seconds * 1000)
            await terminals.end(terminal, grace=GRACE)

    async def _watch(self, terminal: Terminal) -> None:
        try:
            await terminal.watch(self._tell)
        finally:
            code = NEVER_RAN if terminal.code is None else terminal.code
            self._end(code, terminal.shown.text(), terminal.look().text())

    def _started(self) -> Emission:
        event = item.ItemStartedNotification(
            thread_id=self._thread.id, turn_id=self._turn_id, item=self._item, started_at_ms=self._thread.clock()
        )
        return Emission(item.STARTED, event)

    def _tell(self, text: str) -> None:
        event = item.CommandExecutionOutputDeltaNotification(
            thread_id=self._thread.id, turn_id=self._turn_id, item_id=self._item.id, delta=text
        )
        with suppress(StoreError):  # it is read on all the same, and its output is in the item when it ends
            self._thread.emit(Emission(item.COMMAND_OUTPUT_DELTA, event))

    def _end(self, code: int, shown: str, read: str | None = None) -> None:
        """It is over: clients see what they were shown, the model reads more of it."""
        seconds = time.monotonic() - self._began
        status: Literal["completed", "failed"] = "completed" if code == 0 else "failed"
        ended = self._item.model_copy(
            update={
                "status": status,
                "aggregated_output": shown,
                "exit_code": code,
                "duration_ms": round(seconds * 1000),
            }
        )
        done = say.item_completed(self._thread.id, self._turn_id, ended, self._thread.clock())
        output = shown if read is None else read
        late = f"The command took longer than {self._seconds:g} seconds and was ended.\n" if self._late else ""
        model = told(self._line, code, seconds, late + output, self._thread.rules.output_tokens)
        later = self._running is not None and self._running.steering.note(model)
        self._thread.emit(done if later else done._replace(model=model))
