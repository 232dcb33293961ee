"""Commands that need somebody's word, and what they leave behind when they have run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.talk import Message, Talk

# All but known-safe commands are asked about; no fence, so that it works where there is no sandbox.
ASKING: dict[str, Any] = {"approvalPolicy": "untrusted", "sandbox": "danger-full-access"}


class Ledger:
    """A file that commands write to: one word each time one has run."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "ledger"

    def call(self, word: str, *, after: str = "", joined: bool = False) -> str:
        """The line that has the rehearsal model run such a command; `after` is what it does once it has written."""
        return ("and " if joined else "") + f"call exec_command {json.dumps(self.order(word, after))}"

    def order(self, word: str, after: str = "") -> dict[str, Any]:
        """The arguments of such a call."""
        return {"cmd": f"echo {word} >> {self._path}{after and '; ' + after}", "login": False}

    def calls(self, *words: str) -> str:
        """Several at once."""
        return "\n".join(self.call(word, joined=at > 0) for at, word in enumerate(words))

    @property
    def words(self) -> list[str]:
        """What has run, sorted."""
        return sorted(self._path.read_text().split()) if self._path.exists() else []


async def asking(talk: Talk, **params: Any) -> str:
    """A new thread whose commands are asked about; its id."""
    return str((await talk.start(**ASKING, **params))["id"])


def flags(message: Message) -> list[str]:
    """What a thread waits for, as `thread/status/changed` says."""
    return list(message["params"]["status"].get("activeFlags", []))


def commands(messages: list[Message]) -> list[Message]:
    """The commands that have ended, as `item/completed` says."""
    items = [it["params"]["item"] for it in messages if it.get("method") == "item/completed"]
    return [it for it in items if it["type"] == "commandExecution"]
