"""Process trees: whatever a command did to hide, nothing of it is left."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from subprocess import DEVNULL, PIPE

import anyio
import anyio.abc
import pytest
from tests.support.counts import count
from tests.support.exec_census import adopting, beneath, left_of, mark, reap_orphans, sleepers
from tests.support.exec_host import PIECES, WAYS, ready, stubborn
from tests.support.exec_rooms import SECONDS, Workplace, host_of
from tests.support.processes import ROOT
from tests.support.vitals import open_files

from threadloom.exec.base import Process
from threadloom.exec.launch import Host

CYCLES = count(500)  # in all; a quarter for each way to end, divided among the sandboxes
EACH = -(-CYCLES // 4 // len(WAYS))
PER_SERVER = 5  # commands that one server holds when it is ended


@pytest.fixture(params=WAYS)
async def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def host(way: str) -> AsyncIterator[Host]:
    host = host_of(WAYS[way][0])
    await host.warm()
    yield host
    await host.close()


async def settle(process: Process, how: str) -> None:
    """End a command, and wait until it is told that all is gone."""
    if how == "end":
        await process.end(0.02)
    else:
        process.abort()
        await process.end()  # what is aborted already needs no grace


@pytest.mark.soak
@pytest.mark.parametrize("how", ["end", "abort"])
async def test_ending_a_command_ends_all_that_it_started(host: Host, way: str, how: str, tmp_path: Path) -> None:
    before, keeper = open_files(), beneath(os.getpid())
    for _ in range(EACH):
        with anyio.fail_after(SECONDS):
            name = mark()
            process = await host.launch(stubborn(way, str(tmp_path), name))
            await ready(process)
            assert len(sleepers(name)) == PIECES
            await settle(process, how)
        assert sleepers(name) == []
        assert beneath(os.getpid()) == keeper  # no zombie, and no warden
    assert host.live == frozenset()
    assert not open_files() - before


@pytest.mark.soak
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=lambda how: how.name)
async def test_the_end_of_the_server_is_the_end_of_its_commands(way: str, how: signal.Signals, tmp_path: Path) -> None:
    with adopting():
        for _ in range(-(-EACH // PER_SERVER)):
            await one_server(way, how, tmp_path)


async def one_server(way: str, how: signal.Signals, folder: Path) -> None:
    marks = [mark() for _ in range(PER_SERVER)]
    words = [sys.executable, "-m", "tests.support.exec_host", way, str(folder), *marks]
    async with await anyio.open_process(words, stdin=DEVNULL, stdout=PIPE, stderr=None, cwd=ROOT) as server:
        try:
            with anyio.fail_after(SECONDS * 2):
                await end_server(server, how, marks)
        finally:
            if server.returncode is None:
                server.kill()
    assert sleepers(*marks) == []


async def end_server(server: anyio.abc.Process, how: signal.Signals, marks: list[str]) -> None:
    """End it, and see its commands end with it."""
    assert server.stdout is not None
    assert await server.stdout.receive() == b"running\n"
    family = beneath(server.pid)
    assert len(sleepers(*marks)) == PIECES * PER_SERVER
    assert set(sleepers(*marks)) <= family
    server.send_signal(how)
    assert await server.wait() == (0 if how == signal.SIGTERM else -how)
    if how == signal.SIGTERM:
        assert left_of(family) == set()  # it waited for them, and reaped
    await all_gone(family)


async def all_gone(family: set[int]) -> None:
    """A server that was killed tells nobody; what it left behind has to end by itself."""
    while left_of(family):
        reap_orphans(family)
        await anyio.sleep(0.005)


async def test_closing_the_host_ends_everything(host: Host, way: str, tmp_path: Path) -> None:
    before = beneath(os.getpid())
    marks = [mark() for _ in range(5)]
    for name in marks:
        await ready(await host.launch(stubborn(way, str(tmp_path), name)))
    assert len(sleepers(*marks)) == PIECES * len(marks)
    keeper = beneath(os.getpid()) - before
    with anyio.fail_after(SECONDS):
        await host.close(0.02)
    assert sleepers(*marks) == []
    assert left_of(keeper) & beneath(os.getpid()) == set()


async def test_a_command_that_keeps_forking_ends(host: Host, way: str, tmp_path: Path) -> None:
    """Each child forks the next and exits: who takes one look and then kills comes too late."""
    place = Workplace(tmp_path / "room")
    runner = "import os, time\nwhile True:\n  if os.fork(): os._exit(0)\n  os.setsid(); time.sleep(.001)"
    order = place.order([sys.executable, "-I", "-S", "-c", runner, mark()], mode=WAYS[way][1])
    before = beneath(os.getpid())
    with anyio.fail_after(SECONDS):
        process = await host.launch(order)
        await process.wait()
        await process.end(0)
    assert beneath(os.getpid()) == before
