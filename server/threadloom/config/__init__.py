"""Configuration: files, flags and the account, in layers.

This much is read at every start, so it needs nothing but the standard library; `threadloom.config.load` has the rest.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

FILE: Final = "config.toml"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the server was started with."""

    home: Path
    overrides: Mapping[str, Any] = field(default_factory=dict, repr=False)  # `--config key=value`, dotted keys
    drain: float = 0.0  # seconds that running turns get before a stop ends them
    foreign: Path | None = None  # Codex's home, where its configuration is read and nothing is ever written
    strict: bool = False  # refuse what would otherwise be passed over with a warning
    takes_up: bool = False  # work that earlier servers left open: a window on one project must not run another's
    patient: bool = False  # a list waits until it is whole: one who asks once cannot ask again


def home(environ: Mapping[str, str] = os.environ) -> Path:
    """Where this product keeps its files. Under a foreign `$CODEX_HOME` it has a folder of its own."""
    if named := environ.get("THREADLOOM_HOME"):
        return Path(os.path.expanduser(named)).absolute()
    if codex := foreign(environ):
        return codex / "threadloom"
    return Path(os.path.expanduser(environ.get("HOME") or "~")).absolute() / ".threadloom"


def foreign(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Codex's home, where that is the only one a client has set."""
    codex = environ.get("CODEX_HOME")
    return Path(os.path.expanduser(codex)).absolute() if codex and not environ.get("THREADLOOM_HOME") else None


def override(text: str) -> tuple[str, Any]:
    """One `key=value` of the command line: the value is TOML, or a plain string where it is none."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ValueError(f"--config takes key=value, not {text!r}")
    from threadloom.config.trees import path  # late: most starts have no override

    try:
        path(key)
    except ValueError as fault:
        raise ValueError(f"--config {key.strip()!r}: {fault}") from None
    try:
        return key.strip(), _value(value)
    except ValueError as fault:
        raise ValueError(f"--config {key.strip()}: {fault}") from None


def _value(text: str) -> Any:
    import tomllib

    from threadloom.config.trees import fits, is_deep, leaves

    try:
        found = tomllib.loads(f"value = {text}")["value"]
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError:
        if text.lstrip()[:1] in ("[", "{", '"', "'"):  # it was meant to be TOML
            raise
        return text.strip()
    if is_deep(found):
        raise ValueError("nested too deeply")
    if not all(fits(leaf) for _, leaf in leaves(found)):
        raise ValueError("too large a number")
    return found
