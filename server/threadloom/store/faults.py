"""What the system refuses, in words that say what to do; and small changes of files, each of them one call."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import Final

from threadloom.store.errors import StoreError

_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_READ_ONLY: Final = {errno.EROFS, errno.EACCES, errno.EPERM}
_TOO_MANY: Final = {errno.EMFILE, errno.ENFILE}


def refused(doing: str, path: str | os.PathLike[str], fault: OSError) -> StoreError:
    """The error for whoever asked; `doing` reads on with the path."""
    what = f"Cannot {doing} {os.fspath(path)}"
    if fault.errno in _FULL:
        return StoreError(f"{what}: the disk is full. Nothing was written; free some space and try again.")
    if fault.errno in _READ_ONLY:
        return StoreError(f"{what}: {fault.strerror}. Make it writable, or set THREADLOOM_HOME to another folder.")
    if fault.errno in _TOO_MANY:
        return StoreError(f"{what}: too many files are open. Raise the limit (ulimit -n) and try again.")
    return StoreError(f"{what}: {fault.strerror or fault}.")


def write_all(descriptor: int, data: bytes, offset: int | None = None) -> None:
    """Write in one call. A short write is a failure, too: it means that the disk is full."""
    done = os.write(descriptor, data) if offset is None else os.pwrite(descriptor, data, offset)
    if done != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def touch(path: str | os.PathLike[str]) -> None:
    """Have an empty file, where there is none."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))


def remove(path: str | os.PathLike[str]) -> None:
    """Have no such file."""
    with suppress(FileNotFoundError):
        os.unlink(path)
