"""Other processes on the same home: started, led, and always ended."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue

from tests.support.processes import ROOT, environment

SECONDS = 20.0


class Peer:
    """A process that runs a task of `peer`."""

    def __init__(self, home: Path, *task: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.server.store.peer", str(home), *task],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(home),
            cwd=ROOT,
            text=True,
        )
        self._lines: Queue[str] = Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self.hear() == "ready"

    @property
    def pid(self) -> int:
        return self.process.pid

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))

    def hear(self) -> str:
        """The next line it says."""
        return self._lines.get(timeout=SECONDS)

    def tell(self) -> None:
        """Let it go on."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def kill(self) -> list[str]:
        """End it at once; what it had said, and nobody heard."""
        self.process.kill()
        return self.rest()

    def rest(self) -> list[str]:
        """Wait for its end; what it had said, and nobody heard."""
        self.process.wait(SECONDS)
        self._reader.join(SECONDS)
        said = []
        while not self._lines.empty():
            said.append(self._lines.get_nowait())
        return said

    def close(self) -> None:
        self.process.kill()
        self.process.wait(SECONDS)
        self._reader.join(SECONDS)
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


@contextmanager
def peer(home: Path, *task: str) -> Iterator[Peer]:
    """A process that is gone in the end, whatever happens."""
    made = Peer(home, *task)
    try:
        yield made
    finally:
        made.close()
