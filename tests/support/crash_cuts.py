"""The power goes at one write after the other: a program that tells the story once for each, in a process that dies.

`python -m tests.support.crash_cuts FOLDER CASES SEED`: homes and journals are left in FOLDER, one folder per cut.
"""

from __future__ import annotations

import os
import pickle
import random
import sys
from pathlib import Path
from typing import Any

import anyio
from tests.support.crash_disk import Cut, Disk, Moment, installed
from tests.support.crash_story import Story, served
from tests.support.crash_witness import Witness

JOURNAL = "journal"
_HEARD = ("connected", "asked", "refused", "answered", "notified")


class Journal(Witness):
    """A witness that writes down what it hears before it thinks about it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for name in _HEARD:
            setattr(self, name, self._noting(name))

    def _noting(self, name: str) -> Any:
        def note(*heard: Any) -> None:
            os.write(self._file, pickle.dumps((name, heard)))
            getattr(Witness, name)(self, *heard)

        return note


def recall(path: Path) -> Witness:
    """The witness of a process that has died."""
    witness = Witness()
    with path.open("rb") as journal:
        while True:
            try:
                name, heard = pickle.load(journal)
            except (EOFError, pickle.UnpicklingError):  # the last may be torn: it was about to be heard
                assert not journal.read()
                witness.connected()
                return witness
            getattr(witness, name)(*heard)


def _tell(folder: Path, disk: Disk) -> None:
    folder.mkdir(parents=True)

    async def tell() -> None:
        async with served(folder / "home", Journal(folder / JOURNAL)) as wire:
            await Story(wire).tell()

    with installed(disk):
        anyio.run(tell)


def cases(kinds: list[str]) -> list[tuple[int, Moment]]:
    """Before and after each step, and in the middle of writes."""
    steps = list(enumerate(kinds, 1))
    halves: list[tuple[int, Moment]] = [(step, "amid") for step, kind in steps if kind == "write"]
    whole: list[tuple[int, Moment]] = [(step, moment) for step, _ in steps for moment in ("before", "after")]
    return whole + halves


def main(folder: Path, count: int, seed: int) -> None:
    """Tell the story to its end, to learn its steps; then once for each of so many cuts."""
    whole = Disk()
    _tell(folder / "whole", whole)
    every = cases(whole.kinds)
    made = 0
    for step, moment in sorted(random.Random(seed).sample(every, min(count, len(every)))):
        if not (child := os.fork()):
            _tell(folder / f"{step}-{moment}", Cut(step, moment))
            os._exit(0)  # there were fewer steps this time
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        assert code in (0, Cut.CODE), f"cut {moment} step {step}: exit code {code}"
        made += code == Cut.CODE
    print(made, len(every))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
