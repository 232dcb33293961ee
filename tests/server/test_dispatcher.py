"""Requests: routed, ordered, and answered exactly once, whatever happens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from tests.support import probe
from tests.support.flow import Flow
from tests.support.places import MemoryPlace, running
from tests.support.plugin import CONFORMANCE
from tests.support.probe_methods import GATES
from tests.support.probing import ProbingApp
from tests.support.tap import Tap

from threadloom.app import HANDLERS, App
from threadloom.config import Settings
from threadloom.connection import MAX_OPEN
from threadloom.routes import MissingHandler, Routes
from threadloom.transports.memory import pair
from threadloom_client import Client
from threadloom_protocol.errors import RpcError
from threadloom_protocol.spec import Surface
from threadloom_protocol.v2 import V2


@asynccontextmanager
async def talking(home: Path) -> AsyncIterator[tuple[App, Client]]:
    async with (
        running("memory", home, CONFORMANCE.load(), probing=True) as place,
        place.client() as client,
    ):
        assert isinstance(place, MemoryPlace)
        yield place.app, client


async def hold(client: Client, gate: str, thread: str | None, order: list[str]) -> None:
    await client.request(probe.HOLD, probe.ProbeHoldParams(gate=gate, thread_id=thread))
    order.append(gate)


async def test_requests_of_one_thread_keep_their_order(tmp_path: Path) -> None:
    order: list[str] = []
    async with talking(tmp_path) as (_, client), anyio.create_task_group() as tasks:
        for gate in ("first", "second"):
            tasks.start_soon(hold, client, gate, "same", order)
            await anyio.wait_all_tasks_blocked()
        GATES["second"].set()
        await anyio.wait_all_tasks_blocked()
        assert order == []
        GATES["first"].set()
    assert order == ["first", "second"]


async def test_requests_of_different_threads_run_side_by_side(tmp_path: Path) -> None:
    order: list[str] = []
    async with talking(tmp_path) as (_, client), anyio.create_task_group() as tasks:
        for gate in ("here", "there"):
            tasks.start_soon(hold, client, gate, gate, order)
            await anyio.wait_all_tasks_blocked()
        GATES["there"].set()
        await anyio.wait_all_tasks_blocked()
        assert order == ["there"]
        GATES["here"].set()
    assert order == ["there", "here"]


async def test_a_fault_of_a_handler_is_answered_without_its_details(tmp_path: Path) -> None:
    async with talking(tmp_path) as (_, client):
        with pytest.raises(RpcError, match="Internal error in probe/fail: KeyError") as fault:
            await client.request(probe.FAIL)
        assert fault.value.wire_code == -32603
        assert "detail" not in fault.value.message


async def test_too_many_open_requests_are_told_to_come_again(tmp_path: Path) -> None:
    async with talking(tmp_path) as (_, client), anyio.create_task_group() as tasks:
        for _ in range(MAX_OPEN):
            tasks.start_soon(hold, client, "all", None, [])
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(RpcError) as refusal:
            await client.request(probe.ECHO)
        assert refusal.value.wire_code == -32001
        assert refusal.value.data == {"codexErrorInfo": "server_overloaded"}
        GATES["all"].set()
    assert "all" in GATES


async def test_a_stop_answers_what_runs_and_what_waits(tmp_path: Path) -> None:
    errors: list[RpcError] = []

    async def ask(client: Client) -> None:
        try:
            await client.request(probe.HOLD, probe.ProbeHoldParams(gate="never opened", thread_id="same"))
        except RpcError as fault:
            errors.append(fault)

    async with talking(tmp_path) as (app, client), anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(ask, client)
        await anyio.wait_all_tasks_blocked()
        await app.stop()
    assert [fault.message for fault in errors] == ["The server is shutting down."] * 3


async def test_a_batch_that_is_open_at_a_stop_is_answered(tmp_path: Path) -> None:
    async with ProbingApp(Settings(home=tmp_path)).running() as app, anyio.create_task_group() as tasks:
        ours, there = pair()
        here = Tap(ours, Flow(CONFORMANCE.load()))
        tasks.start_soon(app.serve, there)
        await here.send([b'{"id":0,"method":"initialize","params":{"clientInfo":{"name":"a","version":"1"}}}'])
        await here.send([b'[{"id":1,"method":"probe/hold","params":{"gate":"never"}},{"id":2,"method":"probe/echo"}]'])
        await anyio.wait_all_tasks_blocked()
        await app.stop()
        with anyio.fail_after(5):
            answers = b"".join(bytes(frame) for frame in await here.receive() if isinstance(frame, bytes))
        await here.aclose()
    assert b'"id":1' in answers
    assert b"shutting down" in answers
    assert b'"id":2' in answers


def test_a_declared_method_without_a_handler_is_found() -> None:
    routes = Routes(Surface(2, ["tests.support.probe"]), {})
    with pytest.raises(MissingHandler, match="probe/echo"):
        routes.load_next()


async def test_a_missing_handler_ends_the_server(tmp_path: Path) -> None:
    surface = Surface(2, [*V2.names, "tests.support.probe"])
    with pytest.RaisesGroup(MissingHandler, flatten_subgroups=True):
        async with App(Settings(home=tmp_path), surface=surface, handlers=HANDLERS).running():
            with anyio.fail_after(30):
                await anyio.sleep_forever()
