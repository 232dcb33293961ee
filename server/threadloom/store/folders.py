"""Where logs lie: `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, and how one is found by its id."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from threadloom.store.base import StoreError
from threadloom.store.rows import Header

KEPT: Final = ".kept"  # a log whose thread was deleted, but which a fork stands on

_NAME: Final = re.compile(r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(.+)\.jsonl(\.kept)?")
_ID: Final = re.compile(r"[0-9A-Za-z_-][0-9A-Za-z_.-]*")
_DAY: Final = 86_400_000  # milliseconds


Blocked = Callable[[str, str], None]  # hears of a path where logs may lie that cannot be read, and of the reason


class Found(NamedTuple):
    """A log in the folders."""

    thread_id: str
    path: str
    kept: bool
    size: int


def _nobody(path: str, reason: str) -> None:
    return None


def checked(thread_id: str) -> str:
    """An id that may become part of a path."""
    if not _ID.fullmatch(thread_id):
        raise StoreError(f"Not the id of a thread: {thread_id!r}.")
    return thread_id


def id_of(path: str) -> str | None:
    """The id that the name of a log tells."""
    named = _NAME.fullmatch(os.path.basename(path))
    return named[1] if named else None


def names(path: str) -> tuple[str, str]:
    """What a log is called, before and after its thread was deleted."""
    plain = path.removesuffix(KEPT)
    return plain, plain + KEPT


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
        near = (entry for day in self._days_of(thread_id) for entry in _entries(day))
        found = (it for it in chain(near, self._files()) if it.name.endswith(ends) and id_of(it.name) == thread_id)
        return next((it.path for it in found), None)

    def walk(self, blocked: Blocked = _nobody) -> Iterator[Found]:
        """Every log, without a look inside."""
        for entry in self._files(blocked):
            if named := _NAME.fullmatch(entry.name):
                try:
                    known = entry.stat()
                except FileNotFoundError as fault:
                    if entry.is_symlink():
                        blocked(entry.path, str(fault.strerror))
                    continue  # else deleted since
                except OSError as fault:
                    blocked(entry.path, str(fault.strerror))
                    continue
                if not stat.S_ISREG(known.st_mode):  # nobody reads a pipe to its end, or a folder at all
                    blocked(entry.path, "it is no file")
                    continue
                yield Found(named[1], entry.path, named[2] is not None, known.st_size)

    def _files(self, blocked: Blocked = _nobody) -> Iterator[os.DirEntry[str]]:
        for year in _listed(self._root):
            for month in _entries(year.path, blocked):
                for day in _entries(month.path, blocked):
                    yield from _entries(day.path, blocked)

    def _day(self, moment: time.struct_time) -> str:
        return os.path.join(self._root, time.strftime("%Y/%m/%d", moment))

    def _days_of(self, thread_id: str) -> list[str]:
        try:
            born = int(thread_id.replace("-", "")[:12], 16)  # a UUIDv7 begins with its time
            return [self._day(time.gmtime((born + shift) / 1000)) for shift in (0, -_DAY, _DAY)]
        except (ValueError, OverflowError, OSError):
            return []


def is_gone(path: str) -> bool:
    """Whether there is no such file; one that only cannot be reached may be there again tomorrow."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _listed(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _entries(folder: str, blocked: Blocked = _nobody) -> list[os.DirEntry[str]]:
    """What a folder lists; one that does not let itself be looked into keeps nobody from the others."""
    try:
        return _listed(folder)
    except OSError as fault:
        blocked(folder, str(fault.strerror))
        return []
