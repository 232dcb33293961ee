"""Terminals for commands that want one."""

from __future__ import annotations

import os


def open_pty(rows: int, cols: int) -> tuple[int, int]:
    """Our end, which does not block, and the command's; both are closed on exec."""
    ours, theirs = os.openpty()
    os.set_blocking(ours, False)
    set_size(theirs, rows, cols)
    return ours, theirs


def set_size(descriptor: int, rows: int, cols: int) -> None:
    """What the terminal tells its programs about itself."""
    import termios

    termios.tcsetwinsize(descriptor, (rows, cols))
