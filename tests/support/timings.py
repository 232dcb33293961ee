"""What the command line takes, beside Codex: `python -m tests.support.timings` prints a Markdown table (hyperfine)."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import anyio
import orjson
from tests.support.figures_codex import codex, hello, home
from tests.support.figures_store import THREADS, stored
from tests.support.mock_model import mock_model
from tests.support.processes import THREADLOOM, environment

RUNS, WARM = 20, 3
NAMES = 10  # saved sessions

Environment = Mapping[str, str]


class Row(NamedTuple):
    """A command of ours, and the same of Codex where there is one."""

    name: str
    ours: Sequence[str]
    theirs: Sequence[str] | None = None
    stored: bool = False  # where many threads are, not in an empty home


ROWS = (
    Row("--version", ("--version",), ("--version",)),
    Row("--help", ("--help",), ("--help",)),
    Row(f"session list, {THREADS:,} threads", ("session", "list"), stored=True),
    Row("exec, a model without delay", ("exec", "Hello"), ("exec", "--skip-git-repo-check", "Hello")),
)


async def timed(words: Sequence[str], variables: Environment, room: Path) -> str:
    """The median of a command's runs, the fastest and the slowest, and how long it kept a processor busy."""
    told = room / "hyperfine.json"
    options = ["--shell=none", "--style=none", f"--warmup={WARM}", f"--runs={RUNS}", f"--export-json={told}"]
    await anyio.run_process(["hyperfine", *options, shlex.join(words)], env=variables, cwd=room)
    [result] = orjson.loads(told.read_bytes())["results"]
    middle, least, most, user, system = (result[it] * 1000 for it in ("median", "min", "max", "user", "system"))
    return f"{middle:.0f} ms ({least:.0f}–{most:.0f}), CPU {user + system:.0f} ms"


async def saved(variables: Environment, room: Path) -> None:
    """Many threads, the latest of them saved under some names."""
    await stored(room)
    for number in range(NAMES):
        await anyio.run_process([*THREADLOOM, "session", "save", f"name-{number}"], env=variables, cwd=room)


async def table(room: Path) -> None:
    """All rows, as they come."""
    many = Path(tempfile.mkdtemp(dir=room))
    await saved(environment(many), many)
    binary = codex()
    async with mock_model(rest=lambda _: hello()) as model:
        variables = home(room, model)
        tell("| | Threadloom | Codex |\n|---|---|---|")
        for it in ROWS:
            ours = await timed([*THREADLOOM, *it.ours], environment(many) if it.stored else variables, room)
            theirs = await timed([binary, *it.theirs], variables, room) if binary and it.theirs else ""
            tell(f"| `{it.name}` | {ours} | {theirs} |")
    tell(
        f"\nMedians of {RUNS} runs, with the fastest and the slowest; CPU: the mean, which a busy machine moves least."
    )


def tell(text: str) -> None:
    """Print as it comes."""
    print(text, flush=True)


def main() -> None:
    """See the module."""
    with tempfile.TemporaryDirectory(prefix="threadloom-timings-") as room:
        anyio.run(table, Path(room))


if __name__ == "__main__":
    main()
