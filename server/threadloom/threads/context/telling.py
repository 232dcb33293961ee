"""What the model is to be told before the next prompt: all of it at first, then only what has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from threadloom.agent.history import user_item
from threadloom.rounds import Rounds
from threadloom.threads.context import environment
from threadloom.threads.context.documents import Document, Library, find
from threadloom.threads.context.rules import Rules
from threadloom.threads.recall import CONTEXT
from threadloom_protocol.v2.settings import ThreadSettings

_HEAD: Final = (
    "# Instructions for this directory\n\n"
    "They were written down by the people you work for, in the files that are named here. The most general come "
    "first; where two disagree, the later one holds. What is asked of you in the conversation goes before them."
)
_INSTEAD: Final = "These instructions take the place of all that came from such files before."
_GONE: Final = "The instructions for this directory that you were given above hold no longer; there are none now."


_found: Final = Rounds(find)


class Surroundings:
    """Of one thread."""

    def __init__(self) -> None:
        self._library = Library(_found)

    def sources(self, settings: ThreadSettings, rules: Rules) -> list[str]:
        """The files that instructions come from, the most general first."""
        return [it.path for it in self._library.known(settings.cwd, rules.places) if it.text]

    def news(
        self, settings: ThreadSettings, rules: Rules, told: Mapping[str, Any] | None, at: int
    ) -> list[dict[str, Any]]:
        """A mark and the messages behind it; nothing where the model knows it all."""
        documents = self._library.look(settings.cwd, rules.places)
        digest = _digest(documents)
        place = environment.facts(settings, rules.shell, at)
        messages = []
        if digest != (told["documents"] if told else None):
            messages.append(_instructions(documents, again=bool(told and told["documents"])))
        if told is None or place != told["environment"]:
            messages.append(environment.text(place))
        if not messages:
            return []
        mark = {"@": CONTEXT, "items": len(messages), "environment": place, "documents": digest}
        return [mark, *map(user_item, messages)]


def _digest(documents: Sequence[Document]) -> str | None:
    if not documents:
        return None
    return hashlib.sha256(repr(documents).encode()).hexdigest()


def _instructions(documents: Sequence[Document], *, again: bool) -> str:
    if not documents:
        return _GONE
    head = f"{_HEAD} {_INSTEAD}" if again else _HEAD
    return "\n\n".join([head, *map(_quoted, documents)])


def _quoted(document: Document) -> str:
    cut = f"\n[{document.cut} bytes more are left out: read the file if you need them]" if document.cut else ""
    return f'<instructions file="{document.path}">\n{document.text}{cut}\n</instructions>'
