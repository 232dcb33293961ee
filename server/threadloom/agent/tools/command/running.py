"""How a command comes to run: what the policy says, who decides, where it is launched."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from threadloom.agent.base import ToolResult, TurnInput
from threadloom.agent.floor import Floor
from threadloom.agent.sampling import ToolCall
from threadloom.agent.tools.base import refused
from threadloom.agent.tools.command.arguments import Fenced
from threadloom.agent.tools.command.item import Command
from threadloom.agent.tools.deciding import Review, decide
from threadloom.agent.tools.patch import Patches, patch_in
from threadloom.agent.tools.permission import CLOSED, OPEN, Ask, Refuse, Run, Walls, Wish, verdict
from threadloom.exec.base import LaunchError, Order
from threadloom.exec.fence import fence_of
from threadloom.exec.shell.line import shell_line
from threadloom.exec.terminals import MOST, Terminal

if TYPE_CHECKING:
    from threadloom.exec.launch import Host

GRACE: Final = 2.0  # seconds between TERM and KILL
NEXT_TIME: Final = "\nFor patches there is the tool `apply_patch`; they need no shell."

Environment = Callable[[str], Mapping[str, str]]  # of commands in a folder


class Commands:
    """What the tools for commands share: where to run them, and who decides."""

    def __init__(
        self,
        host: Host,
        environment: Environment,
        review: Review | None = None,
        patches: Patches | None = None,
    ) -> None:
        self._host = host
        self._environment = environment
        self._review = review
        self._patches = patches

    async def begin(
        self,
        turn: TurnInput,
        call: ToolCall,
        argv: Sequence[str],
        asked: Fenced,
        *,
        tty: bool = False,
    ) -> Terminal | ToolResult:
        """A command that runs, or why it does not."""
        floor, settings, terminals = turn.floor, turn.settings, turn.terminals
        if floor is None or settings is None or terminals is None:
            return refused("No commands can be run here.")
        cwd = _place(turn.cwd, asked.workdir)
        if self._patches is not None and (found := patch_in(argv)) is not None:
            result = await self._patches.apply(turn, call, found.text, _place(cwd, found.folder))
            return result._replace(output=result.output + NEXT_TIME)
        if len(terminals.running()) >= MOST:
            return refused(f"{MOST} commands of this thread run already. End one with write_stdin (chars \\u0003).")
        permission = self._permission(turn, call, argv, cwd, asked)
        if isinstance(permission, Refuse):
            return refused(permission.why)
        run = Command(turn, floor, call, argv, cwd, terminals.number())
        if (no := await self._agreed(turn, floor, call, run, permission)) is not None:
            return no
        run.begins()
        # Without a terminal there is nothing to read: many a program would wait for a pipe to end (`rg word`).
        order = Order(argv, cwd, self._environment(cwd), permission.fence, tty=tty, stdin=tty)
        try:
            process = await self._host.launch(order)
        except LaunchError as fault:
            return run.failed(str(fault))
        where = run.number, run.item_id, turn.turn_id, shell_line(argv), cwd
        terminal = Terminal(*where, process, fence=permission.fence, tty=tty)
        terminals.keep(terminal)
        floor.spawn(run.watch, terminal)
        return terminal

    def _permission(
        self, turn: TurnInput, call: ToolCall, argv: Sequence[str], cwd: str, asked: Fenced
    ) -> Run | Ask | Refuse:
        floor, settings = turn.floor, turn.settings
        assert floor is not None
        assert settings is not None
        wish = Wish(
            argv,
            fence_of(settings.sandbox_policy, turn.cwd),
            cwd,
            escalated=asked.sandbox_permissions == "require_escalated",
            justification=asked.justification,
            elsewhere=cwd != turn.cwd,
        )
        walls = Walls(self._host.kind, self._host.guards_git)
        found = verdict(settings.approval_policy, wish, walls, asked=floor.asked(call))
        return Refuse(CLOSED) if turn.read_only and isinstance(found, Ask) and found.fence is OPEN else found

    async def _agreed(
        self, turn: TurnInput, floor: Floor, call: ToolCall, run: Command, permission: Run | Ask
    ) -> ToolResult | None:
        """None where it may run, and its item has begun."""
        if isinstance(permission, Ask):
            decided = await decide(turn, call, run.question(permission), run.keys(permission.fence), self._review)
            if not decided.yes:
                return run.declined(decided)
            if decided.asked:
                return None
        floor.emit(run.started())
        return None

    async def leave(self, turn: TurnInput, terminal: Terminal) -> None:
        """End a command and all it started."""
        assert turn.terminals is not None
        await turn.terminals.end(terminal, grace=GRACE)


def _place(cwd: str, workdir: str | None) -> str:
    return os.path.normpath(os.path.join(cwd, workdir or ""))
