"""The header of a log, also where it is damaged: put right by its seal, or made of what else is known of the thread."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

import orjson

from threadloom.seal import mended
from threadloom.store import lines
from threadloom.store.codec import NoHeader, Restore, decode_header, decode_line
from threadloom.store.folders import id_of
from threadloom.store.rows import Base, Header, Row

_STARTED: Final = "thread/started"
_EARLY: Final = 4  # lines in which the birth of a thread is told: it comes first, behind the epoch
_RUN_ON: Final = re.compile(rb',"crc":"[0-9a-f]{8}"\}(.)\{"(?:at|seq)":', re.DOTALL)


class Kept(NamedTuple):
    """What the index has of a thread."""

    row: Row | None = None
    base: Base | None = None


Known = Callable[[str], Kept]


class Head(NamedTuple):
    """The header of a log."""

    header: Header
    first: int  # the offset behind it
    damaged: bool = False
    guessed: bool = False  # it cannot be read at all: what a thread was born with may be lacking


def nothing_known(thread_id: str) -> Kept:
    """For whoever has no index."""
    return Kept()


def read_header(read: lines.Read, size: int, path: str, restore: Restore, known: Known) -> Head:
    """The header of a log of so many bytes. Raises `StoreError` where nobody knows whose log it is."""
    raw = lines.line_at(read, 0, size)
    if len(raw) == size:
        raise NoHeader(path)
    try:
        return Head(decode_header(raw, path, restore), len(raw) + 1)
    except NoHeader:
        for text, first in _mended(read, size, raw):
            try:
                return Head(decode_header(text, path, restore), first, damaged=True)
            except NoHeader:
                continue
        header = _guess(read, size, len(raw) + 1, path, known)
        if header is None:
            raise
        return Head(header, len(raw) + 1, damaged=True, guessed=True)


def _mended(read: lines.Read, size: int, raw: bytes) -> Iterator[tuple[bytes, int]]:
    """What the header may have been before one of its bits flipped, and where the first line is then."""
    if (text := mended(raw)) is not None:
        yield text, len(raw) + 1
    more = raw + b"\n" + lines.line_at(read, len(raw) + 1, size)
    if (text := mended(more)) is not None:  # it was no newline
        yield text, len(more) + 1
    for found in _RUN_ON.finditer(raw):  # it was a newline
        yield raw[: found.start(1)], found.end(1)


def _guess(read: lines.Read, size: int, first: int, path: str, known: Known) -> Header | None:
    """A header of what is told of the birth of a thread, or of what the index has of it."""
    thread_id = id_of(path)
    if thread_id is None:
        return None
    kept = known(thread_id)
    born = _born(read, size, first) or _standing(kept.row)
    if born is None or born.thread.get("id") != thread_id:
        return None
    view = born.thread
    root = view.get("sessionId") or thread_id
    return Header(thread_id, born.at, kept.base, view.get("parentThreadId"), root, facts={"thread": view})


class _Birth(NamedTuple):
    thread: dict[str, Any]  # as the wire has it
    at: int


def _born(read: lines.Read, size: int, first: int) -> _Birth | None:
    for at, raw in islice(lines.split(read, first, size), _EARLY):
        line = decode_line(at, raw)
        if line is not None and line.method == _STARTED and line.params is not None:
            view = line.params.get("thread")
            return _Birth(view, line.at) if isinstance(view, dict) else None
    return None


def _standing(row: Row | None) -> _Birth | None:
    return _Birth(orjson.loads(row.thread), row.created_at) if row is not None else None
