"""Whoever talks to the network does so on both loops: uvloop, where it is there, and Python's own."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="session", params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """See the fixture of all tests."""
    return "asyncio", {"use_uvloop": request.param}
