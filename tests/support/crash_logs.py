"""The files of a home, as they lie: logs line by line, and the index table by table."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
from tests.support.crash_witness import Witness

from threadloom.store.rollout import Rollouts
from threadloom.threads.replay import fold

# What a table says; a log may have another number in another index.
TABLES = {
    **{
        name: f"SELECT * FROM {name}" for name in ("threads", "bodies", "bases", "hidden", "turns", "items", "sessions")
    },
    "messages": (
        "SELECT thread_id, m.no % 4294967296, turn_id, item_id, text FROM messages m "
        "JOIN shelves s ON s.no = m.no / 4294967296"
    ),
}


def logs(home: Path) -> Iterator[Path]:
    """Every log of a home, of deleted threads that forks stand on, too."""
    yield from sorted((home / "sessions").rglob("rollout-*"))


def check_logs(home: Path, witness: Witness, *, torn: bool) -> int:
    """Every line is JSON, seqs only grow, and what was seen stands where it was seen; the number of lines.

    Of a server that has ended: the turns that are open have been cut, and the witness is told so.
    `torn`: nobody has opened the logs since the crash, so the last line of one may be cut short. Nobody opens those in
    the archive: the line that should have brought one back may be cut, too.
    """
    lines = 0
    for path in logs(home):
        values, rest = _values(path)
        if not values:
            continue
        lines += len(values)
        header, *records = values
        seqs = [it["seq"] for it in records if "seq" in it]
        base = header["base"]["seq"] if header["base"] else 0
        assert all(before < after for before, after in pairwise([base, *seqs])), f"{path.name}: {seqs} from {base}"
        seen = witness.threads.get(header["threadId"])
        put_away = seen is not None and seen.fact("archived")
        assert not rest or torn or put_away, f"{path.name} ends in the middle of a line: {rest[-200:]!r}"
        if seen is not None:
            seen.cut |= _open_turns(records)
            _compare(path, seen.events, {it["seq"]: it for it in records if "seq" in it})
            _compare_merged(path, seen.merged, {it["seq"]: it for it in records if "seq" in it})
    return lines


def _values(path: Path) -> tuple[list[Any], bytes]:
    """The lines of a log, and what is left behind the last."""
    *whole, rest = path.read_bytes().split(b"\n")
    return [orjson.loads(line) for line in whole], rest  # none: a birth was cut short, and there never was a thread


def _open_turns(records: list[Any]) -> set[str]:
    """The turns that a log tells the beginning of, and no end."""
    told = {it: set[str]() for it in ("turn/started", "turn/completed")}
    for it in records:
        if it.get("method") in told:
            told[it["method"]].add(it["params"]["turn"]["id"])
    return told["turn/started"] - told["turn/completed"]


def _compare(path: Path, seen: dict[int, tuple[str, Any]], stored: dict[int, Any]) -> None:
    for seq, event in seen.items():
        if event[0] == "thread/deleted":
            continue  # told when the log was gone; a fork may have kept it
        if seq in stored and "blobs" not in stored[seq]:
            assert (stored[seq]["method"], stored[seq]["params"]) == event, f"{path.name}: seq {seq} was {event}"
        assert seq in stored or seq <= min(stored, default=0), f"{path.name}: seq {seq} was seen, and is gone: {event}"


def _compare_merged(path: Path, seen: list[tuple[int, int, str, Any]], stored: dict[int, Any]) -> None:
    for first, last, method, params in seen:
        parts = [stored[seq] for seq in range(first, last + 1) if seq in stored]
        if len(parts) == last + 1 - first:
            assert {it["method"] for it in parts} == {method}, f"{path.name}: {first}–{last} are not all {method}"
            assert "".join(it["params"]["delta"] for it in parts) == params["delta"], f"{path.name}: {first}–{last}"


def dump(home: Path, was: Path | None = None) -> dict[str, list[Any]]:
    """The index of a home; where it is a copy, with the paths of the place that it `was` at."""
    with closing(sqlite3.connect(f"file:{home / 'index.sqlite'}?mode=ro", uri=True)) as db:
        tables = {name: db.execute(sql).fetchall() for name, sql in TABLES.items()}
    return {name: sorted(_plain(row, home, was or home) for row in rows) for name, rows in tables.items()}


def _plain(row: tuple[Any, ...], home: Path, was: Path) -> str:
    return repr([_value(it).replace(str(home), str(was)) for it in row])


def _value(value: Any) -> str:
    return repr(orjson.loads(value)) if isinstance(value, bytes) else repr(value)


async def check_index(home: Path, scratch: Path) -> int:
    """The index equals one made from the logs alone; the number of its rows."""
    kept = dump(home)
    shutil.copytree(home, scratch, ignore=shutil.ignore_patterns("index.sqlite*", "locks", "*.log"))
    store = Rollouts(scratch)
    try:
        await store.recover(fold)
    finally:
        store.close()
    made = dump(scratch, was=home)
    shutil.rmtree(scratch)
    for table in TABLES:
        assert kept[table] == made[table], f"{table}: {_difference(kept[table], made[table])}"
    return sum(map(len, kept.values()))


def _difference(kept: list[str], made: list[str]) -> str:
    """Where the first rows that differ begin to."""
    for ours, theirs in zip(sorted(set(kept) - set(made)), sorted(set(made) - set(kept)), strict=False):
        at = next(at for at, (one, other) in enumerate(zip(ours, theirs, strict=False)) if one != other)
        start = max(0, at - 80)
        return f"{ours[:45]} … {ours[start : at + 80]!r} in the index, {theirs[start : at + 80]!r} in the rebuilt one"
    return f"{len(kept)} rows in the index, {len(made)} in the rebuilt one"
