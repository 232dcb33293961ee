"""A command that is a patch: models that were taught `apply_patch` as a program write it in a shell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from threadloom.exec.shell.parse import plain, unwrap

NAMES: Final = ("apply_patch", "applypatch")
SCRIPT: Final = re.compile(
    r"""\s*(?:cd\s+(?P<folder>[^\n;&|<>$`]+?)\s*&&\s*)?    # somewhere else
    (?:apply_patch|applypatch)\s*
    <<-?\s*(?P<quote>['"]?)(?P<end>\w+)(?P=quote)[ \t]*\n   # a heredoc, whatever its last line is called
    (?P<text>.*)\n(?P=end)\s*""",
    re.DOTALL | re.VERBOSE,
)


class Found(NamedTuple):
    """The text of a patch, and the folder that it is for where the command changes to one."""

    text: str
    folder: str | None = None


def patch_in(argv: Sequence[str]) -> Found | None:
    """The patch that a command is, and nothing but that; none for any other command."""
    if argv and argv[0] in NAMES:
        return Found(argv[1]) if len(argv) == 2 else None
    script = unwrap(argv)
    if script is None or not any(name in script for name in NAMES):
        return None
    heredoc = SCRIPT.fullmatch(script)
    if heredoc is not None:
        return _here(heredoc)
    commands = plain(script) or []
    return patch_in(commands[0]) if len(commands) == 1 else None


def _here(heredoc: re.Match[str]) -> Found | None:
    if heredoc["end"] in heredoc["text"].split("\n"):
        return None  # it ends earlier, and there is more behind it
    if heredoc["folder"] is None:
        return Found(heredoc["text"])
    import shlex

    try:
        folders = shlex.split(heredoc["folder"])
    except ValueError:
        return None
    return Found(heredoc["text"], folders[0]) if len(folders) == 1 else None
