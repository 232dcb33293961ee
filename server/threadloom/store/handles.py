"""Open files of logs: no more than a few hundred at once, however many threads are loaded."""

from __future__ import annotations

import os
from collections import OrderedDict
from typing import Final

LIMIT: Final = 200  # of the 1,024 files that many systems give a process


class Handles:
    """Descriptors by path, the least recently used closed first. For one thread."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._open: OrderedDict[str, int] = OrderedDict()

    def get(self, path: str, flags: int) -> int:
        """A descriptor for a path, good until the next call. Raises `OSError`."""
        found = self._open.get(path)
        if found is not None:
            self._open.move_to_end(path)
            return found
        return self.open(path, flags)

    def open(self, path: str, flags: int) -> int:
        """The same for a file that nobody has opened here before. Raises `OSError`."""
        # A pipe that has the name of a log must not hold the server up.
        descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        self._open[path] = descriptor
        if len(self._open) > self._limit:
            self.close(next(iter(self._open)))
        return descriptor

    def close(self, path: str) -> None:
        """Let a file go."""
        descriptor = self._open.pop(path, None)
        if descriptor is not None:
            os.close(descriptor)

    def close_all(self) -> None:
        """Let every file go."""
        for path in list(self._open):
            self.close(path)

    def __del__(self) -> None:
        self.close_all()
