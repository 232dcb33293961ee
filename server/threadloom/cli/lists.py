"""`threadloom list`, `search` and `session list`: what there is."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping

from threadloom.cli import find
from threadloom.cli.clean import tilde
from threadloom.cli.link import OK, USAGE, Failure, Place, current_folder
from threadloom.cli.link import run as run_command
from threadloom.cli.output import as_json, in_terminal, moment, short, table
from threadloom_protocol.v2 import search as room
from threadloom_protocol.v2.values.threads import Thread

BEFORE = 12  # characters of a snippet that are shown before the match
HEADINGS = ("ID", "USED", "STATUS", "FOLDER", "TITLE")


def threads(arguments: Namespace) -> int:
    """`threadloom list`."""

    async def work(place: Place) -> int:
        params = room.ThreadListParams(archived=arguments.archived, sort_key="recency_at")
        if arguments.agents:
            params.source_kinds = find.EVERY
        if arguments.here:
            params.cwd = current_folder()
        async with place.client() as client:
            found = [it async for it in find.threads(client, params, arguments.limit)]
        if arguments.json:
            as_json(found)
        else:
            ids = short(it.id for it in found)
            rows = [_row(it, ids) for it in found]
            empty = "No threads. `threadloom chat` begins one."
            table(HEADINGS, rows, empty=empty, spare=("STATUS", "FOLDER"))
        return OK

    return run_command(arguments, work)


def _row(it: Thread, ids: Mapping[str, str]) -> list[object]:
    used = it.recency_at or it.updated_at
    return [ids[it.id], moment(used), status(it), _home(it.cwd), it.name or it.preview]


def status(it: Thread) -> str:
    """How a thread stands, in one word; one that is on disk only is at rest."""
    return {"notLoaded": "idle", "systemError": "failed"}.get(it.status.type, it.status.type)


def _home(path: str) -> str:
    """A path as people like it; programs get it as it is."""
    return tilde(path) if in_terminal() else path


def search(arguments: Namespace) -> int:
    """`threadloom search`."""

    async def work(place: Place) -> int:
        params = room.ThreadSearchParams(search_term=" ".join(arguments.words).strip(), archived=arguments.archived)
        if not params.search_term:
            raise Failure("search for what? threadloom search WORDS", USAGE)
        if arguments.agents:
            params.source_kinds = find.EVERY
        async with place.client() as client:
            found = [it async for it in find.matches(client, params, arguments.limit)]
        if arguments.json:
            as_json(found)
        else:
            ids = short(it.thread.id for it in found)
            rows = [
                [ids[it.thread.id], moment(it.thread.updated_at), near(it.snippet, arguments.words)] for it in found
            ]
            table(("ID", "USED", "WORDS"), rows, empty="Nothing like that was said.")
        return OK

    return run_command(arguments, work)


def near(snippet: str, words: list[str]) -> str:
    """A snippet that begins shortly before what was looked for: a narrow window cuts its end off."""
    found = [at for it in words if (at := snippet.lower().find(it.lower())) >= 0]
    begin = snippet.rfind(" ", 0, max(min(found, default=0) - BEFORE, 0)) + 1
    return f"…{snippet[begin:]}" if in_terminal() and begin else snippet


def sessions(arguments: Namespace) -> int:
    """`threadloom session list`."""

    async def work(place: Place) -> int:
        async with place.client() as client:
            found = [it async for it in find.sessions(client)]
        if arguments.json:
            as_json(found)
        else:
            ids = short(it.thread_id for it in found)
            rows = [
                [it.name, ids[it.thread_id], moment(it.saved_at), it.model or "", _home(it.cwd), _home(it.path or "")]
                for it in found
            ]
            headings = ("NAME", "ID", "SAVED", "MODEL", "FOLDER", "LOG")
            table(
                headings,
                rows,
                empty="No saved sessions. `/save NAME` in a chat makes one, as does `threadloom session save NAME`.",
                spare=("LOG", "MODEL", "FOLDER"),
            )
        return OK

    return run_command(arguments, work)
