"""Threads: start, resume, fork, read, and what hangs on their life."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from threadloom.config.own import lasting
from threadloom.methods.encoded import with_turns
from threadloom.methods.named import named, readable
from threadloom.routes import Context, Then, answers
from threadloom.threads import hub as fanout
from threadloom.threads.birth import Birth
from threadloom.threads.cursors import size
from threadloom.threads.defaults import aligned
from threadloom.threads.forks import fork
from threadloom.threads.pages import NOTHING, Known
from threadloom.threads.thread import Thread
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2 import goal, thread, turn
from threadloom_protocol.v2.config import CONFIG_WARNING


@answers(thread.START)
async def start(ctx: Context, params: thread.ThreadStartParams) -> Then[thread.ThreadStartResponse]:
    """A new root thread; whoever starts it follows it."""
    made = ctx.threads.start(
        Birth(
            settings=ctx.threads.defaults.settings(params),
            ephemeral=bool(params.ephemeral),
            base_instructions=params.base_instructions or None,
            developer_instructions=params.developer_instructions or None,
            config=lasting(params.config),
            originator=ctx.peer.client.name,
            thread_source=params.thread_source,
        )
    )
    with shown_anyway(made):
        answer = await born(ctx, made, thread.ThreadStartResponse)
    return answer._replace(then=partial(_then_warn, ctx, made, answer.then))


def _then_warn(ctx: Context, made: Thread, then: Callable[[], None]) -> None:
    """Tell of what is passed over for a thread's directory alone; the rest was told with the handshake."""
    then()
    known = ctx.configuration.recent().faults
    for fault in ctx.configuration.recent(made.state.rest.settings.cwd).faults:
        if fault not in known:
            ctx.peer.publish(CONFIG_WARNING, fault.warning().to_json())


@answers(thread.FORK)
async def fork_thread(ctx: Context, params: thread.ThreadForkParams) -> Then[thread.ThreadForkResponse]:
    """A new root thread that goes on from another one's history."""
    params = await named(ctx, params)
    await ctx.readable(params.thread_id)
    await ctx.threads.settled()
    with ctx.threads.logs.reading(params.thread_id) as source:
        made = fork(
            ctx.threads,
            source,
            settings=ctx.threads.defaults.changed(source.state.rest.settings, params),
            last_turn=params.last_turn_id,
            before_turn=params.before_turn_id,
            ephemeral=params.ephemeral,
            config=lasting(params.config),
            base_instructions=params.base_instructions,
            developer_instructions=params.developer_instructions,
            originator=ctx.peer.client.name,
            thread_source=params.thread_source,
        )
    with shown_anyway(made):
        return await born(ctx, made, thread.ThreadForkResponse, turns=not params.exclude_turns)


@contextmanager
def shown_anyway(made: Thread) -> Iterator[None]:
    """A thread is there once its log is: where the answer fails, for want of space in the index, it is shown still."""
    try:
        yield
    except BaseException:
        made.announce()
        raise


async def born(ctx: Context, made: Thread, response: type[Any], *, turns: bool = False) -> Then[Any]:
    """The answer for whoever made a thread, and follows it from now on."""
    await ctx.threads.settled()
    reader = ctx.threads.reader
    written = reader.written(made.id, known=await reader.gathered(made.id)).data if turns else ()
    ctx.threads.hub.subscribe(ctx.peer, made.id, made.shown, head=made.shown)
    view = made.state.snapshot()

    def then() -> None:
        _tell_usage(ctx, made)
        made.announce()

    return Then(with_turns(response(thread=view, **_settings(made)), written), then)


def _tell_usage(ctx: Context, it: Thread) -> None:
    """What a thread has used so far, for a client that did not hear it when it was told."""
    used = it.usage()
    if used is not None:
        ctx.peer.publish(turn.TOKEN_USAGE_UPDATED, used.to_json())


def _tell_goal(ctx: Context, it: Thread) -> None:
    """What a thread is after, likewise."""
    if (after := it.goals.goal) is not None:
        event = goal.ThreadGoalUpdatedNotification(thread_id=it.id, goal=after)
        ctx.peer.publish(goal.UPDATED, event.to_json())


@answers(thread.RESUME)
async def resume(ctx: Context, params: thread.ThreadResumeParams) -> Then[thread.ThreadResumeResponse]:
    """Load a thread and follow it."""
    return await resumed(ctx, await named(ctx, params))


async def resumed(ctx: Context, params: thread.ThreadResumeParams) -> Then[thread.ThreadResumeResponse]:
    """The same: from a snapshot, or from the seq that the client has already seen."""
    if params.history is not None:
        raise InvalidRequest("resuming from a history is not supported; start a thread and inject items")
    if (await ctx.stored(params.thread_id)).row(params.thread_id).archived:
        # The TUI knows this sentence, and offers to unarchive the thread.
        whole = f"Run `codex unarchive {params.thread_id}` to unarchive it first."
        raise InvalidRequest(f"session {params.thread_id} is archived. {whole}")
    await ctx.threads.cascade.finished(params.thread_id)
    wanted = params.since_seq is None and not params.exclude_turns
    known = await ctx.threads.reader.gathered(params.thread_id) if wanted else NOTHING
    cold = params.thread_id not in ctx.threads.loaded
    it = ctx.threads.get(params.thread_id)
    if it.running is None:  # else what it runs with stays
        settings = ctx.threads.defaults.changed(it.state.rest.settings, params)
        if settings is not None:
            it.set_settings(settings)
        it.set_own(params.base_instructions, params.developer_instructions, lasting(params.config))
    await ctx.threads.cascade.reopen(it.id)
    await ctx.threads.settled(it.id)
    return follow(ctx, ctx.threads.get(it.id), params, known, cold=cold)  # a close may have taken it from memory


def follow(
    ctx: Context, it: Thread, params: thread.ThreadResumeParams, known: Known, *, cold: bool
) -> Then[thread.ThreadResumeResponse]:
    """From here on nothing waits: snapshot, cursor and subscription are of one moment."""
    reader, hub = ctx.threads.reader, ctx.threads.hub
    head = it.shown
    since = None if params.since_seq is None else min(params.since_seq, head)  # nobody has seen more than there is
    first = it.header.base.seq if it.header.base else 0  # what a fork took along was told of another thread
    truncated = since is not None and (head - since > fanout.MAX_BEHIND or since < first)
    replayed = since is not None and not truncated
    view = it.state.snapshot()
    turns = () if replayed or params.exclude_turns else reader.written(it.id, known=known).data
    page = None
    if params.initial_turns_page is not None:
        asked = params.initial_turns_page
        order, items = asked.sort_direction or "desc", asked.items_view or "summary"
        page = reader.turns(it.id, limit=size(asked.limit), direction=order, items=items)
    covers = params.descendants is not False
    hub.subscribe(ctx.peer, it.id, since if since is not None and replayed else it.seq, head=head, descendants=covers)
    cursors = params.descendants if isinstance(params.descendants, dict) else {}
    heard = _time_of(ctx, it.id, since) if since is not None and replayed and params.descendants == cursors else None
    for child in ctx.threads.lineage.descendants(it.id) if covers else ():
        seen = ctx.threads.shown(child)
        cursor = cursors.get(child)
        if cursor is None and heard is not None:
            cursor = _unheard(ctx, child, heard)
        hub.cover(ctx.peer, child, None if cursor is None else min(cursor, seen), head=seen)
    response = thread.ThreadResumeResponse(
        thread=view,
        seq=it.seq,
        truncated=truncated if since is not None else None,
        initial_turns_page=page,
        turns_backwards_cursor=reader.last_cursor(it.id, "turns"),
        items_backwards_cursor=reader.last_cursor(it.id, "items"),
        collaboration_mode=aligned(it.state.rest.settings).collaboration_mode,
        **_settings(it),
    )

    def then() -> None:
        if not replayed:
            _tell_usage(ctx, it)
            _tell_goal(ctx, it)
        hub.pump(ctx.peer)
        if cold:
            it.goals.go_on()

    return Then(with_turns(response, turns), then)


def _time_of(ctx: Context, thread_id: str, seq: int) -> int:
    """When a record was written."""
    return next((line.at for line in ctx.threads.store(thread_id).after(thread_id, seq - 1) if line.seq == seq), 0)


def _unheard(ctx: Context, child: str, heard: int) -> int | None:
    """Where a client begins that keeps cursors and has none for this one: where it was born, if that was since then.

    Who was told of it in that very millisecond has a cursor for it.
    """
    birth = ctx.threads.lineage.birth(child)
    if birth.created_at < heard:
        return None
    return birth.base.seq if birth.base else 0


@answers(thread.READ)
async def read(ctx: Context, params: thread.ThreadReadParams) -> thread.ThreadReadResponse:
    """A thread as it stands, loaded or not."""
    await readable(ctx, params.thread_id)
    reader = ctx.threads.reader
    if not params.include_turns:
        return thread.ThreadReadResponse(thread=reader.view(params.thread_id))
    ctx.threads.row(params.thread_id)
    known = await reader.gathered(params.thread_id)
    await ctx.readable(params.thread_id)
    view = reader.view(params.thread_id)  # of the same moment as what follows
    turns = reader.written(params.thread_id, known=known).data
    return with_turns(thread.ThreadReadResponse(thread=view), turns)


@answers(thread.UNARCHIVE)
async def unarchive(ctx: Context, params: thread.ThreadUnarchiveParams) -> thread.ThreadUnarchiveResponse:
    """Bring back what an archive took."""
    await (await ctx.stored()).moves.unarchive(params.thread_id)
    return thread.ThreadUnarchiveResponse(thread=ctx.threads.reader.view(params.thread_id))


@answers(thread.UPDATE_METADATA)
async def update_metadata(
    ctx: Context, params: thread.ThreadMetadataUpdateParams
) -> thread.ThreadMetadataUpdateResponse:
    """Facts about a thread that its conversation does not tell."""
    if (await ctx.stored()).ephemeral(params.thread_id):
        raise InvalidRequest(f"ephemeral thread does not support metadata updates: {params.thread_id}")
    if params.git_info is None or not params.git_info.model_fields_set:
        raise InvalidRequest("gitInfo must include at least one field")
    it = ctx.threads.get(params.thread_id)
    it.set_git(params.git_info)
    await ctx.threads.settled()
    return thread.ThreadMetadataUpdateResponse(thread=it.state.snapshot())


def _settings(it: Thread) -> dict[str, Any]:
    settings = it.state.rest.settings
    return {
        "approval_policy": settings.approval_policy,
        "approvals_reviewer": settings.approvals_reviewer,
        "cwd": settings.cwd,
        "model": settings.model,
        "model_provider": settings.model_provider,
        "sandbox": settings.sandbox_policy,
        "active_permission_profile": settings.active_permission_profile,
        "runtime_workspace_roots": [settings.cwd],
        "reasoning_effort": settings.effort,
        "service_tier": settings.service_tier,
        "instruction_sources": it.briefing.sources(),
    }
