"""What the model sees of a command: what it has printed by the time it ends, or by the time one looks."""

from __future__ import annotations

import time
from typing import Final

import anyio

from threadloom.agent.base import ToolResult, TurnInput
from threadloom.agent.tools.command.running import Commands
from threadloom.agent.tools.permission import may_ask
from threadloom.exec.output import exec_text, shell_text
from threadloom.exec.terminals import Terminal

SHORTEST, LONGEST = 250, 30_000  # milliseconds that a call may wait for more output

FENCED_OFF: Final = (
    "\nThe sandbox probably stopped this. If it is needed, call again with sandbox_permissions "
    '"require_escalated" and a justification, and the user decides.'
)
FENCED_IN: Final = (
    "\nThe sandbox probably stopped this, and nobody may be asked to let it out. "
    "Do it inside the sandbox, or another way."
)
# What programs say when the kernel refuses them.
SIGNS: Final = (
    "permission denied",
    "operation not permitted",
    "read-only file system",
    "network is unreachable",
    "could not resolve host",
    "temporary failure in name resolution",
)


async def seen(
    commands: Commands, turn: TurnInput, terminal: Terminal, wait_ms: int, max_tokens: int | None
) -> ToolResult:
    """What a command has printed by the time it has ended, or by the time the model wants to look."""
    began = time.monotonic()
    await _patiently(commands, turn, terminal, min(max(wait_ms, SHORTEST), LONGEST) / 1000)
    printed = terminal.look()
    over = terminal.ended.is_set()
    text = exec_text(
        printed.text(),
        wall_seconds=time.monotonic() - began,
        exit_code=(terminal.code if terminal.code is not None else -1) if over else None,
        session_id=None if over else terminal.number,
        max_output_tokens=_room(turn, max_tokens),
        total=printed.total,
    )
    return ToolResult(_hinted(turn, terminal, text) if over else text, ok=not over or terminal.code == 0)


async def ended(commands: Commands, turn: TurnInput, terminal: Terminal, timeout_ms: int) -> ToolResult:
    """All that a command printed; one that takes too long is ended."""
    began = time.monotonic()
    await _patiently(commands, turn, terminal, max(0, timeout_ms) / 1000)
    if not terminal.ended.is_set():
        terminal.late_ms = timeout_ms
        await commands.leave(turn, terminal)
    printed = terminal.look()
    code = terminal.code if terminal.code is not None else -1
    text = shell_text(
        printed.text(),
        wall_seconds=time.monotonic() - began,
        exit_code=code,
        timed_out_ms=terminal.late_ms,
        max_output_tokens=_room(turn),
        total=printed.total,
    )
    return ToolResult(_hinted(turn, terminal, text), ok=code == 0)


def _room(turn: TurnInput, asked: int | None = None) -> int | None:
    """Tokens of output that the model gets to read: what it wants, if that is not more than it may have."""
    given = [it for it in (asked, turn.output_tokens) if it is not None]
    return min(given, default=None)


async def _patiently(commands: Commands, turn: TurnInput, terminal: Terminal, seconds: float) -> None:
    """Wait for a command; a turn that is interrupted takes it along."""
    try:
        await terminal.rest(seconds)
    except BaseException:
        with anyio.CancelScope(shield=True):
            await commands.leave(turn, terminal)
        raise


def _hinted(turn: TurnInput, terminal: Terminal, text: str) -> str:
    """A command that its fence stopped says so, and what can be done about it."""
    fenced = terminal.fence is not None and terminal.fence.mode != "danger-full-access"
    if terminal.code in (0, None) or not fenced or not any(sign in text.lower() for sign in SIGNS):
        return text
    way_out = turn.settings is not None and may_ask(turn.settings.approval_policy) and not turn.read_only
    return text.rstrip("\n") + (FENCED_OFF if way_out else FENCED_IN)
