"""Who is alive: processes by what they carry in their environment, and by who started them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import anyio

SECONDS = 20.0  # to be gone, on a machine that is busy with something else
POLL = 0.01  # the kernel rings no bell when a process of others has ended
GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


class Person(NamedTuple):
    """A process: the kernel gives a number again, but not at the same time."""

    pid: int
    born: int


class Standing(NamedTuple):
    """What the kernel says of one."""

    state: str
    parent: int
    born: int


def standing(pid: int) -> Standing | None:
    """How a process stands; none where there is no such process."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except GONE:
        return None
    return Standing(words[0], int(words[1]), int(words[19]))


def everybody() -> dict[int, Standing]:
    """All processes, the dead that nobody has buried included."""
    pids = [int(it.name) for it in Path("/proc").iterdir() if it.name.isdigit()]
    return {pid: found for pid in pids if (found := standing(pid)) is not None}


def marked(mark: str) -> set[Person]:
    """The processes that were started with this word in their environment."""
    found = set()
    for pid, it in everybody().items():
        with suppress(*GONE):
            if mark.encode() in Path(f"/proc/{pid}/environ").read_bytes():
                found.add(Person(pid, it.born))
    return found


def below(pid: int) -> set[Person]:
    """All that a process has started, and what those have."""
    people = everybody()
    found: set[int] = set()
    while new := {it for it, known in people.items() if known.parent in {pid, *found}} - found:
        found |= new
    return {Person(it, people[it].born) for it in found}


def left_of(people: Iterable[Person]) -> set[Person]:
    """Those that are still there, dead or alive. One that only the first process of all could bury counts as gone."""
    left = set()
    for it in people:
        known = standing(it.pid)
        if known is not None and known.born == it.born and not (known.state in "ZX" and known.parent == 1):
            left.add(it)
    return left


async def come(mark: str, number: int) -> set[Person]:
    """Wait until so many with a mark are there; who they are."""
    with anyio.fail_after(SECONDS):
        while len(found := marked(mark)) < number:  # noqa: ASYNC110
            await anyio.sleep(POLL)
    return found


async def gone(people: Iterable[Person], mark: str) -> None:
    """Wait until these are gone, and all that carry a mark; fails where some stay."""
    left: set[Person] = set()
    with anyio.move_on_after(SECONDS):
        while left := left_of(people) | marked(mark):  # noqa: ASYNC110
            await anyio.sleep(POLL)
    assert not left, [f"{it.pid} {standing(it.pid)} {command(it)}" for it in left]


def command(person: Person) -> str:
    """What a process runs."""
    with suppress(*GONE):
        return Path(f"/proc/{person.pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""
