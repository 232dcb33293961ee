"""What a command takes of the machine: processor and memory, with everything it started."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from typing import Final, NamedTuple

# Of the fields of /proc/PID/stat behind the name of the program; proc(5) counts them from 3.
PARENT, USER, SYSTEM, START, PAGES = 4 - 3, 14 - 3, 15 - 3, 22 - 3, 24 - 3
TICKS: Final = os.sysconf("SC_CLK_TCK")
KIB_PER_PAGE: Final = os.sysconf("SC_PAGE_SIZE") // 1024


class Usage(NamedTuple):
    """Of a process and all beneath it."""

    cpu_percent: float  # of one processor, since it began
    rss_kb: int


def usage(*pids: int) -> dict[int, Usage]:
    """What some processes take, without those that are gone: one look at the machine for all of them."""
    stats = {int(name): found for name in os.listdir("/proc") if name.isdecimal() and (found := _stat(name))}
    children: dict[int, list[int]] = defaultdict(list)
    for pid, stat in stats.items():
        children[stat[PARENT]].append(pid)
    now = time.clock_gettime(time.CLOCK_BOOTTIME)

    def tree(pid: int) -> list[list[int]]:
        return [stats[pid], *(it for child in children[pid] for it in tree(child))]

    return {pid: _sum(tree(pid), now) for pid in pids if pid in stats}


def _stat(pid: str) -> list[int] | None:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            words = file.read().rpartition(")")[2].split()
    except OSError:  # it ended just now
        return None
    return [0, *map(int, words[1 : PAGES + 1])]


def _sum(stats: list[list[int]], now: float) -> Usage:
    spent = sum(it[USER] + it[SYSTEM] for it in stats) / TICKS
    lived = max(now - stats[0][START] / TICKS, 1 / TICKS)
    return Usage(round(100 * spent / lived, 1), KIB_PER_PAGE * sum(it[PAGES] for it in stats))
