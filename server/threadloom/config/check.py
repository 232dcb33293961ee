"""What is wrong with a layer: keys that nobody knows, values that do not fit, each with its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from pydantic import ValidationError

from threadloom.config import toml, trees
from threadloom.config.values import Config, Loose, Part
from threadloom_protocol.v2.config import ConfigWarningNotification, TextPosition, TextRange

# Where a value that guards something cannot be read, the most careful one holds, never the default.
CAREFUL: Final[dict[str, Any]] = {"approval_policy": "untrusted", "sandbox_mode": "read-only"}

# One bad member makes its whole list and its whole entry in a table of names useless, and nothing else.
DEPTH: Final = 2

Key = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something in a layer that cannot be used."""

    text: str
    key: trees.Path = ()
    file: Path | None = None
    spot: toml.Spot | None = None
    note: str = ""  # what holds instead, where that matters
    unknown: bool = False  # a key that means nothing here, but may mean something elsewhere

    def __str__(self) -> str:
        """One line: where it is, and what."""
        place = f":{self.spot.line}:{self.spot.column}" if self.spot else ""
        return f"{self.file or '--config'}{place}: {self.text}{self.note and '; '}{self.note}"

    def warning(self) -> ConfigWarningNotification:
        """The same for clients."""
        at = TextPosition(line=self.spot.line, column=self.spot.column) if self.spot else None
        return ConfigWarningNotification(
            summary="A setting is passed over." if self.key else "The configuration could not be read.",
            details=str(self),
            path=str(self.file) if self.file else None,
            range=TextRange(start=at, end=at) if at else None,
        )


def examine(values: trees.Tree, file: Path | None = None, text: str = "") -> tuple[trees.Tree, tuple[Fault, ...]]:
    """The values that can be used, and what is wrong with the others. Profiles are looked into like the rest."""
    clean = trees.copy(values)
    profiles = values.get("profiles")
    tables: dict[trees.Path, trees.Tree] = {(): clean}
    if isinstance(profiles, Mapping):
        tables |= {
            ("profiles", name): clean["profiles"][name] for name, it in profiles.items() if isinstance(it, Mapping)
        }
    faults = []
    for at, table in tables.items():
        said = trees.get(values, at)
        for key, why in _misfits(said):
            faults.append(_fault((*at, *key), why, file, text))
            _mend(table, key)
        faults += [_fault((*at, *key), None, file, text) for key in _unknown(said)]
    return clean, tuple(faults)


def _fault(key: Key, why: str | None, file: Path | None, text: str) -> Fault:
    name = trees.dotted(key)
    words = f"unknown configuration key `{name}`" if why is None else f"`{name}`: {why}"
    note = f"until it is mended, it is `{CAREFUL[key[-1]]}`" if why and key[-1] in CAREFUL else ""
    spot = toml.locate(text, key) if text else None
    return Fault(words, tuple(map(str, key)), file, spot, note, unknown=why is None)


def _mend(values: trees.Tree, key: Key) -> None:
    first = str(key[0])
    if first in CAREFUL:
        values[first] = CAREFUL[first]
    else:
        whole = next((at for at, step in enumerate(key) if isinstance(step, int)), len(key))
        trees.drop(values, tuple(map(str, key[: min(whole, DEPTH)])))


def _misfits(values: Mapping[str, Any]) -> Iterator[tuple[Key, str]]:
    """The paths of values that do not fit, and why: without the value, which may be a secret."""
    try:
        Config.model_validate(values)
    except ValidationError as found:
        said = set()
        for error in found.errors(include_input=False, include_url=False, include_context=False):
            key = _existing(values, error["loc"])
            if key not in said:  # a union says why for each of its arms
                said.add(key)
                yield key, error["msg"]


def _existing(values: Mapping[str, Any], place: Key) -> Key:
    """The part of a place that is in the values: the rest names types."""
    end = len(place)
    while end > 1 and trees.get(values, place[:end]) is trees.MISSING:
        end -= 1
    return place[:end]


def _unknown(values: Mapping[str, Any], table: type[Part] = Config, at: trees.Path = ()) -> Iterator[trees.Path]:
    for key, value in values.items():
        info = table.model_fields.get(key)
        if info is None:
            if key not in table.accepted and not issubclass(table, Loose):
                yield (*at, key)
            continue
        inner, named = _table(info.annotation)
        if inner is None or not isinstance(value, Mapping):
            continue
        for name, entry in value.items() if named else ((None, value),):
            if isinstance(entry, Mapping):
                yield from _unknown(entry, inner, (*at, key, name) if name is not None else (*at, key))


def _table(annotation: Any) -> tuple[type[Part] | None, bool]:
    """The kind of table behind an annotation, and whether there are many, by name."""
    if get_origin(annotation) is dict:
        return _table(get_args(annotation)[1])[0], True
    return (annotation if isinstance(annotation, type) and issubclass(annotation, Part) else None), False
