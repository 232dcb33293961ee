"""A history made short enough for somebody who only has to judge one step of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

import orjson

from threadloom.agent.history import CALLS, OUTPUTS, text_of
from threadloom.agent.sampling import Item

PEOPLE: Final = 16_000  # characters of what was asked for: whether it was wanted is the question
DEEDS: Final = 12_000  # characters of all else
LONGEST: Final = 2_000  # characters of one entry


# Whose words some messages are: all others that are no person's are the surroundings of the work.
SPEAKERS: Final = {"agentReport": "report", "parent": "parent"}


def transcript(history: Sequence[Item], kinds: Sequence[str | None] = ()) -> str:
    """The newest of it in a line each, as JSON, so that nothing said in it can pass for a line of its own.

    The `kinds` tell which messages are nobody's word, though models read them in the place of the user's.
    """
    told = zip_longest(history, kinds[: len(history)])
    entries = [entry for item, kind in told if (entry := _entry(item, kind)) is not None]
    kept = _newest(entries, PEOPLE, people=True) | _newest(entries, DEEDS, people=False)
    lines: list[str] = []
    for at, entry in enumerate(entries):
        if at in kept:
            lines.append(orjson.dumps(entry).decode())
        elif not lines or lines[-1] != LEFT_OUT:
            lines.append(LEFT_OUT)
    return "\n".join(lines)


LEFT_OUT: Final = "…"
WANTING: Final = ("user", "parent")


def _newest(entries: Sequence[dict[str, str]], room: int, *, people: bool) -> set[int]:
    """The places of the newest entries that fit, of those who want something done or of all else."""
    kept: set[int] = set()
    for at in reversed(range(len(entries))):
        if (entries[at]["from"] in WANTING) is people:
            room -= len(entries[at]["text"])
            if room < 0:
                break
            kept.add(at)
    return kept


def _entry(item: Item, source: str | None) -> dict[str, str] | None:
    kind = str(item.get("type", "message"))
    if kind == "message":
        said = {**_speaker(item, source), "text": _cut(text_of(item.get("content")))}
        return said if said["text"].strip() else None
    if kind in CALLS:
        written = item.get("arguments") or item.get("input") or ""
        return {"from": "agent", "calls": str(item.get("name")), "text": _cut(str(written))}
    if kind in OUTPUTS:
        return {"from": "tool", "text": _cut(text_of(item.get("output")))}
    return None


def _speaker(item: Item, source: str | None) -> dict[str, str]:
    if source is None:
        return {"from": str(item.get("role"))}
    return {"from": SPEAKERS[source]} if source in SPEAKERS else {"from": "context", "kind": source}


def _cut(text: str) -> str:
    """What is too long keeps its two ends."""
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]} … {len(text) - LONGEST} characters … {text[-half:]}"
