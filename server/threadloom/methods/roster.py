"""Threads as a list of names and states."""

from __future__ import annotations

from uuid import UUID

from threadloom.methods.named import writable
from threadloom.routes import Context, answers
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2 import roster
from threadloom_protocol.v2.session import DELETED, SessionDeletedNotification


@answers(roster.LOADED)
def list_loaded(ctx: Context, params: roster.ThreadLoadedListParams) -> roster.ThreadLoadedListResponse:
    """The threads in memory, in the order of their ids."""
    if not ctx.services.runs_threads:
        return roster.ThreadLoadedListResponse(data=[])
    ids = sorted(ctx.threads.loaded)
    if params.cursor is not None:
        ids = [it for it in ids if it > _id(params.cursor)]
    limit = len(ids) if params.limit is None else max(1, params.limit)
    page = ids[:limit]
    return roster.ThreadLoadedListResponse(data=page, next_cursor=page[-1] if len(ids) > limit else None)


def _id(cursor: str) -> str:
    try:
        return str(UUID(cursor))
    except ValueError:
        raise InvalidRequest(f"invalid cursor: {cursor}") from None


@answers(roster.UNSUBSCRIBE)
def unsubscribe(ctx: Context, params: roster.ThreadUnsubscribeParams) -> roster.ThreadUnsubscribeResponse:
    """Hear no more of a thread; it stays loaded, and whatever runs goes on."""
    if not ctx.services.runs_threads:
        return roster.ThreadUnsubscribeResponse(status="notLoaded")
    ctx.threads.trees.unwatch(ctx.peer, params.thread_id)  # a tree is watched whether its root is loaded or not
    if params.thread_id not in ctx.threads.loaded:
        return roster.ThreadUnsubscribeResponse(status="notLoaded")
    left = ctx.threads.hub.unsubscribe(ctx.peer, params.thread_id)
    return roster.ThreadUnsubscribeResponse(status="unsubscribed" if left else "notSubscribed")


@answers(roster.ARCHIVE)
async def archive(ctx: Context, params: roster.ThreadArchiveParams) -> roster.ThreadArchiveResponse:
    """Put a thread and what it owns away."""
    await (await ctx.stored()).moves.archive(params.thread_id)
    return roster.ThreadArchiveResponse()


@answers(roster.DELETE)
async def delete(ctx: Context, params: roster.ThreadDeleteParams) -> roster.ThreadDeleteResponse:
    """Remove a thread and what it owns."""
    threads = await ctx.stored()
    names = threads.durable.index.saved
    lost = (
        names.keepers([params.thread_id, *threads.lineage.descendants(params.thread_id)]).names if params.purge else []
    )
    gone = await threads.moves.delete(params.thread_id, purge=params.purge)
    if params.purge:
        for it in lost:
            if names.get(it) is None:
                ctx.services.announce(DELETED, SessionDeletedNotification(thread_id=params.thread_id, name=it))
        return roster.ThreadDeleteResponse()
    kept = names.keepers(gone)
    keepers = roster.HistoryKeepers(sessions=kept.names, forks=kept.forks) if any(kept) else None
    return roster.ThreadDeleteResponse(kept_by=keepers)


@answers(roster.SET_NAME)
async def set_name(ctx: Context, params: roster.ThreadSetNameParams) -> roster.ThreadSetNameResponse:
    """Name a thread."""
    name = params.name.strip()
    if not name:
        raise InvalidRequest("thread name must not be empty")
    (await writable(ctx, params.thread_id)).set_name(name)
    await ctx.threads.settled()
    return roster.ThreadSetNameResponse()
