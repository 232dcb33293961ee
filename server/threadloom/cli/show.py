"""`threadloom show`: one thread, and what was said in it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

from threadloom.cli import find
from threadloom.cli.clean import clean, line
from threadloom.cli.link import OK, Place
from threadloom.cli.link import run as run_command
from threadloom.cli.lists import status
from threadloom.cli.output import as_json, in_terminal, moment, write
from threadloom_protocol.v2 import thread as room
from threadloom_protocol.v2.values.threads import Thread


def run(arguments: Namespace) -> int:
    """The command."""

    async def work(place: Place) -> int:
        async with place.client() as client:
            meant = await find.thread_id(client, arguments.thread, by_id=arguments.id)
            answer = await client.request(room.READ, room.ThreadReadParams(thread_id=meant, include_turns=True))
        if arguments.json:
            as_json([answer.thread])
        elif in_terminal():
            _to_person(answer.thread)
        else:
            _to_pipe(answer.thread)
        return OK

    return run_command(arguments, work)


def _facts(it: Thread) -> Iterator[tuple[str, str]]:
    facts = {
        "thread": it.id,
        "name": it.name,
        "note": it.note,
        "saved as": ", ".join(saved.name for saved in it.saved_as),
        "status": status(it),
        "model": it.model,
        "folder": it.cwd,
        "begun": moment(it.created_at),
        "used": moment(it.updated_at),
        "parent": it.parent_thread_id,
        "fork of": it.forked_from_id,
        "log": it.path,
    }
    yield from ((name, line(text)) for name, text in facts.items() if text)


def _to_person(it: Thread) -> None:
    from rich.console import Console
    from rich.text import Text

    from threadloom.cli.render import shown

    console = Console(highlight=False)
    for name, text in _facts(it):
        console.print(Text.assemble((f"{name:9}", "dim"), text), soft_wrap=True)  # a path is copied whole
    for turn in it.turns:
        for item in turn.items:
            if (view := shown(item)) is not None:
                console.print()
                console.print(view)
        if turn.status in ("failed", "interrupted"):
            console.print(Text(f"\n■ {turn.status} {clean(turn.error.message) if turn.error else ''}", style="red"))


def _to_pipe(it: Thread) -> None:
    for name, text in _facts(it):
        write(f"{name}\t{text}")
    for turn in it.turns:
        for item in turn.items:
            write(f"{item.type}\t{_said(item)}")
        if turn.error is not None:
            write(f"error\t{line(turn.error.message)}")


def _said(item: object) -> str:
    """What is in an item, on one line."""
    if content := getattr(item, "content", None):
        return line(" ".join(getattr(it, "text", None) or str(it) for it in content))
    for name in ("text", "command", "prompt", "review", "query"):
        if text := getattr(item, name, None):
            return line(text)
    return line(" ".join(it.path for it in getattr(item, "changes", ())) or " ".join(getattr(item, "summary", ())))
