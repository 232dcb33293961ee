"""The processes that write a home: each leaves a file behind, unless it ends well.

Where none is left behind, the index has all that the logs have, and nobody needs to look.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import uuid4

from threadloom.store.faults import refused, remove

UNBORN: Final = "."  # the first character of a file that is not locked yet


class Lives:
    """The file of this process, locked for as long as it lives, and those of others."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "lives"
        self._lock = threading.Lock()
        self._own: tuple[Path, int] | None = None

    def begin(self) -> None:
        """Before anything is written. Raises `StoreError`."""
        if self._own is not None:  # as nearly always
            return
        with self._lock:
            if self._own is None:
                try:
                    self._own = self._born()
                except OSError as fault:
                    raise refused("write", self._folder, fault) from fault

    def end(self, *, well: bool) -> None:
        """Nothing more is written. `well`: all that was is in the index, too."""
        with self._lock:
            if self._own is not None:
                path, descriptor = self._own
                if well:
                    self.forget([path])
                os.close(descriptor)
                self._own = None

    def lost(self) -> list[Path]:
        """What processes have left behind that did not end well."""
        with suppress(FileNotFoundError, NotADirectoryError):
            return [it for it in self._folder.iterdir() if not it.name.startswith(UNBORN) and _is_free(it)]
        return []

    @staticmethod
    def forget(lost: Sequence[Path]) -> None:
        """What they had written is in the index by now."""
        with suppress(OSError):  # the next start looks once more, and no harm is done
            for path in lost:
                remove(path)

    def _born(self) -> tuple[Path, int]:
        """Locked before it has its name: who meets it is never wrong about it."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        name = uuid4().hex
        unborn = self._folder / f"{UNBORN}{name}"
        descriptor = os.open(unborn, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(unborn, self._folder / name)
        except OSError:
            os.close(descriptor)
            raise
        return self._folder / name, descriptor


def _is_free(path: Path) -> bool:
    """Whether nobody holds a file any more."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True
