"""Signals that come too late do no harm."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LATE = """
import os, signal, sys
import anyio
from threadloom.cli.signals import Signals

async def main():
    signals = Signals(signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    os.kill(os.getpid(), signal.SIGTERM)
    print(await signals.next(), flush=True)

anyio.run(main, backend="asyncio", backend_options={"use_uvloop": sys.argv[1] == "uvloop"})
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    os.kill(os.getpid(), number)
sys.exit(0)
"""


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_a_signal_after_the_end_does_not_change_the_exit_code(loop: str) -> None:
    done = subprocess.run([sys.executable, "-c", LATE, loop], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "15\n", "")


LATEST = """
import os, signal, sys
from threadloom.cli import main

class Last:
    def __del__(self, kill=os.kill, me=os.getpid(), numbers=(signal.SIGTERM, signal.SIGINT, signal.SIGHUP)):
        for number in numbers:
            kill(me, number)
        os.write(2, b"late")

last = Last()  # goes when the interpreter takes its modules apart: by then there are no handlers any more
sys.argv = ["threadloom", "app-server"]
main()
"""


def test_a_signal_while_the_interpreter_ends_does_not_change_the_exit_code(tmp_path: Path) -> None:
    home = {"PATH": os.environ["PATH"], "THREADLOOM_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", LATEST], stdin=subprocess.DEVNULL, capture_output=True, env=home, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"late")
