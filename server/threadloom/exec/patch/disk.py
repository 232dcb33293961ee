"""Files by the folder that holds them, held open: nobody can slip a link in between a look and a write."""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

MOST: Final = 64 << 20  # bytes of a file; a patch is for text that somebody reads
_FOLDER: Final = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", 0)
_LOOK: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe must not make anybody wait


def read_file(path: str) -> bytes:
    """The content of a regular file of a bearable size."""
    return _read(os.open(path, _LOOK), path)


def read_at(folder: int, name: str) -> bytes | None:
    """The content of a file in an open folder, links not followed; None if there is nothing of that name."""
    try:
        return _read(os.open(name, _LOOK | os.O_NOFOLLOW, dir_fd=folder), name)
    except FileNotFoundError:
        return None


def link_at(folder: int, name: str) -> str | None:
    """Where the link of that name points; None if it is no link."""
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError:
        return None


def reach(path: str) -> tuple[int, list[str]]:
    """Walk down to a folder without following a link: the deepest one that is there, open, and what is missing."""
    folder = os.open("/", _FOLDER)
    names = [name for name in path.split("/") if name]
    for at, name in enumerate(names):
        try:
            below = open_folder(folder, name)
        except (FileNotFoundError, NotADirectoryError):
            return folder, names[at:]
        except OSError:
            os.close(folder)
            raise
        os.close(folder)
        folder = below
    return folder, []


def open_folder(folder: int, name: str) -> int:
    """A folder in an open one, open as well; a link is none."""
    return os.open(name, _FOLDER, dir_fd=folder)


def write(folder: int, name: str, content: bytes, like: os.stat_result | None) -> None:
    """A new file in an open folder, with mode and owner of another if there is one."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    fd = os.open(name, flags, 0o666 if like is None else 0o600, dir_fd=folder)
    try:
        _fill(fd, content)
        if like is not None:
            _dress(fd, like)
    finally:
        os.close(fd)


def _fill(fd: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]


def _dress(fd: int, like: os.stat_result) -> None:
    mine = os.fstat(fd)
    if (mine.st_uid, mine.st_gid) != (like.st_uid, like.st_gid):
        try:
            os.fchown(fd, like.st_uid, like.st_gid)
        except PermissionError:
            os.fchmod(fd, like.st_mode & 0o777)  # set-user-id of somebody else must not become ours
            return
    os.fchmod(fd, stat.S_IMODE(like.st_mode))


def _read(fd: int, name: str) -> bytes:
    try:
        found = os.fstat(fd)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder", name)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", name)
        if found.st_size > MOST:
            raise OSError(errno.EFBIG, f"it is larger than {MOST >> 20} MiB", name)
        with os.fdopen(os.dup(fd), "rb") as file:
            return file.read()
    finally:
        os.close(fd)
