"""What lies in a home and can be reached from nowhere. It is looked for without changing anything."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from threadloom.store import saved
from threadloom.store.base import StoreError
from threadloom.store.blobs import Blobs
from threadloom.store.folders import Folders, Found
from threadloom.store.headers import nothing_known, read_header


class Orphans(NamedTuple):
    """What was found, by path, and how many logs there are."""

    logs: int
    unneeded: list[str]  # logs of deleted threads that no fork and no name needs
    unread: list[str]  # logs that no thread can be made of
    damaged: list[str]  # logs whose headers are, but which serve all the same
    blobs: list[str]
    blocked: list[str]  # where logs may lie that cannot be read: nobody knows then what else is needed


def find(home: Path) -> Orphans:
    """Look through a home."""
    blocked: list[str] = []
    found = list(Folders(home).walk(lambda path, reason: blocked.append(path)))
    damaged, unread = _damaged(home, found)
    if blocked:
        return Orphans(len(found), [], unread, damaged, [], blocked)
    blobs = Blobs(home).unreachable({it.thread_id: it.path for it in found})
    return Orphans(len(found), _unneeded(home, found), unread, damaged, [str(it) for it in blobs], [])


def _unneeded(home: Path, found: Sequence[Found]) -> list[str]:
    """Whoever is there needs its base, and the base of that; where nobody knows, all are needed."""
    kept = [it for it in found if it.kept]
    if not kept:
        return []
    try:
        with closing(_index(home)) as db:
            bases = dict(db.execute("SELECT thread_id, base FROM bases"))
            named = {it.thread_id for it in kept if saved.needed(db, it.thread_id)}
    except sqlite3.Error:
        return []
    needed: set[str] = set()
    for it in {it.thread_id for it in found if not it.kept} | named:
        at: str | None = it
        while at is not None and at not in needed:
            needed.add(at)
            at = bases.get(at)
    return [it.path for it in kept if it.thread_id not in needed]


def _damaged(home: Path, found: Sequence[Found]) -> tuple[list[str], list[str]]:
    """Logs without a sound header: those that are served all the same, and those that nobody can make up for."""
    headers = {it: _header(home, it.path) for it in found}
    known = _known(home) if "lost" in headers.values() else set()
    unread = [it.path for it, how in headers.items() if how == "lost" and it.thread_id not in known]
    return [it.path for it, how in headers.items() if how != "sound" and it.path not in unread], unread


def _known(home: Path) -> set[str]:
    try:
        with closing(_index(home)) as db:
            return {it for (it,) in db.execute("SELECT thread_id FROM threads")}
    except sqlite3.Error:
        return set()


def _header(home: Path, path: str) -> Literal["sound", "damaged", "lost"]:
    """How it is, without a word to anybody who watches over a store."""
    try:
        with open(path, "rb", buffering=0) as file:
            read = partial(os.pread, file.fileno())
            size = os.fstat(file.fileno()).st_size
            head = read_header(read, size, path, Blobs(home).restore, nothing_known)
    except FileNotFoundError:
        return "sound"  # deleted since
    except (OSError, StoreError):
        return "lost"
    return "damaged" if head.damaged else "sound"


def _index(home: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{(home / 'index.sqlite').as_uri()}?mode=ro", uri=True)
