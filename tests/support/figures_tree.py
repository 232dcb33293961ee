"""Figures of a tree of agents, as a client of a server in a process of its own sees them."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import anyio
from tests.server.test_cascade_load import DEPTH, FAN, marked, stubborn
from tests.support.processes import Listener, listening
from tests.support.vitals import memory as resident

from threadloom_client import Client, connect
from threadloom_protocol.v2 import agent, item, thread, tree, turn
from threadloom_protocol.v2.values.content import TextUserInput
from threadloom_protocol.v2.values.genealogy import CallbackConfig

SECONDS = 300.0  # for one measurement; the longest takes a tenth of it
WIDE = ("-c", "agents.max_depth=8", "-c", "agents.max_threads=5000")
TALK = "slow 20 ms\nsay 100000 words"
TREE = 85  # a root, and 4 + 16 + 64 below it
NODES = 1000
RESTING = 500  # children whose memory is counted
SPAWNS = 20  # children whose first token is waited for
BUSY = 100  # other threads at work
WAKES = 120  # so that the 95th of a hundred is not the slowest of a few
SETTLE = 0.5  # seconds in which all get under way, or in which a late token would still be heard
BUFFER = 1 << 20  # notifications: none may be left out


def since(began: float) -> float:
    """Milliseconds."""
    return (time.perf_counter() - began) * 1000


def p95(values: Sequence[float]) -> float:
    """What 95 of a hundred stay below."""
    return statistics.quantiles(values, n=20, method="inclusive")[-1]


@asynccontextmanager
async def serving(room: Path) -> AsyncIterator[tuple[Listener, Client]]:
    """A server on which trees may grow, in a new home, and a client of it."""
    home = Path(tempfile.mkdtemp(dir=room))
    with anyio.fail_after(SECONDS):
        async with (
            listening("ws://127.0.0.1:0", home, *WIDE) as server,
            connect(server.url, experimental=True) as client,
        ):
            yield server, client


async def start(client: Client, room: Path) -> str:
    """A thread that asks nobody."""
    params = thread.ThreadStartParams(cwd=str(room), sandbox="workspace-write", approval_policy="never")
    return (await client.request(thread.START, params)).thread.id


async def say(client: Client, thread_id: str, words: str) -> None:
    """Have a thread at work."""
    await client.request(turn.START, turn.TurnStartParams(thread_id=thread_id, input=[TextUserInput(text=words)]))


async def spawn(client: Client, parent: str, prompt: str, *, reports: bool = False) -> str:
    """A child at work."""
    params = agent.AgentSpawnParams(thread_id=parent, input=[TextUserInput(text=prompt)])
    params.callback_config = CallbackConfig(enabled=reports)
    return (await client.request(agent.SPAWN, params)).thread.id


async def planted(client: Client, room: Path, prompt: Callable[[int], str]) -> str:
    """The root of a tree of 85 threads at work; `prompt` is asked with the number of a child among its siblings."""
    top = await start(client, room)
    await say(client, top, TALK)
    level = [top]
    for _ in range(DEPTH):
        level = [await spawn(client, it, prompt(at)) for it in level for at in range(FAN)]
    return top


async def closed(client: Client, top: str) -> None:
    """The whole tree, with nobody left."""
    report = (await client.request(tree.CLOSE, tree.ThreadCloseParams(thread_id=top))).report
    assert len(report) == TREE
    assert {it.after for it in report} == {"shutdown"}


async def cooperative(room: Path) -> tuple[float, float]:
    """A close of agents that talk: request → the last token of any of them (0: none came), request → answer."""
    async with serving(room) as (_, client):
        top = await planted(client, room, lambda _: TALK)
        last: dict[str, float] = {}  # when each was heard last

        async def listen() -> None:
            async for it in heard:
                last[it.params.thread_id] = time.perf_counter()

        with client.notifications(item.AGENT_MESSAGE_DELTA, buffer=BUFFER) as heard:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(listen)
                await anyio.sleep(SETTLE)
                assert len(last) == TREE
                began = time.perf_counter()
                await closed(client, top)
                answered = since(began)
                await anyio.sleep(SETTLE)
                tasks.cancel_scope.cancel()
        return max(0.0, max(last.values()) - began) * 1000, answered


async def headstrong(room: Path) -> tuple[float]:
    """A close of agents of which half are inside commands that ignore TERM: request → the last process is gone."""
    mark = uuid4().hex
    async with serving(room) as (_, client):
        with client.notifications(item.COMMAND_OUTPUT_DELTA, buffer=BUFFER) as heard:
            top = await planted(client, room, lambda at: stubborn(mark) if at % 2 else TALK)
            inside = set[str]()
            async for it in heard:
                inside.add(it.params.thread_id)
                if len(inside) == TREE // 2:
                    break
        began = time.perf_counter()
        await closed(client, top)
        spent = since(began)
        assert marked(mark) == []
        return (spent,)


async def first_word(room: Path) -> tuple[float]:
    """`agent/spawn` → the first token of the child."""
    async with serving(room) as (_, client):
        top = await start(client, room)
        return (statistics.median([await _first_word(client, top) for _ in range(SPAWNS)]),)


async def _first_word(client: Client, top: str) -> float:
    with client.notifications(item.AGENT_MESSAGE_DELTA) as heard:
        began = time.perf_counter()
        child = await spawn(client, top, "say 3 words")
        while (await anext(heard)).params.thread_id != child:
            pass
        return since(began)


async def rested(client: Client, top: str, count: int) -> None:
    """So many more children that have done their work."""
    with client.notifications(turn.COMPLETED, buffer=BUFFER) as ended:
        for _ in range(count):
            await spawn(client, top, "say 3 words")
        for _ in range(count):
            await anext(ended)


async def whole(room: Path) -> tuple[float]:
    """`thread/tree` of 1,000 agents: request → answer."""
    async with serving(room) as (_, client):
        top = await start(client, room)
        await rested(client, top, NODES - 1)
        began = time.perf_counter()
        answer = await client.call(tree.READ.method, {"threadId": top})
        spent = since(began)
        assert len(answer["data"]) == NODES
        return (spent,)


async def memory(room: Path) -> tuple[float]:
    """What a child at rest adds to the server's memory, in KB."""
    async with serving(room) as (server, client):
        top = await start(client, room)
        await rested(client, top, RESTING)  # what the first ones bring about is no child's own
        before = resident(server.process.pid)
        await rested(client, top, RESTING)
        return ((resident(server.process.pid) - before) / RESTING / 1024,)


async def wake(room: Path) -> tuple[float]:
    """`turn/completed` of a child → `turn/started` of its parent, with 100 other threads at work: the 95th of 100."""
    unheard = [item.AGENT_MESSAGE_DELTA.method]  # to read what the others say would be work for this process alone
    async with serving(room) as (server, client), connect(server.url, opt_out=unheard) as other:
        for _ in range(BUSY):
            await say(other, await start(other, room), TALK)
        top = await start(client, room)
        return (p95([await _woken(client, top) for _ in range(WAKES)]),)


async def _woken(client: Client, top: str) -> float:
    seen: dict[tuple[str, str], float] = {}
    with client.notifications(turn.STARTED, turn.COMPLETED) as events:
        began = time.perf_counter()
        child = await spawn(client, top, "say 1 words", reports=True)
        while (turn.COMPLETED.method, top) not in seen:
            event = await anext(events)
            seen[event.method, event.raw["threadId"]] = since(began)
    return seen[turn.STARTED.method, top] - seen[turn.COMPLETED.method, child]
