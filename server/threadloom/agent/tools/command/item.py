"""One command as an item of its turn: how it begins, what it asks, what it prints, how it ends."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

import orjson

from threadloom.agent.base import ToolResult, TurnInput
from threadloom.agent.floor import Action, Floor, Question
from threadloom.agent.sampling import ToolCall
from threadloom.agent.tools.deciding import Decided
from threadloom.agent.tools.permission import OPEN, Ask
from threadloom.events import Emission
from threadloom.exec.base import Fence
from threadloom.exec.output import too_late
from threadloom.exec.shell.actions import actions
from threadloom.exec.shell.line import shell_line
from threadloom.exec.terminals import Terminal
from threadloom.store.errors import StoreError
from threadloom_protocol.v2 import approval, item
from threadloom_protocol.v2.values.items import CommandExecutionThreadItem


class Command:
    """From the wish to the end of the process."""

    def __init__(
        self, turn: TurnInput, floor: Floor, call: ToolCall, argv: Sequence[str], cwd: str, number: int
    ) -> None:
        self._turn = turn
        self._floor = floor
        self._call = call
        self._argv = argv
        self._cwd = cwd
        self.item_id = floor.item_id(call)
        self.number = number
        self._began = time.monotonic()
        self._item = CommandExecutionThreadItem(
            id=self.item_id,
            command=shell_line(argv),
            cwd=cwd,
            process_id=str(number),
            source="agent",
            status="inProgress",
            command_actions=actions(argv, cwd),
        )

    def begins(self) -> None:
        """From here on its time counts."""
        self._began = time.monotonic()

    def started(self) -> Emission:
        """It is about to run, or waits for a word."""
        event = item.ItemStartedNotification(
            thread_id=self._turn.thread_id, turn_id=self._turn.turn_id, item=self._item, started_at_ms=_now()
        )
        return Emission(item.STARTED, event)

    def question(self, ask: Ask) -> Question:
        """May it run?"""
        params = approval.CommandExecutionRequestApprovalParams(
            thread_id=self._turn.thread_id,
            turn_id=self._turn.turn_id,
            item_id=self.item_id,
            started_at_ms=_now(),
            reason=ask.reason,
            command=self._item.command,
            cwd=self._cwd,
            command_actions=self._item.command_actions,
            available_decisions=["accept", "acceptForSession", "decline", "cancel"],
            origin=list(self._turn.origin),
        )
        refusal = approval.CommandExecutionRequestApprovalResponse(decision="decline")
        return Question(approval.COMMAND, params, self.started(), refusal, action=self._action(ask))

    def _action(self, ask: Ask) -> Action:
        from threadloom_protocol.v2.values.guardian import CommandGuardianApprovalReviewAction

        shown = CommandGuardianApprovalReviewAction(
            source="shell" if self._call.name == "shell" else "unifiedExec",
            command=self._item.command,
            cwd=self._cwd,
        )
        told = {
            "tool": self._call.name,
            "command": list(self._argv),
            "cwd": self._cwd,
            "sandbox": _described(ask.fence),
            "reason": ask.reason,
        }
        return Action(shown, told)

    def keys(self, fence: Fence) -> list[str]:
        """What an approval for the rest of the thread is about."""
        return [orjson.dumps(["command", list(self._argv), self._cwd, fence is OPEN]).decode()]

    def declined(self, decided: Decided) -> ToolResult:
        """It does not run."""
        if decided.cancelled:
            self._floor.stop()
        return ToolResult(decided.refusal, [self._completed("declined", None, None)], ok=False)

    def failed(self, why: str) -> ToolResult:
        """It could not be started."""
        return ToolResult(f"The command could not be started: {why}", [self._completed("failed", why, None)], ok=False)

    async def watch(self, terminal: Terminal) -> None:
        """Tell what it prints, and how it ends."""
        try:
            await terminal.watch(self._tell)
        finally:
            code = terminal.code
            status: Literal["completed", "failed"] = "completed" if code == 0 else "failed"
            self._floor.emit(self._completed(status, _told(terminal), code))

    def _tell(self, text: str) -> None:
        event = item.CommandExecutionOutputDeltaNotification(
            thread_id=self._turn.thread_id, turn_id=self._turn.turn_id, item_id=self.item_id, delta=text
        )
        with suppress(StoreError):  # it is read on all the same, and its output is in the item when it ends
            self._floor.emit(Emission(item.COMMAND_OUTPUT_DELTA, event))

    def _completed(
        self, status: Literal["completed", "failed", "declined"], output: str | None, code: int | None
    ) -> Emission:
        ended = self._item.model_copy(
            update={
                "status": status,
                "aggregated_output": output,
                "exit_code": code,
                "duration_ms": None if status == "declined" else round((time.monotonic() - self._began) * 1000),
            }
        )
        event = item.ItemCompletedNotification(
            thread_id=self._turn.thread_id, turn_id=self._turn.turn_id, item=ended, completed_at_ms=_now()
        )
        return Emission(item.COMPLETED, event)


def typed(turn: TurnInput, terminal: Terminal, chars: str) -> Emission:
    """The model types into a command."""
    event = item.TerminalInteractionNotification(
        thread_id=turn.thread_id,
        turn_id=turn.turn_id,
        item_id=terminal.item_id,
        process_id=str(terminal.number),
        stdin=chars,
    )
    return Emission(item.TERMINAL_INTERACTION, event)


def _told(terminal: Terminal) -> str:
    """What it printed, and that there was no time for more."""
    late = "" if terminal.late_ms is None else too_late(terminal.late_ms)
    return late + terminal.shown.text()


def _described(fence: Fence) -> str:
    """A fence in words, for whoever decides."""
    if fence.mode == "danger-full-access":
        return "none: it may read, write and reach everything that the user can"
    return f"{fence.mode}, network {'on' if fence.network else 'off'}"


def _now() -> int:
    return time.time_ns() // 1_000_000
