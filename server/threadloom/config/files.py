"""Small files that matter: read with care, replaced as a whole, one writer at a time."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 4 * 1024 * 1024  # no configuration is that long; a file in a stranger's repository may be
LOCK_SECONDS: Final = 5.0  # others hold the lock for milliseconds
LOCK_STEP: Final = 0.01

TEXT: Final = "utf-8-sig"  # UTF-8, perhaps with the mark that editors on Windows put before it

Signature = tuple[int, int, int, int]


def signature(path: Path) -> Signature | None:
    """What changes when a file does; none where there is no file to read."""
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def read(path: Path) -> bytes | None:
    """What a file holds; none where there is none. Raises `OSError` for one that cannot be read."""
    try:
        # A pipe in a stranger's repository must not hold the server up.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):  # before a file is made of it: of a folder none is, and nobody closes it
            raise OSError(f"{path} is not a regular file")
        if status.st_size > MAX_BYTES:
            raise OSError(f"{path} is longer than {MAX_BYTES} bytes")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(MAX_BYTES)
    finally:
        os.close(descriptor)


def replace(path: Path, data: bytes, *, private: bool = False) -> None:
    """Put a file in the place of another, all of it or nothing, on disk when this returns.

    Who follows a link keeps it: what it points at is replaced. A new file is for its owner alone.
    """
    target = path.resolve()
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = 0o600 if private or not target.exists() else stat.S_IMODE(target.stat().st_mode)
    draft = target.with_name(f".{target.name}.{os.getpid()}.{time.monotonic_ns()}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        os.replace(draft, target)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    sync(target.parent)


def sync(folder: Path) -> None:
    """Make sure that what a folder lists is on disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Nobody else, in this process or another, changes the file meanwhile. Raises `TimeoutError`."""
    lock = path.with_name(f"{path.name}.lock")
    lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _acquire(descriptor, lock)
        yield
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, lock: Path) -> None:
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError(f"another process holds {lock}") from None
            time.sleep(LOCK_STEP)
