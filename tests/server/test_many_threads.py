"""Many threads in one home: lists, names and searches come from the index alone, and soon."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.server.threads.house import House, house
from tests.support.conformance import Conformance
from tests.support.counts import count, soaking
from tests.support.processes import server_home
from tests.support.stores import Scribe
from tests.support.talk import Talk

MANY = count(50_000)
COMMANDS = 9 if soaking() else 0  # of each thread: they take long to index, and lists do not show them
PAGES = MANY // 100 if soaking() else 10  # that are turned, of a hundred threads each


class Opened:
    """The logs that this process opens while somebody looks: a hook of the interpreter cannot be taken out again."""

    def __init__(self) -> None:
        self.paths: list[str] | None = None
        sys.addaudithook(self._see)

    def _see(self, event: str, arguments: Any) -> None:
        if event == "open" and self.paths is not None and "rollout-" in str(arguments[0]):
            self.paths.append(str(arguments[0]))

    @contextmanager
    def watched(self) -> Iterator[list[str]]:
        """What is opened meanwhile."""
        self.paths = seen = []
        try:
            yield seen
        finally:
            self.paths = None


OPENED = Opened()


@pytest.fixture(scope="module")
async def ids(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A home with many threads, the newest first."""
    room = tmp_path_factory.mktemp("many")
    scribe = Scribe(server_home(room))
    ids = scribe.threads(MANY, 1_794_000_000_000, COMMANDS)
    await scribe.index()
    scribe.store.close()
    return room, ids


@pytest.fixture
async def home(ids: tuple[Path, list[str]], conformance: Conformance) -> AsyncIterator[House]:
    """A server over it."""
    async with house(ids[0], conformance) as made:
        yield made


async def test_lists_and_searches_open_no_log(home: House, ids: tuple[Path, list[str]]) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("thread/list", {}),
        ("thread/list", {"limit": 100, "sortKey": "updated_at"}),
        ("thread/list", {"sortDirection": "asc", "sortKey": "recency_at"}),
        ("thread/list", {"searchTerm": "needle"}),
        ("thread/list", {"searchTerm": "nothing of the kind"}),
        ("thread/list", {"archived": True}),
        ("thread/list", {"cwd": "/", "modelProviders": ["rehearsal"], "sourceKinds": ["vscode"]}),
        ("thread/search", {"searchTerm": "needle"}),
        ("thread/search", {"searchTerm": "shuttle"}),
        ("session/list", {}),
        ("thread/loaded/list", {}),
    ]
    async with home.talking() as talk:
        await talk.ask("thread/list")
        with OPENED.watched() as opened:
            for method, params in asked:
                await talk.ask(method, params)
                assert opened == [], f"{method} {params}"
            page = await talk.ask("thread/list", limit=7)
            await talk.ask("thread/list", limit=7, cursor=page["nextCursor"])
            assert opened == []
        with OPENED.watched() as opened:
            await talk.ask("thread/read", threadId=ids[1][2], includeTurns=True)
        assert opened != [], "whoever wants turns has the log read: the hook does see it"


async def paged(talk: Talk, pages: int, **params: Any) -> list[str]:
    """The ids of so many pages, or of all that there are."""
    seen: list[str] = []
    cursor = None
    for _ in range(pages):
        page = await talk.ask("thread/list", limit=100, cursor=cursor, **params)
        seen += [it["id"] for it in page["data"]]
        cursor = page["nextCursor"]
        if cursor is None:
            break
    return seen


async def test_all_of_them_are_there_page_by_page_and_found(home: House, ids: tuple[Path, list[str]]) -> None:
    async with home.talking() as talk:
        assert await paged(talk, PAGES) == ids[1][: PAGES * 100]
        assert await paged(talk, 10, sortDirection="asc") == ids[1][: -10 * 100 - 1 : -1], "from the other end"
        rare = [it for number, it in enumerate(ids[1]) if number % 997 == 500][:100]
        listed = await talk.ask("thread/list", searchTerm="NEEDLE", limit=100)
        assert [it["id"] for it in listed["data"]] == rare
        found = await talk.ask("thread/search", searchTerm="module delta", limit=100)
        assert [it["thread"]["id"] for it in found["data"]] == ids[1][3:400:4][:100]
        common = await talk.ask("thread/search", searchTerm="the shuttle goes", limit=25)
        assert [it["thread"]["id"] for it in common["data"]] == ids[1][:25]
        on = await talk.ask("thread/search", searchTerm="the shuttle goes", limit=25, cursor=common["nextCursor"])
        assert [it["thread"]["id"] for it in on["data"]] == ids[1][25:50]
