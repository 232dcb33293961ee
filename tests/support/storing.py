"""Stores to test, and the headers, lines and rows that go into them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from threadloom.ids import uuid7
from threadloom.seal import sealed, unsealed
from threadloom.store.base import EventLog
from threadloom.store.memory import MemoryStore
from threadloom.store.rollout import Rollouts
from threadloom.store.rows import Base, Folded, Header, ItemRow, Line, Row, TurnRow

KINDS = ("file", "memory")
BORN = 1_780_000_000_000  # milliseconds

AnyStore = Rollouts | MemoryStore


@contextmanager
def opened(kind: str, home: Path) -> Iterator[AnyStore]:
    """A store, let go of in the end."""
    store: AnyStore = Rollouts(home) if kind == "file" else MemoryStore()
    try:
        yield store
    finally:
        store.close()


def header(thread_id: str | None = None, **members: Any) -> Header:
    """What a thread is born with."""
    thread_id = thread_id or uuid7()
    return Header(thread_id, BORN, **{"root": thread_id, **members})


def event(seq: int, text: str = "", model: list[Any] | None = None) -> bytes:
    """A line with a seq."""
    seen = {} if model is None else {"model": model}
    line = {"seq": seq, "at": BORN + seq, "method": "test/happened", "params": {"text": text}, **seen}
    return orjson.dumps(line) + b"\n"


def aside(*model: Any) -> bytes:
    """A line that only the model sees."""
    return orjson.dumps({"at": BORN, "model": list(model)}) + b"\n"


def resealed(line: bytes) -> bytes:
    """A line that was changed, as if it had been written so."""
    return sealed(unsealed(line)[:-2])


def events(first: int, last: int) -> list[bytes]:
    """Lines with consecutive seqs."""
    return [event(seq, f"number {seq}") for seq in range(first, last + 1)]


def seqs(lines: Iterator[Line] | Sequence[Line]) -> list[int]:
    """The seqs of lines."""
    return [line.seq for line in lines]


def thread(store: AnyStore, *lines: bytes, base: Base | None = None, **members: Any) -> EventLog:
    """A new log."""
    return store.create(header(base=base, **members), lines)


def fork(store: AnyStore, log: EventLog, seq: int, *lines: bytes) -> EventLog:
    """A log that goes on from another one."""
    return thread(store, *lines, base=Base(log.header.thread_id, seq, log.seek(seq)))


ROW = Row(
    thread_id="",
    owner=None,
    root="",
    forked_from=None,
    created_at=BORN,
    updated_at=BORN,
    recency_at=BORN,
    source_kind="vscode",
    provider="rehearsal",
    cwd="/work",
    name=None,
    preview="",
    archived=False,
    closed=False,
    thread=b"{}",
    state=b"{}",
    offset=0,
    seq=0,
)


def row(thread_id: str | None = None, **members: Any) -> Row:
    """A thread for the index."""
    thread_id = thread_id or uuid7()
    return replace(ROW, **{"thread_id": thread_id, "root": thread_id, **members})


def fold(log: EventLog, known: Row | None) -> Folded:
    """A small replay: every ten lines are a turn, every line is an item; the state counts lines."""
    count = orjson.loads(known.state)["lines"] if known else 0
    start = known.offset if known else 0
    turns: dict[str, TurnRow] = {}
    items: list[ItemRow] = []
    thread_id, seq = log.header.thread_id, known.seq if known else log.header.base.seq if log.header.base else 0
    for line in log.scan(start):
        count, seq = count + 1, line.seq or seq
        turn_id = f"turn-{line.seq // 10}"
        begun = turns.get(turn_id) or TurnRow(thread_id, turn_id, line.seq, line.offset, line.offset, "inProgress")
        turns[turn_id] = begun._replace(last=line.offset, status="completed")
        items.append(ItemRow(thread_id, turn_id, f"item-{line.seq}", line.seq, line.offset))
    state = orjson.dumps({"lines": count})
    made = row(thread_id, root=log.header.root, state=state, offset=log.end, seq=seq, path=log.path)
    return Folded(replace(made, created_at=log.header.created_at, preview=f"{count} lines"), [*turns.values()], items)


def index(store: AnyStore, log: EventLog) -> None:
    """Put what a log says into the index."""
    folded = fold(log, None)
    store.index.put(folded.row, folded.turns, folded.items)
