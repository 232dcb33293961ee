"""What the system says of a process: how much memory, how many open files."""

from __future__ import annotations

import os
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path


def memory(pid: int) -> int:
    """Resident bytes."""
    found = re.search(r"^VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


def descriptors(pid: int) -> int:
    """Open files and sockets."""
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def open_files() -> Counter[str]:
    """What this process has open, by name: what is open now and was not before is `open_files() - before`.

    A mere number would also change when something of an earlier test is let go.
    """
    found: Counter[str] = Counter()
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the one that lists them
            found[os.readlink(f"/proc/self/fd/{number}")] += 1
    return found


def exists(pid: int) -> bool:
    """Whether a process is there and not merely waiting to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False
