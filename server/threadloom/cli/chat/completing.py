"""Tab: commands, saved names, models and agents behind their commands, and files everywhere else."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from threadloom.cli.chat.slash import COMMANDS, Chat

MOST = 200  # files of a folder that are offered


class Completing(Completer):
    """What may come next."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """See `Completer.get_completions`."""
        text = document.text_before_cursor
        command, space, rest = text.partition(" ")
        if text.startswith("/") and not space and "/" not in text[1:]:
            for name, it in COMMANDS.items():
                if name.startswith(text[1:]):
                    yield Completion(f"/{name}", -len(text), display_meta=it.help)
        elif command[1:] in COMMANDS and text.startswith("/") and "\n" not in text:
            offered = self._arguments(command[1:])
            yield from (Completion(it, -len(rest)) for it in offered if it.startswith(rest))
        elif text and not text[-1].isspace():
            yield from self._files(text.split()[-1])

    def _arguments(self, command: str) -> list[str]:
        chat = self._chat
        match command:
            case "resume" | "fork":
                return chat.names
            case "model":
                return chat.models
            case "close":
                return [it.thread_id for it in chat.talk.agents]
            case "queue":
                return ["clear", "drop ", "pause", "resume"]
            case _:
                return []

    def _files(self, word: str) -> Iterator[Completion]:
        typed = word.removeprefix("@")
        folder, start = os.path.split(typed)
        try:
            entries = sorted(os.scandir(os.path.join(self._chat.talk.cwd, os.path.expanduser(folder))), key=_name)
        except OSError:
            return
        found = [it for it in entries if it.name.startswith(start) and (start or not it.name.startswith("."))]
        for it in found[:MOST]:
            yield Completion(it.name + "/" * it.is_dir(), -len(start))


def _name(entry: os.DirEntry[str]) -> str:
    return entry.name
