"""Notes: one line that a person or an agent pins to a thread."""

from __future__ import annotations

from typing import Final

from threadloom.routes import Context, answers
from threadloom_protocol.errors import InvalidParams
from threadloom_protocol.v2 import note

MAX_NOTE: Final = 500


@answers(note.SET)
async def set_note(ctx: Context, params: note.ThreadSetNoteParams) -> note.ThreadSetNoteResponse:
    """Pin a note, or take it away."""
    text = params.note.strip()
    if len(text) > MAX_NOTE:
        raise InvalidParams(f"note must have at most {MAX_NOTE} characters, not {len(text)}")
    (await ctx.stored()).get(params.thread_id).set_note(text or None)
    await ctx.threads.settled()
    return note.ThreadSetNoteResponse(note=text or None)
