"""The folders of a fence as they are on the disk, whatever commands have put in their way."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final

MOST_LINKS: Final = 40  # on one way; the kernel follows no more either


def resolved(roots: Iterable[str]) -> list[str]:
    """The outermost of these folders, without links, shorter ones first.

    What lies in one of them may have been made by a command: a way over a link in there leads nowhere. Nor does a
    folder in another need a right of its own, which a link could take over before it is used.
    """
    named = list(dict.fromkeys(roots))
    real = {os.path.realpath(root) for root in named}
    kept = {os.path.realpath(root) for root in named if not any(within(real, link) for link in _links(root))}
    return sorted((root for root in kept if not within(kept - {root}, root)), key=len)


def within(roots: Iterable[str], path: str) -> bool:
    """Whether a path is one of these folders, or beneath one."""
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def _links(path: str) -> Iterator[str]:
    """The links on the way to a path, each by a name that has none before it."""
    here, ahead, left = "/", _names(path), MOST_LINKS
    while ahead and left:
        name = ahead.pop()
        here = os.path.normpath(os.path.join(here, name))
        if os.path.islink(here):
            yield here
            left -= 1
            target = os.readlink(here)
            here = "/" if os.path.isabs(target) else os.path.dirname(here)
            ahead += _names(target)


def _names(path: str) -> list[str]:
    """The parts of a path, the last one first."""
    return [name for name in reversed(path.split("/")) if name]
