"""Finding and ending every process beneath this one."""

from __future__ import annotations

import os
import signal
from collections.abc import Collection, Iterator
from contextlib import suppress

from threadloom.exec.sandbox.libc import PR_SET_CHILD_SUBREAPER, prctl


def adopt() -> None:
    """From now on, a descendant whose parent ended becomes a child of this process: none gets away."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def descendants() -> Iterator[int]:
    """Every process beneath this one, parents first."""
    children = _children()
    found = list(children.get(os.getpid(), ()))
    for pid in found:
        yield pid
        found += children.get(pid, ())


def children() -> list[int]:
    """The processes right beneath this one."""
    return _children().get(os.getpid(), [])


def signal_all(number: signal.Signals, spared: Collection[int] = ()) -> bool:
    """Send a signal to every descendant; whether there was any to send it to."""
    any_left = False
    for pid in descendants():
        if pid not in spared:
            any_left = True
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
    return any_left


def has_children() -> bool:
    """Whether any child is left, zombies included."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def is_first(pid: int) -> bool:
    """Whether a process is number 1 in the namespace it lives in."""
    try:
        with open(f"/proc/{pid}/status", "rb") as status:
            numbers = next(line for line in status if line.startswith(b"NSpid:")).split()
    except (OSError, StopIteration):
        return False
    return len(numbers) > 2 and numbers[-1] == b"1"


def reap() -> Iterator[tuple[int, int]]:
    """Children that ended: number and exit code, minus the signal where one ended it."""
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            yield pid, os.waitstatus_to_exitcode(status)


def _children() -> dict[int, list[int]]:
    """Parent → children, for all processes. The zombies are in it: they are somebody's to reap."""
    found: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                found.setdefault(_parent(name), []).append(int(name))
    return found


def _parent(pid: str) -> int:
    with open(f"/proc/{pid}/stat", "rb") as stat:
        # The name comes second, in parentheses, and may hold anything; the state and the parent follow it.
        return int(stat.read().rpartition(b")")[2].split()[1])
