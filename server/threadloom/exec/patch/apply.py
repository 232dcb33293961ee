"""A plan carried out: all of its files or none.

New content is written beside its place, what is there is set aside, then everything is renamed. Each step notes how to
take it back, and a failure takes back all of them.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from functools import partial

from threadloom.exec.patch import disk
from threadloom.exec.patch.base import Guard, PatchError
from threadloom.exec.patch.plan import Plan


def apply(plan: Plan, guard: Guard) -> list[str]:
    """Change the files. Raises PatchError if that cannot be done, and then nothing has changed.

    `guard` is asked about every path, links resolved. The answer names files that were set aside and could not be
    removed afterwards; it is almost always empty. Blocks, so call it from a thread.
    """
    for place in plan.places:
        guard(place)
    work = _Work(plan)
    try:
        work.do()
    except BaseException as error:
        lost = work.undo()
        if isinstance(error, OSError | PatchError):
            raise PatchError(*_told(error, lost)) from error
        raise
    finally:
        work.close()
    return work.left


def _told(error: OSError | PatchError, lost: list[str]) -> list[str]:
    reason = f"{error.filename or 'a file'}: {error.strerror}" if isinstance(error, OSError) else str(error)
    if not lost:
        return [f"The patch was not applied and no file has changed: {reason}"]
    return [f"The patch was not applied: {reason}", "These could not be put back:", *lost]


class _Work:
    """The steps of one patch, and how to take each of them back."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._overlay = plan.overlay
        self._undo: list[tuple[str, Callable[[], None]]] = []
        self._folders: dict[str, int] = {}
        self._times: dict[tuple[int, int], tuple[int, os.stat_result]] = {}
        self._spare: list[int] = []
        self._staged: dict[str, tuple[int, str]] = {}
        self._aside: list[tuple[str, int, str]] = []
        self.left: list[str] = []

    def do(self) -> None:
        """Every step, in the order in which a failure costs least."""
        changed = [place for place in self._plan.places if self._overlay.before[place] != self._overlay.after[place]]
        for place in changed:
            self._stage(place)
        for place in changed:
            self._set_aside(place)
        for place in self._staged:
            self._put(place)
        self._clear()

    def undo(self) -> list[str]:
        """Take everything back, last step first; what could not be taken back is told."""
        lost = []
        while self._undo:
            what, step = self._undo.pop()
            try:
                step()
            except OSError as error:
                lost.append(f"{what}: {error.strerror}")
        for folder, found in self._times.values():
            try:
                os.utime(".", ns=(found.st_atime_ns, found.st_mtime_ns), dir_fd=folder)
            except OSError:
                continue  # a time is no content
        return lost

    def close(self) -> None:
        for folder in self._spare:
            os.close(folder)
        self._spare.clear()

    def _stage(self, place: str) -> None:
        """The new content, in the nearest folder that is there; from it a rename reaches the place."""
        folder, missing = self._reach(os.path.dirname(place))
        if not missing:
            self._folders[os.path.dirname(place)] = folder
        content = self._overlay.after[place]
        if content is None:
            return
        name = _aside_name()
        self._undo.append((f"the new content of {place} is beside it as {name}", partial(_unlink, folder, name)))
        disk.write(folder, name, content, self._like(place))
        self._staged[place] = folder, name

    def _like(self, place: str) -> os.stat_result | None:
        """Mode and owner for a file: those of the one that moves here, or of the one that is here."""
        source = self._overlay.origin.get(place) or place
        if self._overlay.before[source] is None:
            return None
        folder, _ = self._reach(os.path.dirname(source))
        return os.stat(os.path.basename(source), dir_fd=folder, follow_symlinks=source in self._plan.links)

    def _set_aside(self, place: str) -> None:
        """A second name for what is there, once it is what the plan was made for; a file that goes loses its first."""
        parent, name = os.path.split(place)
        folder = self._folders.get(parent)
        before = self._overlay.before[place]
        if self._now(place, folder) != before:
            raise PatchError(f"{self._plan.names[place]} has changed since the patch was planned.")
        if before is None or folder is None:
            return
        if self._overlay.after[place] is not None and not os.access(name, os.W_OK, dir_fd=folder):
            raise PatchError(f"{self._plan.names[place]} is read-only.")  # a rename would not have asked
        aside = _aside_name()
        take = os.rename if self._overlay.after[place] is None else _second_name
        take(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
        self._aside.append((place, folder, aside))
        back = partial(_back, folder, aside, name)
        self._undo.append((f"{place} (its content is beside it as {aside})", back))

    def _now(self, place: str, folder: int | None) -> bytes | None:
        if folder is None:
            return None
        name = os.path.basename(place)
        link = self._plan.links.get(place)
        if link is not None:  # a link that goes is known by where it points
            return self._overlay.before[place] if disk.link_at(folder, name) == link else None
        return disk.read_at(folder, name)

    def _put(self, place: str) -> None:
        parent, name = os.path.split(place)
        folder = self._made(parent)
        start, staged = self._staged[place]
        if self._overlay.before[place] is None and _there(folder, name):
            raise PatchError(f"{self._plan.names[place]} has appeared since the patch was planned.")
        os.rename(staged, name, src_dir_fd=start, dst_dir_fd=folder)
        if self._overlay.before[place] is None:
            self._undo.append((place, partial(_unlink, folder, name)))

    def _made(self, path: str) -> int:
        """The folder, made with those above it if it is not there."""
        if path not in self._folders:
            folder, missing = self._reach(path)
            for name in missing:
                os.mkdir(name, dir_fd=folder)
                self._undo.append((f"the folder {name} of {path}", partial(os.rmdir, name, dir_fd=folder)))
                folder = disk.open_folder(folder, name)
                self._spare.append(folder)
            self._folders[path] = folder
        return self._folders[path]

    def _reach(self, path: str) -> tuple[int, list[str]]:
        if path in self._folders:
            return self._folders[path], []
        folder, missing = disk.reach(path)
        self._spare.append(folder)
        found = os.fstat(folder)
        self._times.setdefault((found.st_dev, found.st_ino), (folder, found))
        return folder, missing

    def _clear(self) -> None:
        """From here on there is no way back: what was set aside goes."""
        self._undo.clear()
        self._times.clear()
        for place, folder, aside in self._aside:
            try:
                os.unlink(aside, dir_fd=folder)
            except OSError:
                self.left.append(os.path.join(os.path.dirname(place), aside))


def _aside_name() -> str:
    return f".patch-{secrets.token_hex(8)}.tmp"


def _second_name(name: str, aside: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
    """A hard link, so that the file is never missing; where there are none, it is for a moment."""
    try:
        os.link(name, aside, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd, follow_symlinks=False)
    except OSError:
        os.rename(name, aside, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)


def _back(folder: int, aside: str, name: str) -> None:
    os.rename(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
    _unlink(folder, aside)  # two names of one file: the rename did nothing, and that is right


def _unlink(folder: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return


def _there(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
