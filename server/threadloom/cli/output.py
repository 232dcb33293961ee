"""What commands print: a table in a terminal, tab-separated lines in a pipe, JSON where it is asked for."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from threadloom.cli.clean import line

if TYPE_CHECKING:
    from threadloom_protocol.model import Wire

Row = Sequence[object]
WHOLE: Final = frozenset({"ID", "USED", "SAVED", "SINCE"})  # columns that make no sense in part
LENGTHS: Final = (13, 18, 23)  # of the first parts of an id: its time, and then what is by chance
LEAST: Final = 4  # characters that a column keeps, however narrow the window is
BETWEEN: Final = 3  # characters between two columns


def in_terminal() -> bool:
    """Whether a person reads what is printed."""
    return sys.stdout.isatty()


def write(text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")


def note(text: str) -> None:
    """Tell the person something that is no part of the output."""
    sys.stderr.write(f"{text}\n")


def as_json(values: Iterable[Wire]) -> None:
    """One JSON object per line, in the names of the protocol."""
    sys.stdout.flush()
    for it in values:
        sys.stdout.buffer.write(it.to_json() + b"\n")
    sys.stdout.buffer.flush()


def table(headings: Sequence[str], rows: Sequence[Row], *, empty: str, spare: Sequence[str] = ()) -> None:
    """Rows for a person, or for a program; a person is also told that there are none.

    Where the window is narrow, `spare` says which columns go first; those that one copies from are never cut.
    """
    cells = [[line("" if it is None else str(it)) for it in row] for row in rows]
    if not in_terminal():
        for row in cells:
            write("\t".join(row))
    elif cells:
        _table(headings, cells, spare)
    else:
        note(empty)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], spare: Sequence[str]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    wide = {it: max(map(cell_len, cells)) for it, *cells in zip(headings, headings, *rows, strict=True)}
    fitted = _fitted(wide, console.width, spare)
    shown = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading, width in fitted.items():
        shown.add_column(heading, no_wrap=True, overflow="ellipsis", width=width)
    for row in rows:
        shown.add_row(*(Text(it) for heading, it in zip(headings, row, strict=True) if heading in fitted))
    console.print(shown)


def _fitted(wide: dict[str, int], width: int, spare: Sequence[str]) -> dict[str, int]:
    """As wide as the columns are, where there is room; else the widest give way, and at last those to spare go."""
    least = {it: size if it in WHOLE else min(size, LEAST) for it, size in wide.items()}
    for it in spare:
        if sum(least.values()) + BETWEEN * (len(least) - 1) > width:
            del least[it]
    fitted = {it: wide[it] for it in least}
    room = width - BETWEEN * (len(fitted) - 1)
    while sum(fitted.values()) > room and fitted != least:
        widest = max((it for it in reversed(fitted) if fitted[it] > least[it]), key=fitted.__getitem__)
        fitted[widest] -= 1
    return fitted


def moment(seconds: int | None) -> str:
    """A time as people write it in a terminal, as programs like it in a pipe."""
    if seconds is None:
        return ""
    at = datetime.fromtimestamp(seconds).astimezone()
    return at.strftime("%Y-%m-%d %H:%M") if in_terminal() else at.isoformat()


def short(thread_ids: Iterable[str]) -> dict[str, str]:
    """As much of each id as a person needs: it is accepted for all of it. Programs get the whole."""
    return cut(thread_ids) if in_terminal() else {it: it for it in thread_ids}


def cut(thread_ids: Iterable[str]) -> dict[str, str]:
    """Each id so short that it is still not another one of them; what was born in one millisecond begins alike."""
    ids = {*thread_ids}
    made = {it: it for it in ids}
    for length in reversed(LENGTHS):
        alike = Counter(it[:length] for it in ids)
        made |= {it: it[:length] for it in ids if alike[it[:length]] == 1}
    return made
