"""`config/value/write` and `config/batchWrite`: edits of the user's file, all of them or none."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from threadloom.config import edit, files, toml, trees
from threadloom.config.check import Fault, examine
from threadloom.config.layers import Layer, version
from threadloom.log import logger
from threadloom_protocol.errors import InternalError, InvalidRequest
from threadloom_protocol.v2.config import ConfigWriteResponse, OverriddenMetadata
from threadloom_protocol.v2.values.layers import SessionFlagsConfigLayerSource, UserConfigLayerSource

if TYPE_CHECKING:
    from threadloom.config.loaded import Loaded
    from threadloom_protocol.v2.config import ConfigEdit

log = logger(__name__)


class Writer:
    """One change of the user's file."""

    def __init__(self, file: Path, foreign: Path | None, *, strict: bool) -> None:
        self._file = file
        self._foreign = foreign  # Codex's, which nobody writes to
        self._strict = strict

    def write(self, edits: Sequence[ConfigEdit], file: str | None, expected: str | None) -> str:
        """Do it; the new version of the file. Raises `InvalidRequest`, and then nothing has changed."""
        named = self._named(file)
        try:
            with files.alone(self._file):
                return version(self._change(edits, named, expected))
        except OSError as fault:
            raise InternalError(f"{self._file} cannot be written: {fault.strerror or fault}") from None

    def answer(self, edits: Sequence[ConfigEdit], written: str, now: Loaded) -> ConfigWriteResponse:
        """What was written, and whether it is in force."""
        over = self._overridden(edits, now)
        return ConfigWriteResponse(
            status="okOverridden" if over else "ok",
            version=written,
            file_path=str(self._file),
            overridden_metadata=over,
        )

    def _named(self, file: str | None) -> Path:
        """The file that the client means: the user's, or Codex's, in whose place the user's is written."""
        path = self._file if file is None else self._file.parent / os.path.expanduser(file)
        for known in (self._file, self._foreign):
            if known is not None and "\0" not in str(path) and path.resolve() == known.resolve():
                return known
        raise _refused("configLayerReadonly", f"Only the user's own configuration can be written: {self._file}")

    def _change(self, edits: Sequence[ConfigEdit], named: Path, expected: str | None) -> trees.Tree:
        if self._foreign is not None and self._file.resolve() == self._foreign.resolve():
            raise _refused("configLayerReadonly", f"{self._file} is a link to Codex's own file, which is only read")
        text, values = _read(self._file)
        if expected is not None and expected != version(values if named == self._file else _read(named)[1]):
            raise _refused(
                "configVersionConflict", "The configuration has changed since it was read; read it again and retry."
            )
        try:
            new = edit.planned(values, edits)
        except edit.Unfit as fault:
            raise _refused("configValidationError", str(fault)) from None
        self._check(new, edits)
        if new != values or not self._file.exists():
            files.replace(self._file, self._text(text, new).encode())
        return new

    def _check(self, new: trees.Tree, edits: Sequence[ConfigEdit]) -> None:
        """What was wrong before and is not touched does not stand in the way."""
        touched = [trees.path(it.key_path) for it in edits]
        for fault in examine(new)[1]:
            if _concerns(fault, touched) and (self._strict or not fault.unknown):
                raise _refused("configValidationError", f"Invalid configuration: {fault.text}")

    def _text(self, text: str, new: trees.Tree) -> str:
        if (edited := edit.rewritten(text, new)) is not None:
            return edited
        # An arrangement of tables that the editor cannot handle: the values count for more than their form.
        copy = self._file.with_name(f"{self._file.name}.bak")
        files.replace(copy, text.encode(), private=True)
        log.warning("the configuration had to be laid out anew", path=str(self._file), copy=str(copy))
        return edit.laid_out(new)

    def _overridden(self, edits: Sequence[ConfigEdit], now: Loaded) -> OverriddenMetadata | None:
        """The first edit that another layer speaks against, or adds to where it was to stand alone."""
        for it in edits:
            steps = trees.path(it.key_path)
            effective = trees.get(now.values, steps, None)
            alone = it.value is None or it.merge_strategy == "replace"
            for key, value in trees.leaves(effective if alone else it.value, steps):
                layer = now.origin(key)
                if value is not None and layer is not None and not self._owns(layer):
                    return OverriddenMetadata(
                        message=f"Overridden by {_name(layer)}",
                        overriding_layer=layer.metadata,
                        effective_value=effective,
                    )
        return None

    def _owns(self, layer: Layer) -> bool:
        source = layer.name
        return isinstance(source, UserConfigLayerSource) and source.profile is None and layer.file == self._file


def _read(path: Path) -> tuple[str, trees.Tree]:
    data = files.read(path)
    try:
        text = (data or b"").decode(files.TEXT)
        return text, toml.parse(text)
    except UnicodeDecodeError:
        raise _refused("configValidationError", f"Mend the file first: {path} is not UTF-8") from None
    except toml.Broken as fault:
        where = Fault(fault.reason, (), path, fault.spot)
        raise _refused("configValidationError", f"Mend the file first: {where}") from None


def _refused(code: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, {"config_write_error_code": code})


def _concerns(fault: Fault, touched: Sequence[trees.Path]) -> bool:
    return any(fault.key[: len(steps)] == steps[: len(fault.key)] for steps in touched)


def _name(layer: Layer) -> str:
    match layer.name:
        case SessionFlagsConfigLayerSource():
            return "session flags"
        case UserConfigLayerSource(profile=str(profile)):
            return f"the profile {profile}"
        case _:
            return f"{layer.file}"
