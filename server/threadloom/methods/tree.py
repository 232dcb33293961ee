"""The tree of threads: seen as a whole, and closed from any point of it."""

from __future__ import annotations

from threadloom.methods.encoded import with_data
from threadloom.routes import Context, answers
from threadloom.threads.stopping import GRACE
from threadloom_protocol.errors import InvalidParams
from threadloom_protocol.v2 import tree


@answers(tree.CLOSE)
async def close(ctx: Context, params: tree.ThreadCloseParams) -> tree.ThreadCloseResponse:
    """Close a thread and everything it owns."""
    grace = GRACE if params.grace is None else params.grace
    if not 0 <= grace <= 3600:
        raise InvalidParams("grace must be between 0 and 3600 seconds")
    report = await (await ctx.stored()).cascade.close(params.thread_id, grace=grace, dry_run=params.dry_run)
    return tree.ThreadCloseResponse(report=report)


@answers(tree.READ)
async def read(ctx: Context, params: tree.ThreadTreeParams) -> tree.ThreadTreeResponse:
    """The whole tree that a thread belongs to."""
    await ctx.readable()
    ctx.threads.row(params.thread_id)
    root, nodes = ctx.threads.trees.tree(params.thread_id)
    if params.subscribe:
        ctx.threads.trees.watch(ctx.peer, root)
    return with_data(tree.ThreadTreeResponse(root_thread_id=root, data=[]), nodes)
