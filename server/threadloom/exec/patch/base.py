"""What a patch is made of, and the one error that it can end in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Read = Callable[[str], bytes]  # the content of a file; FileNotFoundError where there is none
Sign = Literal[" ", "-", "+"]
Guard = Callable[[str], None]  # raises PatchError for a path that may not be written


class PatchError(Exception):
    """A patch that does not work; the text tells its author what is wrong and where. No file has changed."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems: Sequence[str] = problems


class Line(NamedTuple):
    """A line of a chunk: kept, taken out or put in."""

    sign: Sign
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """A place in a file and what becomes of it."""

    number: int  # the line of the patch that it begins at; `*** Begin Patch` is 1
    lines: tuple[Line, ...]
    seek: tuple[str, ...] = ()  # lines to go past first, as `@@ class Loom` says
    last: bool = False  # it is the end of the file
    bare: bool = False  # the file ends with it, and without a newline

    @property
    def old(self) -> list[str]:
        """The lines as the file should have them."""
        return [line.text for line in self.lines if line.sign != "+"]


@dataclass(frozen=True, slots=True)
class Add:
    """A file with this text, new or in place of what is there."""

    number: int
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Delete:
    """A file that goes."""

    number: int
    path: str


@dataclass(frozen=True, slots=True)
class Update:
    """A file that changes, or moves, or both."""

    number: int
    path: str
    chunks: tuple[Chunk, ...]
    move: str | None = None


Change = Add | Delete | Update
