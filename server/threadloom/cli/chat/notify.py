"""Desktop notifications: a bell, or words where the terminal takes them; never to one who is looking."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Final, Literal

from threadloom.cli.clean import line

Kind = Literal["sub-agent-complete", "agent-turn-complete", "approval-requested"]

# Terminals that show the words of OSC 9; the others get a bell.
PROGRAMS: Final = frozenset({"iTerm.app", "WezTerm", "ghostty", "WarpTerminal", "rio"})
TERMS: Final = ("xterm-kitty", "xterm-ghostty", "wezterm", "foot", "rio")
LENGTH: Final = 200  # characters
HERE: Final = 30.0  # seconds after a key for which one counts as looking, where the terminal does not say


def sequence(text: str, environ: Mapping[str, str] = os.environ) -> str:
    """What makes this terminal notify."""
    program, term = environ.get("TERM_PROGRAM", ""), environ.get("TERM", "")
    speaks = (program in PROGRAMS or term.startswith(TERMS)) and "TMUX" not in environ
    return f"\x1b]9;{line(text, LENGTH)}\x07" if speaks else "\x07"


class Notifier:
    """Decides whether a person is told."""

    def __init__(self, send: Callable[[str], None], wanted: bool | list[str] | None) -> None:
        self._send = send
        self._wanted = True if wanted is None else wanted
        self.focused: bool | None = None  # what the terminal reports; None where it reports nothing
        self.last_key = time.monotonic()

    @property
    def looking(self) -> bool:
        """Whether the person sees the terminal, as far as one can tell."""
        return time.monotonic() - self.last_key < HERE if self.focused is None else self.focused

    def tell(self, kind: Kind, text: str) -> None:
        """Tell them, if they want to know and do not see it anyway."""
        wanted = self._wanted if isinstance(self._wanted, bool) else kind in self._wanted
        if wanted and not self.looking:
            self._send(sequence(text))
