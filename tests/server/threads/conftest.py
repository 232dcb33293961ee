"""What the tests of threads share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.server.threads.disk import Disk
from tests.server.threads.family import Family, family
from tests.server.threads.house import House, house
from tests.server.threads.studio import Studio, studio
from tests.support.conformance import Conformance


@pytest.fixture
async def home(tmp_path: Path, conformance: Conformance) -> AsyncIterator[House]:
    """A server with nothing in it."""
    async with house(tmp_path, conformance) as made:
        yield made


@pytest.fixture
async def loom(tmp_path: Path) -> AsyncIterator[Studio]:
    """Threads, and a model that a test can listen to."""
    async with studio(tmp_path) as made:
        yield made


@pytest.fixture
async def kin(tmp_path: Path) -> AsyncIterator[Family]:
    """Parents and children, and a model that says what it is asked to."""
    async with family(tmp_path) as made:
        yield made


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    """Where writes end when the test says so."""
    return Disk(monkeypatch)
