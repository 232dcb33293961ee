"""A descriptor that becomes readable when a signal has come."""

from __future__ import annotations

import os
import signal


class Wakeup:
    """Woken by the end of a child, and by every other signal that has a handler."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)

    def fileno(self) -> int:
        """What to wait for."""
        return self._read

    def clear(self) -> None:
        """Forget what came; look for ended children after this, never before."""
        try:
            while os.read(self._read, 512):
                pass
        except BlockingIOError:
            pass

    def close(self) -> None:
        """In a fork that wants one of its own."""
        signal.set_wakeup_fd(-1)
        os.close(self._read)
        os.close(self._write)
