"""Numbers that others have written: in a cursor, a header, a flag.

Python's own `int` takes digits of any script, and raises where there are thousands of them.
"""

from __future__ import annotations

from typing import Final

MOST: Final = 18  # digits: whatever they are, a column of SQLite can hold it


def number(text: str | bytes) -> int | None:
    """What plain digits say; none where they are none, or too many to be meant."""
    return int(text) if len(text) <= MOST and text.isascii() and text.isdigit() else None
