"""Lists of threads, and searches in them, from the index alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import orjson
from anyio.to_thread import run_sync

from threadloom.methods.encoded import with_data
from threadloom.routes import Context, answers
from threadloom.store.listing import number
from threadloom.store.rows import Query
from threadloom.store.texts import Occurrence
from threadloom.threads import cursors
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2 import search

INTERACTIVE: Final = ("cli", "vscode")  # what a list shows unless it is asked for more
PEOPLES: Final = frozenset({"cli", "vscode", "exec", "appServer"})  # what people start, and may leave without a word


@answers(search.LIST)
async def list_threads(ctx: Context, params: search.ThreadListParams) -> search.ThreadListResponse:
    """A page of threads, the newest first unless asked otherwise."""
    await ctx.readable()
    if params.parent_thread_id is not None and params.ancestor_thread_id is not None:
        raise InvalidRequest("parentThreadId and ancestorThreadId are mutually exclusive")
    if params.section_id or params.project_id or params.attached_to_thread_id:
        return search.ThreadListResponse(data=[])  # no thread is in a section or project, or hangs on another one
    related = params.parent_thread_id or params.ancestor_thread_id
    try:
        page = ctx.threads.durable.index.threads(_query(params, related=related is not None))
    except ValueError:
        raise InvalidRequest(f"invalid cursor: {params.cursor}") from None
    empty = search.ThreadListResponse(data=[], next_cursor=page.next, backwards_cursor=page.back)
    return with_data(empty, [ctx.threads.reader.listed(row) for row in page.rows])


@answers(search.SEARCH)
async def find(ctx: Context, params: search.ThreadSearchParams) -> search.ThreadSearchResponse:
    """A page of threads in which something was said, the newest first unless asked otherwise."""
    term = _term(params.search_term)
    await ctx.readable()
    query = Query(
        sort=params.sort_key or "created_at",
        direction=params.sort_direction or "desc",
        limit=cursors.size(params.limit),
        cursor=params.cursor,
        archived=bool(params.archived),
        source_kinds=_spread(list(params.source_kinds or ()) or list(INTERACTIVE)),
    )
    try:
        found = await run_sync(ctx.threads.durable.index.texts.find, query, term, abandon_on_cancel=True)
    except ValueError:
        raise InvalidRequest(f"invalid cursor: {params.cursor}") from None
    data = [
        b'{"thread":%b,"snippet":%b}' % (ctx.threads.reader.listed(row), orjson.dumps(snippet))
        for row, snippet in zip(found.page.rows, found.snippets, strict=True)
    ]
    empty = search.ThreadSearchResponse(data=[], next_cursor=found.page.next, backwards_cursor=found.page.back)
    return with_data(empty, data)


@answers(search.OCCURRENCES)
async def find_in_thread(
    ctx: Context, params: search.ThreadSearchOccurrencesParams
) -> search.ThreadSearchOccurrencesResponse:
    """A page of places in a thread where something was said, in the order in which it was."""
    term = _term(params.search_term)
    await ctx.readable(params.thread_id)
    ctx.threads.row(params.thread_id)
    texts, limit = ctx.threads.store(params.thread_id).index.texts, cursors.size(params.limit)
    after = cursors.decode(params.cursor, _place)
    found = await run_sync(texts.occurrences, params.thread_id, term, after, limit + 1, abandon_on_cancel=True)
    return search.ThreadSearchOccurrencesResponse(
        data=[_occurrence(ctx, params.thread_id, it) for it in found[:limit]],
        next_cursor=_encode(found[limit - 1]) if len(found) > limit else None,
    )


def _occurrence(ctx: Context, thread_id: str, it: Occurrence) -> search.ThreadSearchOccurrence:
    return search.ThreadSearchOccurrence(
        turn_id=it.turn_id,
        item_id=it.item_id,
        snippet=it.snippet,
        snippet_match_range=search.ThreadSearchTextRange(start=it.start, end=it.end),
        turn_cursor=ctx.threads.reader.cursor_at(thread_id, it.turn_id),
    )


def _encode(it: Occurrence) -> str:
    return cursors.encode(f"{it.seq}.{it.nth}")


def _place(text: str) -> tuple[int, int]:
    seq, nth = text.split(".")
    return number(seq), number(nth)


def _term(text: str) -> str:
    if not text.strip():
        raise InvalidRequest("searchTerm must not be empty")
    return text.strip()


def _query(params: search.ThreadListParams, *, related: bool) -> Query:
    kinds = list(params.source_kinds or ()) or (None if related else list(INTERACTIVE))
    sort = params.sort_key if params.sort_key in ("updated_at", "recency_at") else "created_at"
    return Query(
        sort=sort,
        direction=params.sort_direction or "desc",
        limit=cursors.size(params.limit),
        cursor=params.cursor,
        archived=bool(params.archived),
        source_kinds=_spread(kinds),
        providers=params.model_providers or None,
        cwds=[params.cwd] if isinstance(params.cwd, str) else params.cwd,
        originators=params.originators or None,
        excluded=params.excluded_thread_ids or (),
        owner=params.parent_thread_id,
        ancestor=params.ancestor_thread_id,
        search=params.search_term or None,
        begun=not related and set(kinds or ()) <= PEOPLES,
    )


def _spread(kinds: Sequence[str] | None) -> Sequence[str] | None:
    """`subAgent` stands for every kind of sub-agent."""
    if kinds is None or "subAgent" not in kinds:
        return kinds
    return [*kinds, "subAgentReview", "subAgentCompact", "subAgentThreadSpawn", "subAgentOther"]
