"""Trying again: when, how often, how long in between, and what is said of it."""

from __future__ import annotations

from email.utils import formatdate
from typing import Any

import anyio
import pytest
from tests.server.agent.models.asking import WIRES, ask, merged, piece, remote, sampling, scripted, spoken
from tests.support.mock_model import (
    Drop,
    Hang,
    Hold,
    Reply,
    delta,
    failed,
    mock_model,
    sse,
    wrong,
)

from threadloom.agent.models.failure import Failure
from threadloom.agent.models.provider import Provider
from threadloom.agent.models.retry import PATIENCE, Tries, retry_after
from threadloom.agent.sampling import Done, ItemDone, ModelError, Retrying, TextDelta, Usage

HI = [TextDelta("Hi."), ItemDone(), Done(Usage(10, 0, 3, 0))]
DISCONNECTED = {"responseStreamDisconnected": {"httpStatusCode": None}}
BROKEN = Reply([sse(delta("I was ju")), Drop()])


@pytest.mark.parametrize("wire_api", WIRES)
async def test_429_then_good_waits_as_long_as_the_server_says(wire_api: str) -> None:
    sleeps: list[float] = []
    script = [wrong(429, "Slow down.", retry_after="7"), wrong(503, "Not yet.", retry_after_ms="1500")]
    hi = spoken(wire_api, "Hi.")
    async with scripted(*script, hi, sleeps=sleeps, request_max_retries=4, wire_api=wire_api) as (server, model):
        events = await ask(model)
    busy = {"responseTooManyFailedAttempts": {"httpStatusCode": 429}}
    down = {"httpConnectionFailed": {"httpStatusCode": 503}}
    assert events == [
        Retrying("The model's server answered 429: Slow down.", 1, 4, busy),
        Retrying("The model's server answered 503: Not yet.", 2, 4, down),
        *HI,
    ]
    assert sleeps == [7, 1.5]
    assert len(server.posts) == 3
    assert server.bodies[0] == server.bodies[2]


async def test_what_nobody_can_wait_for_is_not_waited_for() -> None:
    long = wrong(429, f"Try again in {'9' * 5000}m.")
    async with scripted(long, spoken("responses", "Hi."), sleeps=[], request_max_retries=1) as (server, model):
        await ask(model)
    assert len(server.posts) == 2


async def test_a_server_may_say_in_words_how_long_to_wait() -> None:
    sleeps: list[float] = []
    busy = (
        wrong(429, "Rate limit reached. Please retry after 35 seconds."),
        wrong(429, "Try again in 9s.", retry_after="1"),
    )
    async with scripted(*busy, spoken("responses", "Hi."), sleeps=sleeps, request_max_retries=4) as (_, model):
        await ask(model)
    assert sleeps == [35, 1]


@pytest.mark.parametrize("wire_api", WIRES)
async def test_a_stream_that_breaks_comes_again_from_its_start(wire_api: str) -> None:
    sleeps: list[float] = []
    broken = Reply([piece(wire_api, "I was ju"), Drop()])
    script = broken, broken, spoken(wire_api, "Hi.")
    async with scripted(*script, sleeps=sleeps, stream_max_retries=2, wire_api=wire_api) as (server, model):
        events = await ask(model)
    partial = TextDelta("I was ju")
    reason = "The connection to the model broke: The server closed the connection."
    assert events == [
        partial,
        Retrying(reason, 1, 2, DISCONNECTED),
        partial,
        Retrying(reason, 2, 2, DISCONNECTED),
        *HI,
    ]
    assert sleeps == [0.25, 0.5]
    assert server.bodies[0] == server.bodies[1] == server.bodies[2]


async def test_requests_and_streams_are_counted_apart() -> None:
    busy = wrong(500, "Oh.")
    async with scripted(busy, BROKEN, busy, BROKEN, busy, busy, request_max_retries=1, stream_max_retries=2) as (
        server,
        model,
    ):
        with pytest.raises(ModelError, match="answered 500: Oh") as failure:
            await ask(model)
    assert failure.value.info == "internalServerError"
    assert len(server.posts) == 6


# What servers write that call it a bad request, and no more.
TOO_LONG = [
    "This model's maximum context length is 65536 tokens.",
    "prompt is too long: 215000 tokens > 200000 maximum",
    "This model's maximum prompt length is 131072.",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).",
]

FINAL: list[Any] = [
    pytest.param(wrong(401, "Bad key."), "answered 401: Bad key.", "unauthorized", id="401"),
    pytest.param(wrong(400, "Nonsense."), "answered 400: Nonsense.", "badRequest", id="400"),
    pytest.param(wrong(400, "x", code="context_length_exceeded"), "answered 400", "contextWindowExceeded", id="long"),
    pytest.param(wrong(400, "The context length is 10."), "length", "contextWindowExceeded", id="long, in words"),
    *(
        pytest.param(wrong(400, it, code="invalid_request_error"), it, "contextWindowExceeded", id=it)
        for it in TOO_LONG
    ),
    pytest.param(
        wrong(500, "Context size has been exceeded."), "exceeded", "contextWindowExceeded", id="long, and 500"
    ),
    pytest.param(wrong(413, "Payload Too Large"), "413", "contextWindowExceeded", id="413"),
    pytest.param(wrong(429, "Pay.", code="insufficient_quota"), "Pay.", "usageLimitExceeded", id="quota"),
    pytest.param(wrong(503, "Full.", code="server_is_overloaded"), "Full.", "serverOverloaded", id="overloaded"),
    pytest.param(wrong(404, "x", code="model_not_found"), "answered 404", "modelNotFound", id="no such model"),
    pytest.param(wrong(403, "No."), "No.", {"httpConnectionFailed": {"httpStatusCode": 403}}, id="403"),
    pytest.param(
        wrong(429, "Later.", retry_after=str(PATIENCE + 1)),
        "Later.",
        {"responseTooManyFailedAttempts": {"httpStatusCode": 429}},
        id="too long to wait for",
    ),
    pytest.param(
        Reply([b"<h1>Oops</h1>"], 418, {"content-type": "text/html"}),
        "answered 418: <h1>Oops</h1>",
        {"httpConnectionFailed": {"httpStatusCode": 418}},
        id="no JSON",
    ),
    pytest.param(Reply([], 403), "answered 403.", {"httpConnectionFailed": {"httpStatusCode": 403}}, id="no words"),
    pytest.param(
        Reply([b"<html>"], headers={"content-type": "text/html; charset=utf-8"}), "a web page", "badRequest", id="HTML"
    ),
    pytest.param(Reply([sse(failed("Too long.", "context_length_exceeded"))]), "Too long.", "contextWindowExceeded"),
    pytest.param(
        Reply([], 302, {"location": "/v2"}), "answered 302", {"httpConnectionFailed": {"httpStatusCode": 302}}
    ),
]


@pytest.mark.parametrize(("reply", "text", "info"), FINAL)
async def test_what_does_not_pass_is_not_tried_again(reply: Reply, text: str, info: Any) -> None:
    async with scripted(rest=reply, request_max_retries=4, stream_max_retries=5) as (server, model):
        with pytest.raises(ModelError) as failure:
            await ask(model)
    assert text in failure.value.message
    assert failure.value.info == info
    assert len(server.posts) == 1


@pytest.mark.parametrize(
    ("reply", "info"),
    [
        (BROKEN, DISCONNECTED),
        (Reply([sse(failed("It fell over."))]), "internalServerError"),
        (wrong(502, "Bad."), {"httpConnectionFailed": {"httpStatusCode": 502}}),
    ],
)
async def test_no_retries_are_no_retries(reply: Reply, info: Any) -> None:
    async with mock_model(rest=reply) as server, remote(server.url) as model:
        with pytest.raises(ModelError) as failure:
            await ask(model)
    assert failure.value.info == info
    assert len(server.posts) == 1


async def test_a_failed_response_is_tried_again_and_fails_with_the_models_text() -> None:
    async with scripted(rest=Reply([sse(delta("I"), failed("It fell over."))]), stream_max_retries=2) as (
        server,
        model,
    ):
        with pytest.raises(ModelError, match=r"It fell over\."):
            await ask(model)
    assert len(server.posts) == 3


async def test_a_failure_comes_behind_what_was_said_before_it_in_the_same_read() -> None:
    async with mock_model(Reply([sse(delta("I"), failed("It fell over."))])) as server, remote(server.url) as model:
        stream = model.stream(sampling())
        assert await anext(stream) == [TextDelta("I")]
        with pytest.raises(ModelError):
            await anext(stream)


async def test_a_server_that_is_not_there_is_tried_again_and_named() -> None:
    async with mock_model() as server:
        gone = server.url
    sleeps: list[float] = []
    async with remote(gone, sleeps=sleeps, request_max_retries=2) as model:
        with pytest.raises(ModelError, match=f"at {gone} cannot be reached: ") as failure:
            await ask(model)
    assert failure.value.info == {"httpConnectionFailed": {"httpStatusCode": None}}
    assert sleeps == [0.25, 0.5]


@pytest.mark.parametrize("wire_api", WIRES)
async def test_a_connection_that_ends_without_an_answer_is_tried_again(wire_api: str) -> None:
    script = Reply(first=[Drop()]), spoken(wire_api, "Hi.")
    async with scripted(*script, request_max_retries=1, wire_api=wire_api) as (_, model):
        events = await ask(model)
    assert isinstance(events[0], Retrying)
    assert events[1:] == HI


@pytest.mark.parametrize("wire_api", WIRES)
async def test_a_model_that_falls_silent_in_its_answer_is_given_up(wire_api: str) -> None:
    script = Reply([piece(wire_api, "Let me"), Hang()]), spoken(wire_api, "Hi.")
    limits = {"stream_idle_timeout_ms": 50, "stream_max_retries": 1}
    async with scripted(*script, wire_api=wire_api, **limits) as (server, model):
        events = await ask(model)
        await server.until(lambda it: it.left == [0])
    assert events == [
        TextDelta("Let me"),
        Retrying("The model has been silent for too long.", 1, 1, DISCONNECTED),
        *HI,
    ]


@pytest.mark.parametrize("wire_api", WIRES)
async def test_a_server_that_never_answers_is_given_up(wire_api: str) -> None:
    async with scripted(Reply(first=[Hang()]), stream_idle_timeout_ms=50, wire_api=wire_api) as (server, model):
        with pytest.raises(ModelError, match=r"cannot be reached: no answer in 0\.05 s"):
            await ask(model)
        await server.until(lambda it: it.left == [0])


@pytest.mark.parametrize("wire_api", WIRES)
async def test_pieces_that_keep_coming_are_no_silence(wire_api: str) -> None:
    """The limit is on the time between two of them, not on all of the answer."""
    pieces = [piece(wire_api, str(at)) for at in range(11)]

    async def drip() -> None:
        for hold in holds:
            await hold.reached.wait()
            await anyio.sleep(0.1)  # together more than the limit
            hold.open.set()

    holds = [Hold() for _ in pieces]
    steps = [step for pair in zip(pieces, holds, strict=True) for step in pair]
    async with (
        scripted(Reply([*steps, *spoken(wire_api).body]), stream_idle_timeout_ms=1000, wire_api=wire_api) as (_, model),
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(drip)
        events = await ask(model)
    assert merged(events)[0] == TextDelta("012345678910")


def tries(requests: int = 3, streams: int = 3, chance: float = 0.5) -> Tries:
    return Tries(Provider("p", request_max_retries=requests, stream_max_retries=streams), lambda: chance)


def test_waits_grow_and_scatter() -> None:
    failure = Failure("x", again=True)
    few, many = tries(streams=9), tries(streams=9, chance=0.0)
    waits = [few.next(failure) for _ in range(9)]
    assert [it.seconds for it in waits if it] == [0.25, 0.5, 1, 2, 4, 8, 8, 8, 8]
    assert few.next(failure) is None
    first = many.next(failure)
    assert first is not None
    assert first.seconds == pytest.approx(0.2)


AFTER = [
    ({"retry-after": "3"}, 3),
    ({"retry-after": "0.5"}, 0.5),
    ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
    ({"retry-after": formatdate(1_000_060, usegmt=True)}, 60),
    ({"retry-after": formatdate(999_000, usegmt=True)}, 0),
    ({"retry-after": "soon"}, None),
    ({"retry-after": "-1"}, None),
    ({"retry-after": "inf"}, None),
    ({}, None),
]


@pytest.mark.parametrize(("headers", "seconds"), AFTER)
def test_a_server_says_when_to_come_back(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, lambda: 1_000_000.0) == seconds
