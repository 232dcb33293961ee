"""Where a Markdown text that still grows can be cut: what lies before is final, however it goes on."""

from __future__ import annotations

import re
from typing import Final

FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
HELD: Final = re.compile(r"(\s|[-*+>|]|\d+[.)])")  # a line that may belong to what came before the blank line


def settled(text: str) -> int:
    """The length of the part that will not change any more: up to a blank line outside of a code block."""
    cut = at = 0
    fence = ""
    blank = False
    for row in text.splitlines(keepends=True):
        if not fence and blank and not HELD.match(row) and row.endswith("\n"):
            cut = at
        mark = FENCE.match(row)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence):
            fence = ""
        blank = not row.strip()
        at += len(row)
    return cut
