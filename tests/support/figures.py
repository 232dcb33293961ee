"""The product's own figures, beside their aims: `python -m tests.support.figures [--large]` prints a Markdown table."""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import anyio
from tests.support import figures_codex as beside
from tests.support import figures_store as store
from tests.support import figures_tree as tree

REPS = 5


class Row(NamedTuple):
    """What a number says, its unit, and how much it shall be at most."""

    name: str
    unit: str = "ms"
    aim: float | None = None


class Figure(NamedTuple):
    """A measurement of one or more numbers, and what it needs: `prepare` goes first, once, in the same room."""

    measure: Callable[[Path], Awaitable[Sequence[float]]]
    rows: Sequence[Row]
    prepare: Callable[[Path], Awaitable[None]] | None = None
    reps: int = REPS


SPAWN = "a model calls `spawn_agent` → first token of the child"

CODEX = Figure(beside.theirs, (Row(f"Codex: {SPAWN}"),))
LARGE = Figure(
    store.many,
    (
        Row("rebuild of the index of 50,000 threads", "s"),
        Row("`thread/search` over 50,000 threads, p95", aim=50),
    ),
    reps=1,
)
FIGURES = (
    Figure(
        tree.cooperative,
        (
            Row("close of 85 agents that talk: request → last token", aim=200),
            Row("the same: request → answer", aim=200),
        ),
    ),
    # The grace of a close is 5 s, and its answer comes within a second of that.
    Figure(tree.headstrong, (Row("close of 85 agents, half in commands that ignore TERM: request → end", aim=6000),)),
    Figure(tree.first_word, (Row("`agent/spawn` → first token of the child"),)),
    Figure(beside.ours, (Row(SPAWN),)),
    CODEX,
    Figure(tree.whole, (Row("`thread/tree` of 1,000 agents: request → answer", aim=20),)),
    Figure(tree.memory, (Row("memory of a child at rest", "KB", aim=50),)),
    Figure(tree.wake, (Row("child's end → `turn/started` of its parent, 100 other threads at work, p95", aim=100),)),
    Figure(
        store.start_up,
        (
            Row("start over 10,000 threads → `/readyz`", aim=1000),
            Row("start over 10,000 threads → answer to `thread/list`", aim=1000),
        ),
        prepare=store.stored,
    ),
    LARGE,
)


async def runs(figure: Figure) -> list[Sequence[float]]:
    """The numbers of each repetition."""
    with tempfile.TemporaryDirectory(prefix="threadloom-figures-") as folder:
        room = Path(folder)
        if figure.prepare is not None:
            await figure.prepare(room)
        return [await figure.measure(room) for _ in range(figure.reps)]


def lines(figure: Figure) -> Iterator[str]:
    """Measured now: its rows in the table."""
    for row, values in zip(figure.rows, zip(*anyio.run(runs, figure), strict=True), strict=True):
        middle = statistics.median(values)
        aim = "" if row.aim is None else f"≤ {row.aim:,.0f} {row.unit}"
        met = "" if row.aim is None else "yes" if middle <= row.aim else "no"
        every = ", ".join(f"{it:,.1f}" for it in values)
        yield f"| {row.name} | {middle:,.1f} {row.unit} | {aim} | {met} | {every} |"


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="also over 50,000 threads, which takes minutes")
    asked = parser.parse_args()
    there = beside.codex() is not None
    before = os.getloadavg()[0]
    tell("| | median | aim | met | each run |\n|---|---|---|---|---|")
    for figure in FIGURES:
        if (figure is not CODEX or there) and (figure is not LARGE or asked.large):
            for line in lines(figure):
                tell(line)
    tell(f"\nLoad of the machine ({os.cpu_count()} cores): {before:.1f} before, {os.getloadavg()[0]:.1f} after.")
    if not there:
        tell("No Codex to measure beside: CODEX_BIN names its binary, and `make test` or BENCH=DIR installs one.")


def tell(text: str) -> None:
    """Print as it comes."""
    print(text, flush=True)


if __name__ == "__main__":
    main()
