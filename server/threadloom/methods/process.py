"""Processes that a client runs itself, outside the sandbox; it is told when they have ended."""

from __future__ import annotations

import os
from functools import partial
from typing import Final

from threadloom.exec.base import Fence
from threadloom.exec.errands import Errand
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
from threadloom.routes import Context, Then, answers
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2 import process

METHOD: Final = process.SPAWN.method
OPEN: Final = Fence("danger-full-access", network=True)


@answers(process.SPAWN)
async def spawn(ctx: Context, params: process.ProcessSpawnParams) -> Then[process.ProcessSpawnResponse]:
    """Start it; how it ends is told later."""
    checked(METHOD, params)
    if not params.process_handle:
        raise InvalidRequest("processHandle must not be empty")
    if not os.path.isabs(params.cwd):
        raise InvalidRequest(f"{METHOD}: cwd must be absolute")
    name = Name(METHOD, params.process_handle)
    unused(ctx, name)
    streams = params.tty or params.stream_stdout_stderr
    errand = Errand(
        order(params, params.cwd, ctx.errands.environment(params.cwd), OPEN),
        seconds=_seconds(params),
        cap=params.output_bytes_cap if "output_bytes_cap" in params.model_fields_set else CAP,
        tell=teller(ctx, process.OUTPUT_DELTA, process_handle=name.key) if streams else None,
    )
    ctx.errands.put(ctx.peer, name, errand)
    try:
        await started(ctx, errand)
    except BaseException:
        ctx.errands.drop(ctx.peer, name)
        raise
    return Then(process.ProcessSpawnResponse(), partial(ctx.errands.spawn, _see_off, ctx, name, errand))


def _seconds(params: process.ProcessSpawnParams) -> float | None:
    """A null means that there is no limit."""
    if "timeout_ms" not in params.model_fields_set:
        return SECONDS
    return None if params.timeout_ms is None else params.timeout_ms / 1000


async def _see_off(ctx: Context, name: Name, errand: Errand) -> None:
    """Tell the client how it ended."""
    try:
        ended = await errand.finish()
    finally:
        ctx.errands.drop(ctx.peer, name)
    event = process.ProcessExitedNotification(
        process_handle=name.key,
        exit_code=ended.code,
        output_drain_timed_out=False,
        stdout=ended.stdout.text(),
        stdout_cap_reached=ended.stdout.full,
        stderr=ended.stderr.text(),
        stderr_cap_reached=ended.stderr.full,
    )
    ctx.peer.publish(process.EXITED, event.to_json())


@answers(process.WRITE_STDIN)
async def write(ctx: Context, params: process.ProcessWriteStdinParams) -> process.ProcessWriteStdinResponse:
    """Hand input on."""
    await typed(ctx, process.WRITE_STDIN.method, Name(METHOD, params.process_handle), params)
    return process.ProcessWriteStdinResponse()


@answers(process.KILL)
async def kill(ctx: Context, params: process.ProcessKillParams) -> process.ProcessKillResponse:
    """End it at once."""
    errand, _ = await found(ctx, Name(METHOD, params.process_handle))
    errand.abort()
    return process.ProcessKillResponse()


@answers(process.RESIZE_PTY)
async def resize(ctx: Context, params: process.ProcessResizePtyParams) -> process.ProcessResizePtyResponse:
    """Tell its terminal the new size."""
    await resized(ctx, process.RESIZE_PTY.method, Name(METHOD, params.process_handle), params.size)
    return process.ProcessResizePtyResponse()
