"""How many times a test repeats itself: in full under `make soak`, a tenth otherwise."""

from __future__ import annotations

import os


def soaking() -> bool:
    """Whether the full counts were asked for."""
    return os.environ.get("THREADLOOM_SOAK") == "1"


def count(full: int) -> int:
    """The number of repetitions for this run."""
    return full if soaking() else max(20, full // 10)
