"""The tour of the README: its commands, run by a real shell in a new home, and what they print."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.processes import ROOT, THREADLOOM, environment

README = ROOT / "README.md"
BEGIN, END = "<!-- the tour: python -m tests.support.tour --write -->\n```\n", "```\n<!-- the end of the tour -->\n"
COMMANDS = (
    "threadloom exec 'spawn as explorer echo I have looked\n"
    "spawn as worker echo I have woven\n"
    "wait for agents\n"
    "echo The loom is ready.' 2>/dev/null | head -n 1",
    "threadloom tree",
    "threadloom session save ready",
    "threadloom fork ready | cut -f 1",
    "threadloom list",
    "threadloom search woven",
    "threadloom show ready | head -n 4",
)
TIMEOUT = 60  # seconds for a command; it takes one

# What differs from one run to the next is put in these forms.
MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
SAME = "2026-11-18 09:30"
IDS = "01a1ec4f-{:04x}-7b42-8ddd-0c77aefb{:04x}"


def toured(room: Path) -> str:
    """The whole tour, as a person would see it in a terminal of 80 columns."""
    work = room / "loom"
    work.mkdir()
    seen = "".join(f"$ {it}\n{_shown(it, room, work)}" for it in COMMANDS)
    listed = _shown("threadloom list --agents --json | cat", room, work)
    return MOMENT.sub(SAME, _renamed(seen, sorted(set(re.findall(r'"id":"([0-9a-f-]{36})"', listed)))))


def _shown(command: str, room: Path, work: Path) -> str:
    """What a command leaves on the terminal that it runs in."""
    tools = f"{Path(THREADLOOM[0]).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    variables = environment(room) | {"PATH": tools, "COLUMNS": "80", "TERM": "xterm"}
    ours, theirs = pty.openpty()
    try:
        running = subprocess.Popen(
            ["bash", "-c", command], env=variables, cwd=work, stdin=theirs, stdout=theirs, stderr=theirs
        )
    finally:
        os.close(theirs)
    with os.fdopen(ours, "rb", buffering=0) as screen:
        text = b"".join(_read(screen.fileno())).decode()
    running.wait(TIMEOUT)
    rows = re.sub(r"\x1b\[[0-9;]*m", "", text).replace("\r\n", "\n").splitlines()
    return "".join(f"{it.rstrip()}\n" for it in rows)


def _read(screen: int) -> Iterator[bytes]:
    """All that is written to a terminal; when nobody is left to write, Linux calls that an error."""
    try:
        while chunk := os.read(screen, 65536):
            yield chunk
    except OSError:
        return


def _renamed(text: str, ids: list[str]) -> str:
    for number, it in enumerate(ids, 1):
        named = IDS.format(0xC500 + 0x70 * number, number)
        text = text.replace(it, named).replace(it[:13], named[:13])
    return text


def written(readme: str) -> str:
    """The tour as it stands in the README."""
    return readme.partition(BEGIN)[2].partition(END)[0]


def main() -> None:
    """Print the tour; with `--write`, put it into the README."""
    with TemporaryDirectory() as room:
        tour = toured(Path(room))
    if "--write" not in sys.argv:
        sys.stdout.write(tour)
        return
    text = README.read_text(encoding="utf-8")
    README.write_text(text.replace(BEGIN + written(text) + END, BEGIN + tour + END), encoding="utf-8")


if __name__ == "__main__":
    main()
