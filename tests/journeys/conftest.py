"""Servers that a whole file of journeys shares: each journey has threads of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.support.conformance import Conformance
from tests.support.places import KINDS, Place, running
from tests.support.talk import Talk, talking

# Over pipes every client has a server of its own.
MANY = tuple(kind for kind in KINDS if kind != "stdio")


@pytest.fixture(scope="module", params=KINDS)
async def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, conformance: Conformance
) -> AsyncIterator[Place]:
    """A server over each transport in turn."""
    async with running(request.param, tmp_path_factory.mktemp("home"), conformance) as place:
        yield place


@pytest.fixture(scope="module", params=MANY)
async def open_place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, conformance: Conformance
) -> AsyncIterator[Place]:
    """A server that several clients share, over each transport that can."""
    async with running(request.param, tmp_path_factory.mktemp("home"), conformance) as place:
        yield place


@pytest.fixture(scope="module")
async def lasting_talk(place: Place) -> AsyncIterator[Talk | None]:
    """Over pipes, one client for all: a server takes a while to start."""
    if place.kind != "stdio":
        yield None
        return
    async with talking(place) as talk:
        yield talk


@pytest.fixture
async def talk(place: Place, lasting_talk: Talk | None) -> AsyncIterator[Talk]:
    """A client over each transport in turn."""
    if lasting_talk is not None:
        lasting_talk.forget()
        yield lasting_talk
        return
    async with talking(place) as talk:
        yield talk


@pytest.fixture
async def pair(open_place: Place) -> AsyncIterator[tuple[Talk, Talk]]:
    """Two clients of one server."""
    async with talking(open_place) as one, talking(open_place) as other:
        yield one, other
