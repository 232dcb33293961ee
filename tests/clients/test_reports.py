"""Clients that know nothing of reports, on a parent that gets them: ordinary messages, and nothing is disturbed."""

from __future__ import annotations

import time
from pathlib import Path

from openai_codex import Thread
from openai_codex.types import TurnStatus
from tests.clients.relay import relayed
from tests.clients.sdk import LEAVES_PIPES, SECONDS, Bench, kinds
from tests.clients.tui import tui
from tests.support.conformance import Conformance
from tests.support.processes import listening

pytestmark = LEAVES_PIPES

DELEGATE = "spawn echo the wool is carded\necho resting now"


def ended(thread: Thread, number: int) -> list[object]:
    """The turns of a thread, once so many have ended."""
    until = time.monotonic() + SECONDS
    while True:
        turns = thread.read(include_turns=True).thread.turns
        if sum(it.status != TurnStatus.in_progress for it in turns) >= number:
            return list(turns)
        assert time.monotonic() < until, turns


def test_the_sdk_sees_a_report_as_a_message(bench: Bench) -> None:
    with bench.codex() as codex:
        thread = codex.thread_start()
        assert "resting now" in (thread.run(DELEGATE).final_response or "")
        turns = ended(thread, 2)
        assert kinds(turns[1].items)[0] == "userMessage"  # type: ignore[attr-defined]
        assert "the wool is carded" in turns[1].items[0].root.content[0].root.text  # type: ignore[attr-defined]
        assert thread.run("echo still mine").final_response == "still mine"
        assert len(ended(thread, 3)) == 3


async def test_the_tui_shows_it_and_goes_on(room: Path, foreign: Conformance) -> None:
    async with (
        listening("ws://127.0.0.1:0", room) as server,
        relayed(server.url, foreign) as relay,
        tui(relay.url, room) as it,
    ):
        await it.ready()
        await it.submit("spawn echo the wool is carded")
        await it.sees("the wool is carded[^$]*has finished its turn|has finished its turn[^$]*the wool is carded")
        await it.calm()
        await it.submit("echo still here")
        await it.answered("echo still here", "• still here")
        await it.quit()
