"""Takes guards out of the code, one at a time, and sees whether the test that should notice does.

A copy of the server is broken, never the server itself.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.support.counts import soaking
from tests.support.processes import ROOT

SECONDS: Final = 120.0  # for one test in a process of its own; it takes about four
PASSED: Final = 0
FAILED: Final = 1  # how pytest ends where tests failed; anything else is no verdict
EVERY: Final = 10  # of them in an ordinary run: each costs some seconds
SERVER: Final = "server/threadloom"


class Guard(NamedTuple):
    """Something that keeps a promise: where it stands, what is there without it, and the test that must notice."""

    name: str
    promise: str
    file: str
    old: str
    new: str
    test: str

    @property
    def places(self) -> int:
        """Where it stands in the code: one place, or the guard is none any more."""
        return (ROOT / self.file).read_text(encoding="utf-8").count(self.old)


def some(guards: Sequence[Guard]) -> Sequence[Guard]:
    """All of them under `make soak`, some otherwise."""
    return guards if soaking() else guards[::EVERY]


class Workshop:
    """A copy of the server, in which one guard is missing at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for package in ("server/threadloom", "protocol/threadloom_protocol"):
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / package, folder / package, ignore=ignored)

    def _environment(self) -> dict[str, str]:
        """Our copy comes before what is installed. What is compiled of it is not kept: files change fast here."""
        paths = os.pathsep.join(str(self.folder / it) for it in ("server", "protocol"))
        return os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", "THREADLOOM_SOAK": "0"}

    def where(self) -> str:
        """Where the server comes from that tests here run against."""
        words = [sys.executable, "-c", "import threadloom; print(threadloom.__file__)"]
        done = subprocess.run(
            words, cwd=ROOT, env=self._environment(), capture_output=True, text=True, timeout=SECONDS, check=True
        )
        return done.stdout.strip()

    def whole(self, guards: Sequence[Guard]) -> str | None:
        """None where all their tests pass with every guard in its place; else why not."""
        code, said = self._tested(*dict.fromkeys(guard.test for guard in guards))
        return None if code == PASSED else f"with every guard in its place, pytest ended with {code}\n{said}"

    def broken(self, guard: Guard) -> str | None:
        """None where the test has noticed that the guard is gone; else why that is no verdict."""
        file = self.folder / guard.file
        whole = file.read_text(encoding="utf-8")
        if whole.count(guard.old) != 1:
            return f"{guard.name}: {guard.file} has {whole.count(guard.old)} times {guard.old!r}"
        file.write_text(whole.replace(guard.old, guard.new), encoding="utf-8")
        try:
            code, said = self._tested(guard.test)
        finally:
            file.write_text(whole, encoding="utf-8")
        return None if code == FAILED else f"{guard.name}: {guard.test} ended with {code}\n{said}"

    def _tested(self, *nodes: str) -> tuple[int, str]:
        words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:xdist", *nodes]
        try:
            done = subprocess.run(
                words, cwd=ROOT, env=self._environment(), capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return -1, f"no end after {SECONDS:g} s"
        return done.returncode, done.stdout[-2000:] + done.stderr[-2000:]


def tried(guards: Sequence[Guard]) -> int:
    """Take each out and say who noticed; how many went unnoticed."""
    unnoticed = 0
    with tempfile.TemporaryDirectory(prefix="guards-") as folder:
        workshop = Workshop(Path(folder))
        if said := workshop.whole(guards):
            print(said)
            return 1
        for guard in guards:
            said = workshop.broken(guard)
            unnoticed += said is not None
            print(f"{'NOT NOTICED' if said else 'noticed'}  {guard.promise:>4}  {guard.name}", flush=True)
            if said:
                print(said)
    return unnoticed
