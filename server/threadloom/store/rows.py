"""What is stored, as values: the lines of a log, the rows of the index over it, and which of them a list wants.

A log line is `{seq, at, method, params, model?}`: the notification itself, and what only the model sees of it. A line
with `model` alone takes no seq. The first line is the header. Each ends with a checksum, `crc` (see `seal`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

VERSION: Final = 1


class Base(NamedTuple):
    """Where a fork starts: the log it continues, and how far of it is its own."""

    thread_id: str
    seq: int
    offset: int  # end of the last line that belongs to the fork


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a log: what a thread was born with."""

    thread_id: str
    created_at: int  # milliseconds
    base: Base | None = None
    owner: str | None = None  # the thread that owns it, for as long as the edge holds
    root: str = ""  # the tree it was born into; its own id for a root
    spawn: dict[str, Any] | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)  # source, git, version … in wire names
    v: int = VERSION


class Line(NamedTuple):
    """One line of a log, read back. Blobs are in their place again."""

    offset: int
    size: int
    seq: int  # 0 where the line takes none
    at: int  # milliseconds
    method: str | None
    params: dict[str, Any] | None
    model: list[dict[str, Any]] | None


@dataclass(slots=True)
class Row:
    """A thread as lists show it, and the state to load it from. `offset` and `state` move together."""

    thread_id: str
    owner: str | None
    root: str
    forked_from: str | None
    created_at: int  # milliseconds, as all times here
    updated_at: int
    recency_at: int
    source_kind: str  # a ThreadSourceKind
    provider: str
    cwd: str
    name: str | None
    preview: str
    archived: bool
    closed: bool  # shut down by a close; left only by a resume
    thread: bytes  # the wire Thread, without turns, as JSON
    state: bytes  # what a load starts from, as JSON
    offset: int  # how far of the log the state has taken in
    seq: int
    originator: str | None = None
    git_branch: str | None = None
    path: str | None = None
    due: bool = False  # it waits for an answer or has work to go on with: a server that starts takes it up


class TurnRow(NamedTuple):
    """A turn, by where it lies in the log."""

    thread_id: str  # the log it lies in
    turn_id: str
    seq: int  # of its turn/started: the order of turns
    start: int  # offset of turn/started
    last: int  # offset of the latest line with the whole Turn (turn/started, then turn/completed)
    status: str


class TextRow(NamedTuple):
    """What was said in one message, for whoever searches."""

    thread_id: str
    turn_id: str
    item_id: str
    seq: int  # of its item/completed
    text: str


class SavedRow(NamedTuple):
    """A name under which a thread was saved, or that it lost again; the latest of a name counts, in whatever thread."""

    thread_id: str
    name: str
    seq: int  # of the record: the point that was saved
    offset: int  # where that record lies
    at: int  # milliseconds; no two saves of a name have the same
    digest: str  # of the model's history at that point
    deleted: bool = False


class Keepers(NamedTuple):
    """What keeps the logs of deleted threads."""

    names: list[str]
    forks: list[str]


class ItemRow(NamedTuple):
    """An item, by where its final form lies in the log."""

    thread_id: str
    turn_id: str
    item_id: str
    seq: int  # of its item/started: the order of items
    offset: int  # of its item/completed line, or of item/started where there is none yet


Direction = Literal["asc", "desc"]


@dataclass(frozen=True, slots=True)
class Query:
    """Which threads a list wants, and in which order."""

    sort: Literal["created_at", "updated_at", "recency_at"] = "created_at"
    direction: Direction = "desc"
    limit: int = 25
    cursor: str | None = None  # as a page gave it; raises ValueError where it is not one
    archived: bool = False
    source_kinds: Sequence[str] | None = None
    providers: Sequence[str] | None = None
    cwds: Sequence[str] | None = None
    originators: Sequence[str] | None = None
    excluded: Sequence[str] = ()
    owner: str | None = None
    ancestor: str | None = None
    search: str | None = None  # in names and previews, case folded
    only: Sequence[str] | None = None  # threads to choose from
    begun: bool = False  # leave out those that were opened and left without a word


class Page(NamedTuple):
    """One page of threads, with the ways on and back. Its rows come without their state: they are not for `put`."""

    rows: list[Row]
    next: str | None  # goes on behind the last row; none where that was all
    back: str | None  # for the other direction: starts with this page's first row, and all of the same time


class Hidden(NamedTuple):
    """A revert: what has a seq from `from_seq` on and lies before `by_seq`, the revert's own line, is hidden."""

    from_seq: int
    by_seq: int


def outside(number: str, hidden: Iterable[Hidden]) -> str:
    """The condition in SQL that a number lies in none of these: however many they are, a few questions answer it."""
    apart: list[Hidden] = []
    for it in sorted(hidden):
        if apart and it.from_seq <= apart[-1].by_seq:
            apart[-1] = apart[-1]._replace(by_seq=max(apart[-1].by_seq, it.by_seq))
        else:
            apart.append(it)
    return _outside(number, apart)


def _outside(number: str, hidden: Sequence[Hidden]) -> str:
    match hidden:
        case []:
            return "1"
        case [it]:
            return f"NOT ({number} >= {it.from_seq:d} AND {number} < {it.by_seq:d})"
    half = len(hidden) // 2
    first, later = _outside(number, hidden[:half]), _outside(number, hidden[half:])
    return f"CASE WHEN {number} < {hidden[half].from_seq:d} THEN {first} ELSE {later} END"


class Folded(NamedTuple):
    """What a log says about its thread, for the index."""

    row: Row
    turns: Sequence[TurnRow] = ()
    items: Sequence[ItemRow] = ()
    hidden: Sequence[Hidden] = ()
    texts: Sequence[TextRow] = ()
    saved: Sequence[SavedRow] = ()
