"""Getting logs onto the disk: off the loop, and once for all who wait for the same file."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from threadloom.store.blobs import sync_folder
from threadloom.store.errors import StoreError
from threadloom.store.faults import refused
from threadloom.store.rewriting import write_again
from threadloom.store.worker import Waiter, Worker, tell

MANY: Final = 16  # files at once that are worth more threads than one
HANDS: Final = 4  # threads then: the disk takes what comes side by side in one go, and more hardly make it faster


class _Job(NamedTuple):
    path: str
    folder: bool  # the file is new, and its name must outlive a loss of power as well
    waiter: Waiter
    start: int = 0  # what is not known to be on the disk
    end: int = 0


class Syncer:
    """A thread that calls fdatasync, with others where there are many files; what comes meanwhile shares the next call.

    One that failed is not just called again: it might succeed without what was to be written.
    """

    def __init__(self) -> None:
        self._worker = Worker[_Job]("threadloom-sync", self._work)
        self._safe: set[Path] = set()  # folders whose own names are on the disk
        self._doubtful: dict[str, int] = {}  # files that could not be written, and from where on

    async def sync(self, path: str, start: int, end: int, *, folder: bool = False) -> None:
        """Return once the file is on the disk; what was not before lies between two offsets. Raises `StoreError`."""
        waiter = Waiter.here()
        self._worker.put(_Job(path, folder, waiter, start, end))
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
        files = list(by_path.items())
        hands = HANDS if len(files) >= MANY else 1
        own, *others = [partial(self._share, files[at::hands], names) for at in range(hands)]
        helpers = [_helper(it) for it in others]
        own()
        for helper in helpers:
            if helper is not None:
                helper.join()

    def _share(self, files: Sequence[tuple[str, list[_Job]]], names: Mapping[str, StoreError | None]) -> None:
        """Some of the files; `names`: what went wrong with the folders of new ones."""
        for path, asked in files:
            folder = os.path.dirname(path) if any(job.folder for job in asked) else ""
            start, end = min(job.start for job in asked), max(job.end for job in asked)
            fault = _fault(partial(self._sync_file, start=start, end=end), path)
            tell([job.waiter for job in asked], names.get(folder) or fault)

    def _sync_file(self, path: str, start: int, end: int) -> None:
        start = min(start, self._doubtful.get(path, start))
        try:
            _sync(path, (start, end) if path in self._doubtful else None)
        except FileNotFoundError:
            self._doubtful.pop(path, None)
            raise
        except OSError:
            self._doubtful[path] = start
            raise
        self._doubtful.pop(path, None)

    def _sync_folders(self, path: str) -> None:
        """The day's folder has a new name in it; it may be new itself, and its month's, its year's and that of all."""
        folder = Path(path)
        sync_folder(folder)
        for parent in list(folder.parents)[:4]:
            if folder not in self._safe:
                sync_folder(parent)
                self._safe.add(folder)
            folder = parent


def _helper(work: Callable[[], None]) -> threading.Thread | None:
    """A thread for some of the work; where there can be none, it is done here."""
    helper = threading.Thread(target=work, name="threadloom-sync-aside", daemon=True)
    try:
        helper.start()
    except RuntimeError:
        work()
        return None
    return helper


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


def _sync(path: str, again: tuple[int, int] | None) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        if again is not None:
            write_again(descriptor, *again)
        os.fdatasync(descriptor)
    finally:
        os.close(descriptor)
