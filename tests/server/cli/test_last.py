"""The thread that was used last, where chats were opened and left without a word since."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from tests.support.conformance import Conformance
from tests.support.flow import Flow
from tests.support.processes import server_home
from tests.support.tap import Tap

from threadloom.app import App
from threadloom.cli.link import Failure
from threadloom.cli.trees import last
from threadloom.config import Settings
from threadloom.transports.memory import pair
from threadloom_client import Client, connect
from threadloom_protocol.v2 import roster, thread, turn
from threadloom_protocol.v2.values.content import ImageUserInput, TextUserInput, UserInput

SECONDS = 30
DOT = "data:image/png;base64,iVBORw0KGgo="


@pytest.fixture
async def client(tmp_path: Path, conformance: Conformance) -> AsyncIterator[Client]:
    async with App(Settings(server_home(tmp_path))).running() as app, anyio.create_task_group() as tasks:
        ours, theirs = pair()
        tasks.start_soon(app.serve, theirs)
        async with connect(Tap(ours, Flow(conformance)), experimental=True) as client:
            yield client


async def begun(client: Client, *said: UserInput) -> str:
    """A thread in which that was said, if anything."""
    it = (await client.request(thread.START)).thread.id
    if said:
        with client.notifications(turn.COMPLETED) as ended, anyio.fail_after(SECONDS):
            await client.request(turn.START, turn.TurnStartParams(thread_id=it, input=list(said)))
            await anext(ended)
    return it


@pytest.mark.parametrize("said", [TextUserInput(text="say 2 words"), ImageUserInput(url=DOT)], ids=["words", "picture"])
async def test_what_was_left_without_a_word_is_passed_over(client: Client, said: UserInput) -> None:
    used = await begun(client, said)
    for _ in range(3):
        await begun(client)
    assert await last(client) == used


async def test_one_that_has_a_name_is_meant(client: Client) -> None:
    await begun(client, TextUserInput(text="say 2 words"))
    named = await begun(client)
    await client.request(roster.SET_NAME, roster.ThreadSetNameParams(thread_id=named, name="for later"))
    assert await last(client) == named


async def test_without_any_other_there_is_none(client: Client) -> None:
    await begun(client)
    with pytest.raises(Failure, match="there is no thread yet"):
        await last(client)
