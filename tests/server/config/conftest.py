"""Desks to work at."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.config.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk with nothing on it."""
    return Desk(tmp_path)


@pytest.fixture
def guest(tmp_path: Path) -> Desk:
    """A desk in Codex's home."""
    return Desk(tmp_path, foreign=tmp_path / "codex")
