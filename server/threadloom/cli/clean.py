"""Text of others on its way to a terminal: models, names and commands must not move the cursor or ring the bell."""

from __future__ import annotations

import os
import re
from typing import Final

# Escape sequences as a whole (CSI, OSC, and the short ones), then whatever else is no letter, tab or line end.
_SEQUENCES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]P^_X].*?(?:\x07|\x1b\\|$)|[ -/]*[0-~])", re.DOTALL)
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# A progress bar goes back to the start of its line: what was there before is gone.
_OVERWRITTEN: Final = re.compile(r"[^\n]*\r(?=[^\n])")


def clean(text: str) -> str:
    """The text alone, line ends and tabs kept."""
    text = _SEQUENCES.sub("", text).replace("\r\n", "\n")
    return _CONTROLS.sub("", _OVERWRITTEN.sub("", text))


def line(text: str, length: int = 0) -> str:
    """The same on one line, cut where it is too long."""
    words = " ".join(clean(text).split())
    return words if not length or len(words) <= length else words[: length - 1] + "…"


def tilde(path: str) -> str:
    """A path as people write it who are at home."""
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if path == home or path.startswith(f"{home}/") else path
