"""`threadloom archive`, `unarchive`, `delete`, `session save|delete`: what changes a thread from outside."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable
from itertools import takewhile
from typing import Final, NamedTuple

import orjson

from threadloom.cli import find, trees
from threadloom.cli.link import FAILED, OK, USAGE, Failure, Place
from threadloom.cli.link import run as run_command
from threadloom.cli.output import in_terminal, write
from threadloom_client import Client
from threadloom_protocol.v2 import roster, session, thread, tree

TAB: Final = "\t"


class Done(NamedTuple):
    """What was done, and what of it stays for the sake of others."""

    text: str
    kept_by: roster.HistoryKeepers | None = None


Act = Callable[[Client, str], Awaitable[Done]]


def archive(arguments: Namespace) -> int:
    """`threadloom archive`."""

    async def act(client: Client, thread_id: str) -> Done:
        await client.request(roster.ARCHIVE, roster.ThreadArchiveParams(thread_id=thread_id))
        return Done("archived")

    return _each(arguments, act)


def unarchive(arguments: Namespace) -> int:
    """`threadloom unarchive`."""

    async def act(client: Client, thread_id: str) -> Done:
        await client.request(thread.UNARCHIVE, thread.ThreadUnarchiveParams(thread_id=thread_id))
        return Done("unarchived")

    return _each(arguments, act)


def delete(arguments: Namespace) -> int:
    """`threadloom delete`: asks first, or is told not to."""

    async def act(client: Client, thread_id: str) -> Done:
        if not arguments.yes:
            await _confirm(client, thread_id)
        params = roster.ThreadDeleteParams(thread_id=thread_id, purge=arguments.purge)
        return Done("deleted", (await client.request(roster.DELETE, params)).kept_by)

    return _each(arguments, act)


async def _confirm(client: Client, thread_id: str) -> None:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Failure("delete asks before it deletes, and there is nobody to ask: add --yes", USAGE)
    nodes = (await client.request(tree.READ, tree.ThreadTreeParams(thread_id=thread_id))).data
    at, node = next((number, it) for number, it in enumerate(nodes) if it.thread_id == thread_id)
    owned = len([*takewhile(lambda it: it.depth > node.depth, nodes[at + 1 :])])  # parents come before their children
    more = f" and the {owned} it owns" if owned else ""
    sys.stderr.write(f"Delete thread {thread_id}{more} for good? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Failure("not deleted", FAILED)


def _each(arguments: Namespace, act: Act) -> int:
    async def work(place: Place) -> int:
        async with place.client() as client:
            for text in arguments.threads:
                meant = await find.thread_id(client, text, by_id=arguments.id)
                _tell(arguments, meant, await act(client, meant))
        return OK

    return run_command(arguments, work)


def _tell(arguments: Namespace, what: str, done: Done, key: str = "threadId") -> None:
    kept = done.kept_by
    if arguments.json:
        more = {"keptBy": orjson.loads(kept.to_json())} if kept else {}
        write(orjson.dumps({key: what, "done": done.text, **more}).decode())
        return
    needed = f"; still needed by {', '.join([*kept.sessions, *kept.forks])}" if kept else ""
    write(f"{what}{' ' if in_terminal() else TAB}{done.text}{needed}")


def save(arguments: Namespace) -> int:
    """`threadloom session save`."""

    async def work(place: Place) -> int:
        async with place.client() as client:
            given = arguments.thread
            meant = await (find.thread_id(client, given, by_id=arguments.id) if given else trees.last(client))
            params = session.SessionSaveParams(thread_id=meant, name=arguments.name)
            saved = (await client.request(session.SAVE, params)).session
        _tell(arguments, saved.thread_id, Done(f"saved as {saved.name}"))
        return OK

    return run_command(arguments, work)


def forget(arguments: Namespace) -> int:
    """`threadloom session delete`."""

    async def work(place: Place) -> int:
        async with place.client() as client:
            await client.request(session.DELETE, session.SessionDeleteParams(name=arguments.name))
        _tell(arguments, arguments.name, Done("deleted"), key="name")
        return OK

    return run_command(arguments, work)
