"""What the tests of agents share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.server.agent.collab.troupe import Troupe
from tests.server.threads.house import house
from tests.support.conformance import Conformance


@pytest.fixture
async def troupe(tmp_path: Path, conformance: Conformance) -> AsyncIterator[Troupe]:
    """A server with nothing in it, and a folder to work in."""
    (tmp_path / "work").mkdir()
    async with house(tmp_path / "home", conformance) as home:
        yield Troupe(home, tmp_path / "work")
