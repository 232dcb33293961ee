"""Figures of large stores: how soon a server over one is ready, how long a rebuild takes, how fast words are found."""

from __future__ import annotations

import time
from pathlib import Path
from urllib.parse import urlsplit

import anyio
from tests.support.figures_tree import p95, since
from tests.support.processes import listening, server_home
from tests.support.sockets import Raw, request
from tests.support.stores import Scribe

from threadloom_client import Client, connect
from threadloom_protocol.v2 import search

THREADS = 10_000
MANY = 50_000
SEARCHES = 200
# In few threads, in one, in a quarter of them, in all, in none.
TERMS = ("needle", "bug {}", "module alpha", "the shuttle goes", "nothing {} of the kind")


async def stored(room: Path) -> None:
    """A store of 10,000 threads, with its index."""
    scribe = write(room, THREADS)
    await scribe.index()
    scribe.store.close()


def write(room: Path, threads: int) -> Scribe:
    """So many threads, without an index."""
    scribe = Scribe(server_home(room))
    scribe.threads(threads, time.time_ns() // 1_000_000)
    return scribe


async def start_up(room: Path) -> tuple[float, float]:
    """A server over a store is started: → `/readyz` says so, → it has answered `thread/list`."""
    began = time.perf_counter()
    async with listening("ws://127.0.0.1:0", room) as server:
        await _ready(server.url)
        ready = since(began)
        async with connect(server.url) as client:
            listed = await client.request(search.LIST, search.ThreadListParams(limit=25))
            assert len(listed.data) == 25
            return ready, since(began)


async def _ready(url: str) -> None:
    where = urlsplit(url)
    assert where.hostname is not None
    assert where.port is not None
    async with await anyio.connect_tcp(where.hostname, where.port) as stream:
        raw = Raw(stream)
        await raw.send(request(target="/readyz"))
        assert (await raw.head()).status == 200


async def many(room: Path) -> tuple[float, float]:
    """50,000 threads: the rebuild of their index in seconds, and a search for words in ms, the 95th of a hundred."""
    scribe = write(room, MANY)
    rebuilt = await scribe.index()
    scribe.store.close()
    async with listening("ws://127.0.0.1:0", room) as server, connect(server.url, experimental=True) as client:
        return rebuilt, p95([await _search(client, TERMS[at % len(TERMS)].format(at)) for at in range(SEARCHES)])


async def _search(client: Client, term: str) -> float:
    began = time.perf_counter()
    await client.call(search.SEARCH.method, {"searchTerm": term, "limit": 25})
    return since(began)
