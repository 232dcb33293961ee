"""The commands of a script, where it is plain: simple commands, joined by pipes, `&&`, `||`, `;` and ends of lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from threadloom.exec.shell.lex import NotPlain, Sign, Token, Word, tokens
from threadloom.exec.shell.options import words

SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash"})
SCRIPT_OPTIONS: Final = (("-c",), ("-lc",), ("-cl",), ("-l", "-c"))

# Words that mean something else to a shell when a command begins with them.
RESERVED: Final = words(
    "if then else elif fi case esac for foreach select while until repeat do done end in function time coproc "
    "nocorrect noglob { } [[ ]] !"
)
# What sets a variable in one of the shells; zsh takes letters of every script, and digits.
ASSIGNMENT: Final = re.compile(r"\w+(\[.*\])?\+?=", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command."""

    argv: tuple[str, ...]
    expands: bool = False  # one of its words stands for names that only the shell knows
    piped: bool = False  # it reads what the one before it writes


def unwrap(argv: Sequence[str]) -> str | None:
    """The script that a command hands to a shell, as in `bash -lc SCRIPT`; none for any other command."""
    if len(argv) < 3 or PurePosixPath(argv[0]).name not in SHELLS:
        return None
    return argv[-1] if tuple(argv[1:-1]) in SCRIPT_OPTIONS else None


def plain(script: str) -> list[list[str]] | None:
    """The words of each command in a plain script; none if it is not, or has patterns of file names."""
    commands = parse(script)
    if commands is None or any(command.expands for command in commands):
        return None
    return [list(command.argv) for command in commands]


def parse(script: str) -> list[Command] | None:
    """The commands of a plain script, at least one; none if it is not plain or no script at all."""
    reader = _Reader()
    try:
        for token in tokens(script):
            reader.take(token)
        return reader.end() or None
    except NotPlain:
        return None


class _Reader:
    """Puts commands together, token by token."""

    def __init__(self) -> None:
        self._commands: list[Command] = []
        self._words: list[Word] = []
        self._before = ""  # the sign that still waits for a command
        self._negated = False

    def take(self, token: Token) -> None:
        """The next token."""
        if isinstance(token, Word):
            self._take_word(token)
        elif not isinstance(token, Sign):
            self._take_redirect()
        elif self._words:
            self._finish()
            self._before = token.text if token.text in ("|", "&&", "||") else ""
        elif token.text != "\n" or self._negated:
            raise NotPlain

    def end(self) -> list[Command]:
        """There is no more."""
        if self._words:
            self._finish()
        elif self._before or self._negated:
            raise NotPlain
        return self._commands

    def _take_word(self, word: Word) -> None:
        if not self._words:
            if word.raw == "!" and self._before != "|":
                self._negated = True
                return
            if word.text in RESERVED or ASSIGNMENT.match(word.raw):
                raise NotPlain
        self._words.append(word)

    def _take_redirect(self) -> None:
        """Behind its command, where everyone writes it: before one, shells disagree on what may follow."""
        if not self._words:
            raise NotPlain

    def _finish(self) -> None:
        argv = tuple(word.text for word in self._words)
        expands = any(word.expands for word in self._words)
        self._commands.append(Command(argv, expands, piped=self._before == "|"))
        self._words, self._before, self._negated = [], "", False
