"""Places where there is nothing yet, and where no command may put anything: an empty folder is in the way meanwhile.

A project's settings count from the moment when they are there. What is there is guarded; this is for what is not.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

# Nobody makes such folders, so one that is left of a server that was killed can be told, and is taken away later.
MODE: Final = 0o1755
TRIES: Final = 3  # another server may take one away while this one reaches for it


@dataclass(slots=True)
class _Held:
    place: int  # the folder, open, with a lock that other servers share
    users: int = 1


class Reserved:
    """The places that this server keeps free, each as long as commands run that could take it."""

    def __init__(self) -> None:
        self._held: dict[str, _Held] = {}

    def hold(self, paths: Iterable[str]) -> Callable[[], None]:
        """Keep what is free of these, until what this returns is called; only the first call counts.

        Raises `OSError` with none of them kept.
        """
        taken: list[str] = []
        try:
            for path in paths:
                taken += [path] * self._take(path)
        except OSError:
            self._release(taken)
            raise
        return partial(self._release, taken)

    def _take(self, path: str) -> bool:
        held = self._held.get(path)
        if held is not None:
            held.users += 1
        elif (place := _put(path)) is not None:
            self._held[path] = _Held(place)
        return path in self._held

    def _release(self, paths: list[str]) -> None:
        while paths:
            path = paths.pop()
            held = self._held[path]
            held.users -= 1
            if not held.users:
                del self._held[path]
                _take_away(path, held.place)


def _put(path: str) -> int | None:
    """Have the folder there; none where somebody else's is, or where nobody could make one."""
    for _ in range(TRIES):
        with suppress(FileNotFoundError, BlockingIOError):  # another server takes it away just now
            try:
                os.mkdir(path, MODE)
            except FileExistsError:
                if not _ours(path):
                    return None
            except OSError:
                return None
            if (place := _locked(path)) is not None:
                return place
    return None


def _ours(path: str) -> bool:
    mode = os.lstat(path).st_mode
    return stat.S_ISDIR(mode) and bool(mode & stat.S_ISVTX) and not os.listdir(path)


def _locked(path: str) -> int | None:
    """The folder, open, unless it was taken away meanwhile."""
    place = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(place, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(place), os.stat(path)):
            return os.dup(place)
    finally:
        os.close(place)
    return None


def _take_away(path: str, place: int) -> None:
    """Unless another server needs it, or somebody has put something inside."""
    with suppress(OSError):
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rmdir(path)
    os.close(place)
