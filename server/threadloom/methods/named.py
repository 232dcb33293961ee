"""Which thread a request means, and the words in which clients know that there is none such."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from threadloom.routes import Context
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2.thread import ThreadForkParams, ThreadResumeParams

if TYPE_CHECKING:
    from threadloom.threads.thread import Thread

_ID: Final = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")  # at the end of a log's name
P = TypeVar("P", ThreadForkParams, ThreadResumeParams)


async def named(ctx: Context, params: P) -> P:
    """The request by the id of its thread, which is there: a path goes before an id."""
    if params.path:
        params = params.model_copy(update={"thread_id": await _at(ctx, params.path)})
    await ctx.stored(params.thread_id)
    if not ctx.threads.exists(params.thread_id):
        raise InvalidRequest(f"no rollout found for thread id {params.thread_id}")
    return params


async def readable(ctx: Context, thread_id: str) -> None:
    """Return once a thread can be read. The TUI lets go of one where it is refused in these words, and of no other."""
    await ctx.readable(thread_id)
    if not ctx.threads.exists(thread_id):
        raise InvalidRequest(f"thread not loaded: {thread_id}")


async def writable(ctx: Context, thread_id: str) -> Thread:
    """The thread, which is not archived: nothing changes in what was put away."""
    if (await ctx.stored()).row(thread_id).archived:
        raise InvalidRequest(f"thread {thread_id} is archived; unarchive it first")
    return ctx.threads.get(thread_id)


async def _at(ctx: Context, path: str) -> str:
    """The thread whose log lies there."""
    found = _ID.search(Path(path).stem)
    if found is not None:
        await ctx.stored(found[0])
        if ctx.threads.exists(found[0]) and _same(ctx.threads.reader.view(found[0]).path, path):
            return found[0]
    raise InvalidRequest(f"failed to resolve rollout path `{path}`: {_why(path)}")


def _same(log: str | None, path: str) -> bool:
    return log is not None and os.path.realpath(log) == os.path.realpath(path)


def _why(path: str) -> str:
    return "it is no thread of this server" if os.path.exists(path) else "file does not exist"
