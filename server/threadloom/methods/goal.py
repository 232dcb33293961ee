"""Goals: what a thread is after, over many turns."""

from __future__ import annotations

from threadloom.routes import Context, Then, answers
from threadloom.threads.manager import Manager
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2 import goal


@answers(goal.SET)
async def set_goal(ctx: Context, params: goal.ThreadGoalSetParams) -> Then[goal.ThreadGoalSetResponse]:
    """Set a goal, or change it; where it is active, work on it begins."""
    threads = await _lasting(ctx, params.thread_id)
    new, then = threads.get(params.thread_id).goals.set(params)
    return Then(goal.ThreadGoalSetResponse(goal=new), then)


@answers(goal.GET)
async def get_goal(ctx: Context, params: goal.ThreadGoalGetParams) -> goal.ThreadGoalGetResponse:
    """What a thread is after, loaded or not."""
    threads = await _lasting(ctx, params.thread_id)
    return goal.ThreadGoalGetResponse(goal=threads.rest(params.thread_id).goal)


@answers(goal.CLEAR)
async def clear_goal(ctx: Context, params: goal.ThreadGoalClearParams) -> Then[goal.ThreadGoalClearResponse]:
    """Drop it; a turn under way goes on, and none follows."""
    threads = await _lasting(ctx, params.thread_id)
    then = threads.get(params.thread_id).goals.clear()
    return Then(goal.ThreadGoalClearResponse(cleared=then is not None), then or _nothing)


async def _lasting(ctx: Context, thread_id: str) -> Manager:
    """The threads, where this is one that outlives the process."""
    threads = await ctx.stored()
    threads.row(thread_id)
    if threads.ephemeral(thread_id):
        raise InvalidRequest(f"ephemeral thread does not support goals: {thread_id}")
    return threads


def _nothing() -> None:
    return None
