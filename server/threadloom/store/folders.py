"""Where logs lie: `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, and how one is found by its id."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from threadloom.store.base import StoreError
from threadloom.store.rows import Header

KEPT: Final = ".kept"  # a log whose thread was deleted, but which a fork stands on

_NAME: Final = re.compile(r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(.+)\.jsonl(\.kept)?")
_ID: Final = re.compile(r"[0-9A-Za-z_-][0-9A-Za-z_.-]*")
_DAY: Final = 86_400_000  # milliseconds


class Found(NamedTuple):
    """A log in the folders."""

    thread_id: str
    path: str
    kept: bool
    size: int


def checked(thread_id: str) -> str:
    """An id that may become part of a path."""
    if not _ID.fullmatch(thread_id):
        raise StoreError(f"Not the id of a thread: {thread_id!r}.")
    return thread_id


def id_of(path: str) -> str | None:
    """The id that the name of a log tells."""
    named = _NAME.fullmatch(os.path.basename(path))
    return named[1] if named else None


class Folders:
    """The folders of a home, by day of birth."""

    def __init__(self, home: Path) -> None:
        self._root = os.path.join(home, "sessions")

    def path(self, header: Header) -> str:
        """Where a new log goes."""
        born = time.gmtime(header.created_at / 1000)
        moment = time.strftime("%Y-%m-%dT%H-%M-%S", born)
        return os.path.join(self._day(born), f"rollout-{moment}-{checked(header.thread_id)}.jsonl")

    def find(self, thread_id: str) -> str | None:
        """A log by its id: in the days around the time that the id tells, else anywhere."""
        ends = (f"-{thread_id}.jsonl", f"-{thread_id}.jsonl{KEPT}")
        for day in self._days_of(thread_id):
            for entry in _entries(day):
                if entry.name.endswith(ends):
                    return entry.path
        return next((entry.path for entry in self._files() if entry.name.endswith(ends)), None)

    def walk(self) -> Iterator[Found]:
        """Every log, without a look inside."""
        for entry in self._files():
            if named := _NAME.fullmatch(entry.name):
                try:
                    size = entry.stat().st_size
                except FileNotFoundError:
                    continue  # deleted since
                yield Found(named[1], entry.path, named[2] is not None, size)

    def _files(self) -> Iterator[os.DirEntry[str]]:
        for year in _entries(self._root):
            for month in _entries(year.path):
                for day in _entries(month.path):
                    yield from _entries(day.path)

    def _day(self, moment: time.struct_time) -> str:
        return os.path.join(self._root, time.strftime("%Y/%m/%d", moment))

    def _days_of(self, thread_id: str) -> list[str]:
        try:
            born = int(thread_id.replace("-", "")[:12], 16)  # a UUIDv7 begins with its time
            return [self._day(time.gmtime((born + shift) / 1000)) for shift in (0, -_DAY, _DAY)]
        except (ValueError, OverflowError, OSError):
            return []


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
