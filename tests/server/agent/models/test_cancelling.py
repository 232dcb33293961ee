"""Giving up an answer: the connection is closed at once, wherever the answer has got to."""

from __future__ import annotations

import anyio
import pytest
from tests.server.agent.models.asking import ask, remote, sampling
from tests.support.mock_model import Drop, Hang, Hold, Reply, chunk, delta, mock_model, says, sse

from threadloom.agent.models.provider import Provider
from threadloom.agent.models.remote import Remote
from threadloom.agent.sampling import ModelEvent, Retrying, TextDelta

ENDLESS = {
    "responses": Reply([sse(delta("Once")), Hang()]),
    "chat": Reply([sse(chunk(content="Once"), names=False), Hang()]),
}


@pytest.mark.parametrize("wire_api", ["responses", "chat"])
async def test_closing_the_iterator_closes_the_connection(wire_api: str) -> None:
    async with mock_model(ENDLESS[wire_api]) as server, remote(server.url, wire_api=wire_api) as model:
        stream = model.stream(sampling())
        assert await anext(stream) == [TextDelta("Once")]
        assert server.left == []
        await stream.aclose()
        await server.until(lambda it: it.left == [0])
    assert len(server.posts) == 1


@pytest.mark.parametrize("wire_api", ["responses", "chat"])
async def test_cancelling_in_the_middle_closes_the_connection(wire_api: str) -> None:
    async with mock_model(ENDLESS[wire_api]) as server, remote(server.url, wire_api=wire_api) as model:
        heard: list[ModelEvent] = []

        async def listen() -> None:
            async for batch in model.stream(sampling()):
                heard.extend(batch)
                told.set()

        told = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            await told.wait()
            tasks.cancel_scope.cancel()
        await server.until(lambda it: it.left == [0])
    assert heard == [TextDelta("Once")]


async def test_cancelling_before_the_answer_begins_closes_the_connection() -> None:
    gate = Hold()
    async with mock_model(Reply(first=[gate])) as server, remote(server.url) as model:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, model)
            await gate.reached.wait()
            tasks.cancel_scope.cancel()
        await server.until(lambda it: it.left == [0])


async def test_a_scope_around_one_read_may_end_the_answer() -> None:
    """As steering does: the iteration is given up from outside, and closed."""
    async with mock_model(ENDLESS["responses"], says("Hi.")) as server, remote(server.url) as model:
        stream = model.stream(sampling())
        await anext(stream)
        with anyio.move_on_after(0.01) as scope:
            await anext(stream)
        assert scope.cancelled_caught
        await stream.aclose()
        await server.until(lambda it: it.left == [0])
        assert (await ask(model))[0] == TextDelta("Hi.")


async def test_cancelling_while_it_waits_to_try_again_ends_it() -> None:
    waiting = anyio.Event()

    async def sleep(seconds: float) -> None:
        waiting.set()
        await anyio.sleep_forever()

    async with mock_model(Reply([sse(delta("Once")), Drop()])) as server:
        model = Remote(Provider("mock", base_url=server.url), sleep=sleep)
        heard: list[ModelEvent] = []

        async def listen() -> None:
            async for batch in model.stream(sampling()):
                heard.extend(batch)

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(listen)
                await waiting.wait()
                tasks.cancel_scope.cancel()
        await model.aclose()
    assert [type(event) for event in heard] == [TextDelta, Retrying]
    assert len(server.posts) == 1
