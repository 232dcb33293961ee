"""The right to write a tree: an OS lock on a file, which falls with the process."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from threadloom.store.base import Held, StoreError
from threadloom.store.faults import refused
from threadloom.store.folders import checked

# Who only looks whether a lock is held takes it for a moment; an attempt that meets this tries again.
ATTEMPTS: Final = 5
PAUSE: Final = 0.001  # seconds


class TreeLease:
    """A lease of this process; whoever asks for the same tree shares it."""

    def __init__(self, leases: Leases, root_id: str, descriptor: int, epoch: int) -> None:
        self.root_id = root_id
        self.epoch = epoch
        self._leases = leases
        self._descriptor = descriptor
        self._users = 0

    def release(self) -> None:
        """See `Lease.release`."""
        self._leases.release(self)


class Leases:
    """The leases of a process over one home."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "locks"
        self._held: dict[str, TreeLease] = {}
        self._lock = threading.RLock()

    def take(self, root_id: str) -> TreeLease:
        """See `Store.lease`."""
        with self._lock:
            lease = self._held.get(root_id)
            if lease is None:
                lease = self._held[root_id] = self._acquire(root_id)
            lease._users += 1
            return lease

    def release(self, lease: TreeLease) -> None:
        """One user less; the last one gives it up."""
        with self._lock:
            lease._users -= 1
            if lease._users or self._held.get(lease.root_id) is not lease:
                return
            del self._held[lease.root_id]
            with suppress(OSError):
                _say(lease._descriptor, 0, lease.epoch)
            os.close(lease._descriptor)

    def holder(self, root_id: str) -> int | None:
        """See `Store.holder`."""
        with self._lock:
            if root_id in self._held:
                return None
        try:
            descriptor = os.open(self._path(root_id), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as fault:
            raise refused("read", self._path(root_id), fault) from fault
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _wait_for_pid(descriptor)
        finally:
            os.close(descriptor)
        return None

    def forget(self, root_id: str) -> None:
        """Remove the file of a tree that is gone, unless somebody holds it: then it stays, and does no harm."""
        with self._lock, suppress(StoreError, OSError):
            if root_id not in self._held and self._path(root_id).exists():
                lease = self.take(root_id)
                try:
                    os.unlink(self._path(root_id))
                finally:
                    lease.release()

    def close(self) -> None:
        """Give up all."""
        with self._lock:
            for lease in list(self._held.values()):
                lease._users = 1
                lease.release()

    def _path(self, root_id: str) -> Path:
        return self._folder / checked(root_id)

    def _acquire(self, root_id: str) -> TreeLease:
        path = self._path(root_id)
        try:
            descriptor = self._locked(path, root_id)
        except OSError as fault:
            raise refused("lock", path, fault) from fault
        try:
            epoch = _said(descriptor)[1] + 1
            _say(descriptor, os.getpid(), epoch)
        except OSError as fault:
            os.close(descriptor)
            raise refused("lock", path, fault) from fault
        return TreeLease(self, root_id, descriptor, epoch)

    def _locked(self, path: Path, root_id: str) -> int:
        pid: int | None = None
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(PAUSE)
            descriptor = _open(path)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_at(path, descriptor):
                    return descriptor
            except BlockingIOError:
                pid = _said(descriptor)[0]
            except OSError:
                os.close(descriptor)
                raise
            os.close(descriptor)
        raise Held(root_id, pid)


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.open(path, flags, 0o600)


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether this is still the file of that name, and not one that was removed before it was locked."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _say(descriptor: int, pid: int, epoch: int) -> None:
    # In one write and never shorter than before: whoever reads meanwhile sees the old or the new.
    os.pwrite(descriptor, b"%10d %20d\n" % (pid, epoch), 0)


def _said(descriptor: int) -> tuple[int, int]:
    words = os.pread(descriptor, 64, 0).split()
    return (int(words[0]), int(words[1])) if len(words) == 2 and all(map(bytes.isdigit, words)) else (0, 0)


def _wait_for_pid(descriptor: int) -> int:
    """The pid of whoever holds a lock: written a moment after it was taken."""
    for _ in range(ATTEMPTS):
        if pid := _said(descriptor)[0]:
            return pid
        time.sleep(PAUSE)
    return -1
