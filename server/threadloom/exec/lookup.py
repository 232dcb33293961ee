"""Finding the program of a command, so that a wrong name is told before anything is started."""

from __future__ import annotations

import os


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
    """The user's own shell, where it is one that takes `-lc`."""
    known = os.environ.get("SHELL", "")
    return known if os.path.basename(known) in ("bash", "zsh", "sh") and os.path.isabs(known) else "/bin/bash"


def _runnable(path: str) -> str | None:
    return path if os.path.isfile(path) and os.access(path, os.X_OK) else None
