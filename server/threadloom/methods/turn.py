"""Turns: start, steer, interrupt."""

from __future__ import annotations

from threadloom.routes import Context, Then, answers
from threadloom.threads.attachments import attached
from threadloom.threads.context.additional import checked
from threadloom.threads.defaults import changed
from threadloom.threads.inputs import Files
from threadloom.threads.thread import Thread
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2 import turn
from threadloom_protocol.v2.values.turns import Turn


@answers(turn.START)
async def start(ctx: Context, params: turn.TurnStartParams) -> Then[turn.TurnStartResponse]:
    """Begin a turn; it is stored before this is answered, and its events follow the answer."""
    it = (await ctx.stored(params.thread_id)).get(params.thread_id)
    settings = it.state.rest.settings
    files = await _files(it, params, (changed(settings, params) or settings).cwd)
    await it.ended()
    again = it.known_turn(params.client_user_message_id)
    if again is not None:
        return Then(turn.TurnStartResponse(turn=await _seen(ctx, it, again)), _nothing)
    if params.tool_output is not None and params.input:
        raise InvalidRequest("`toolOutput` cannot be combined with nonempty `input`")
    running = it.start_turn(
        params.tool_output or params.input,
        files=files,
        client_id=params.client_user_message_id,
        settings=changed(it.state.rest.settings, params),
        output_schema=params.output_schema,
        service_tier=params.service_tier_for_turn,
        beside=checked(params.additional_context),
    )
    try:
        await ctx.threads.settled()
    except BaseException:
        running.show()
        raise
    opened = it.state.turn
    view = opened.turn if opened is not None else Turn(id=running.id, items=[], status="inProgress")
    return Then(turn.TurnStartResponse(turn=view), running.show)


async def _files(it: Thread, params: turn.TurnStartParams | turn.TurnSteerParams, cwd: str) -> Files:
    """What a message names, but for one that is known. After the wait it may be: it can come over two connections."""
    return {} if it.known_turn(params.client_user_message_id) else await attached(params.input, cwd)


async def _seen(ctx: Context, it: Thread, turn_id: str) -> Turn:
    await ctx.threads.settled(it.id)
    if it.state.turn is not None and it.state.turn.turn.id == turn_id:
        return it.state.turn.turn
    return ctx.threads.reader.turn(it.id, turn_id) or Turn(id=turn_id, items=[], status="completed")


def _nothing() -> None:
    return None


@answers(turn.STEER)
async def steer(ctx: Context, params: turn.TurnSteerParams) -> turn.TurnSteerResponse:
    """Add input to the turn under way."""
    it = (await ctx.stored(params.thread_id)).get(params.thread_id)
    files = await _files(it, params, it.state.rest.settings.cwd)
    again = it.known_turn(params.client_user_message_id)
    if again is not None:
        return turn.TurnSteerResponse(turn_id=again)
    if not params.expected_turn_id:
        raise InvalidRequest("expectedTurnId must not be empty")
    turn_id = it.steer(
        params.input,
        files=files,
        client_id=params.client_user_message_id,
        expected=params.expected_turn_id,
        beside=checked(params.additional_context),
    )
    return turn.TurnSteerResponse(turn_id=turn_id)


@answers(turn.INTERRUPT)
async def interrupt(ctx: Context, params: turn.TurnInterruptParams) -> turn.TurnInterruptResponse:
    """End the turn under way; with `cascade`, those of everything the thread owns, too."""
    it = (await ctx.stored(params.thread_id)).get(params.thread_id)
    running = it.running or it.ending
    if params.turn_id and running is None:
        raise InvalidRequest("no active turn to interrupt")
    if params.turn_id and running is not None and running.id != params.turn_id:
        raise InvalidRequest(f"expected active turn id {params.turn_id} but found {running.id}")
    await (ctx.threads.cascade.interrupt(it.id) if params.cascade else it.interrupt(by_user=True))
    await ctx.threads.settled()
    return turn.TurnInterruptResponse()
