"""TOML as text: parsed, with the place of a fault and of any key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from threadloom.config import trees

_PLACE: Final = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")
_LONG: Final = re.compile(r"\d[\d_]{4000,}")


class Spot(NamedTuple):
    """A place in a text, counted from 1."""

    line: int
    column: int


class Broken(ValueError):
    """The text is not TOML."""

    def __init__(self, reason: str, spot: Spot) -> None:
        super().__init__(reason)
        self.reason = reason
        self.spot = spot


def parse(text: str) -> dict[str, Any]:
    """The values of a text. Raises `Broken`."""
    try:
        values = tomllib.loads(text)
        if trees.is_deep(values, 2 * trees.DEEPEST):  # a value within a path
            raise RecursionError
        _check_numbers(values, text)
    except Broken:
        raise
    except RecursionError:
        raise Broken("Nested too deeply", Spot(1, 1)) from None
    except tomllib.TOMLDecodeError as fault:
        raise _misread(text, str(fault)) from None
    except ValueError:  # Python's own: it reads no number of thousands of digits
        raise Broken("Too large a number", _long_number(text)) from None
    return values


def _misread(text: str, said: str) -> Broken:
    place = _PLACE.search(said)
    reason = said[: place.start()] if place else said
    if place and place[1]:
        return Broken(reason, Spot(int(place[1]), int(place[2])))
    rows = lines(text) or [""]
    return Broken(reason, Spot(len(rows), len(rows[-1]) + 1))


def _long_number(text: str) -> Spot:
    found = _LONG.search(text)
    before = text[: found.start()] if found else ""
    return Spot(before.count("\n") + 1, len(before) - before.rfind("\n"))


def _check_numbers(values: dict[str, Any], text: str) -> None:
    """TOML asks for an error where a number does not fit; JSON, which clients get it in, could not hold it either."""
    for at, leaf in trees.leaves(values):
        if not trees.fits(leaf):
            raise Broken(f"`{trees.dotted(at)}` is too large a number", locate(text, at))


def lines(text: str) -> list[str]:
    """The lines of a text with their ends: TOML knows one kind, Python's own list of them is longer."""
    rows = text.split("\n")
    return [f"{row}\n" for row in rows[:-1]] + ([rows[-1]] if rows[-1] else [])


def locate(text: str, path: Sequence[str | int]) -> Spot:
    """Where the statement begins that brings a path into a valid text.

    The beginnings of a text that are TOML by themselves end where a statement ends, and the path is in all of them from
    its statement on: halving finds it, with no second reading of the grammar.
    """
    rows = lines(text)
    without, within = 0, len(rows)
    while within - without > 1:
        middle = (without + within) // 2
        end, values = _statements(rows, middle)
        if trees.get(values, path) is trees.MISSING:
            without = end
        else:
            within = middle
    return _spot(rows, without, path)


def _statements(rows: list[str], end: int) -> tuple[int, dict[str, Any]]:
    """The shortest beginning of at least so many lines in which no statement is cut in half."""
    while True:
        try:
            return end, tomllib.loads("".join(rows[:end]))
        except tomllib.TOMLDecodeError:
            if end >= len(rows):
                raise
            end += 1


def _spot(rows: list[str], at: int, path: Sequence[str | int]) -> Spot:
    line = rows[at] if rows else ""
    names = [step for step in path if isinstance(step, str)]
    column = line.find(names[-1]) if names else -1
    return Spot(at + 1, (column if column >= 0 else len(line) - len(line.lstrip())) + 1)
