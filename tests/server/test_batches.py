"""Batches: several messages in one, but for the answer no different from so many single ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.conformance import Conformance
from tests.support.places import Place, running
from tests.support.wire import HELLO, Wire

from threadloom.connection import MAX_OPEN


@pytest.fixture
async def place(tmp_path: Path, conformance: Conformance) -> AsyncIterator[Place]:
    async with running("memory", tmp_path, conformance, probing=True) as place:
        yield place


def ask(identity: int, method: str, **params: Any) -> dict[str, Any]:
    return {"id": identity, "method": method, "params": params}


async def answer_of(wire: Wire, identity: int) -> Any:
    """What a request of a batch, or a single one, was answered with."""
    while True:
        message = await wire.read()
        for answer in message if isinstance(message, list) else [message]:
            if answer.get("id") == identity:
                return answer


async def test_a_batch_and_a_single_request_of_one_thread_keep_their_order(place: Place) -> None:
    async with place.wire() as wire:
        await wire.send(ask(1, "thread/start"))
        thread = (await answer_of(wire, 1))["result"]["thread"]["id"]
        await wire.send(
            [ask(2, "thread/name/set", threadId=thread, name="first")],
            ask(3, "thread/name/set", threadId=thread, name="second"),
            [ask(4, "thread/read", threadId=thread)],
        )
        assert (await answer_of(wire, 4))["result"]["thread"]["name"] == "second"


async def test_requests_of_one_thread_in_one_batch_keep_their_order(place: Place) -> None:
    async with place.wire() as wire:
        await wire.send([ask(1, "probe/hold", gate="shut", threadId="a"), ask(2, "probe/hold", gate="x", threadId="a")])
        await wire.send(ask(3, "probe/open", gate="x"), ask(4, "probe/open", gate="shut"))
        assert [(await wire.read())["id"] for _ in range(2)] == [3, 4]
        await wire.send(ask(5, "probe/open", gate="x"))  # only now does the second one wait at its gate
        assert [answer["id"] for answer in (await answer_with(wire, list))] == [1, 2]


async def answer_with(wire: Wire, kind: type) -> Any:
    while not isinstance(message := await wire.read(), kind):
        pass
    return message


async def test_a_handshake_in_a_batch_is_done_before_what_follows(place: Place) -> None:
    async with place.wire(initialize=False) as wire:
        await wire.send([ask(1, "initialize", **HELLO)], ask(2, "probe/echo", text="in"))
        greeted, echoed = await wire.read(), await wire.read()
        assert [answer["id"] for answer in greeted] == [1]
        assert echoed["result"]["text"] == "in"


async def test_the_requests_of_batches_count_among_the_open_ones(place: Place) -> None:
    half = MAX_OPEN // 2
    async with place.wire() as wire:
        for first in (0, half, 2 * half):
            await wire.send([ask(first + at, "probe/hold", gate="never opened in these") for at in range(half)])
        refused = await wire.read()
        assert [answer["id"] for answer in refused] == [*range(2 * half, 3 * half)]
        assert Counter(answer["error"]["code"] for answer in refused) == {-32001: half}
        await wire.send(ask(-1, "probe/echo"))
        assert (await wire.read())["error"]["code"] == -32001


async def test_a_batch_takes_what_there_is_room_for_and_gives_it_back(place: Place) -> None:
    async with place.wire() as wire:
        await wire.send([ask(at, "probe/hold", gate="opened by the next") for at in range(MAX_OPEN - 1)])
        await wire.send([ask(-1, "probe/open", gate="opened by the next"), ask(-2, "probe/echo"), 7])
        first, second = await wire.read(), await wire.read()
        by_id = {answer["id"]: answer for answer in [*first, *second]}
        assert "result" in by_id[-1]
        assert by_id[-2]["error"]["code"] == -32001
        assert by_id[None]["error"]["code"] == -32600
        assert all("result" in by_id[at] for at in range(MAX_OPEN - 1))
        await wire.is_alive()
