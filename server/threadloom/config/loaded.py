"""What the layers say together: in force for one directory at one moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from threadloom.config import files, trees
from threadloom.config.check import Fault
from threadloom.config.layers import PATHS, Layer
from threadloom.config.values import BUILT_IN, OFFLINE, Config


@dataclass(frozen=True)
class Loaded:
    """The configuration for one directory at one moment."""

    layers: tuple[Layer, ...]  # the highest first; those that do not count are among them
    default_provider: str
    environ: Mapping[str, str] = field(repr=False)

    @property
    def in_force(self) -> Iterator[Layer]:
        """The layers that count, the highest first."""
        return (layer for layer in self.layers if layer.disabled is None)

    @cached_property
    def values(self) -> trees.Tree:
        """What the layers say together, with no default filled in."""
        values: trees.Tree = {}
        for layer in reversed([*self.in_force]):
            values = trees.merge(values, layer.values)
        return values

    @cached_property
    def config(self) -> Config:
        """The same, typed and complete."""
        known = trees.merge(BUILT_IN, self.values.get("model_providers") or {})
        base = self.values.get("openai_base_url") or self.environ.get("OPENAI_BASE_URL")
        own = (self.values.get("model_providers") or {}).get("openai") or {}
        if base and "base_url" not in own:
            known["openai"] = {**known["openai"], "base_url": base}
        servers = {name: it for name, it in (self.values.get("mcp_servers") or {}).items() if _startable(it)}
        provider = self.values.get("model_provider") or self.default_provider
        filled = {"model_providers": known, "mcp_servers": servers, "model_provider": provider}
        return Config.model_validate(self.values | filled)

    @property
    def base_instructions(self) -> str | None:
        """What takes the place of the built-in instructions: a file's text, or a text in the configuration."""
        return self._text("model_instructions_file") or self.config.instructions

    @property
    def compact_prompt(self) -> str | None:
        """What takes the place of the built-in request for a summary."""
        return self._text("experimental_compact_prompt_file") or self.config.compact_prompt

    def _text(self, key: str) -> str | None:
        """The text of a file that the configuration names; none where it cannot be read, which is a fault."""
        path = self.values.get(key)
        try:
            data = files.read(Path(path)) if path else None
            return data.decode(files.TEXT).strip() or None if data else None
        except (OSError, ValueError):
            return None

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What was passed over, and why."""
        found = [fault for layer in self.in_force for fault in layer.faults]
        for key in PATHS:
            if key in self.values and self._text(key) is None:
                found.append(self._fault((key,), f"`{key}`: there is no text to be read in {self.values[key]}"))
        idle = [name for name, it in (self.values.get("mcp_servers") or {}).items() if not _startable(it)]
        for name in idle:
            found.append(self._fault(("mcp_servers", name), f"`mcp_servers.{name}` needs a command or a url"))
        provider = self.config.model_provider
        if provider not in (OFFLINE, *self.config.model_providers):
            found.append(self._fault(("model_provider",), f"there is no model provider `{provider}`"))
        chosen = self.values.get("profile")
        if chosen is not None and chosen not in (self.values.get("profiles") or {}):
            found.append(self._fault(("profile",), f"there is no profile `{chosen}`"))
        return tuple(found)

    def _fault(self, key: trees.Path, text: str) -> Fault:
        origin = self.origin(key)
        return Fault(text, key, origin.file if origin else None)

    def origin(self, key: Sequence[str | int]) -> Layer | None:
        """The layer that a value came from."""
        return next((it for it in self.in_force if trees.get(it.values, key) is not trees.MISSING), None)

    def origins(self) -> Iterator[tuple[str, Layer]]:
        """Every value by its path, with the layer it came from."""
        for key, _ in trees.leaves(self.values):
            layer = self.origin(key)
            if layer is not None:
                yield trees.dotted(key), layer


def _startable(server: Any) -> bool:
    return isinstance(server, Mapping) and bool(server.get("command") or server.get("url"))
