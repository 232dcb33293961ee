"""Logs that a fork stands on, or is about to: a lock of the system on each, which falls with the process.

Which forks there are, the index says once it has heard of them. Until then, and for forks in memory, this does.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType

from threadloom.store.folders import names


class Holds:
    """The logs that this process holds."""

    def __init__(self) -> None:
        self._held: dict[str, int] = {}  # descriptors
        self._users: Counter[str] = Counter()
        self._lock = threading.Lock()

    def take(self, thread_id: str, path: str) -> None:
        """Let nobody delete a log. Raises `FileNotFoundError` where it is gone, or goes right now."""
        with self._lock:
            if thread_id not in self._held:
                self._held[thread_id] = _taken(path)
            self._users[thread_id] += 1

    def release(self, thread_id: str) -> None:
        """One user less."""
        with self._lock:
            self._users[thread_id] -= 1
            if not self._users[thread_id]:
                del self._users[thread_id]
                os.close(self._held.pop(thread_id))

    def close(self) -> None:
        """Let go of all."""
        with self._lock:
            self._users.clear()
            while self._held:
                os.close(self._held.popitem()[1])


class Going:
    """Logs that are deleted now: from the look whether anybody holds one until it is gone, nobody can."""

    def __init__(self, is_sure: Callable[[], bool]) -> None:
        self._is_sure = is_sure  # whether the index knows what all processes have told, or they hold what it does not
        self._stack = ExitStack()
        self._free: set[str] = set()

    def free(self, *paths: str | None) -> bool:
        """Whether a log can go, wherever it may be. Where nobody can tell, it stays."""
        logs = [name for path in paths if path is not None for name in names(path)]
        return all(name in self._free or self._is_free(name) for name in logs)

    def _is_free(self, path: str) -> bool:
        try:
            descriptor = _locked(path, os.O_RDWR, fcntl.LOCK_EX)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        self._stack.callback(os.close, descriptor)
        if not self._is_sure():  # asked only now: who held it until a moment ago may have been killed
            return False
        self._free.add(path)
        return True

    def __enter__(self) -> Going:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


def _taken(path: str) -> int:
    try:
        descriptor = _locked(path, os.O_RDONLY, fcntl.LOCK_SH)
    except BlockingIOError as going:
        raise FileNotFoundError(errno.ENOENT, "It is being deleted", path) from going
    if os.fstat(descriptor).st_nlink:
        return descriptor
    os.close(descriptor)
    raise FileNotFoundError(errno.ENOENT, "It was deleted", path)


def _locked(path: str, flags: int, how: int) -> int:
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
