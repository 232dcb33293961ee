"""The queue of a thread: what waits for its turn, and how children report."""

from __future__ import annotations

from threadloom.digits import number
from threadloom.routes import Context, Then, answers
from threadloom.threads.cursors import size
from threadloom.threads.inputs import WRITTEN, check
from threadloom.threads.resting import Queued
from threadloom.threads.thread import Thread
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2 import queue
from threadloom_protocol.v2.values.content import UserInput
from threadloom_protocol.v2.values.items import UserMessageThreadItem


@answers(queue.ADD)
async def add(ctx: Context, params: queue.ThreadQueueAddParams) -> Then[queue.ThreadQueueAddResponse]:
    """Put a prompt at the end; it is on the disk before this is answered, and runs behind the answer."""
    it = (await ctx.stored()).get(params.thread_id)
    if it.state.rest.thread.ephemeral:
        raise InvalidRequest(f"ephemeral thread does not support queued submissions: {it.id}")
    _check(params.input)
    entry = await _taken(ctx, it, params.client_user_message_id)
    if entry is None:
        entry = _shown(it.queue.add(params.input, params.client_user_message_id))
        await _kept(ctx, it)
    return Then(queue.ThreadQueueAddResponse(queued_submission=entry), lambda: _pump(it))


async def _taken(ctx: Context, it: Thread, client_id: str) -> queue.QueuedSubmission | None:
    """A prompt that came before and has had its turn: its message has the id that it had in the queue."""
    turn_id = it.known_turn(client_id)
    if turn_id is None:
        return None
    await ctx.threads.settled()
    for entry in ctx.threads.reader.items(it.id, turn_id=turn_id):
        item = entry.item
        if isinstance(item, UserMessageThreadItem) and item.client_id == client_id:
            return queue.QueuedSubmission(id=item.id, input=item.content, client_user_message_id=client_id)
    return None


@answers(queue.LIST)
async def list_queue(ctx: Context, params: queue.ThreadQueueListParams) -> queue.ThreadQueueListResponse:
    """What waits, page by page; no thread is loaded for it."""
    await ctx.readable(params.thread_id)
    entries = ctx.threads.rest(params.thread_id).queue
    first = _place(params.cursor)
    limit = size(params.limit)
    page = entries[first : first + limit]
    more = first + limit < len(entries)
    return queue.ThreadQueueListResponse(
        data=[_shown(it) for it in page], next_cursor=str(first + limit) if more else None
    )


def _place(cursor: str | None) -> int:
    if cursor is None:
        return 0
    place = number(cursor)
    if place is None:
        raise InvalidRequest(f"invalid queue pagination cursor: {cursor}")
    return place


@answers(queue.UPDATE)
async def update(ctx: Context, params: queue.ThreadQueueUpdateParams) -> queue.ThreadQueueUpdateResponse:
    """Change a prompt."""
    it = (await ctx.stored()).get(params.thread_id)
    _check(params.input)
    entry = it.queue.update(params.queued_submission_id, params.input)
    await _kept(ctx, it)
    return queue.ThreadQueueUpdateResponse(queued_submission=_shown(entry))


@answers(queue.DELETE)
async def delete(ctx: Context, params: queue.ThreadQueueDeleteParams) -> queue.ThreadQueueDeleteResponse:
    """Take an entry out."""
    it = (await ctx.stored()).get(params.thread_id)
    deleted = it.queue.delete(params.queued_submission_id)
    await _kept(ctx, it)
    return queue.ThreadQueueDeleteResponse(deleted=deleted)


@answers(queue.REORDER)
async def reorder(ctx: Context, params: queue.ThreadQueueReorderParams) -> queue.ThreadQueueReorderResponse:
    """Put all entries into an order."""
    it = (await ctx.stored()).get(params.thread_id)
    it.queue.reorder(params.queued_submission_ids)
    await _kept(ctx, it)
    return queue.ThreadQueueReorderResponse()


@answers(queue.START)
async def start(ctx: Context, params: queue.ThreadQueueStartParams) -> Then[queue.ThreadQueueStartResponse]:
    """Begin a turn with an entry now, whatever holds the queue back."""
    it = (await ctx.stored()).get(params.thread_id)
    await it.ended()
    if params.queued_submission_id is None and not it.queue.entries:
        raise InvalidRequest("queue is empty")
    chosen = params.queued_submission_id
    entry = it.queue.find(it.queue.entries[0].id if chosen is None else chosen)
    files = await it.queue.files([entry])
    running = it.queue.start([it.queue.find(entry.id)], files)
    try:
        await ctx.threads.settled()
    except BaseException:
        running.show()
        raise
    assert it.state.turn is not None
    return Then(queue.ThreadQueueStartResponse(turn=it.state.turn.turn), running.show)


@answers(queue.PAUSE)
async def pause(ctx: Context, params: queue.ThreadQueuePauseParams) -> queue.ThreadQueuePauseResponse:
    """Hold the queue."""
    it = (await ctx.stored()).get(params.thread_id)
    it.queue.pause()
    await _kept(ctx, it)
    return queue.ThreadQueuePauseResponse(queue=it.queue.state)


@answers(queue.RESUME)
async def resume(ctx: Context, params: queue.ThreadQueueResumeParams) -> Then[queue.ThreadQueueResumeResponse]:
    """Let the queue run again; what it begins follows the answer."""
    it = (await ctx.stored()).get(params.thread_id)
    it.queue.resume()
    await _kept(ctx, it)
    return Then(queue.ThreadQueueResumeResponse(queue=it.queue.state), lambda: _pump(it))


@answers(queue.SET_CALLBACK)
async def set_callback(ctx: Context, params: queue.ThreadCallbackSetParams) -> queue.ThreadCallbackSetResponse:
    """Decide how a thread reports, and what the agents inherit that it spawns."""
    it = (await ctx.stored()).get(params.thread_id)
    it.set_callback(params.callback_config)
    await _kept(ctx, it)
    return queue.ThreadCallbackSetResponse(callback_config=params.callback_config)


def _check(content: list[UserInput]) -> None:
    if not content:
        raise InvalidRequest("only user input can be added to the user-message queue")
    check(content)


async def _kept(ctx: Context, it: Thread) -> None:
    await it.sync()
    await ctx.threads.settled()


def _pump(it: Thread) -> None:
    it.queue.pump()


def _shown(entry: Queued) -> queue.QueuedSubmission:
    return queue.QueuedSubmission(
        id=entry.id,
        input=WRITTEN.validate_python(entry.input),
        client_user_message_id=entry.client_user_message_id,
        kind=entry.kind,
        report=entry.report,
    )
