"""`exec_command`, `write_stdin` and `shell`."""

from __future__ import annotations

from typing import Final

from threadloom.agent.base import ToolResult, TurnInput
from threadloom.agent.sampling import Item, ToolCall
from threadloom.agent.tools.base import parsed, refused
from threadloom.agent.tools.command.arguments import Execute, RunShell, WriteStdin
from threadloom.agent.tools.command.item import typed
from threadloom.agent.tools.command.looking import ended, seen
from threadloom.agent.tools.command.running import Commands
from threadloom.agent.tools.command.specs import EXEC_COMMAND, SHELL, WRITE_STDIN
from threadloom.exec.lookup import login_shell

INTERRUPT: Final = "\x03"  # what Ctrl+C types
DEAF: Final = (
    "The command with session_id {} has no terminal and reads nothing. Where one is to be typed into, start it with "
    "exec_command and tty true."
)


class ExecCommand:
    """Run a command line; one that takes longer runs on, and can be written to."""

    name = "exec_command"

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    def spec(self) -> Item:
        """As the model is told of it."""
        return EXEC_COMMAND

    async def run(self, turn: TurnInput, call: ToolCall) -> ToolResult:
        """Run it; the answer comes when it has ended, or when the model wants to look."""
        asked = parsed(Execute, call)
        if isinstance(asked, ToolResult):
            return asked
        argv = [asked.shell or login_shell(), "-lc" if asked.login else "-c", asked.cmd]
        terminal = await self._commands.begin(turn, call, argv, asked, tty=asked.tty)
        if isinstance(terminal, ToolResult):
            return terminal
        return await seen(self._commands, turn, terminal, asked.yield_time_ms, asked.max_output_tokens)


class WriteToStdin:
    """Type into a command that runs, or just look what it has printed."""

    name = "write_stdin"

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    def spec(self) -> Item:
        """As the model is told of it."""
        return WRITE_STDIN

    async def run(self, turn: TurnInput, call: ToolCall) -> ToolResult:
        """Type, wait a moment, look."""
        asked = parsed(WriteStdin, call)
        if isinstance(asked, ToolResult):
            return asked
        terminal = turn.terminals.get(asked.session_id) if turn.terminals is not None else None
        if terminal is None or turn.floor is None:
            return refused(f"No command with session_id {asked.session_id} runs in this thread.")
        if asked.chars and not terminal.ended.is_set():
            if not terminal.tty and asked.chars != INTERRUPT:
                return refused(DEAF.format(asked.session_id))
            turn.floor.emit(typed(turn, terminal, asked.chars))
            if terminal.tty:
                turn.floor.spawn(terminal.type, asked.chars)  # it may never read: that is no reason to wait for it
            else:
                terminal.process.interrupt()
        return await seen(self._commands, turn, terminal, asked.yield_time_ms, asked.max_output_tokens)


class RunInShell:
    """Run one program to its end, within a time."""

    name = "shell"

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    def spec(self) -> Item:
        """As the model is told of it."""
        return SHELL

    async def run(self, turn: TurnInput, call: ToolCall) -> ToolResult:
        """Run it; one that takes too long is ended."""
        asked = parsed(RunShell, call)
        if isinstance(asked, ToolResult):
            return asked
        if not asked.command:
            return refused("`command` must not be empty.")
        terminal = await self._commands.begin(turn, call, asked.command, asked)
        if isinstance(terminal, ToolResult):
            return terminal
        return await ended(self._commands, turn, terminal, asked.timeout_ms)


def command_tools(commands: Commands) -> list[ExecCommand | WriteToStdin | RunInShell]:
    """All of them."""
    return [ExecCommand(commands), WriteToStdin(commands), RunInShell(commands)]
