"""Which paths of a plan lie outside of what may be written."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from threadloom.exec.patch.base import Guard, PatchError
from threadloom.exec.roots import resolved, within

if TYPE_CHECKING:
    from threadloom.exec.patch.plan import Plan

# Who writes there decides what the next command of a person does, so it takes that person's word.
PROTECTED: Final = frozenset({".git", ".threadloom", ".codex"})


def outside(plan: Plan, roots: Sequence[str], *, kept: Sequence[str] = ()) -> list[str]:
    """The paths that need leave: not below a writable root once links are resolved, or protected or kept inside it."""
    allows = _allowed(roots, kept)
    return [place for place in plan.places if not allows(place)]


def inside(roots: Sequence[str], *, kept: Sequence[str] = (), also: Sequence[str] = ()) -> Guard:
    """A guard that lets only paths below the roots through, and those that somebody allowed by name."""
    allows = _allowed(roots, kept)

    def guard(place: str) -> None:
        if place not in also and not allows(place):
            raise PatchError(f"{place} is outside of what may be written.")

    return guard


def _allowed(roots: Sequence[str], kept: Sequence[str]) -> Callable[[str], bool]:
    real, untouched = resolved(roots), [os.path.realpath(path) for path in kept]
    return lambda place: not within(untouched, place) and any(_below(place, root) for root in real)


def _below(place: str, root: str) -> bool:
    if place == root:
        return True
    if not place.startswith(root.rstrip("/") + "/"):
        return False
    return PROTECTED.isdisjoint(part.casefold() for part in place[len(root) :].split("/"))
