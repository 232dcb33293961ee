"""Both sides ask, tell and answer, over every transport."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.support.conformance import Conformance
from tests.support.places import Place, StdioPlace, running
from tests.support.probe import (
    ASK,
    ECHO,
    HOLD,
    NOTIFY,
    OPEN,
    QUESTION,
    TICKED,
    ProbeAskParams,
    ProbeEchoParams,
    ProbeHoldParams,
    ProbeNotifyParams,
    ProbeOpenParams,
    ProbeQuestionParams,
    ProbeQuestionResponse,
)
from tests.support.vitals import memory
from tests.support.wire import Wire

from threadloom_client import Closed
from threadloom_protocol.errors import InternalError, InvalidParams

MIB = 1024 * 1024


async def test_a_question_of_the_server_is_answered(probing_over: Place) -> None:
    async def shout(params: ProbeQuestionParams) -> ProbeQuestionResponse:
        return ProbeQuestionResponse(answer=params.question.upper())

    async with probing_over.client() as client:
        client.on_request(QUESTION, shout)
        assert (await client.request(ASK, ProbeAskParams(question="who?"))).answer == "WHO?"


async def test_a_question_that_nobody_can_answer_is_refused(probing_over: Place) -> None:
    async with probing_over.client() as client:
        assert (await client.request(ASK, ProbeAskParams(question="who?"))).code == -32601


async def test_many_questions_at_once_find_their_answers(probing_over: Place) -> None:
    async def echo(params: ProbeQuestionParams) -> ProbeQuestionResponse:
        await anyio.lowlevel.checkpoint()
        return ProbeQuestionResponse(answer=params.question)

    answers: dict[str, str | None] = {}
    async with probing_over.client() as client:
        client.on_request(QUESTION, echo)

        async def ask(question: str) -> None:
            answers[question] = (await client.request(ASK, ProbeAskParams(question=question))).answer

        async with anyio.create_task_group() as tasks:
            for number in range(100):
                tasks.start_soon(ask, f"question {number}")
    assert answers == {f"question {number}": f"question {number}" for number in range(100)}


async def test_an_answer_of_another_protocol_leaves_the_question_open(probing_over: Place) -> None:
    async with probing_over.wire() as wire:
        await wire.send({"id": 1, "method": "probe/ask", "params": {"question": "well?"}})
        question = await wire.read()
        await wire.send({"id": question["id"], "jsonrpc": "1.0", "result": {}})
        assert (await wire.read())["error"]["code"] == -32600
        await wire.send({"id": question["id"], "result": {"answer": "well."}})
        assert (await wire.read()) == {"id": 1, "result": {"answer": "well.", "code": None}}
        await wire.send({"id": question["id"], "result": {"answer": "too late"}})
        await wire.is_alive()


@pytest.mark.parametrize("error", ["no", {}, {"code": "x", "message": "y"}])
async def test_an_error_of_a_wrong_shape_is_told_and_answers_the_question(probing_over: Place, error: Any) -> None:
    async with probing_over.wire() as wire:
        await wire.send({"id": 1, "method": "probe/ask", "params": {"question": "well?"}})
        question = await wire.read()
        await wire.send({"id": question["id"], "error": error})
        assert (await wire.read())["error"]["code"] == -32600
        assert (await wire.read()) == {"id": 1, "result": {"answer": None, "code": -32600}}
        await wire.is_alive()


async def test_notifications_come_in_order_and_before_the_answer(probing_over: Place) -> None:
    async with probing_over.client() as client:
        events = client.notifications(TICKED)
        await client.request(NOTIFY, ProbeNotifyParams(count=1000))
        with anyio.fail_after(10):
            assert [(await anext(events)).params.number for _ in range(1000)] == list(range(1000))


async def test_answers_of_plain_requests_come_in_the_order_of_the_questions(probing_over: Place) -> None:
    async with probing_over.wire() as wire:
        await wire.send(*({"id": number, "method": "probe/echo"} for number in range(1000)))
        assert [(await wire.read())["id"] for _ in range(1000)] == list(range(1000))


async def test_a_request_that_waits_holds_up_no_other(probing_over: Place) -> None:
    async with probing_over.client() as client, anyio.create_task_group() as tasks:
        gates: list[str] = []

        async def wait() -> None:
            gates.append((await client.request(HOLD, ProbeHoldParams(gate="one"))).gate)

        tasks.start_soon(wait)
        for _ in range(10):
            await client.request(ECHO)
        assert gates == []
        await client.request(OPEN, ProbeOpenParams(gate="one"))
    assert gates == ["one"]


async def test_what_a_handler_raises_is_told_without_its_details(probing_over: Place) -> None:
    async with probing_over.client() as client:
        with pytest.raises(InternalError) as fault:
            await client.call("probe/fail")
        assert "detail" not in fault.value.message
        with pytest.raises(InvalidParams, match="text"):
            await client.call("probe/echo", {"text": {"password": "hunter2"}})
        assert (await client.request(ECHO, ProbeEchoParams(text="on"))).text == "on"


async def test_a_fault_in_params_does_not_echo_what_was_sent(probing_over: Place) -> None:
    async with probing_over.client() as client:
        with pytest.raises(InvalidParams) as fault:
            await client.call("probe/echo", {"text": {"password": "hunter2"}})
        assert "hunter2" not in str(fault.value.to_wire())


async def test_clients_of_one_server_do_not_hear_each_other_s_answers(probing_over: Place) -> None:
    if isinstance(probing_over, StdioPlace):
        return  # one connection is all that it has
    async with probing_over.client() as one, probing_over.client() as other:
        heard = other.notifications()
        await one.request(NOTIFY, ProbeNotifyParams(count=5))
        await other.request(NOTIFY, ProbeNotifyParams(count=1))
        assert (await anext(heard)).params == TICKED.params(number=0)


@pytest.mark.parametrize("kind", ["websocket", "unix"])
async def test_a_client_that_does_not_read_is_let_go_and_harms_nobody(
    kind: str, tmp_path_factory: pytest.TempPathFactory, conformance: Conformance
) -> None:
    room = tmp_path_factory.mktemp("room")
    async with running(kind, room, conformance, probing=True) as place, place.wire() as lazy, place.wire() as other:
        assert place.pid is not None
        before = memory(place.pid)
        # 200 MB that it never reads, asked for in pieces as a busy thread would bring them.
        much = {"method": "probe/notify", "params": {"count": 100, "size": 20_000}}
        await lazy.send(*({"id": number, **much} for number in range(100)))
        for _ in range(50):
            await other.is_alive()
        assert memory(place.pid) - before < 64 * MIB
        with pytest.raises(Closed):
            await read_all(lazy, 10_000)
        await other.is_alive()


async def read_all(wire: Wire, count: int) -> None:
    for _ in range(count):
        await wire.read()
