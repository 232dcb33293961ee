"""Saved sessions: named, forked, taken up again, listed, forgotten."""

from __future__ import annotations

import re
from typing import Final

from threadloom.methods import thread as threads
from threadloom.methods.encoded import plain, with_turns
from threadloom.routes import Context, Then, answers
from threadloom.store.listing import number
from threadloom.threads import cursors
from threadloom.threads.forks import fork
from threadloom.threads.sessions import Meant, Sessions
from threadloom.threads.thread import Thread
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2 import session
from threadloom_protocol.v2.thread import ThreadResumeParams

_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@answers(session.SAVE)
async def save(ctx: Context, params: session.SessionSaveParams) -> session.SessionSaveResponse:
    """Give a thread a name as it is now."""
    saved = await Sessions(await ctx.stored()).save(params.thread_id, params.name)
    return session.SessionSaveResponse(session=saved)


@answers(session.FORK)
async def fork_session(ctx: Context, params: session.SessionForkParams) -> Then[session.SessionForkResponse]:
    """A new thread from a saved point, or from the end of a thread."""
    whole = params.at == "saved"  # of the names that a thread has, another may have taken one over
    sessions = Sessions(await ctx.stored(None if whole else _thread_id(params.session)))
    await ctx.threads.settled()
    meant = sessions.find(params.session, by_id=params.by_id)
    made = await _forked(ctx, sessions, meant, params.at or ("saved" if meant.by_name else "head"))
    with threads.shown_anyway(made):
        return await threads.born(ctx, made, session.SessionForkResponse, turns=not params.exclude_turns)


def _thread_id(session: str) -> str | None:
    """The id that this is, in full: then nobody has to know of other threads to tell what is meant."""
    return session.lower() if _ID.fullmatch(session) else None


async def _forked(ctx: Context, sessions: Sessions, meant: Meant, at: session.SessionPoint) -> Thread:
    originator = ctx.peer.client.name
    if at == "head":
        await ctx.readable(meant.thread_id)
        with ctx.threads.logs.reading(sessions.there(meant)) as source:
            return fork(ctx.threads, source, originator=originator)
    if meant.saved is None:
        raise InvalidRequest(f"thread {meant.thread_id} has no saved session")
    return sessions.fork(meant.saved, originator=originator)


@answers(session.RESUME)
async def resume(ctx: Context, params: session.SessionResumeParams) -> Then[session.SessionResumeResponse]:
    """Open the thread that was saved, wherever it has got to."""
    sessions = Sessions(await ctx.stored(_thread_id(params.session)))
    await ctx.threads.settled()
    meant = sessions.find(params.session, by_id=params.by_id)
    thread_id = sessions.there(meant)
    wanted = params.initial_turns_page
    answer = await threads.resumed(
        ctx, ThreadResumeParams(thread_id=thread_id, exclude_turns=params.exclude_turns, initial_turns_page=wanted)
    )
    result, turns = plain(answer.result)
    fields = result.model_fields_set | {"moved"}
    told = session.SessionResumeResponse.model_construct(fields, **vars(result), moved=sessions.moved(meant))
    return Then(with_turns(told, turns), answer.then)


@answers(session.LIST)
async def list_sessions(ctx: Context, params: session.SessionListParams) -> session.SessionListResponse:
    """A page of saved sessions, the latest first."""
    await ctx.readable()
    data, following = Sessions(ctx.threads).page(cursors.size(params.limit), cursors.decode(params.cursor, _place))
    return session.SessionListResponse(data=data, next_cursor=following and _encode(*following))


def _encode(at: int, name: str) -> str:
    return cursors.encode(f"{at}/{name}")


def _place(text: str) -> tuple[int, str]:
    at, name = text.split("/", 1)
    return number(at), name


@answers(session.DELETE)
async def delete(ctx: Context, params: session.SessionDeleteParams) -> session.SessionDeleteResponse:
    """Forget a saved name."""
    await Sessions(await ctx.stored()).delete(params.name)
    return session.SessionDeleteResponse()
