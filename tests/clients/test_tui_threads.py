"""The Codex TUI, unmodified, over threads that somebody else looks at as well."""

from __future__ import annotations

from pathlib import Path

import anyio
from tests.clients.relay import relayed
from tests.clients.tui import tui
from tests.support.conformance import Conformance
from tests.support.processes import listening

from threadloom_client import Client, connect
from threadloom_protocol.v2 import roster, search, thread, turn
from threadloom_protocol.v2.values.content import TextUserInput

SECONDS = 30.0


async def spoken(client: Client, words: str, cwd: Path) -> str:
    """A thread in which that was said."""
    it = (await client.request(thread.START, thread.ThreadStartParams(cwd=str(cwd)))).thread.id
    with client.notifications(turn.COMPLETED) as ended, anyio.fail_after(SECONDS):
        await client.request(turn.START, turn.TurnStartParams(thread_id=it, input=[TextUserInput(text=words)]))
        await anext(ended)
    return it


async def test_an_archived_thread_is_brought_back_when_it_is_asked_for(room: Path, foreign: Conformance) -> None:
    async with (
        listening("ws://127.0.0.1:0", room) as server,
        relayed(server.url, foreign) as relay,
        connect(server.url) as client,
    ):
        put_away = await spoken(client, "echo remembered", room)
        await client.request(roster.ARCHIVE, roster.ThreadArchiveParams(thread_id=put_away))
        async with tui(relay.url, room, "resume", put_away) as it:
            await it.sees("This conversation is archived")
            await it.terminal.press("Enter")
            await it.sees("• remembered")
            await it.ready()
            await it.quit()


async def test_permissions_that_are_chosen_hold_for_the_thread(room: Path, foreign: Conformance) -> None:
    async with (
        listening("ws://127.0.0.1:0", room) as server,
        relayed(server.url, foreign) as relay,
        connect(server.url) as client,
        tui(relay.url, room) as it,
    ):
        await it.ready()
        await it.submit("echo one")
        await it.answered("echo one", "• one")
        await it.command("/permissions", "4. Read Only")
        await it.terminal.press("Down", "Down", "Down", "Enter")
        await it.sees("Permission selection requested: Read Only")
        await it.submit("echo two")
        await it.answered("echo two", "• two")
        [shown] = (await client.request(search.LIST, search.ThreadListParams())).data
        settings = await client.request(thread.RESUME, thread.ThreadResumeParams(thread_id=shown.id))
        assert settings.sandbox.type == "readOnly"
        assert settings.active_permission_profile is not None
        assert settings.active_permission_profile.id == ":read-only"
        await it.quit()
