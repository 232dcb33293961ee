"""A TOML text by its lines: where its tables begin, the remarks above them, and room for one more statement."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

from threadloom.config.toml import lines

Remarks = list[tuple[str, list[str]]]  # a header, and the comment lines that touch it from above


def headers(rows: list[str]) -> Iterator[tuple[int, int]]:
    """The lines that begin a table, each with the one before it that did: a bracket may also be part of a value."""
    start = 0
    for at, row in enumerate(rows):
        if row.lstrip().startswith("[") and _whole(rows[start:at]):
            yield at, start
            start = at


def _whole(rows: list[str]) -> bool:
    try:
        tomllib.loads("".join(rows))
    except tomllib.TOMLDecodeError:
        return False
    return True


def without_remarks(text: str) -> tuple[str, Remarks]:
    """The text without the comments that touch a header, and those comments."""
    rows = lines(text)
    kept: list[str] = []
    remarks: Remarks = []
    done = 0
    for at, start in headers(rows):
        top = at
        # The last line of a long string may look like a comment.
        while top > done and rows[top - 1].lstrip().startswith("#") and _whole(rows[start : top - 1]):
            top -= 1
        remarks.append((rows[at].strip(), rows[top:at]))
        kept += [*rows[done:top], rows[at]]
        done = at + 1
    return "".join(kept + rows[done:]), remarks


def with_remarks(text: str, remarks: Remarks) -> str:
    """The text with comments back above their headers; those of a table that is gone are gone as well."""
    rows = lines(text)
    left = list(remarks)
    result: list[str] = []
    done = 0
    for at, _ in headers(rows):
        found = next((it for it in left if it[0] == rows[at].strip()), None)
        result += rows[done:at]
        if found is not None:
            left.remove(found)
            result += found[1]
        result.append(rows[at])
        done = at + 1
    return "".join(result + rows[done:])


def with_statement(text: str, statement: str) -> str:
    """The text with one more statement at its top level, behind the last one there."""
    rows = lines(text)
    first = next((at for at, _ in headers(rows)), len(rows))
    end = first
    while end and not rows[end - 1].partition("#")[0].strip() and _whole(rows[: end - 1]):
        end -= 1
    if end == 0:  # nothing but remarks about the file: it goes below them
        end = first
        statement += "\n" * (first < len(rows))
    before = "".join(rows[:end])
    if before and not before.endswith("\n"):
        before += "\n"
    return before + statement + "".join(rows[end:])
