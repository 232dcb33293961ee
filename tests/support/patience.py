"""No test waits for ever: one that has hung is named, shows where it stands, and ends its process.

The runner then reports that test as failed and goes on with the next one.
"""

from __future__ import annotations

import asyncio
import faulthandler
import os
import subprocess
import sys
from collections.abc import Generator
from threading import Timer
from typing import Any, TextIO

import pytest
from tests.support.counts import soaking

# Several times what the slowest test takes on a busy machine; full counts take longer.
LIMIT = 3600 if soaking() else 300


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, Any, Any]:
    """From the first fixture to the end of the last one."""
    # Captured output is lost with the process: what is to be read goes past the capture.
    alarm = Timer(LIMIT, _give_up, [item.nodeid, item.config.stash[_ERRORS]])
    alarm.daemon = True
    alarm.start()
    try:
        return (yield)
    finally:
        alarm.cancel()


_ERRORS = pytest.StashKey[TextIO]()


def keep_errors(config: pytest.Config) -> None:
    """Remember the real standard error, before anything is captured."""
    config.stash[_ERRORS] = open(os.dup(2), "w", buffering=1)  # noqa: SIM115 (open as long as the process)


def _give_up(test: str, errors: TextIO) -> None:
    errors.write(f"\n{test} has not ended within {LIMIT} s. Its threads, tasks and processes:\n")
    faulthandler.dump_traceback(errors)
    for task in list(asyncio.tasks._all_tasks):  # type: ignore[attr-defined]  # of every loop, also one of another thread
        if not task.done():
            errors.write(f"\n{task!r}\n")
            task.print_stack(file=errors)
    forest = subprocess.run(
        ["ps", "-e", "-o", "pid,ppid,stat,etime,wchan:24,args", "--forest"], capture_output=True, text=True
    )
    errors.write(f"\n{forest.stdout[-20_000:]}\n")
    errors.flush()
    sys.stderr.flush()
    os._exit(70)
