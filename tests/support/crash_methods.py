"""The handler of the room that makes children."""

from __future__ import annotations

from tests.support import crash_room

from threadloom.routes import Context, Then, answers
from threadloom.threads.birth import Birth


@answers(crash_room.SPAWN)
async def spawn(ctx: Context, params: crash_room.CrashSpawnParams) -> Then[crash_room.CrashSpawnResponse]:
    """A child, born the way every child is: its first line carries the owner."""
    owner = (await ctx.stored()).get(params.thread_id)
    made = ctx.threads.start(Birth(settings=owner.state.rest.settings, owner=owner.id, name=params.name))
    try:
        await ctx.threads.settled()
    except BaseException:
        made.announce()  # it is there all the same
        raise
    return Then(crash_room.CrashSpawnResponse(thread_id=made.id), made.announce)
