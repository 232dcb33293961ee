"""Servers that other people's clients start themselves: our executable, with every line kept and judged afterwards."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from shlex import quote
from signal import SIGKILL

from tests.support.conformance import Conformance
from tests.support.flow import Flow
from tests.support.processes import THREADLOOM, Log

SHIM = Path(__file__).with_name("shim.py")


class Recorded:
    """An executable to hand to a client, and what passed through it, start by start."""

    def __init__(self, room: Path) -> None:
        self._room = room / "records"
        self._room.mkdir()
        self.executable = room / "bin" / "threadloom"
        self.executable.parent.mkdir()
        words = [sys.executable, "-I", str(SHIM), str(self._room), *THREADLOOM]
        self.executable.write_text(f'#!/bin/sh\nexec {" ".join(map(quote, words))} "$@"\n')
        self.executable.chmod(0o755)

    @property
    def starts(self) -> list[Path]:
        """The records so far, the oldest first."""
        return sorted(it for it in self._room.iterdir() if not it.suffix)

    def kill(self) -> None:
        """Let every server end at once, and with it whatever waits for one."""
        for record in self._room.glob("*.pid"):
            if not record.with_suffix(".code").exists():
                with suppress(ProcessLookupError):
                    os.kill(int(record.read_text()), SIGKILL)

    def codes(self) -> list[int]:
        """How the servers ended that have ended."""
        return [int(it.with_suffix(".code").read_text()) for it in self.starts if it.with_suffix(".code").exists()]

    def heard(self) -> list[bytes]:
        """Every line that servers said."""
        return [line[1:] for it in self.starts for line in it.read_bytes().split(b"\n") if line.startswith(b"<")]

    def judge(self, conformance: Conformance) -> None:
        """Hold every line against the contract, and see that nothing was logged that should not be."""
        for record in self.starts:
            flow = Flow(conformance)
            for line in record.read_bytes().split(b"\n"):
                if line.startswith(b">"):
                    flow.sent(line[1:])
                elif line.startswith(b"<"):
                    flow.received(line[1:])
            Log([str(self.executable)], record.with_suffix(".err")).assert_clean()
