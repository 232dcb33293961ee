"""What a patch would do: every file before and after, worked out without writing anything."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from threadloom.exec.patch.base import Add, Change, Delete, PatchError, Read, Update
from threadloom.exec.patch.diff import hunks, text_of
from threadloom.exec.patch.disk import read_file
from threadloom.exec.patch.overlay import Content, Overlay, Shift
from threadloom.exec.patch.revise import revise
from threadloom_protocol.v2.values.item_parts import (
    AddPatchChangeKind,
    DeletePatchChangeKind,
    FileUpdateChange,
    UpdatePatchChangeKind,
)


@dataclass
class Plan:
    """The files that a patch touches, by where they really are: links in a path are resolved."""

    overlay: Overlay = field(default_factory=Overlay)
    names: dict[str, str] = field(default_factory=dict)  # place → the absolute path that the patch meant
    words: dict[str, str] = field(default_factory=dict)  # place → the path as the patch has it
    links: dict[str, str] = field(default_factory=dict)  # place → where a link that goes points
    added: set[str] = field(default_factory=set)  # written whole, over whatever was there

    @property
    def places(self) -> list[str]:
        """Every path that would be written or removed, links resolved."""
        return list(self.overlay.before)

    @cached_property
    def changes(self) -> list[FileUpdateChange]:
        """What a `fileChange` item says: text of files that come or go, hunks of those that change."""
        return sorted((self._change(shift) for shift in self.overlay.shifts()), key=lambda it: it.path)

    def summary(self) -> str:
        """What was done, for the model: a letter and a path per line."""
        lines = [f"{self._letter(shift)} {self.words[shift.place]}" for shift in self.overlay.shifts()]
        return "\n".join(["Applied the patch:", *sorted(lines)])

    def _letter(self, shift: Shift) -> str:
        if shift.after is None:
            return "D"
        return "A" if shift.before is None or self._is_add(shift) else "M"

    def _is_add(self, shift: Shift) -> bool:
        return shift.place == shift.source and shift.place in self.added

    def _change(self, shift: Shift) -> FileUpdateChange:
        path = self.names[shift.source]
        if shift.after is None:
            return FileUpdateChange(path=path, kind=DeletePatchChangeKind(), diff=_shown(shift.before))
        if shift.before is None or self._is_add(shift):
            return FileUpdateChange(path=self.names[shift.place], kind=AddPatchChangeKind(), diff=_shown(shift.after))
        move = self.names[shift.place] if shift.place != shift.source else None
        diff = _hunks(shift.before, shift.after) + (f"\n\nMoved to: {move}" if move else "")
        return FileUpdateChange(path=path, kind=UpdatePatchChangeKind(move_path=move), diff=diff)


def plan(changes: Sequence[Change], cwd: str, read: Read = read_file) -> Plan:
    """Work out what the changes do, one after the other. Raises PatchError with all that is wrong.

    Looks at the disk for links, and for content through `read` alone.
    """
    planner = _Planner(cwd, read)
    problems: list[str] = []
    for change in changes:
        try:
            planner.take(change)
        except PatchError as error:
            problems += error.problems
    if problems:
        raise PatchError(*problems)
    return planner.plan


class _Planner:
    def __init__(self, cwd: str, read: Read) -> None:
        self._cwd = cwd
        self._read = read
        self.plan = Plan()
        self._overlay = self.plan.overlay

    def take(self, change: Change) -> None:
        match change:
            case Add():
                place = self._target(change.path, change.number)
                self._overlay.write(place, change.text.encode("utf-8"))
                self.plan.added.add(place)
            case Delete():
                place = self._place(change.path)
                self._present(place, change.path, change.number)
                self._remove(place)
            case Update():
                self._update(change)

    def _update(self, change: Update) -> None:
        link = self._place(change.path)
        move = change.move if change.move is not None and self._place(change.move) != link else None
        # A move takes a link itself away; without one, what changes is the file that the link stands for.
        source = self._follow(link) if move is None else link
        content = self._present(source, change.path, change.number)
        after = self._revised(content, change) if change.chunks else content
        if move is None:
            self._overlay.write(source, after)
            return
        place = self._target(move, change.number)
        self._overlay.move(source, place, after)
        self.plan.added -= {source, place}
        self._note_link(source)

    def _revised(self, content: bytes, change: Update) -> bytes:
        text = text_of(content)
        if text is None:
            raise PatchError(f"{change.path} is not UTF-8 text, so chunks cannot change it.")
        return revise(text, change.chunks, change.path).encode("utf-8")

    def _remove(self, place: str) -> None:
        self._overlay.delete(place)
        self.plan.added.discard(place)
        self._note_link(place)

    def _note_link(self, place: str) -> None:
        if os.path.islink(place):
            self.plan.links[place] = os.readlink(place)

    def _place(self, path: str) -> str:
        """Where the path is once links on the way to it are resolved; the file itself may be one."""
        whole = os.path.join(self._cwd, path)
        folder, name = os.path.split(whole.rstrip("/"))
        if name in ("", ".", ".."):
            raise PatchError(f"{path} is a folder, not a file.")
        place = os.path.join(os.path.realpath(folder), name)
        lexical = ".." not in whole.split("/")  # `link/..` is not where it seems to be
        self.plan.names.setdefault(place, os.path.normpath(whole) if lexical else place)
        self.plan.words.setdefault(place, path)
        return place

    def _follow(self, place: str) -> str:
        if place in self._overlay.before or not os.path.islink(place):
            return place
        target = os.path.realpath(place)
        self.plan.names.setdefault(target, self.plan.names[place])
        self.plan.words.setdefault(target, self.plan.words[place])
        return target

    def _present(self, place: str, path: str, number: int) -> bytes:
        """The content of a file that must be there."""
        content = self._content(place, path)
        if content is None:
            raise PatchError(f"{path} does not exist (line {number} of the patch).")
        return content

    def _target(self, path: str, number: int) -> str:
        """A place to write to."""
        place = self._follow(self._place(path))
        after = self._overlay.after
        in_the_way = next((it for it in _parents(place) if after.get(it) is not None), None)
        if in_the_way or any(content is not None and it.startswith(f"{place}/") for it, content in after.items()):
            raise PatchError(f"{path} cannot be both a file and a folder (line {number} of the patch).")
        self._content(place, path)
        return place

    def _content(self, place: str, path: str) -> Content:
        if place not in self._overlay.before:
            self._overlay.touch(place, self._from_disk(place, path))
        return self._overlay.after[place]

    def _from_disk(self, place: str, path: str) -> Content:
        try:
            return self._read(place)
        except FileNotFoundError:
            return None
        except NotADirectoryError as error:
            if any(it in self._overlay.after for it in _parents(place)):  # a file that this patch takes away
                return None
            raise PatchError(f"{path} is below something that is not a folder.") from error
        except OSError as error:
            raise PatchError(f"{path} cannot be read: {error.strerror or error}.") from error


def _parents(place: str) -> Iterator[str]:
    while (parent := os.path.dirname(place)) != place:
        yield parent
        place = parent


def _shown(content: Content) -> str:
    text = text_of(content or b"")
    return text if text is not None else f"Binary file, {len(content or b'')} bytes"


def _hunks(before: bytes, after: Content) -> str:
    a, b = text_of(before), text_of(after or b"")
    # Codex gives one line of context here, and that is what its clients lay out.
    return hunks(a, b, context=1) if a is not None and b is not None else ""
