"""What every test gets: one event loop library, checked messages, and servers over every transport."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("tests.support")

from tests.support.conformance import Conformance  # noqa: E402
from tests.support.counts import soaking  # noqa: E402
from tests.support.patience import *  # noqa: E402, F403 (hooks)
from tests.support.patience import keep_errors  # noqa: E402
from tests.support.places import KINDS, Place, running  # noqa: E402
from tests.support.plugin import *  # noqa: E402, F403 (hooks)
from tests.support.plugin import CONFORMANCE  # noqa: E402


def pytest_configure(config: pytest.Config) -> None:
    """One warning is not ours: jsonrpcserver reads its schema in a way that Python has outgrown."""
    keep_errors(config)
    config.addinivalue_line("filterwarnings", "ignore:(read|open)_text is deprecated:DeprecationWarning")
    # The same examples in every run, so that a failure is the change's own; `make soak` looks for others. How fast a
    # machine makes them up is nobody's fault.
    settings.register_profile(
        "same", derandomize=not soaking(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("same")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The one that the server runs on; for the session, so that fixtures of any scope can be async."""
    return "asyncio"


@pytest.fixture(scope="session")
def conformance() -> Conformance:
    """The check of every message."""
    return CONFORMANCE.load()


@pytest.fixture(params=KINDS)
async def over(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, conformance: Conformance
) -> AsyncIterator[Place]:
    """The server over each transport in turn."""
    async with running(request.param, tmp_path_factory.mktemp("home"), conformance) as place:
        yield place


@pytest.fixture(params=KINDS)
async def probing_over(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, conformance: Conformance
) -> AsyncIterator[Place]:
    """The same with the tests' own room in it."""
    async with running(request.param, tmp_path_factory.mktemp("home"), conformance, probing=True) as place:
        yield place
