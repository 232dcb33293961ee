"""The person's own commands in a thread, and the agent's that run on behind its back."""

from __future__ import annotations

from threadloom.digits import number
from threadloom.exec.terminals import Terminal
from threadloom.exec.usage import Usage, usage
from threadloom.routes import Context, Then, answers
from threadloom_protocol.errors import InvalidParams, InvalidRequest
from threadloom_protocol.v2 import terminal


@answers(terminal.SHELL_COMMAND)
async def shell_command(
    ctx: Context, params: terminal.ThreadShellCommandParams
) -> Then[terminal.ThreadShellCommandResponse]:
    """Begin it, in the turn under way or in one of its own; its item tells the rest."""
    if not params.command.strip():
        raise InvalidRequest("command must not be empty")
    if (params.timeout_ms or 0) < 0:
        raise InvalidParams(f"thread/shellCommand: timeoutMs must not be negative, and is {params.timeout_ms}")
    it = (await ctx.stored()).get(params.thread_id)
    await it.ended()
    it.takes_work()
    from threadloom.threads.shell import SECONDS, UserCommand  # late: what reads command lines is not light

    seconds = SECONDS if params.timeout_ms is None else params.timeout_ms / 1000
    variables = ctx.errands.environment(it.state.rest.settings.cwd)
    run = UserCommand(it, ctx.errands.host, params.command, seconds, variables)
    return Then(terminal.ThreadShellCommandResponse(), run.begin())


@answers(terminal.LIST)
async def list_terminals(
    ctx: Context, params: terminal.ThreadBackgroundTerminalsListParams
) -> terminal.ThreadBackgroundTerminalsListResponse:
    """A page of what runs on, the oldest first; the cursor is the last one of the page before."""
    after = -1 if params.cursor is None else _number(params.cursor, "cursor")
    running = [it for it in await _running(ctx, params.thread_id) if it.number > after]
    page = running if params.limit is None else running[: max(1, params.limit)]
    used = usage(*(it.process.pid for it in page)) if page else {}
    return terminal.ThreadBackgroundTerminalsListResponse(
        data=[_shown(it, used.get(it.process.pid)) for it in page],
        next_cursor=str(page[-1].number) if len(page) < len(running) else None,
    )


@answers(terminal.TERMINATE)
async def terminate(
    ctx: Context, params: terminal.ThreadBackgroundTerminalsTerminateParams
) -> terminal.ThreadBackgroundTerminalsTerminateResponse:
    """End one, with all that it started; its item has ended by the time this is answered, unless it is stuck."""
    asked = _number(params.process_id, "processId")
    found = [it for it in await _running(ctx, params.thread_id) if it.number == asked]
    if found:
        await ctx.threads.get(params.thread_id).terminals.end(*found)
    ended = bool(found) and all(it.ended.is_set() for it in found)
    return terminal.ThreadBackgroundTerminalsTerminateResponse(terminated=ended)


@answers(terminal.CLEAN)
async def clean(
    ctx: Context, params: terminal.ThreadBackgroundTerminalsCleanParams
) -> terminal.ThreadBackgroundTerminalsCleanResponse:
    """End all of them."""
    if found := await _running(ctx, params.thread_id):
        await ctx.threads.get(params.thread_id).terminals.end(*found)
    return terminal.ThreadBackgroundTerminalsCleanResponse()


async def _running(ctx: Context, thread_id: str) -> list[Terminal]:
    """The agent's commands in a thread, the oldest first; one that is not in memory runs none."""
    threads = await ctx.stored()
    threads.row(thread_id)
    loaded = threads.loaded.get(thread_id)
    running = [] if loaded is None else loaded.terminals.running()
    return sorted((it for it in running if not it.own), key=lambda it: it.number)


def _number(text: str, member: str) -> int:
    found = number(text)
    if found is None:
        raise InvalidRequest(f"invalid {member}: {text!r} is no number")
    return found


def _shown(it: Terminal, used: Usage | None) -> terminal.ThreadBackgroundTerminal:
    import shlex

    from threadloom.exec.shell.parse import unwrap

    return terminal.ThreadBackgroundTerminal(
        item_id=it.item_id,
        process_id=str(it.number),
        command=unwrap(shlex.split(it.command)) or it.command,
        cwd=it.cwd,
        os_pid=it.process.pid or None,
        cpu_percent=used and used.cpu_percent,
        rss_kb=used and used.rss_kb,
    )
