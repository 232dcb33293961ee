"""Signals that come too late do no harm."""

from __future__ import annotations

import subprocess
import sys

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
