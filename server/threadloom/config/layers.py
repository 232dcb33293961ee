"""Layers of configuration: one file or one set of flags each, in the words of the wire."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from threadloom.config import files, toml, trees
from threadloom.config.check import CAREFUL, Fault, examine
from threadloom_protocol.v2.values.layers import (
    ConfigLayer,
    ConfigLayerMetadata,
    ConfigLayerSource,
    SessionFlagsConfigLayerSource,
)

# Paths in these keys are meant from where the file lies.
PATHS: Final = ("model_instructions_file", "experimental_compact_prompt_file")


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """What one place says. Layers are compared by identity: a file that has not changed keeps its layer."""

    name: ConfigLayerSource
    said: trees.Tree = field(repr=False)  # as written; there may be secrets in it
    values: trees.Tree = field(repr=False)  # as used
    version: str
    file: Path | None = None
    faults: tuple[Fault, ...] = ()
    disabled: str | None = None  # why it does not count

    @property
    def metadata(self) -> ConfigLayerMetadata:
        """Which layer, and which version of it."""
        return ConfigLayerMetadata(name=self.name, version=self.version)

    def wire(self) -> ConfigLayer:
        """The layer as clients see it."""
        shown = self.said if self.disabled else self.values
        return ConfigLayer(name=self.name, version=self.version, config=shown, disabled_reason=self.disabled)

    def without(self, keys: Iterable[str], words: str) -> Layer:
        """The same without some keys that may not be set here."""
        taken = [key for key in keys if key in self.values]
        if not taken:
            return self
        left = {key: value for key, value in self.values.items() if key not in taken}
        fault = Fault(f"{words}: {', '.join(taken)}", tuple(taken), self.file)
        return replace(self, values=left, faults=(*self.faults, fault))


def version(values: Mapping[str, Any]) -> str:
    """A fingerprint of values: another one whenever they change, the same when only comments do."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def from_flags(flat: Mapping[str, Any]) -> Layer:
    """The layer of dotted keys. Raises `ValueError` for a key that is none."""
    values = trees.nested(flat)
    if not values:
        return Layer(SessionFlagsConfigLayerSource(), {}, {}, version({}))
    used, faults = examine(_modern(values))
    return Layer(SessionFlagsConfigLayerSource(), values, _settled(used, Path()), version(values), faults=faults)


class Shelf:
    """Files as layers, each read again only when it has changed."""

    def __init__(self) -> None:
        self._read: dict[Path, tuple[files.Signature | None, Layer]] = {}

    def layer(self, path: Path, name: ConfigLayerSource, *, lenient: bool = False) -> Layer:
        """The layer of a file; one that is not there says nothing."""
        mark = files.signature(path)
        kept = self._read.get(path)
        if kept is None or kept[0] != mark:
            kept = self._read[path] = (mark, from_file(path, name, lenient=lenient))
        return kept[1]


def from_file(path: Path, name: ConfigLayerSource, *, lenient: bool = False) -> Layer:
    """The layer of a file, read now. A lenient reader finds no fault with keys that it does not know."""
    try:
        data = files.read(path)
        if not data:
            return Layer(name, {}, {}, version({}), path)
        text = data.decode(files.TEXT)
        said = toml.parse(text)
    except toml.Broken as fault:
        return _broken(path, name, Fault(fault.reason, (), path, fault.spot))
    except UnicodeDecodeError as fault:
        line = fault.object[: fault.start].count(b"\n") + 1
        return _broken(path, name, Fault("not UTF-8", (), path, toml.Spot(line, 1)))
    except OSError as fault:
        return _broken(path, name, Fault(fault.strerror or str(fault), (), path))
    used, faults = examine(_modern(said), path, text)
    if lenient:
        faults = tuple(fault for fault in faults if not fault.unknown)
    return Layer(name, said, _settled(used, path.parent), version(said), path, faults)


def _broken(path: Path, name: ConfigLayerSource, fault: Fault) -> Layer:
    """A file that cannot be read says nothing, and nobody knows what it would have forbidden."""
    words = ", ".join(f"{key} is {value}" for key, value in CAREFUL.items())
    told = replace(fault, note=f"none of it is in force, and until it is mended {words}")
    return Layer(name, {}, dict(CAREFUL), version({"broken": str(fault)}), path, (told,))


def _modern(values: trees.Tree) -> trees.Tree:
    """Old words made new."""

    def renewed(said: trees.Tree) -> trees.Tree:
        # Codex no longer tells these two apart either.
        return said | {"approval_policy": "on-request"} if said.get("approval_policy") == "on-failure" else said

    return _everywhere(values, renewed)


def _settled(values: trees.Tree, folder: Path) -> trees.Tree:
    """Paths made absolute."""

    def settled(said: trees.Tree) -> trees.Tree:
        found = {key: said[key] for key in PATHS if isinstance(said.get(key), str)}
        return said | {key: str((folder / os.path.expanduser(value)).absolute()) for key, value in found.items()}

    return _everywhere(values, settled)


def _everywhere(values: trees.Tree, change: Callable[[trees.Tree], trees.Tree]) -> trees.Tree:
    """What a layer says changed, and what each of its profiles says instead."""
    profiles = values.get("profiles")
    if not isinstance(profiles, dict):
        return change(values)
    changed = {name: change(said) if isinstance(said, dict) else said for name, said in profiles.items()}
    return change(values) | {"profiles": changed}
