"""Finding the program of a command, so that a wrong name is told before anything is started."""

from __future__ import annotations

import os
from typing import Final

SHELLS: Final = ("/bin/bash", "/usr/bin/bash", "/bin/sh")  # the last is everywhere, and in Alpine alone


def find_program(name: str, path: str, cwd: str) -> str | None:
    """Where a command of that name would be found in `cwd` with that PATH."""
    if "/" in name:
        return _runnable(os.path.join(cwd, name))
    for folder in path.split(os.pathsep):
        found = _runnable(os.path.join(cwd, folder, name))
        if found:
            return found
    return None


def login_shell() -> str:
    """The user's own shell, where it is one that takes `-lc`, else one that is there."""
    known = os.environ.get("SHELL", "")
    if os.path.basename(known) in ("bash", "zsh", "sh") and os.path.isabs(known):
        return known
    return next(filter(_runnable, SHELLS), SHELLS[-1])


def _runnable(path: str) -> str | None:
    return path if os.path.isfile(path) and os.access(path, os.X_OK) else None
