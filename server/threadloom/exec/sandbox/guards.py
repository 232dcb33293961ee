"""What stays read-only inside the writable roots: repositories' own files, and the settings of agents."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice

from threadloom.exec.base import Fence
from threadloom.exec.roots import resolved, within

# A command that could write there would have the user's next `git status` run its code, or give itself rights.
NAMES = (".git", ".threadloom", ".codex")
SETTINGS = ".threadloom"  # what this server itself obeys

# How far beneath a root they are looked for, in how many of its folders, and among how many entries of one: a command
# does not wait for a walk through a whole disk. What lies beyond is guarded where a command works inside of it.
LEVELS = 3
FOLDERS = 128
ENTRIES = 1024


def writable(fence: Fence) -> list[str]:
    """The roots of a fence that are there, without links, shorter ones first."""
    return [root for root in resolved(fence.writable_roots) if os.path.isdir(root)]


def guarded(roots: list[str], cwd: str, kept: Sequence[str] = ()) -> list[str]:
    """The files and folders beneath the roots that a command in `cwd` must leave as they are, the `kept` ones too."""
    found = dict.fromkeys(path for folder in _folders(roots, cwd) for name in NAMES for path in _guard(folder, name))
    found |= dict.fromkeys(os.path.realpath(path) for path in kept if os.path.exists(path))
    return sorted((path for path in found if within(roots, path)), key=len)


def in_repository(fence: Fence, cwd: str) -> bool:
    """Whether a command could write to the inside of a repository, if nothing else kept it from doing so."""
    roots = writable(fence)
    return any(os.path.lexists(os.path.join(folder, ".git")) for folder in _folders(roots, cwd))


def linked(fence: Fence, cwd: str) -> str | None:
    """A link that a repository or settings are reached by, where a command can write: no mount keeps it in its place.

    Only where the command works: what lies beneath can be moved away with the folder that it is in.
    """
    places = (os.path.join(folder, name) for folder in _near(writable(fence), cwd) for name in (".git", SETTINGS))
    return next(filter(os.path.islink, places), None)


def settings(fence: Fence, cwd: str) -> Iterator[str]:
    """Where a thread that works where a command does would look for its project's settings.

    An empty folder is no project: something may be about to be made there that wants it empty.
    """
    roots, above = writable(fence), [os.path.realpath(cwd)]
    while within(roots, above[-1]) and not os.path.exists(os.path.join(above[-1], ".git")) and above[-1] != "/":
        above.append(os.path.dirname(above[-1]))
    project = above if within(roots, above[-1]) else above[:1]
    yield from (os.path.join(it, SETTINGS) for it in project if within(roots, it) and _holds_anything(it))


def _holds_anything(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(entries)
    except OSError:
        return False


def _folders(roots: list[str], cwd: str) -> Iterator[str]:
    """The roots, what lies between them and the command, and what lies near beneath them."""
    yield from _near(roots, cwd)
    for root in roots:
        yield from _beneath(root)


def _near(roots: list[str], cwd: str) -> Iterator[str]:
    yield from roots
    folder = os.path.realpath(cwd)
    while within(roots, folder) and folder not in roots:
        yield folder
        folder = os.path.dirname(folder)


def _beneath(root: str) -> Iterator[str]:
    """The folders beneath a root, the nearest first."""
    level, left = [root], FOLDERS
    for _ in range(LEVELS):
        level = list(islice((it for folder in level for it in _inside(folder)), left))
        left -= len(level)
        yield from level


def _inside(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for it in islice(entries, ENTRIES):
                if it.name not in NAMES and it.is_dir(follow_symlinks=False):
                    yield it.path
    except OSError:
        return  # not ours to look into, or gone


def _guard(folder: str, name: str) -> Iterator[str]:
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return
    yield os.path.realpath(path)
    if os.path.isfile(path) and name == ".git":
        yield from _elsewhere(path, folder)


def _elsewhere(path: str, folder: str) -> Iterator[str]:
    """The repository that a `.git` file of a worktree or a submodule points to, and the one that it shares."""
    gitdir = os.path.realpath(os.path.join(folder, _line(path).removeprefix("gitdir:").strip()))
    if os.path.isdir(gitdir):
        yield gitdir
        common = os.path.join(gitdir, "commondir")
        if os.path.isfile(common):
            yield os.path.realpath(os.path.join(gitdir, _line(common).strip()))


def _line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline(4096)
    except OSError:
        return ""
