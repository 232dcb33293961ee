"""Which tools an agent may use: never more than its parent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from threadloom_protocol.v2.values.policy import ReadOnlySandboxPolicy, SandboxPolicy

# Tools that write by themselves. Commands do not count: the kernel keeps those of a read-only agent from writing.
WRITERS: Final = frozenset({"apply_patch"})


@dataclass(frozen=True, slots=True)
class Policy:
    """Globs of tool names. `*` is any text and `?` any one character, as they are written; a denial wins."""

    allow: tuple[tuple[str, ...], ...] = ()  # each list, of an ancestor or its own, must name the tool; none: all tools
    deny: tuple[str, ...] = ()
    read_only: bool = False

    @classmethod
    def of(cls, allow: Iterable[str] | None = None, deny: Iterable[str] = (), *, read_only: bool = False) -> Policy:
        """What one template says. No allow list is every tool, an empty one is none."""
        return cls(() if allow is None else (_unique(allow),), _unique(deny), read_only)

    def permits(self, tool: str) -> bool:
        """Whether a tool may be used."""
        if self.read_only and tool in WRITERS:
            return False
        if any(matches(glob, tool) for glob in self.deny):
            return False
        return all(any(matches(glob, tool) for glob in globs) for globs in self.allow)

    def sandbox(self, parents: SandboxPolicy) -> SandboxPolicy:
        """What fences its commands in: the parent's sandbox, or a stricter one."""
        if not self.read_only or isinstance(parents, ReadOnlySandboxPolicy):
            return parents
        return ReadOnlySandboxPolicy()

    def to_json(self) -> dict[str, Any]:
        """For the header of a thread."""
        return {"allow": [list(globs) for globs in self.allow], "deny": list(self.deny), "readOnly": self.read_only}

    @classmethod
    def from_json(cls, stored: Any) -> Policy:
        """As it was stored; everything where nothing was. Raises `ValueError`: what is damaged permits nothing."""
        if stored is None:
            return EVERYTHING
        if not isinstance(stored, Mapping) or set(stored) != {"allow", "deny", "readOnly"}:
            raise ValueError("a tool policy has allow, deny and readOnly")
        allow, read_only = stored["allow"], stored["readOnly"]
        if not isinstance(allow, list) or not isinstance(read_only, bool):
            raise ValueError("a tool policy has lists in allow, and readOnly is true or false")
        return cls(tuple(map(_globs, allow)), _globs(stored["deny"]), read_only)


EVERYTHING: Final = Policy()
NOTHING: Final = Policy(allow=((),), read_only=True)


def narrow(parent: Policy, child: Policy) -> Policy:
    """What both permit, and nothing else: so the rights of a child are a part of its parent's, at any depth."""
    return Policy(
        allow=tuple(dict.fromkeys((*parent.allow, *child.allow))),
        deny=_unique((*parent.deny, *child.deny)),
        read_only=parent.read_only or child.read_only,
    )


def matches(glob: str, name: str) -> bool:
    """Whether a glob names all of it. In steps of glob × name at most, so that no pattern can hold the server up."""
    at = here = 0
    star, tried = -1, 0  # the last `*`, and how far it reaches
    while here < len(name):
        if at < len(glob) and glob[at] == "*":
            star, tried = at, here
            at += 1
        elif at < len(glob) and glob[at] in ("?", name[here]):
            at, here = at + 1, here + 1
        elif star >= 0:
            tried += 1
            at, here = star + 1, tried
        else:
            return False
    return glob[at:].strip("*") == ""


def _globs(stored: Any) -> tuple[str, ...]:
    if not isinstance(stored, Sequence) or isinstance(stored, str) or not all(isinstance(it, str) for it in stored):
        raise ValueError("a tool policy has lists of names")
    return tuple(stored)


def _unique(globs: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(globs))
