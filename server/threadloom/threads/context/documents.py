"""The instructions that lie beside the work: `AGENTS.md`, from the root of a repository down to where work is done."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from threadloom.config.files import TEXT

OVERRIDE: Final = "AGENTS.override.md"  # for one person alone: it takes the place of the one that all share
NAME: Final = "AGENTS.md"
MOST: Final = 32 * 1024  # bytes: what is longer crowds out the conversation


@dataclass(frozen=True, slots=True)
class Places:
    """Where instructions are looked for, and how much of them is read."""

    homes: tuple[Path, ...] = ()  # of the user: the first that has some
    max_bytes: int = MOST  # of all that a project has; none are read at 0
    fallbacks: tuple[str, ...] = ()  # names to look for where a folder has no AGENTS.md
    markers: tuple[str, ...] = (".git",)  # what the root of a project has in it


class Found(NamedTuple):
    """A file, and what tells whether it has changed."""

    path: str
    size: int
    changed: int  # nanoseconds
    own: bool  # the user's, not the project's


class Document(NamedTuple):
    """Instructions, and the file they come from."""

    path: str
    text: str
    cut: int = 0  # bytes that are left out


def find(cwd: str, places: Places) -> list[Found]:
    """The files for a directory, the most general first."""
    names = (OVERRIDE, NAME, *places.fallbacks)
    own = [it for home in places.homes for it in _files(str(home), (OVERRIDE, NAME), own=True)]
    if places.max_bytes <= 0:
        return own
    firsts = (next(_files(folder, names), None) for folder in _folders(cwd, places.markers))
    return own + [it for it in firsts if it is not None]


def _folders(cwd: str, markers: Sequence[str]) -> list[str]:
    """From the root of the project down; the directory alone where it is in none. Plain strings: every turn looks."""
    below: list[str] = []
    folder = cwd
    while True:
        below.append(folder)
        if any(os.path.lexists(f"{folder}/{marker}") for marker in markers):
            return below[::-1]
        above = os.path.dirname(folder)
        if above == folder:
            return [cwd]
        folder = above


def _files(folder: str, names: Sequence[str], *, own: bool = False) -> Iterator[Found]:
    for name in names:
        path = f"{folder.rstrip('/')}/{name}"
        try:
            known = os.stat(path)
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(known.st_mode):
            yield Found(path, known.st_size, known.st_mtime_ns, own)


def read(found: Sequence[Found], places: Places) -> list[Document]:
    """What the files say; blank ones and those that cannot be read are left out."""
    documents: list[Document] = []
    left = places.max_bytes
    served = False
    for it in found:
        if it.own and served:
            continue
        document = _read(it.path, MOST if it.own else left)
        if document is not None:
            documents.append(document)
            served = served or it.own
            left -= 0 if it.own else len(document.text.encode())
    return documents


def _read(path: str, limit: int) -> Document | None:
    try:
        with open(path, "rb") as file:
            raw = file.read(limit + 1)
            rest = max(0, os.fstat(file.fileno()).st_size - limit) if len(raw) > limit else 0
    except OSError:
        return None
    text = raw[:limit].decode(TEXT, errors="ignore" if rest else "replace")
    if rest and not text.strip():
        return Document(path, "", rest)
    return Document(path, text.strip(), rest) if text.strip() else None


class Library:
    """The instructions for one thread: read when it first needs them, and again only when a file has changed."""

    def __init__(self, find: Callable[[str, Places], list[Found]] = find) -> None:
        self._find = find
        self._seen: tuple[str, Places, list[Found]] | None = None
        self._documents: list[Document] = []

    def look(self, cwd: str, places: Places) -> list[Document]:
        """What holds now."""
        seen = cwd, places, self._find(cwd, places)
        if seen != self._seen:
            self._documents = read(seen[2], places)
            self._seen = seen
        return self._documents

    def known(self, cwd: str, places: Places) -> list[Document]:
        """What held in this directory when it was last looked at."""
        return self._documents if self._seen is not None and self._seen[:2] == (cwd, places) else self.look(cwd, places)
