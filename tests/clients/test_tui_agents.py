"""Agents in the Codex TUI, unmodified: they show where it looks for them, and one is opened and read."""

from __future__ import annotations

from pathlib import Path

from tests.clients.test_tui import visiting
from tests.support.conformance import Conformance

FIRST = "spawn as worker echo I am the first"
FAMILY = f"{FIRST}\nand spawn as explorer echo I am the second\nwait for agents"


async def test_a_parent_and_two_agents_one_of_them_opened(room: Path, foreign: Conformance) -> None:
    async with visiting(room, foreign) as it:
        await it.submit(FAMILY)
        answer = await it.answered(FIRST, r"• Spawned ")
        assert answer.count("• Spawned ") == 2, answer
        for who, words in (("worker", "first"), ("explorer", "second")):
            assert f"[{who}]: Completed - I am the {words}" in answer, answer
        await it.command("/subagents", r"\d\. . \[explorer\]")
        screen = await it.terminal.screen()
        assert "[worker]" in screen, screen
        await it.terminal.press("Down")
        await it.sees(r"^› 2\. . \[worker\]")
        await it.terminal.press("Enter")
        await it.sees(r"· \[worker\]$", "the choice")
        await it.sees("^• I am the first")
        screen = await it.terminal.screen()
        assert "I am the second" not in screen, screen  # its own conversation, and no other
        await it.calm()
        await it.submit("echo and I go on")
        await it.answered("echo and I go on", "• and I go on")
        await it.quit()


async def test_a_review(room: Path, foreign: Conformance) -> None:
    async with visiting(room, foreign) as it:
        await it.submit("echo one")
        await it.answered("echo one", "• one")
        await it.command("/review look for typos", "Code review started: look for typos")
        await it.sees("Code review finished")
        await it.calm()
        await it.submit("echo still here")
        await it.answered("echo still here", "• still here")
        await it.quit()
