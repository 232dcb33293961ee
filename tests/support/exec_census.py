"""Counting processes: who is there, who is a zombie, and who belongs to a command."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from threadloom.exec.sandbox.libc import PR_SET_CHILD_SUBREAPER, prctl


def mark() -> str:
    """Seconds to sleep, long and like no others."""
    return f"9{secrets.randbelow(10**6):06}.{secrets.randbelow(10**9):09}"


def sleepers(*marks: str) -> list[int]:
    """The processes that sleep for one of these times."""
    words = {f"sleep\0{mark}\0".encode() for mark in marks}
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it ended meanwhile
            if path.read_bytes() in words:
                found.append(int(path.parent.name))
    return found


def beneath(root: int) -> set[int]:
    """Every process beneath this one, zombies included."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            children.setdefault(int(path.read_text().rpartition(")")[2].split()[1]), []).append(int(path.parent.name))
    found = list(children.get(root, []))
    for pid in found:
        found += children.get(pid, [])
    return set(found)


def left_of(pids: set[int]) -> set[int]:
    """Those that are still there, as zombies too."""
    return {pid for pid in pids if os.path.exists(f"/proc/{pid}")}


@contextmanager
def adopting() -> Iterator[None]:
    """Whom a killed server orphans becomes a child of this process, where it can be counted and reaped."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        prctl(PR_SET_CHILD_SUBREAPER, 0)


def reap_orphans(pids: set[int]) -> None:
    """Do for adopted processes what the first process of a system does."""
    for pid in pids:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
