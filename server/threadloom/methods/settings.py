"""The settings that later turns of a thread start from."""

from __future__ import annotations

from threadloom.methods.named import writable
from threadloom.routes import Context, answers
from threadloom.threads.defaults import changed
from threadloom_protocol.v2 import settings


@answers(settings.UPDATE)
async def update(ctx: Context, params: settings.ThreadSettingsUpdateParams) -> settings.ThreadSettingsUpdateResponse:
    """Change what later turns start from; the turn under way keeps what it has."""
    it = await writable(ctx, params.thread_id)
    new = changed(it.state.rest.settings, params)
    if new is not None:
        it.set_settings(new)
        await ctx.threads.settled()
    return settings.ThreadSettingsUpdateResponse()
