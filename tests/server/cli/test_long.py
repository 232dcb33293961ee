"""Long threads: taken up, forked and looked at without all of their past."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import anyio
import pytest
from tests.server.cli.stock import here
from tests.server.cli.test_chat import chatting
from tests.support.processes import server_home
from tests.support.stores import Scribe

ITEMS = 400
LAST = "turn 396"  # what was said to begin the last turn


def written(room: Path) -> str:
    """A thread of many turns; its id."""
    scribe = Scribe(server_home(room))
    try:
        made = scribe.long(ITEMS, time.time_ns() // 1_000_000)
        anyio.run(scribe.index)
    finally:
        scribe.store.close()
    return made


@pytest.mark.parametrize("command", ["resume", "fork"])
def test_a_long_past_is_not_sent_to_one_who_only_opens_it(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = written(tmp_path)
    ran = here(monkeypatch, tmp_path, command, long, "--json")
    assert ran.code == 0, ran
    assert json.loads(ran.out)["turns"] == []
    assert len(ran.out) < 5_000


@pytest.fixture
def long(tmp_path: Path) -> str:
    return written(tmp_path)


@pytest.mark.parametrize("command", ["resume", "fork"])
async def test_a_chat_shows_the_end_of_a_long_past(command: str, long: str, tmp_path: Path) -> None:
    async with chatting(tmp_path, long, first=command) as chat:
        await chat.sees(r"beat\. xxx\n\n›\n rehearsal ")
        seen = await chat.terminal.tmux("capture-pane", "-p", "-S", "-", "-t", "0")
        assert re.search(r"… earlier turns: `threadloom show [0-9a-f-]{36}`", seen), seen
        assert len(re.findall(r"(?m)^› turn \d+$", seen)) == 10, seen
        assert f"› {LAST}\n" in seen
        await chat.says("/fork")
        await chat.sees(r"A fork of .* what you say here")
        await chat.leaves()
