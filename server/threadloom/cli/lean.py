"""Modules that others import and do not use: at a start they are not waited for."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from types import ModuleType


def import_without(spared: str, module: str) -> None:
    """Import a module that imports another one only to have it: that one is an empty one to it, and to nobody else."""
    if spared in sys.modules or module in sys.modules:
        return
    sys.modules[spared] = ModuleType(spared)
    try:
        with suppress(AttributeError, ImportError):  # it does use it, and is imported as usual by whoever comes next
            import_module(module)
    finally:
        del sys.modules[spared]
