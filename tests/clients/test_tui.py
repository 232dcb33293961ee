"""The Codex TUI, unmodified, on our server."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from tests.clients.mortal import Mortal, mortal
from tests.clients.relay import relayed
from tests.clients.tui import ECHO, START, Tui, composing, tui
from tests.support.conformance import Conformance
from tests.support.processes import ROOT, environment, listening

VISIT = 180.0  # seconds for a whole visit; it takes four

TOKEN = "a-token-that-only-these-two-know"


async def visit(url: str, *words: str, **more: str) -> str:
    """Run the check as the program that it is; what it printed."""
    command = [sys.executable, "-m", "tests.clients.tui", url, *words]
    with anyio.fail_after(VISIT):
        done = await anyio.run_process(command, cwd=ROOT, env=environment(Path.cwd()) | more, check=False)
    return done.stdout.decode() + done.stderr.decode()


async def test_over_a_websocket(room: Path, foreign: Conformance) -> None:
    async with listening("ws://127.0.0.1:0", room) as server, relayed(server.url, foreign) as relay:
        said = await visit(relay.url, "--prompt", "echo Good morning", "--expect", "• Good morning")
    assert said.startswith("tui: ok\n"), said


async def test_over_a_websocket_that_wants_a_token(room: Path, foreign: Conformance) -> None:
    secret = room / "token"
    secret.write_text(TOKEN)
    options = ("--ws-auth", "capability-token", "--ws-token-file", str(secret))
    async with listening("ws://127.0.0.1:0", room, *options) as server, relayed(server.url, foreign) as relay:
        said = await visit(relay.url, "--token-env", "OUR_TOKEN", OUR_TOKEN=TOKEN)
        refused = await visit(relay.url, "--token-env", "OUR_TOKEN", OUR_TOKEN="another-token-that-is-not-the-one")
    assert said.startswith("tui: ok\n"), said
    assert refused.startswith("tui: FAILED at "), refused
    assert "401" in refused, refused


async def test_over_a_socket_file(room: Path, foreign: Conformance) -> None:
    async with (
        listening(f"unix://{room / 's'}", room) as server,
        relayed(server.url, foreign, socket=str(room / "r")) as relay,
    ):
        said = await visit(relay.url)
    assert said.startswith("tui: ok\n"), said


async def test_with_nothing_in_between(room: Path) -> None:
    async with listening("ws://127.0.0.1:0", room) as server:
        said = await visit(server.url)
    assert said.startswith("tui: ok\n"), said


async def test_it_goes_on_when_the_server_was_killed_and_is_back(room: Path, foreign: Conformance) -> None:
    async with (
        mortal("ws://127.0.0.1:0", room) as server,
        relayed(server.url, foreign) as relay,
        tui(relay.url, room) as it,
    ):
        await it.ready()
        await it.submit("echo before")
        await it.answered("echo before", "• before")
        await lose(server, it)
        await it.submit("echo after")
        await it.answered("echo after", "• after")

        await it.submit("wait")  # for ever, but for what comes now
        await it.sees("esc to interrupt")
        await lose(server, it)
        await it.submit("echo at last")
        await it.answered("echo at last", "• at last")
        await it.quit()
        assert server.url == relay.upstream


async def lose(server: Mortal, it: Tui) -> None:
    """Kill the server, see the TUI miss it, and bring it back."""
    await server.kill()
    await it.sees("Reconnecting to server")
    await server.start()
    await it.terminal.until(
        lambda screen: "Reconnecting" not in screen and composing(screen), START, "startup", "the TUI to be back"
    )
    await it.calm()


async def test_steering_and_interrupting(room: Path, foreign: Conformance) -> None:
    async with visiting(room, foreign) as it:
        await it.submit("wait")
        await it.sees("esc to interrupt")
        await it.submit("echo turn left")
        await it.answered("echo turn left", "• turn left")
        await it.submit("wait")
        await it.sees("esc to interrupt")
        await it.terminal.press("Escape")
        await it.sees("Conversation interrupted")
        await it.submit("echo and on")
        await it.answered("echo and on", "• and on")
        await it.quit()


async def test_names_lists_and_forks(room: Path, foreign: Conformance) -> None:
    async with visiting(room, foreign) as it:
        await it.submit("echo one")
        await it.answered("echo one", "• one")
        await it.command("/rename The harvest", r"· The harvest$")
        await it.command("/status", r"Model provider: +rehearsal")
        await it.command("/new", r"^› Ask Codex")
        await it.calm()
        await it.submit("echo two")
        await it.answered("echo two", "• two")
        await it.command("/resume", r"ago +The harvest")
        await it.terminal.type("harvest")
        await it.sees(r"› .*The harvest")
        await it.terminal.press("Enter")
        await it.sees("• one", "the choice")
        await it.calm()
        await it.command("/fork", "Fork created")
        await it.calm()
        await it.submit("echo three")
        await it.answered("echo three", "• three")
        await it.quit()


async def test_lists_of_what_is_not_there_are_empty(room: Path, foreign: Conformance) -> None:
    async with visiting(room, foreign) as it:
        await it.command("/mcp", "No MCP servers configured")
        await it.command("/hooks", "esc close")
        screen = await it.terminal.screen()
        assert "Failed" not in screen, screen
        await it.terminal.press("Escape")
        await it.calm()
        await it.command("/plugins", "No marketplace plugins available")
        await it.terminal.press("Escape")
        await it.calm()
        await it.command("/permissions", "Update Model Permissions")
        await it.terminal.press("Escape")
        await it.calm()
        await it.command("/model", "Rehearsal \\(current\\)")
        await it.terminal.press("Escape")
        await it.calm()
        await it.submit("echo still here")
        await it.answered("echo still here", "• still here")
        await it.quit()


async def test_what_would_end_it_if_it_were_refused(room: Path, foreign: Conformance) -> None:
    async with visiting(room, foreign) as it:
        await it.submit("echo one")
        await it.answered("echo one", "• one")
        await it.command("/compact", "Context compacted")
        await it.calm()
        await it.command("!ls", "You ran ls")
        await it.calm()
        await it.command("/stop", "Stopping all background terminals")
        await it.calm()
        await it.command("/review look for typos", "Code review finished")
        await it.calm()
        await it.submit("echo still here")
        await it.answered("echo still here", "• still here")
        await it.quit()


async def test_a_goal_that_it_works_on_by_itself(room: Path, foreign: Conformance) -> None:
    async with visiting(room, foreign) as it:
        await it.command('/goal call update_goal {"status": "complete"}', "(?i)goal (achieved|complete)")
        await it.calm()
        await it.submit("echo what next?")
        await it.answered("echo what next?", "• what next")
        await it.quit()


async def test_a_prompt_that_is_taken_back_and_said_in_another_way(room: Path, foreign: Conformance) -> None:
    async with visiting(room, foreign) as it:
        await it.submit("echo one")
        await it.answered("echo one", "• one")
        await it.submit("echo two")
        await it.answered("echo two", "• two")
        await it.terminal.press("Escape")
        await it.sees("esc again to edit previous message")
        await it.terminal.press("Escape")
        await it.sees("↵ rewind")
        await it.terminal.press("Enter")
        await it.sees("Conversation reverted to this point")
        await it.terminal.press("C-u")
        await it.calm()
        await it.submit("echo three")
        await it.answered("echo three", "• three")
        screen = await it.terminal.screen()
        assert "• two" not in screen, screen
        await it.quit()


async def test_a_side_conversation(room: Path, foreign: Conformance) -> None:
    async with visiting(room, foreign) as it:
        await it.submit("echo one")
        await it.answered("echo one", "• one")
        await it.command("/side", "Side from main thread")
        await it.submit("echo aside")
        await it.answered("echo aside", "• aside")
        await it.terminal.press("C-c")
        await it.terminal.until(lambda screen: "Side from" not in screen, ECHO, "answer", "the main thread")
        await it.calm()
        await it.submit("echo back")
        await it.answered("echo back", "• back")
        await it.quit()


@asynccontextmanager
async def visiting(room: Path, conformance: Conformance) -> AsyncIterator[Tui]:
    """The TUI on a server, ready for a prompt."""
    async with (
        listening("ws://127.0.0.1:0", room) as server,
        relayed(server.url, conformance) as relay,
        tui(relay.url, room) as it,
    ):
        await it.ready()
        yield it
