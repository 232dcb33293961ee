"""Hooks: there are none, but a client that asks about a folder wants to hear that of the folder."""

from __future__ import annotations

from threadloom.routes import Context, answers
from threadloom_protocol.v2 import hook


@answers(hook.LIST)
async def list_hooks(ctx: Context, params: hook.HooksListParams) -> hook.HooksListResponse:
    """An empty entry for every folder that was asked about, and for the one of the thread."""
    folders = list(params.cwds or ())
    if params.thread_id is not None:
        await ctx.readable(params.thread_id)
        folders.append(ctx.threads.reader.view(params.thread_id).cwd)
    return hook.HooksListResponse(
        data=[hook.HooksListEntry(cwd=folder, hooks=[], warnings=[], errors=[]) for folder in dict.fromkeys(folders)]
    )
