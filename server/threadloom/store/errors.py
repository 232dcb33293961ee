"""What storage refuses, and why."""

from __future__ import annotations


class StoreError(Exception):
    """Storage cannot do what was asked: the disk is full, the home is read-only, a log is gone. Says what to do."""


class Missing(StoreError):
    """The log of a thread is gone, or nothing can be made of it."""


class Held(StoreError):
    """Another process writes this tree."""

    def __init__(self, root_id: str, pid: int | None) -> None:
        # Codex's TUI and its ACP bridge know the first words, and tell their users what to do.
        super().__init__(
            f"thread {root_id} already has an active writer: "
            f"its tree is in use by another server (pid {pid or 'unknown'}). Connect to that one, or stop it first."
        )
        self.pid = pid
