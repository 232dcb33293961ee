"""The past of a thread: pages of turns and items, items put in, turns taken back."""

from __future__ import annotations

from threadloom.events import Aside
from threadloom.methods.encoded import page
from threadloom.methods.named import readable, writable
from threadloom.routes import Context, Then, answers
from threadloom.threads.cursors import size
from threadloom.threads.inputs import refuse_remote, unfit
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2 import history


@answers(history.TURNS)
async def list_turns(ctx: Context, params: history.ThreadTurnsListParams) -> history.ThreadTurnsListResponse:
    """A page of turns, the newest first unless asked otherwise."""
    await readable(ctx, params.thread_id)
    ctx.threads.row(params.thread_id)
    written = ctx.threads.reader.written(
        params.thread_id,
        cursor=params.cursor,
        limit=size(params.limit),
        direction=params.sort_direction or "desc",
        items=params.items_view or "summary",
    )
    return page(history.ThreadTurnsListResponse, written.json())


@answers(history.ITEMS)
async def list_items(ctx: Context, params: history.ThreadItemsListParams) -> history.ThreadItemsListResponse:
    """A page of items, of the thread or of one turn."""
    await readable(ctx, params.thread_id)
    ctx.threads.row(params.thread_id)
    cursor = params.cursor if isinstance(params.cursor, str) else None
    anchor = None if params.cursor is None or isinstance(params.cursor, str) else params.cursor.item_id
    written = ctx.threads.reader.written_items(
        params.thread_id,
        turn_id=params.turn_id,
        cursor=cursor,
        after_item=anchor,
        limit=size(params.limit),
        direction=params.sort_direction or "asc",
    )
    return page(history.ThreadItemsListResponse, written.json())


@answers(history.INJECT)
async def inject(ctx: Context, params: history.ThreadInjectItemsParams) -> history.ThreadInjectItemsResponse:
    """Put items into the model's history; nobody is shown them."""
    if not params.items:
        raise InvalidRequest("items must not be empty")
    for at, item in enumerate(params.items):
        if (why := unfit(item)) is not None:
            raise InvalidRequest(f"items[{at}] is not a response item: {why}")
    refuse_remote(params.items)
    (await writable(ctx, params.thread_id)).emit(Aside(params.items))
    return history.ThreadInjectItemsResponse()


@answers(history.REVERT)
async def revert(ctx: Context, params: history.ThreadRevertParams) -> history.ThreadRevertResponse:
    """Hide a turn and all after it; nothing is cut from the log."""
    it = await writable(ctx, params.thread_id)
    await it.interrupt()
    await ctx.threads.settled()
    row = it.store.index.turn(it.id, params.before_turn_id)
    if row is None:
        raise InvalidRequest(f"turn not found: {params.before_turn_id}")
    it.revert(row.seq)
    await ctx.threads.settled()
    reader = ctx.threads.reader
    return history.ThreadRevertResponse(
        thread=it.state.snapshot(),
        turns_backwards_cursor=reader.last_cursor(it.id, "turns"),
        items_backwards_cursor=reader.last_cursor(it.id, "items"),
    )


@answers(history.COMPACT)
async def compact(ctx: Context, params: history.ThreadCompactStartParams) -> Then[history.ThreadCompactStartResponse]:
    """Have the history of a thread condensed, as a turn of its own or in the one that is under way."""
    it = (await ctx.stored()).get(params.thread_id)
    await it.ended()
    running = it.compact()
    return Then(history.ThreadCompactStartResponse(), running.show)
