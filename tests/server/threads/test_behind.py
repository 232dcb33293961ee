"""What one server reads of a thread that another one writes, while the index is behind the log."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.server.threads.house import House, house
from tests.support.approving import ASKING
from tests.support.conformance import Conformance
from tests.support.talk import Message, Talk, text_of

from threadloom.store.index import SqliteIndex
from threadloom.store.writer import Queued


@asynccontextmanager
async def two(home: Path, conformance: Conformance) -> AsyncIterator[tuple[House, Talk, Talk]]:
    """A server that writes, a client of it, and one of a server that reads."""
    async with (
        house(home, conformance) as one,
        house(home, conformance) as other,
        one.talking() as writer,
        other.talking() as reader,
    ):
        yield one, writer, reader


@contextmanager
def lagging(one: House) -> Iterator[None]:
    """What a server writes does not get into the index meanwhile."""
    index = one.threads.durable.index
    assert isinstance(index, SqliteIndex)
    assert isinstance(index._writer, Queued)
    with patch.object(index._writer, "_make", lambda changes: (changes, None)):
        yield


async def asked(talk: Talk) -> tuple[str, Message]:
    """A thread whose model wants to run a command, and what it asks."""
    thread = (await talk.start(**ASKING))["id"]
    await talk.begin(thread, 'call exec_command {"cmd": "mkfifo never"}')
    question = await talk.question(threadId=thread)
    await talk.ask("thread/name/set", threadId=thread, name="all of it is in the index")
    return thread, question


async def everything(talk: Talk, thread: str) -> dict[str, Any]:
    """The turns of a thread, by every way to them."""
    read = await talk.ask("thread/read", threadId=thread, includeTurns=True)
    found = {"thread/read": read["thread"]["turns"]}
    for view in ("full", "summary", "notLoaded"):
        found[view] = (await talk.ask("thread/turns/list", threadId=thread, itemsView=view))["data"]
    return found


async def items(talk: Talk, thread: str) -> list[Message]:
    """The items of a thread."""
    return list((await talk.ask("thread/items/list", threadId=thread))["data"])


async def test_a_turn_that_ended_a_moment_ago_reads_as_it_ended(tmp_path: Path, conformance: Conformance) -> None:
    async with two(tmp_path, conformance) as (one, writer, reader):
        thread, question = await asked(writer)
        assert [it["status"] for it in (await everything(reader, thread))["thread/read"]] == ["inProgress"]
        known = len(await items(reader, thread))
        with lagging(one):
            await writer.decide(question, "decline")
            await writer.until("turn/completed", threadId=thread)
            behind, listed = await everything(reader, thread), await items(reader, thread)
        await writer.ask("thread/name/set", threadId=thread, name="the index is up to it now")
        for it in (behind, await everything(reader, thread)):
            assert it == await everything(writer, thread)
        [turn] = behind["thread/read"]
        assert turn["status"] == "completed"
        assert text_of(turn)
        assert [it["item"] for it in listed] == [it["item"] for it in (await items(writer, thread))[:known]]
        assert listed[-1]["item"]["status"] == "declined"


async def test_a_turn_that_ended_a_moment_ago_can_be_forked_from(tmp_path: Path, conformance: Conformance) -> None:
    async with two(tmp_path, conformance) as (one, writer, reader):
        thread, question = await asked(writer)
        with lagging(one):
            await writer.decide(question, "decline")
            ended = (await writer.until("turn/completed", threadId=thread))["turn"]["id"]
            made = (await reader.ask("thread/fork", threadId=thread, lastTurnId=ended))["thread"]
        assert made["turns"] == (await everything(writer, thread))["thread/read"]
