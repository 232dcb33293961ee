"""An index that is made anew in the background: what is known is served, what is asked for comes first."""

from __future__ import annotations

import re
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.server.threads.house import House, house
from tests.support.conformance import Conformance
from tests.support.processes import server_home
from tests.support.sockets import until
from tests.support.stores import Scribe
from tests.support.talk import Talk

from threadloom.store.base import EventLog
from threadloom.store.rows import Folded, Row
from threadloom.threads import recovering
from threadloom.threads.replay import fold

COUNT = 30


class Slow:
    """A fold that stops after a few logs until it is let go."""

    def __init__(self, after: int) -> None:
        self.left = after
        self.go_on = threading.Event()
        self.stopped = threading.Event()

    def __call__(self, log: EventLog, known: Row | None) -> Folded:
        if self.left == 0:
            self.stopped.set()
            assert self.go_on.wait(30)
        else:
            self.left -= 1
        return fold(log, known)


@pytest.fixture
def written(tmp_path: Path) -> list[str]:
    """Threads without an index, the newest first."""
    scribe = Scribe(server_home(tmp_path))
    ids = scribe.threads(COUNT, 1_794_000_000_000)
    scribe.store.close()
    (server_home(tmp_path) / "index.sqlite").unlink()
    return ids


@pytest.fixture
async def fork(tmp_path: Path, conformance: Conformance, written: list[str]) -> str:
    """One more, which goes on from the oldest, and is in no index either."""
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        made = str((await talk.ask("thread/fork", threadId=written[-1]))["thread"]["id"])
    for it in server_home(tmp_path).glob("index.sqlite*"):
        it.unlink()
    return made


@pytest.fixture
async def agent(tmp_path: Path, conformance: Conformance, written: list[str]) -> str:
    """One that the oldest has made, likewise."""
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        await talk.ask("thread/resume", threadId=written[-1])
        await talk.turn(written[-1], "spawn echo From below.\nwait for agents")
        started = [it["params"]["thread"] for it in talk.heard("thread/started")]
    for it in server_home(tmp_path).glob("index.sqlite*"):
        it.unlink()
    return next(str(it["id"]) for it in started if it["parentThreadId"] == written[-1])


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    made = Slow(10)
    monkeypatch.setattr(recovering, "fold", made)
    monkeypatch.setattr(recovering, "PATIENCE", 0.0)
    monkeypatch.setattr(recovering, "TELLING", 0.0)
    monkeypatch.setattr("threadloom.store.recovery.BATCH", 5)
    yield made
    made.go_on.set()


@pytest.fixture
async def rebuilding(
    tmp_path: Path, conformance: Conformance, written: list[str], slow: Slow
) -> AsyncIterator[tuple[House, Talk]]:
    """A server that has read some of its logs, and stops at the next."""
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        await talk.ask("thread/list")
        await until(slow.stopped.is_set)
        yield home, talk
        slow.go_on.set()


async def listed(talk: Talk) -> list[str]:
    return [it["id"] for it in (await talk.ask("thread/list", limit=100))["data"]]


async def test_lists_show_what_is_known_the_newest_first_and_then_all(
    rebuilding: tuple[House, Talk], written: list[str], slow: Slow
) -> None:
    _, talk = rebuilding
    known = await listed(talk)
    assert known == written[: len(known)]
    assert 5 <= len(known) <= 10
    slow.go_on.set()
    told = await talk.until("backgroundEvent", isFinal=True)
    assert told == {
        "threadId": None,
        "message": f"The index of threads is complete: {COUNT} logs were read.",
        "isFinal": True,
        "level": "info",
    }
    assert await listed(talk) == written
    progress = [it["params"]["message"] for it in talk.heard("backgroundEvent")]
    assert f"The index of threads is being made: 5 of {COUNT} logs are read." in progress


async def test_one_who_is_answered_before_it_is_whole_is_told_so(
    rebuilding: tuple[House, Talk], monkeypatch: pytest.MonkeyPatch
) -> None:
    home, _ = rebuilding
    monkeypatch.setattr(recovering, "TELLING", 1e9)
    async with home.talking() as late:
        await listed(late)
        (told,) = late.heard("backgroundEvent")
    assert told["params"]["threadId"] is None
    assert not told["params"]["isFinal"]
    assert re.search(rf"is being made: \d+ of {COUNT} logs are read", told["params"]["message"])


async def test_a_thread_that_is_asked_for_is_read_at_once(rebuilding: tuple[House, Talk], written: list[str]) -> None:
    _, talk = rebuilding
    oldest, older = written[-1], written[-2]
    assert oldest not in await listed(talk)
    read = await talk.ask("thread/read", threadId=oldest, includeTurns=True)
    assert [len(it["items"]) for it in read["thread"]["turns"]] == [2, 11]
    page = await talk.ask("thread/turns/list", threadId=older)
    assert len(page["data"]) == 2
    assert {oldest, older} <= set(await listed(talk))
    refusal = await talk.refused("thread/read", threadId="01a1e24a-0000-7000-8000-000000000000")
    assert refusal.message.startswith("thread not loaded")


@pytest.mark.parametrize("params", [{}, {"limit": 1, "sortDirection": "asc"}])
async def test_a_fork_is_told_with_what_it_stands_on_though_nobody_has_come_to_that_yet(
    fork: str, rebuilding: tuple[House, Talk], written: list[str], params: dict[str, Any]
) -> None:
    _, talk = rebuilding
    known = await listed(talk)
    assert fork in known
    assert written[-1] not in known
    if params:
        [first] = (await talk.ask("thread/turns/list", threadId=fork, **params))["data"]
        page = await talk.ask("thread/turns/list", threadId=written[-1], **params)
        assert [first] == page["data"]
    else:
        assert len((await talk.ask("thread/resume", threadId=fork))["thread"]["turns"]) == 2


async def test_an_agent_goes_on_though_nobody_has_come_to_its_owner_yet(
    agent: str, rebuilding: tuple[House, Talk], written: list[str]
) -> None:
    _, talk = rebuilding
    assert written[-1] not in await listed(talk)
    assert (await talk.ask("thread/resume", threadId=agent))["thread"]["parentThreadId"] == written[-1]
    assert (await talk.turn(agent, "echo on"))["status"] == "completed"


async def test_a_session_that_is_meant_by_its_id_is_opened_and_forked_at_once(
    rebuilding: tuple[House, Talk], written: list[str], slow: Slow
) -> None:
    _, talk = rebuilding
    resumed = await talk.ask("session/resume", session=written[-1])
    assert (resumed["thread"]["id"], len(resumed["thread"]["turns"])) == (written[-1], 2)
    fork = (await talk.ask("session/fork", session=written[-2].upper(), byId=True))["thread"]
    assert (fork["forkedFromId"], len(fork["turns"])) == (written[-2], 2)
    assert not slow.go_on.is_set()


async def test_work_goes_on_meanwhile(rebuilding: tuple[House, Talk], written: list[str], slow: Slow) -> None:
    home, talk = rebuilding
    fresh = (await talk.start())["id"]
    assert (await talk.turn(fresh, "echo new"))["status"] == "completed"
    resumed = await talk.ask("thread/resume", threadId=written[-1])
    assert len(resumed["thread"]["turns"]) == 2
    assert (await talk.turn(written[-1], "echo old"))["status"] == "completed"
    fork = (await talk.ask("thread/fork", threadId=written[-3]))["thread"]["id"]
    closing = await talk.send("thread/close", {"threadId": fresh})  # may own what is not known yet
    await talk.ask("thread/loaded/list")
    assert not any(it.get("id") == closing for it in talk.log)
    slow.go_on.set()
    assert [it["threadId"] for it in (await talk.answer(closing))["report"]] == [fresh]
    await home.threads.knowledge.whole()
    everything = await listed(talk)
    assert set(everything) == {*written, fresh, fork}
    read = await talk.ask("thread/read", threadId=written[-1], includeTurns=True)
    assert len(read["thread"]["turns"]) == 3


async def test_who_waits_hears_that_the_logs_cannot_be_gone_through(
    tmp_path: Path, conformance: Conformance, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(tmp_path, conformance) as home:
        real = home.threads.durable.recover
        faults: list[Any] = [PermissionError("no"), None]

        async def recover(*args: Any) -> None:
            if (fault := faults.pop(0)) is not None:
                raise fault
            await real(*args)

        monkeypatch.setattr(home.threads.durable, "recover", recover)
        async with home.talking() as talk:
            refusal = await talk.refused("thread/archive", threadId="x")
            assert "cannot be gone through" in refusal.message
            with anyio.fail_after(20):
                assert (await talk.refused("thread/archive", threadId="x")).message == "thread not found: x"


@pytest.fixture
async def gated(
    tmp_path: Path, conformance: Conformance, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[House, list[str], anyio.Event]]:
    """A server over a home with a whole index, whose look at the logs waits to be let go."""
    scribe = Scribe(server_home(tmp_path))
    ids = scribe.threads(COUNT, 1_794_000_000_000)
    await scribe.index()
    scribe.store.close()
    async with house(tmp_path, conformance) as home:
        real, gate = home.threads.durable.recover, anyio.Event()

        async def recover(*args: Any) -> None:
            await gate.wait()
            await real(*args)

        monkeypatch.setattr(home.threads.durable, "recover", recover)
        monkeypatch.setattr(recovering, "PATIENCE", 1e9)
        yield home, ids, gate
        gate.set()


async def test_where_every_server_has_ended_well_no_list_waits(gated: tuple[House, list[str], anyio.Event]) -> None:
    home, ids, gate = gated
    async with home.talking() as talk:
        assert await listed(talk) == ids
        assert len((await talk.ask("thread/read", threadId=ids[0], includeTurns=True))["thread"]["turns"]) == 2
        assert talk.heard("backgroundEvent") == []
        gate.set()
        await home.threads.knowledge.whole()


async def test_logs_that_nobody_waits_for_are_looked_at_after_the_first_questions(
    gated: tuple[House, list[str], anyio.Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    home, ids, gate = gated
    real, began = home.threads.durable.recover, anyio.Event()

    async def recover(*args: Any) -> None:
        began.set()
        await real(*args)

    monkeypatch.setattr(home.threads.durable, "recover", recover)
    monkeypatch.setattr(recovering, "REST", 1e9)
    gate.set()
    async with home.talking() as talk:
        assert await listed(talk) == ids
        await anyio.wait_all_tasks_blocked()
        assert not began.is_set()
        with anyio.fail_after(20):
            await home.threads.knowledge.whole()
        assert began.is_set()


async def test_where_one_has_not_a_list_waits_for_what_it_may_have_left(
    gated: tuple[House, list[str], anyio.Event], tmp_path: Path
) -> None:
    home, ids, gate = gated
    lost = server_home(tmp_path) / "lives" / "somebody"
    lost.parent.mkdir(exist_ok=True)
    lost.touch()
    async with home.talking() as talk:
        asked = await talk.send("thread/list", {"limit": 100})
        await talk.ask("thread/loaded/list")
        assert not any(it.get("id") == asked for it in talk.log)
        gate.set()
        assert [it["id"] for it in (await talk.answer(asked))["data"]] == ids
    assert not lost.exists()
