"""Commands that a client runs itself, inside the sandbox; the answer comes when they have ended."""

from __future__ import annotations

from typing import Final

from threadloom.exec.errands import Errand
from threadloom.exec.fence import fence_of
from threadloom.ids import uuid7
from threadloom.methods.errands import (
    CAP,
    SECONDS,
    Name,
    checked,
    found,
    order,
    resized,
    started,
    teller,
    typed,
    unused,
)
from threadloom.routes import Context, answers
from threadloom.threads.defaults import absolute, permitted
from threadloom_protocol.errors import InvalidParams, InvalidRequest
from threadloom_protocol.v2 import command
from threadloom_protocol.v2.values.policy import SandboxPolicy

METHOD: Final = command.EXEC.method


@answers(command.EXEC)
async def execute(ctx: Context, params: command.CommandExecParams) -> command.CommandExecResponse:
    """Run it to its end."""
    checked(METHOD, params)
    _consistent(params)
    name = Name(METHOD, params.process_id if params.process_id is not None else uuid7())
    unused(ctx, name)
    streams = params.tty or params.stream_stdout_stderr
    cwd = absolute(params.cwd or ".")
    wanted = order(params, cwd, ctx.errands.environment(cwd), fence_of(_policy(ctx, params, cwd), cwd))
    errand = Errand(
        wanted,
        seconds=None if params.disable_timeout else _seconds(params.timeout_ms),
        cap=None if params.disable_output_cap else CAP if params.output_bytes_cap is None else params.output_bytes_cap,
        tell=teller(ctx, command.OUTPUT_DELTA, process_id=name.key) if streams else None,
    )
    with ctx.errands.known(ctx.peer, name, errand):
        await started(ctx, errand)
        ended = await errand.finish()
    return command.CommandExecResponse(exit_code=ended.code, stdout=ended.stdout.text(), stderr=ended.stderr.text())


def _consistent(params: command.CommandExecParams) -> None:
    """Raise for members that exclude each other, or that need another one."""
    if params.process_id is None and (params.tty or params.stream_stdin or params.stream_stdout_stderr):
        raise InvalidRequest(f"{METHOD}: tty and streams need a processId of the client's choosing")
    if params.timeout_ms is not None and params.disable_timeout:
        raise InvalidParams(f"{METHOD}: timeoutMs and disableTimeout exclude each other")
    if params.output_bytes_cap is not None and params.disable_output_cap:
        raise InvalidParams(f"{METHOD}: outputBytesCap and disableOutputCap exclude each other")
    if params.sandbox_policy is not None and params.permission_profile is not None:
        raise InvalidRequest(f"{METHOD}: sandboxPolicy and permissionProfile exclude each other")


def _seconds(timeout_ms: int | None) -> float:
    return SECONDS if timeout_ms is None else timeout_ms / 1000


def _policy(ctx: Context, params: command.CommandExecParams, cwd: str) -> SandboxPolicy:
    """The fence that the client asks for, else the one that is configured."""
    if params.sandbox_policy is not None:
        return params.sandbox_policy
    if params.permission_profile is None:
        return ctx.errands.policy(cwd)
    return permitted(params.permission_profile)


@answers(command.WRITE)
async def write(ctx: Context, params: command.CommandExecWriteParams) -> command.CommandExecWriteResponse:
    """Hand input on."""
    await typed(ctx, command.WRITE.method, Name(METHOD, params.process_id), params)
    return command.CommandExecWriteResponse()


@answers(command.TERMINATE)
async def terminate(ctx: Context, params: command.CommandExecTerminateParams) -> command.CommandExecTerminateResponse:
    """End it at once."""
    errand, _ = await found(ctx, Name(METHOD, params.process_id))
    errand.abort()
    return command.CommandExecTerminateResponse()


@answers(command.RESIZE)
async def resize(ctx: Context, params: command.CommandExecResizeParams) -> command.CommandExecResizeResponse:
    """Tell its terminal the new size."""
    await resized(ctx, command.RESIZE.method, Name(METHOD, params.process_id), params.size)
    return command.CommandExecResizeResponse()
