"""The format that models write patches in, read: `*** Begin Patch` … `*** End Patch`.

Beyond what Codex reads, this takes blank lines between sections, several `@@` in a row, a move without chunks, any word
after `<<`, and diff's `\\ No newline at end of file`, without which the format cannot say that a file ends bare.
"""

from __future__ import annotations

import re
from typing import Final, NoReturn, cast

from threadloom.exec.patch.base import Add, Change, Chunk, Delete, Line, PatchError, Sign, Update

BEGIN: Final = "*** Begin Patch"
END: Final = "*** End Patch"
ENVIRONMENT: Final = "*** Environment ID:"
ADD: Final = "*** Add File:"
DELETE: Final = "*** Delete File:"
UPDATE: Final = "*** Update File:"
MOVE: Final = "*** Move to:"
END_OF_FILE: Final = "*** End of File"
BARE: Final = "\\ No newline at end of file"

HEREDOC: Final = re.compile(r"(?:apply_patch\s+)?<<-?\s*(['\"]?)(\w+)\1")
SHOWN: Final = 120  # characters of a line that an error quotes


def parse(text: str) -> list[Change]:
    """The changes of a patch, in its order. Raises PatchError with the number of the line that is wrong."""
    if re.search("[\ud800-\udfff]", text):
        raise PatchError("The patch has half a character in it (a lone surrogate), which no file can hold.")
    lines = _Lines(_between(text))
    _environment(lines)
    changes: list[Change] = []
    while not lines.done:
        if lines.now.strip():
            changes.append(_section(lines))
        else:
            lines.take()
    if not changes:
        raise PatchError("The patch is empty: there is no file between its first and its last line.")
    return changes


class _Lines:
    """The lines between the markers, and how far one has read."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0

    @property
    def done(self) -> bool:
        return self._at == len(self._lines)

    @property
    def now(self) -> str:
        return self._lines[self._at]

    @property
    def number(self) -> int:
        return self._at + 2  # the marker is line 1

    def take(self) -> str:
        line = self.now
        self._at += 1
        return line

    def skip_blank(self) -> None:
        """Past blank lines, if a new chunk, a new section or the end is what follows them."""
        at = self._at
        while at < len(self._lines) and not self._lines[at].strip():
            at += 1
        if at == len(self._lines) or self._lines[at].startswith(("@@", "***")):
            self._at = at

    def wrong(self, why: str) -> NoReturn:
        raise PatchError(f"Line {self.number} of the patch: {why}")


def _between(text: str) -> list[str]:
    """What stands between the markers, with a heredoc around them taken off."""
    lines = [line.removesuffix("\r") for line in text.strip().split("\n")]
    heredoc = HEREDOC.fullmatch(lines[0].strip())
    if heredoc and len(lines) > 1 and lines[-1].strip() == heredoc[2]:
        lines = "\n".join(lines[1:-1]).strip().split("\n")
    if lines[0].strip() != BEGIN:
        raise PatchError(f"Line 1 of the patch must be '{BEGIN}', but it is {_quoted(lines[0])}.")
    if lines[-1].strip() != END or len(lines) == 1:
        raise PatchError(f"Line {len(lines)} of the patch is its last and must be '{END}', not {_quoted(lines[-1])}.")
    return lines[1:-1]


def _environment(lines: _Lines) -> None:
    """A line that says where to apply the patch; there is only one place, so any name will do."""
    if not lines.done and lines.now.strip().startswith(ENVIRONMENT):
        if lines.now.strip() == ENVIRONMENT:
            lines.wrong(f"'{ENVIRONMENT}' needs an id behind it, or leave the line out.")
        lines.take()


def _section(lines: _Lines) -> Change:
    number, header = lines.number, lines.now.strip()
    for marker in (ADD, DELETE, UPDATE):
        if header.startswith(marker):
            path = _path(lines, marker)
            break
    else:
        lines.wrong(
            f"expected '{ADD} <path>', '{DELETE} <path>' or '{UPDATE} <path>', but it is {_quoted(lines.now)}. "
            "Lines of a new file start with '+', and chunks of an update with '@@'."
        )
    if marker == ADD:
        return Add(number, path, _content(lines))
    if marker == DELETE:
        return Delete(number, path)
    return _update(lines, number, path)


def _path(lines: _Lines, marker: str) -> str:
    path = lines.now.strip().removeprefix(marker).strip()
    if not path or "\0" in path:
        lines.wrong(f"'{marker}' needs a path behind it.")
    lines.take()
    return path


def _content(lines: _Lines) -> str:
    content = []
    while not lines.done and lines.now.startswith("+"):
        content.append(lines.take()[1:] + "\n")
    if content and not lines.done and lines.now.rstrip() == BARE:
        lines.take()
        content[-1] = content[-1][:-1]
    return "".join(content)


def _update(lines: _Lines, number: int, path: str) -> Update:
    move = None
    if not lines.done and lines.now.startswith(MOVE):
        move = _path(lines, MOVE)
    chunks: list[Chunk] = []
    lines.skip_blank()
    while not lines.done and not lines.now.startswith("***"):
        chunks.append(_chunk(lines, first=not chunks))
        lines.skip_blank()
    if not chunks and move is None:
        raise PatchError(f"Line {number} of the patch: the update of {path} is empty; it needs a chunk or a move.")
    return Update(number, path, tuple(chunks), move)


def _chunk(lines: _Lines, *, first: bool) -> Chunk:
    number = lines.number
    seek = _seek(lines)
    if seek is None and not first:
        lines.wrong(
            f"expected '@@' before the next chunk, but it is {_quoted(lines.now)}. "
            "Inside a chunk every line starts with ' ' (kept), '-' (taken out) or '+' (put in)."
        )
    body, bare = _body(lines)
    if not body:
        if lines.done or lines.now.startswith("***"):
            lines.wrong("the chunk before it has no lines.")
        lines.wrong(f"it must start with ' ' (kept), '-' (taken out) or '+' (put in), but it is {_quoted(lines.now)}.")
    last = not lines.done and lines.now.rstrip() == END_OF_FILE
    if last:
        lines.take()
    return Chunk(number, tuple(body), tuple(seek or ()), last, bare)


def _seek(lines: _Lines) -> list[str] | None:
    """The lines that `@@` asks to go past; None where there is no `@@`."""
    seek: list[str] | None = None
    while not lines.done and (lines.now.rstrip() == "@@" or lines.now.startswith("@@ ")):
        context = lines.take()[3:]
        seek = (seek or []) + [context] * bool(context.strip())
    return seek


def _body(lines: _Lines) -> tuple[list[Line], bool]:
    body: list[Line] = []
    bare = False
    while not lines.done:
        line = lines.now
        if body and line.rstrip() == BARE:
            bare = bare or body[-1].sign != "-"
        elif line[:1] in ("", " ", "-", "+"):  # an empty line is a blank one that lost its space
            body.append(Line(cast(Sign, line[:1] or " "), line[1:]))
        else:
            break
        lines.take()
    return body, bare


def _quoted(line: str) -> str:
    return repr(line if len(line) <= SHOWN else line[:SHOWN] + "…")
