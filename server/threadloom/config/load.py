"""The configuration: layers put together, the highest first, and changed one writer at a time.

turn > thread > `--config` > project, the nearest folder first > profile > the user's file > Codex's file.
What a thread or a turn asks for is laid over it by whoever runs them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio import to_thread

from threadloom.config import FILE, Settings, projects, trees
from threadloom.config.check import Fault
from threadloom.config.layers import Layer, Shelf, from_flags, version
from threadloom.config.loaded import Loaded
from threadloom.config.values import OFFLINE
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2.values.layers import UserConfigLayerSource

if TYPE_CHECKING:
    from threadloom.config.auth import Keyring
    from threadloom_protocol.v2.config import ConfigEdit, ConfigWriteResponse


class Configuration:
    """What the server is configured with: read from its files whenever they change, written back on request."""

    def __init__(self, settings: Settings, keyring: Keyring, environ: Mapping[str, str] = os.environ) -> None:
        self._settings = settings
        self._keyring = keyring
        self._environ = environ
        self._shelf = Shelf()
        self._flags = from_flags(settings.overrides)
        self._kept: dict[str | None, Loaded] = {}  # by directory
        self._recent: dict[str | None, tuple[float, Loaded]] = {}
        self._lock = anyio.Lock()  # fair: whoever reads after a write sees what was written

    @property
    def file(self) -> Path:
        """The user's file, which is written to."""
        return self._settings.home / FILE

    @property
    def foreign(self) -> Path | None:
        """Codex's file, which lies below it and is only read."""
        return self._settings.foreign / FILE if self._settings.foreign is not None else None

    async def read(self, cwd: str | None = None, overrides: Mapping[str, Any] | None = None) -> Loaded:
        """Like `load`, after whatever is being written."""
        async with self._lock:
            return self.load(cwd, overrides)

    def load(self, cwd: str | None = None, overrides: Mapping[str, Any] | None = None) -> Loaded:
        """The configuration for a directory, with a thread's own overrides on top.

        Raises `InvalidRequest` for overrides that do not fit, and on a strict server for any fault.
        """
        loaded = self._loaded(cwd, overrides)
        if self._settings.strict and loaded.faults:
            raise InvalidRequest(f"Invalid configuration: {loaded.faults[0]}")
        return loaded

    def recent(self, cwd: str | None = None) -> Loaded:
        """What `load` said a moment ago: for those who ask many times a second. Our own writes show at once."""
        until, loaded = self._recent.get(cwd, (0.0, None))
        if loaded is None or time.monotonic() >= until:
            if len(self._recent) >= KEPT:
                self._recent.clear()
            loaded = self.load(cwd)
            self._recent[cwd] = time.monotonic() + MOMENT, loaded
        return loaded

    def refresh(self) -> None:
        """Something that the configuration depends on has changed, such as who is logged in."""
        self._recent.clear()

    def faults(self, cwd: str | None = None) -> tuple[Fault, ...]:
        """What is passed over, and why; never raises."""
        return self._loaded(cwd, None).faults

    def _loaded(self, cwd: str | None, overrides: Mapping[str, Any] | None) -> Loaded:
        layers = [*self._layers(cwd)]
        if overrides:
            return self._together([*layers, _asked(overrides)])
        loaded = self._together(layers)
        kept = self._kept.get(cwd)
        if loaded == kept:  # nothing has changed, and what was made of it holds
            return kept
        if len(self._kept) >= KEPT:
            self._kept.clear()
        self._kept[cwd] = loaded
        return loaded

    def _together(self, layers: Sequence[Layer]) -> Loaded:
        return Loaded(tuple(reversed(layers)), self._default_provider(), self._environ)

    def _layers(self, cwd: str | None) -> Iterator[Layer]:
        """All layers, the lowest first."""
        user = [self._user(path) for path in (self.foreign, self.file) if path is not None]
        said = trees.merge(_together(user), self._flags.values)
        yield from user
        name = said.get("profile")
        for layer in user:
            yield from _profile(layer, name)
        if cwd is not None:
            where = os.path.abspath(os.path.expanduser(cwd))
            yield from projects.layers(where, said, self._settings.home, self._shelf)
        yield from _profile(self._flags, name)
        if self._flags.said:
            yield self._flags

    def _user(self, path: Path) -> Layer:
        # What is strange here may be well known to Codex.
        lenient = path == self.foreign and not self._settings.strict
        return self._shelf.layer(path, UserConfigLayerSource(file=str(path)), lenient=lenient)

    def _default_provider(self) -> str:
        return "openai" if self._keyring.has_key else OFFLINE

    async def write(
        self, edits: Sequence[ConfigEdit], file: str | None = None, expected: str | None = None
    ) -> ConfigWriteResponse:
        """Change the user's file, all edits or none."""
        from threadloom.config.write import Writer  # late: few servers are ever asked to

        writer = Writer(self.file, self.foreign, strict=self._settings.strict)
        async with self._lock:
            written = await to_thread.run_sync(writer.write, edits, file, expected)
            self.refresh()
            return writer.answer(edits, written, self._loaded(None, None))


def check(settings: Settings, cwd: str | None = None) -> None:
    """Raise `ValueError` with everything that is wrong, one line each: what `--strict-config` asks for."""
    from threadloom.config.auth import Keyring

    faults = Configuration(settings, Keyring(settings.home)).faults(cwd or os.getcwd())
    if faults:
        raise ValueError("\n".join(map(str, faults)))


MOMENT: Final = 0.25  # seconds that a change of the files may take to be seen by a running thread
KEPT: Final = 64  # directories whose configuration is kept ready


def _together(layers: Sequence[Layer]) -> trees.Tree:
    values: trees.Tree = {}
    for layer in layers:
        values = trees.merge(values, layer.values)
    return values


def _profile(layer: Layer, name: Any) -> Iterator[Layer]:
    """The chosen profile of a layer, as a layer right above it."""
    table = trees.get(layer.values, ("profiles", name)) if isinstance(name, str) else None
    if isinstance(table, dict):
        source = layer.name
        if isinstance(source, UserConfigLayerSource):
            source = UserConfigLayerSource(file=source.file, profile=name)
        yield Layer(source, table, table, version(table), layer.file)


def _asked(overrides: Mapping[str, Any]) -> Layer:
    try:
        layer = from_flags(overrides)
    except ValueError as error:
        raise InvalidRequest(f"Invalid configuration: {error}") from None
    for fault in layer.faults:
        if not fault.unknown:
            raise InvalidRequest(f"Invalid configuration: {fault.text}")
    return layer
