"""Several servers on one home, each at work on threads of its own: nobody waits in vain, nothing is lost."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
from tests.support.conformance import Conformance
from tests.support.counts import soaking
from tests.support.crash_logs import check_index, logs
from tests.support.places import StdioPlace, running
from tests.support.talk import Talk, talking

SERVERS = 8
SECONDS = 120.0 if soaking() else 12.0
TREE = "spawn\n  spawn echo From below.\n  wait for agents\nand spawn echo Beside.\nwait for agents"
BELOW = 3  # agents that it makes
IDLE = 2  # more servers that do nothing, and one that listens


async def work(talk: Talk, number: int, until: float) -> dict[str, int]:
    """Trees, turns, names, forks, saved points and deletions; how many turns each thread that is left has."""
    turns: dict[str, int] = {}
    while time.monotonic() < until or not turns:
        thread = str((await talk.start())["id"])
        for at in range(3):
            assert (await talk.turn(thread, f"echo {number} {at}"))["status"] == "completed"
        assert (await talk.turn(thread, TREE))["status"] == "completed"
        below = [it["params"]["thread"] for it in talk.heard("thread/started")]
        below = [str(it["id"]) for it in below if it["parentThreadId"] is not None and it["sessionId"] == thread]
        assert len(below) == BELOW
        await talk.ask("thread/name/set", threadId=thread, name=f"of {number}")
        await talk.ask("session/save", threadId=thread, name=f"name of {number}")
        fork = str((await talk.ask("session/fork", session=f"name of {number}"))["thread"]["id"])
        assert (await talk.turn(fork, "echo of the fork"))["status"] == "completed"
        lost = str((await talk.start())["id"])
        await talk.ask("thread/delete", threadId=lost)
        turns |= {thread: 4, fork: 5, **dict.fromkeys(below, 1)}
    return turns


def written(pid: int) -> dict[str, str]:
    """How much a process has written, to whatever: to disks, and by calls, as not every home lies on a disk."""
    fields = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines())
    return {name: fields[name] for name in ("write_bytes", "wchar", "syscw")}


async def test_several_servers_at_work_on_one_home(tmp_path: Path, conformance: Conformance) -> None:
    place = StdioPlace(tmp_path, conformance, probing=False)
    done: dict[int, dict[str, int]] = {}
    try:
        async with AsyncExitStack() as stack:
            listener = await stack.enter_async_context(running("websocket", tmp_path, conformance))
            async with talking(listener) as talk:  # and no longer: to a client that is there it sends pings
                await talk.refused("thread/archive", threadId="none")  # it has looked at all logs, and is at rest
            assert listener.pid is not None
            idle, at_rest = [], [listener.pid]
            for _ in range(IDLE):
                talk = await stack.enter_async_context(talking(place))
                await talk.refused("thread/archive", threadId="none")  # it has looked at all logs, and is at rest
                idle.append(talk)
                at_rest.append(place.newest.process.pid)
            busy = [await stack.enter_async_context(talking(place)) for _ in range(SERVERS)]
            before = [*map(written, at_rest)]
            until = time.monotonic() + SECONDS

            async def one(number: int, talk: Talk) -> None:
                done[number] = await work(talk, number, until)

            async with anyio.create_task_group() as tasks:
                for number, talk in enumerate(busy):
                    tasks.start_soon(one, number, talk)
            assert [*map(written, at_rest)] == before, "who does nothing writes nothing"
            turns = {thread: it for part in done.values() for thread, it in part.items()}
            for thread in turns:  # whoever asks sees what all have done
                page = await idle[0].ask("thread/turns/list", threadId=thread, limit=10)
                assert [it["status"] for it in page["data"]] == ["completed"] * turns[thread]
            seqs = [
                [it["params"]["seq"] for it in talk.heard(thread=thread) if "seq" in it["params"]]
                for number, talk in enumerate(busy)
                for thread in done[number]
            ]
            assert all(it == list(range(it[0], it[0] + len(it))) for it in seqs), "each event once, in order"
            named = (await idle[1].ask("session/list", limit=100))["data"]
            assert {it["name"] for it in named} == {f"name of {number}" for number in range(SERVERS)}
    finally:
        await place.end()  # with nothing on its error output: no lock was waited for in vain
    assert len(list(logs(place.home))) == len(turns)
    await check_index(place.home, tmp_path / "rebuilt")
