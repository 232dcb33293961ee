"""OpenAI's Python SDK as tests use it: unmodified, on our executable, in a home of its own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from openai_codex import AsyncCodex, Codex, CodexConfig
from openai_codex.client import CodexClient
from openai_codex.models import Notification
from tests.clients.recorded import Recorded
from tests.support.processes import environment, server_home

SECONDS = 120.0  # that a scenario may take; on an idle machine most take one

# The SDK leaves the pipes of a server that it has closed to the garbage collector.
LEAVES_PIPES = pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")


class Bench:
    """A home with our executable in it, and clients to open there, one after the other or side by side."""

    def __init__(self, room: Path) -> None:
        self.room = room
        self.home = server_home(room)
        self.work = room / "work"
        self.work.mkdir()
        self.recorded = Recorded(room)

    def config(self, *overrides: str, **options: Any) -> CodexConfig:
        """Where the SDK finds its server; `overrides` are words for `--config`."""
        return CodexConfig(
            codex_bin=str(self.recorded.executable),
            config_overrides=overrides,
            cwd=str(self.work),
            env=environment(self.room),
            **options,
        )

    def codex(self, *overrides: str, **options: Any) -> Codex:
        """The SDK as a program without an event loop uses it."""
        return Codex(self.config(*overrides, **options))

    def async_codex(self, *overrides: str, **options: Any) -> AsyncCodex:
        """The SDK as a program with one does."""
        return AsyncCodex(self.config(*overrides, **options))

    def client(self, *overrides: str) -> CodexClient:
        """What lies under both, for what they do not show."""
        return CodexClient(self.config(*overrides))


def methods(events: Iterable[Notification]) -> list[str]:
    """What was told, with the deltas of a row as one."""
    told: list[str] = []
    for event in events:
        if not (event.method.endswith(("/delta", "Delta")) and told and told[-1] == event.method):
            told.append(event.method)
    return told


def streamed(events: Iterable[Notification]) -> str:
    """The text of the deltas among these."""
    return "".join(event.payload.delta for event in events if event.method == "item/agentMessage/delta")


def kinds(items: Iterable[Any]) -> list[str]:
    """The types of items."""
    return [item.root.type for item in items]
