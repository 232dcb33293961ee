"""A command as one line, as people and clients read it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final

# Words of these signs need no quotes in any shell. Codex quotes `=` and `,` as well, and clients compare.
PLAIN: Final = re.compile(r"[A-Za-z0-9+\-./:@\]_]+")


def shell_line(argv: Sequence[str]) -> str:
    """A line that a shell would take apart into these words again."""
    return " ".join(_quoted(word) for word in argv)


def _quoted(word: str) -> str:
    if PLAIN.fullmatch(word):
        return word
    # Single quotes in a script are common, and it reads better in double ones; some signs stay alive in them.
    if "'" in word and not any(sign in word for sign in "$`!^"):
        return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return shlex.quote(word) if "'" in word else f"'{word}'"
