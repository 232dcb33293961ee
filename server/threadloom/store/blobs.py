"""Long values, kept out of the lines of logs: each once, under the hash of its content."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import orjson

from threadloom.store.codec import BLOBS
from threadloom.store.faults import refused, remove, touch, write_all

INLINE: Final = 64 * 1024  # bytes: a longer value goes out of line, a shorter line is not even looked at

OWNERS: Final = "by"  # the folder in which every log has noted which blobs it needs
ANYONE: Final = "anyone"  # holds those of which nobody knows who needs them

_REFERENCE: Final = "$blob"
_MENTION: Final = re.compile(rb'"\$blob":"([0-9a-f]{64})"')
# A value that happens to have such a member gets one more sign in front, so that it is not taken for a reference.
_MARKED: Final = re.compile(r"\$+blob")


class Blobs:
    """The blobs of a home."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "blobs"
        self._owners = self._folder / OWNERS

    def shrink(self, line: bytes, thread_id: str) -> bytes:
        """The line of a thread's log with its long values out of it; they are on the disk when this returns."""
        if len(line) <= INLINE:
            return line
        found: list[bytes] = []
        small = _out(orjson.loads(line), found)
        if not found:
            return line
        for it in found:
            self._keep(it, thread_id)
        return orjson.dumps({**small, BLOBS: [*map(_digest, found)]}, option=orjson.OPT_APPEND_NEWLINE)

    def restore(self, value: dict[str, Any]) -> dict[str, Any] | None:
        """A line with its values in it again; None where one is gone or damaged."""
        try:
            whole = self._in(value)
        except (OSError, ValueError):
            return None
        assert isinstance(whole, dict)
        del whole[BLOBS]
        return whole

    def _keep(self, data: bytes, thread_id: str) -> None:
        """Have a blob, and note that a log needs it: the note first, so that none lies there without one."""
        digest = _digest(data)
        path = self._path(digest)
        try:
            with self._locked(fcntl.LOCK_SH):
                there = _is_there(path, data)
                if not (self._owners / thread_id / digest).exists():
                    if there and not self._held(digest):
                        self._note(digest, ANYONE)  # somebody wrote it before such notes were taken
                    self._note(digest, thread_id)
                if not there:
                    _write_through(path, data)
        except OSError as fault:
            raise refused("keep", path, fault) from fault

    @contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        """Nobody drops a blob while somebody else finds that it is there, be it in another process."""
        have_folder(self._owners)
        descriptor = os.open(self._owners, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, how)
            yield
        finally:
            os.close(descriptor)

    def _note(self, digest: str, owner: str) -> None:
        folder = self._owners / owner
        have_folder(folder)
        touch(folder / digest)
        sync_folder(folder)

    def _held(self, digest: str) -> bool:
        return any((owner / digest).exists() for owner in _entries(self._owners))

    def drop(self, thread_id: str) -> None:
        """A log is gone: what it alone needed goes, too."""
        for note in _entries(self._owners / thread_id):
            with self._locked(fcntl.LOCK_EX):  # for one at a time: who wants to keep one waits
                remove(note)
                if not self._held(note.name):
                    remove(self._path(note.name))
        with suppress(FileNotFoundError, NotADirectoryError):
            (self._owners / thread_id).rmdir()

    def unreachable(self, logs: Mapping[str, str]) -> list[Path]:
        """Blobs that none of these logs (ids → paths) needs: by nobody's note, and in no line."""
        alive = [it for it in _entries(self._owners) if it.name == ANYONE or it.name in logs]
        held = {note.name for owner in alive for note in _entries(owner)}
        parts = [it for it in _entries(self._folder) if it.name != OWNERS]
        left = {it.name: it for part in parts for it in _entries(part) if it.name not in held}
        for path in logs.values() if left else ():  # what was written before such notes were taken
            for digest in _mentioned(path):
                left.pop(digest, None)
        return list(left.values())

    def _in(self, value: Any) -> Any:
        match value:
            case list():
                return [self._in(it) for it in value]
            case {"$blob": str(digest), **rest} if not rest:
                return self._read(digest)
            case dict():
                return {_unmark(name): self._in(it) for name, it in value.items()}
        return value

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest

    def _read(self, digest: str) -> str:
        if not re.fullmatch(r"[0-9a-f]{64}", digest):
            raise ValueError(digest)
        data = self._path(digest).read_bytes()
        if _digest(data) != digest:
            raise ValueError(digest)
        return data.decode()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _out(value: Any, found: list[bytes]) -> Any:
    """A value with references in the place of what is too long in it."""
    match value:
        case str() if len(value) * 4 > INLINE and len(data := value.encode()) > INLINE:
            found.append(data)
            return {_REFERENCE: _digest(data)}
        case list():
            return [_out(it, found) for it in value]
        case dict():
            return {_mark(name): _out(it, found) for name, it in value.items()}
    return value


def _mentioned(log: str) -> Iterator[str]:
    """The blobs that a log refers to."""
    with suppress(FileNotFoundError), open(log, "rb") as file:
        for line in file:
            yield from (it.decode() for it in _MENTION.findall(line))


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _mark(name: str) -> str:
    return f"${name}" if _MARKED.fullmatch(name) else name


def _unmark(name: str) -> str:
    return name[1:] if _MARKED.fullmatch(name) else name


def _is_there(path: Path, data: bytes) -> bool:
    """Whether it is, and whole: one that is damaged is written anew."""
    try:
        return path.read_bytes() == data
    except OSError:
        return False


def _write_through(path: Path, data: bytes) -> None:
    """Write beside the place, then move there: under its name a blob is always whole."""
    have_folder(path.parent)
    draft = path.with_name(f"{path.name}.{uuid4().hex}")  # in two containers, processes may have the same number
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(draft, path)
    except OSError:
        with suppress(OSError):
            remove(draft)
        raise
    sync_folder(path.parent)


def have_folder(folder: Path) -> None:
    """Have a folder, whose own name outlives a loss of power, too."""
    if not folder.exists():
        have_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
        sync_folder(folder.parent)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Make names in a folder outlive a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
