"""A disk that fails on request: every call of the store that changes a file is a step, and any step can be the last."""

from __future__ import annotations

import errno
import os
import pkgutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Literal
from unittest.mock import patch

import threadloom.store
from threadloom.store import database

Moment = Literal["before", "amid", "after"]

_CHANGES = ("pwrite", "fdatasync", "fsync", "ftruncate", "rename", "unlink", "makedirs")


class Disk:
    """Counts steps. `on_step` gets the number and kind of each, and does what it likes."""

    def __init__(self) -> None:
        self.steps = 0
        self.kinds: list[str] = []
        self._lock = threading.Lock()

    def fault(self, step: int, kind: str, moment: Moment) -> None:
        """Called around every step; may raise `OSError`, or never return."""

    def step(self, kind: str, change: Callable[[], Any], half: Callable[[], Any] | None = None) -> Any:
        """One change: counted, and made unless something is in its way."""
        with self._lock:
            self.steps += 1
            self.kinds.append(kind)
            number = self.steps
        self.fault(number, kind, "before")
        if half is not None:
            self._try_half(number, kind, half)
        result = change()
        self.fault(number, kind, "after")
        return result

    def _try_half(self, number: int, kind: str, half: Callable[[], Any]) -> None:
        """A write may be cut in two: only a fault that asks for it sees the first half made."""
        if self.wants_half(number):
            half()
            self.fault(number, kind, "amid")

    def wants_half(self, step: int) -> bool:
        """Whether this step is to be half done."""
        return False


class _Os:
    """`os`, as the store sees it."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        for name in _CHANGES:
            setattr(self, name, self._counted(name))

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def _counted(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            return self._disk.step(name, lambda: getattr(os, name)(*args, **options))

        return call

    def write(self, descriptor: int, data: bytes) -> int:
        """The one change that can be half done."""
        half = data[: len(data) // 2]
        written: int = self._disk.step(
            "write", lambda: os.write(descriptor, data), lambda: half and os.write(descriptor, half)
        )
        return written

    def open(self, path: Any, flags: int, *rest: Any) -> int:
        """A change where it creates something."""
        if not flags & os.O_CREAT or os.path.exists(path):
            return os.open(path, flags, *rest)
        descriptor: int = self._disk.step("create", lambda: os.open(path, flags, *rest))
        return descriptor


def _connection(disk: Disk) -> type[sqlite3.Connection]:
    class Connection(sqlite3.Connection):
        """A connection whose commits are steps."""

        def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
            if sql != "COMMIT":
                return super().execute(sql, *args)
            try:
                cursor: sqlite3.Cursor = disk.step("commit", lambda: super(Connection, self).execute(sql))
            except OSError as fault:
                raise sqlite3.OperationalError("database or disk is full") from fault
            return cursor

    return Connection


@contextmanager
def installed(disk: Disk) -> Iterator[None]:
    """Let the store of this process live on such a disk."""
    modules = [import_module(it.name) for it in pkgutil.iter_modules(threadloom.store.__path__, "threadloom.store.")]
    faulty = _Os(disk)
    connection = _connection(disk)
    real = sqlite3.connect

    def connect(path: Any, **options: Any) -> sqlite3.Connection:
        return real(path, **options) if path == ":memory:" else real(path, factory=connection, **options)

    patches = [patch.object(module, "os", faulty) for module in modules if getattr(module, "os", None) is os]
    patches.append(patch.object(database.sqlite3, "connect", connect))
    for it in patches:
        it.start()
    try:
        yield
    finally:
        for it in reversed(patches):
            it.stop()


class Failing(Disk):
    """Refuses some steps, or all from one on, until it is mended."""

    def __init__(self, first: int, times: int | None, number: int = errno.ENOSPC) -> None:
        super().__init__()
        self.refused = 0
        self._first = first
        self._times = times  # none for all
        self._errno = number
        self._mended = False

    def fault(self, step: int, kind: str, moment: Moment) -> None:
        """See `Disk.fault`."""
        if self._mended or moment != "before" or step < self._first or kind in ("unlink", "ftruncate"):
            return  # what gives space back works on a full disk, too
        if self._times is None or step < self._first + self._times:
            self.refused += 1
            raise OSError(self._errno, os.strerror(self._errno))

    def mend(self) -> None:
        """There is space again."""
        self._mended = True


class Cut(Disk):
    """The power goes at one step: before it, after it, or in the middle of it, where that step is a write.

    Which step is which differs a little from run to run. So `amid` means the first write from there on.
    """

    CODE = 99

    def __init__(self, at: int, moment: Moment) -> None:
        super().__init__()
        self._at = at
        self._moment = moment

    def fault(self, step: int, kind: str, moment: Moment) -> None:
        """See `Disk.fault`."""
        if moment == self._moment and (step == self._at or (moment == "amid" and step > self._at)):
            os._exit(self.CODE)

    def wants_half(self, step: int) -> bool:
        """See `Disk.wants_half`."""
        return step >= self._at and self._moment == "amid"
