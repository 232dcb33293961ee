"""What a person means with `ID|NAME`: a saved name, a thread's id, or the unique beginning of one."""

from __future__ import annotations

import re
import shlex
from collections.abc import AsyncIterator
from typing import Final

from threadloom.cli.link import Failure
from threadloom_client import Client
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2 import search, session, thread
from threadloom_protocol.v2.values.sources import ThreadSourceKind
from threadloom_protocol.v2.values.threads import Thread

PAGE: Final = 100
PREFIX: Final = 8  # characters of an id that may stand for all of it
NEAREST: Final = 5  # candidates that an error lists
BEGINNING: Final = re.compile(rf"[0-9a-f]{{{PREFIX}}}[0-9a-f-]*", re.IGNORECASE)
SHORT: Final = re.compile(r"[0-9a-f]{4,7}", re.IGNORECASE)
UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
SLACK: Final = 24 * 60 * 60  # seconds that a clock may have been set back
EVERY: Final[list[ThreadSourceKind]] = ["cli", "vscode", "exec", "appServer", "subAgent", "unknown"]


async def thread_id(client: Client, text: str, *, by_id: bool = False) -> str:
    """The id that is meant. Raises `Failure`, with what is near."""
    names: list[str] = []
    if not by_id:
        async for saved in sessions(client):
            if saved.name == text:
                await _check(client, saved)
                return saved.thread_id
            names.append(saved.name)
    if UUID.fullmatch(text):
        return text.lower()
    found = await _beginning(client, text.lower()) if BEGINNING.fullmatch(text) else []
    if len(found) == 1:
        return found[0]
    if found:
        raise Failure(f"`{text}` may be any of these threads: {', '.join(found[:NEAREST])}")
    few = f"; of an id, give the first {PREFIX} characters or more" if SHORT.fullmatch(text) else ""
    raise Failure(f"there is no saved session or thread `{text}`{few or _near(text, names)}")


async def _check(client: Client, saved: session.SavedSession) -> None:
    """A name outlives its thread, but does not stand for it then."""
    try:
        await client.request(thread.READ, thread.ThreadReadParams(thread_id=saved.thread_id))
    except InvalidRequest:
        raise Failure(
            f"the thread that was saved as `{saved.name}` is deleted\n"
            f"`threadloom fork {shlex.quote(saved.name)}` begins a new one from what was saved."
        ) from None


async def _beginning(client: Client, prefix: str) -> list[str]:
    """The ids that begin so, the newest first. They begin with the time of birth: what is older is passed over."""
    born = (int(prefix[:PREFIX], 16) << 16) // 1000
    found = []
    for archived in (False, True):
        async for it in threads(client, search.ThreadListParams(archived=archived, source_kinds=EVERY)):
            if it.created_at < born - SLACK:
                break
            if it.id.startswith(prefix):
                found.append(it.id)
    return found


def _near(text: str, names: list[str]) -> str:
    from difflib import get_close_matches  # only for one who has mistyped

    near = get_close_matches(text, names, NEAREST, 0.5)
    return (
        f"; do you mean {', '.join(near)}?" if near else "\n`threadloom list` and `threadloom session list` show them."
    )


async def threads(client: Client, params: search.ThreadListParams, most: int | None = None) -> AsyncIterator[Thread]:
    """Threads of a list, page after page, as many as are wanted."""
    left = most
    while True:
        size = PAGE if left is None else min(PAGE, left)
        page = await client.request(search.LIST, params.model_copy(update={"limit": size}))
        for it in page.data:
            yield it
        left = None if left is None else left - len(page.data)
        if page.next_cursor is None or left == 0:
            return
        params = params.model_copy(update={"cursor": page.next_cursor})


async def matches(
    client: Client, params: search.ThreadSearchParams, most: int
) -> AsyncIterator[search.ThreadSearchResult]:
    """What a search finds, page after page, as much as is wanted."""
    while most > 0:
        page = await client.request(search.SEARCH, params.model_copy(update={"limit": min(PAGE, most)}))
        for it in page.data:
            yield it
        if page.next_cursor is None:
            return
        most -= len(page.data)
        params = params.model_copy(update={"cursor": page.next_cursor})


async def sessions(client: Client) -> AsyncIterator[session.SavedSession]:
    """All saved sessions, the latest first."""
    cursor = None
    while True:
        page = await client.request(session.LIST, session.SessionListParams(limit=PAGE, cursor=cursor))
        for it in page.data:
            yield it
        cursor = page.next_cursor
        if cursor is None:
            return
