"""Getting logs onto the disk: off the loop, and once for all who wait for the same file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from threadloom.store.blobs import sync_folder
from threadloom.store.errors import StoreError
from threadloom.store.faults import refused
from threadloom.store.worker import Waiter, Worker, tell


class _Job(NamedTuple):
    path: str
    folder: bool  # the file is new, and its name must outlive a loss of power as well
    waiter: Waiter


class Syncer:
    """One thread that calls fdatasync; requests that come meanwhile share the next call."""

    def __init__(self) -> None:
        self._worker = Worker[_Job]("threadloom-sync", self._work)
        self._safe: set[Path] = set()  # folders whose own names are on the disk

    async def sync(self, path: str, *, folder: bool = False) -> None:
        """Return once the file is on the disk, as it is now. Raises `StoreError`."""
        waiter = Waiter.here()
        self._worker.put(_Job(path, folder, waiter))
        await waiter.future

    def close(self) -> None:
        """Finish what is asked for, and end."""
        self._worker.close()

    def _work(self, jobs: list[_Job]) -> None:
        by_path: dict[str, list[_Job]] = {}
        for job in jobs:
            by_path.setdefault(job.path, []).append(job)
        new = {os.path.dirname(job.path) for job in jobs if job.folder}
        names = {folder: _fault(self._sync_folders, folder) for folder in new}  # once for all files in it
        for path, asked in by_path.items():
            folder = os.path.dirname(path) if any(job.folder for job in asked) else ""
            tell([job.waiter for job in asked], names.get(folder) or _fault(_sync, path))

    def _sync_folders(self, path: str) -> None:
        """The day's folder has a new name in it; it may be new itself, and its month's and year's."""
        folder = Path(path)
        sync_folder(folder)
        for parent in list(folder.parents)[:3]:
            if folder not in self._safe:
                sync_folder(parent)
                self._safe.add(folder)
            folder = parent


def _fault(sync: Callable[[str], None], path: str) -> StoreError | None:
    """What went wrong with it."""
    try:
        sync(path)
    except FileNotFoundError:
        return None  # it was deleted: there is nothing left to keep
    except OSError as fault:
        return refused("get onto the disk", path, fault)
    except Exception as fault:  # whoever waits must hear of it, whatever it is
        return StoreError(f"Cannot get onto the disk {path}: {fault!r}.")
    return None


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fdatasync(descriptor)
    finally:
        os.close(descriptor)
