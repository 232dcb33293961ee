"""Commands that are imported when they are run."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def late(module: str, name: str) -> Any:
    """What runs a command."""
    return lambda arguments: getattr(import_module(module), name)(arguments)
