"""Which paths of a plan lie outside of what may be written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from threadloom.exec.patch.base import Guard, PatchError

if TYPE_CHECKING:
    from threadloom.exec.patch.plan import Plan

# Who writes there decides what the next command of a person does, so it takes that person's word.
PROTECTED: Final = frozenset({".git", ".threadloom", ".codex"})


def outside(plan: Plan, roots: Sequence[str]) -> list[str]:
    """The paths that need leave: not below a writable root once links are resolved, or protected inside it."""
    real = [os.path.realpath(root) for root in roots]
    return [place for place in plan.places if not _within(place, real)]


def inside(roots: Sequence[str], *, also: Sequence[str] = ()) -> Guard:
    """A guard that lets only paths below the roots through, and those that somebody allowed by name."""
    real = [os.path.realpath(root) for root in roots]

    def guard(place: str) -> None:
        if place not in also and not _within(place, real):
            raise PatchError(f"{place} is outside of what may be written.")

    return guard


def _within(place: str, roots: Sequence[str]) -> bool:
    return any(_below(place, root) for root in roots)


def _below(place: str, root: str) -> bool:
    if place == root:
        return True
    if not place.startswith(root.rstrip("/") + "/"):
        return False
    return PROTECTED.isdisjoint(part.casefold() for part in place[len(root) :].split("/"))
