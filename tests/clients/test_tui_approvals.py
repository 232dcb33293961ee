"""The Codex TUI, unmodified: commands and patches that its user agrees to, or does not."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.clients.mortal import mortal
from tests.clients.relay import relayed
from tests.clients.tui import ECHO, QUESTION, TURN, Tui, tui
from tests.support.conformance import Conformance
from tests.support.processes import listening

# It is asked when the agent wants more than its sandbox lets it.
ASKING = ("--ask-for-approval", "on-request", "--sandbox", "read-only")

CHOICE = re.compile(r"^[› ]+\d\. .* \((\w+)\)\s*$", re.MULTILINE)  # of a question, with its key


@asynccontextmanager
async def visiting(room: Path, conformance: Conformance) -> AsyncIterator[Tui]:
    """The TUI on a server, ready for a prompt."""
    async with (
        listening("ws://127.0.0.1:0", room) as server,
        relayed(server.url, conformance) as relay,
        tui(relay.url, room, *ASKING) as it,
    ):
        await it.ready()
        yield it


async def asked(it: Tui, prompt: str) -> None:
    """Send a prompt, and wait for the question that comes of it."""
    await it.write(prompt)
    await it.terminal.press("Enter")
    await it.sees(QUESTION.pattern, prompt)


async def pressed(it: Tui, key: str) -> None:
    """Answer the question that is shown."""
    await it.terminal.press(key)
    await it.terminal.until(lambda screen: not QUESTION.search(screen), ECHO, "answer", "the question to go")


def made(path: Path) -> list[str]:
    """What is in a file, if it is there."""
    return path.read_text().split() if path.exists() else []


async def test_commands(room: Path, foreign: Conformance) -> None:
    paths = {name: room / f"{name}.txt" for name in ("accepted", "session", "declined", "escaped")}
    prompts = {name: f"run outside the sandbox echo {name} >> {name}.txt" for name in paths}
    async with visiting(room, foreign) as it:
        await asked(it, prompts["accepted"])
        assert made(paths["accepted"]) == []
        await pressed(it, "y")
        await it.answered(prompts["accepted"], "exec_command answered")
        await asked(it, prompts["session"])
        await pressed(it, "a")
        await it.answered(prompts["session"], "exec_command answered")
        await it.submit(prompts["session"])  # and is not asked again
        await it.answered(prompts["session"], "exec_command answered")
        await asked(it, prompts["declined"])
        await pressed(it, "d")
        await it.answered(prompts["declined"], "The user said no")
        await asked(it, prompts["escaped"])
        await pressed(it, "Escape")
        await it.answered(prompts["escaped"], "Conversation interrupted")
        await it.submit("echo still here")
        await it.answered("echo still here", "• still here")
        await it.quit()
    assert [made(path) for path in paths.values()] == [["accepted"], ["session"] * 2, [], []]


async def test_patches(room: Path, foreign: Conformance) -> None:
    paths = {name: room / f"{name}.txt" for name in ("accepted", "session", "escaped")}
    prompts = {name: f"patch {name}.txt with {name}" for name in paths}
    async with visiting(room, foreign) as it:
        await asked(it, prompts["accepted"])
        assert made(paths["accepted"]) == []
        await pressed(it, "y")
        await it.answered(prompts["accepted"], "apply_patch answered")
        await asked(it, prompts["session"])
        await pressed(it, "a")
        await it.answered(prompts["session"], "apply_patch answered")
        paths["session"].unlink()
        await it.submit(prompts["session"])
        await it.answered(prompts["session"], "apply_patch answered")
        await asked(it, prompts["escaped"])
        # Of a patch it offers no decline that lets the turn go on: its one no is the Escape key, which ends the turn.
        assert CHOICE.findall(await it.terminal.screen()) == ["y", "a", "esc"]
        await pressed(it, "Escape")
        await it.answered(prompts["escaped"], "Conversation interrupted")
        await it.quit()
    assert [made(path) for path in paths.values()] == [["accepted"], ["session"], []]


async def test_a_question_outlives_the_server(room: Path, foreign: Conformance) -> None:
    prompt = "run outside the sandbox echo once >> once.txt"
    async with (
        mortal("ws://127.0.0.1:0", room) as server,
        relayed(server.url, foreign) as relay,
        tui(relay.url, room, *ASKING) as it,
    ):
        await it.ready()
        await asked(it, prompt)
        before = relay.connections
        await server.kill()
        await server.start()
        await it.terminal.until(
            lambda screen: relay.connections > before and QUESTION.search(screen), TURN, "answer", "to be asked again"
        )
        await pressed(it, "y")
        await it.answered(prompt, "exec_command answered")
        await it.quit()
    assert made(room / "once.txt") == ["once"]
