"""A tree as its logs have it, read without the server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import orjson

Fate = Literal["root", "live", "shut down", "released"]


class Told(NamedTuple):
    """What the log of a thread says of it."""

    parent: str | None  # that spawned it, whatever became of the edge
    abandon: bool  # it outlives its owner
    freed: bool
    closed: bool
    closing: bool  # its close has begun, and has not come to its end

    @property
    def owner(self) -> str | None:
        """Who owns it now."""
        return None if self.freed else self.parent

    @property
    def fate(self) -> Fate:
        """What became of it, for those who count."""
        if self.parent is None:
            return "root"
        return "released" if self.freed else "shut down" if self.closed else "live"


def logs(home: Path) -> dict[str, Told]:
    """All threads of a home."""
    return dict(map(_told, sorted(home.rglob("*.jsonl"))))


def _told(log: Path) -> tuple[str, Told]:
    header, *lines = [orjson.loads(it) for it in log.read_bytes().split(b"\n")[:-1]]  # behind them may be a torn one
    closed = freed = closing = False
    for it in lines:
        marks = {mark.get("@") for mark in it.get("model") or ()}
        freed |= "freed" in marks
        closing |= "closing" in marks
        if it.get("method") == "thread/closed" and it["params"]["reason"] == "closed":
            closed, closing = True, False
        elif it.get("method") == "thread/status/changed" and it["params"]["status"]["type"] != "notLoaded":
            closed = False
    spawned = header["facts"]["thread"].get("spawnConfig") or {}
    told = Told(header["owner"], spawned.get("onParentClose") == "abandon", freed, closed, closing)
    return header["threadId"], told


def conserved(found: Mapping[str, Told]) -> None:
    """Nothing is lost, nothing that is shut down has a live child, and only what was to outlive its owner does."""
    fates = Counter(it.fate for it in found.values())
    spawned = sum(it.parent is not None for it in found.values())
    assert fates["live"] + fates["shut down"] + fates["released"] == spawned
    for it, told in found.items():
        assert told.abandon or not told.freed, f"{it} was let go"
        assert told.closed or told.owner is None or not found[told.owner].closed, f"{it} outlived {told.owner}"
