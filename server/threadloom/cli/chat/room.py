"""The room a chat runs in: its history, its wishes, and a place for what a server would log across the screen."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from threadloom.cli.link import current_folder
from threadloom.config import Settings


def history(home: Path) -> History:
    """What was typed before, in the home; forgotten where that cannot be written to."""
    path = home / "chat_history"
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))


def wanted(settings: Settings) -> bool | list[str] | None:
    """`[tui] notifications` of the person at this terminal, wherever the server is."""
    from threadloom.config.auth import Keyring
    from threadloom.config.load import Configuration

    return Configuration(settings, Keyring(settings.home)).load(current_folder()).config.tui.notifications


@contextmanager
def quiet(home: Path) -> Iterator[None]:
    """A server in this process logs into a file meanwhile."""
    path = home / "log" / "chat.log"
    before = sys.stderr
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        kept = path.open("a", encoding="utf-8", buffering=1)
    except OSError:
        kept = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (closed below)
    with kept:
        sys.stderr = kept
        try:
            yield
        finally:
            sys.stderr = before
