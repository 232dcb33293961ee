"""`make demo`: the story comes to its end."""

from __future__ import annotations

import re

import anyio
import pytest

from threadloom import demo

SECONDS = 60.0


async def test_the_story_is_told_to_its_end_with_a_tree_that_the_model_grew(capsys: pytest.CaptureFixture[str]) -> None:
    with anyio.fail_after(SECONDS):
        await demo.story()
    told = capsys.readouterr().out
    drawn = re.findall(r"^( +)└ (.+) \[(\w+)\]$", told, re.MULTILINE)
    assert [(len(indent) // 3, name, status) for indent, name, status in drawn] == [
        (1, "the demo's first thread", "completed"),
        (2, "cards the wool", "running"),
        (3, "spins the yarn", "running"),
        (2, "sets up the loom", "running"),
    ]
    closed = [it.strip() for it in re.findall(r"^   closed: (.{23}) \w+ → shutdown", told, re.MULTILINE)]
    assert closed == ["spins the yarn", "cards the wool", "sets up the loom", "the demo's first thread"]
    assert told.count("woken by ") == 6
    assert "TEXT DIFFERS" not in told
    assert "── The end " in told
