"""The way to the network: connections that are kept, left, refused, encrypted and proxied."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.server.agent.models.asking import WIRES, ask, merged, remote, sampling, scripted, spoken, user
from tests.support.mock_model import Drop, Hold, Reply, completed, delta, message, mock_model, says, sse, wrong

from threadloom.agent.models import transport
from threadloom.agent.sampling import Done, ItemDone, ModelError, TextDelta, Usage

TLS = Path(__file__).parent / "tls"
HI = [TextDelta("Hi."), ItemDone(), Done(Usage(10, 0, 3, 0))]
STREAM = sse(delta("Hi."), message("Hi."), completed())


async def test_a_connection_is_used_again() -> None:
    async with scripted(rest=says("Hi.")) as (server, model):
        for _ in range(3):
            assert await ask(model) == HI
    assert (server.connections, len(server.posts)) == (1, 3)


async def test_samplings_at_once_have_connections_of_their_own() -> None:
    gates = [Hold(), Hold()]
    replies = [Reply([sse(delta("Hi.")), gate, sse(message("Hi."), completed())]) for gate in gates]
    async with scripted(*replies) as (server, model), anyio.create_task_group() as tasks:
        for _ in gates:
            tasks.start_soon(ask, model)
        for gate in gates:
            await gate.reached.wait()
        assert server.connections == 2
        for gate in gates:
            gate.open.set()


STREAMS = {wire: b"".join(it for it in spoken(wire, "Hi.").body if isinstance(it, bytes)) for wire in WIRES}
FRAMINGS: list[Any] = [
    pytest.param(lambda it: Reply([it]), 1, id="chunked"),
    pytest.param(lambda it: Reply([it], framing="length"), 1, id="with a length"),
    pytest.param(lambda it: Reply([it], framing="close"), 2, id="HTTP/1.0"),
    pytest.param(lambda it: Reply([it], keep=False), 2, id="closed by the server"),
    pytest.param(lambda it: Reply([bytes([byte]) for byte in it]), 1, id="a chunk for every byte"),
    pytest.param(lambda it: Reply([it], first=[b"HTTP/1.1 100 Continue\r\n\r\n"]), 1, id="a word in between"),
    pytest.param(lambda it: Reply([it.removesuffix(b"\n\n")], framing="close"), 2, id="HTTP/1.0, and no blank line"),
]


@pytest.mark.parametrize("wire_api", WIRES)
@pytest.mark.parametrize(("framed", "connections"), FRAMINGS)
async def test_an_answer_may_be_framed_in_any_way(
    framed: Callable[[bytes], Reply], connections: int, wire_api: str
) -> None:
    async with scripted(rest=framed(STREAMS[wire_api]), wire_api=wire_api) as (server, model):
        assert await ask(model) == HI
        assert await ask(model) == HI
    assert (server.connections, len(server.posts)) == (connections, 2)


CUTS = [(wire, place) for wire, stream in STREAMS.items() for place in range(1, len(stream), 7)]


@pytest.mark.parametrize(("wire_api", "place"), CUTS)
async def test_an_answer_broken_anywhere_on_its_way_is_the_same(wire_api: str, place: int) -> None:
    stream = STREAMS[wire_api]
    async with scripted(Reply([stream[:place], stream[place:]]), wire_api=wire_api) as (_, model):
        assert merged(await ask(model)) == HI


async def test_a_connection_that_the_server_has_closed_is_not_used() -> None:
    """Servers do so after a while, without a word: here right behind an answer that promised otherwise."""
    ended = Reply([STREAM, b"", Drop()])  # an empty chunk is the last one
    async with scripted(ended, rest=says("Hi.")) as (server, model):
        assert await ask(model) == HI
        await server.until(lambda it: it.ended == 1)
        assert await ask(model) == HI
    assert (server.connections, len(server.posts)) == (2, 2)


async def test_one_that_the_server_closes_as_it_is_used_again_is_replaced() -> None:
    async with scripted(says("Hi."), Reply(first=[Drop()]), says("Hi.")) as (server, model):
        assert await ask(model) == HI
        assert await ask(model) == HI
    assert (server.connections, len(server.posts)) == (2, 3)


async def test_a_new_one_that_the_server_closes_is_told() -> None:
    async with scripted(Reply(first=[Drop()])) as (server, model):
        with pytest.raises(ModelError, match="closed the connection"):
            await ask(model)
    assert (server.connections, len(server.posts)) == (1, 1)


async def test_a_connection_that_was_idle_for_long_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "IDLE", -1.0)
    async with scripted(rest=says("Hi.")) as (server, model):
        await ask(model)
        await ask(model)
    assert server.connections == 2


async def test_the_end_of_an_answer_is_not_waited_for_and_the_connection_is_used_once_it_is_there() -> None:
    gate = Hold()
    async with scripted(Reply([STREAM, gate]), rest=says("Hi.")) as (server, model):
        assert await ask(model) == HI
        gate.open.set()
        assert await ask(model) == HI
    assert server.connections == 1


async def test_a_connection_whose_answer_never_ends_is_not_used() -> None:
    async with scripted(Reply([STREAM, Hold()]), rest=says("Hi.")) as (server, model):
        assert await ask(model) == HI
        assert await ask(model) == HI
        await server.until(lambda it: len(it.left) == 1)
    assert server.connections == 2


async def test_given_up_while_the_last_answer_ends_it_leaves_no_connection_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transport, "MOMENT", 60.0)
    async with scripted(Reply([STREAM, Hold()]), rest=says("Hi.")) as (server, model):
        assert await ask(model) == HI
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, model)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        await server.until(lambda it: len(it.left) == 1)
    assert len(server.posts) == 1


async def test_so_many_connections_are_kept_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "KEPT", 2)
    gates = [Hold() for _ in range(4)]
    async with scripted(*(Reply([gate, STREAM]) for gate in gates), rest=says("Hi.")) as (server, model):
        async with anyio.create_task_group() as tasks:
            for gate in gates:
                tasks.start_soon(ask, model)
                await gate.reached.wait()
            for gate in gates:
                gate.open.set()
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(ask, model)
    assert server.connections == 5


NO_HTTP = [b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n"]


@pytest.mark.parametrize("data", NO_HTTP)
async def test_a_server_that_speaks_something_else_cannot_be_reached(data: bytes) -> None:
    async with scripted(Reply(first=[data, Drop()])) as (_, model):
        with pytest.raises(ModelError, match="This is not HTTP"):
            await ask(model)


async def test_chunks_that_are_none_break_the_answer() -> None:
    bad = Reply([sse(delta("Hi")) + b"\r\nxyz\r\n"], framing="close")
    headers = {"content-type": "text/event-stream", "transfer-encoding": "chunked"}
    async with scripted(Reply(bad.body, headers=headers, framing="close")) as (_, model):
        with pytest.raises(ModelError, match="This is not HTTP"):
            await ask(model)


NO_PLACES = [
    "ftp://127.0.0.1/v1",
    "http://",
    "nonsense",
    "",
    "http://127.0.0.1:99999/v1",
    "http://[::/v1",
]


@pytest.mark.parametrize("url", NO_PLACES)
async def test_a_place_that_is_none_is_told_at_once(url: str) -> None:
    sleeps: list[float] = []
    async with remote(url, request_max_retries=4, sleeps=sleeps) as model:
        with pytest.raises(ModelError, match="cannot be made") as failure:
            await ask(model)
    assert failure.value.info == "badRequest"
    assert sleeps == []


# ── TLS ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def certified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "cert.pem", TLS / "key.pem")
    return context


async def test_over_tls_a_connection_is_used_again_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "cert.pem"))
    async with mock_model(rest=says("Hi."), tls=certified()) as server, remote(server.url) as model:
        for _ in range(3):
            assert await ask(model) == HI
    assert (server.connections, len(server.posts)) == (1, 3)


async def test_over_tls_an_answer_can_be_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "cert.pem"))
    reply = Reply([sse(delta("Once")), Hold()])
    async with mock_model(reply, tls=certified()) as server, remote(server.url) as model:
        stream = model.stream(sampling())
        assert await anext(stream) == [TextDelta("Once")]
        await stream.aclose()
        await server.until(lambda it: it.left == [0])


async def test_a_certificate_that_nobody_vouches_for_is_refused() -> None:
    async with mock_model(rest=says("Hi."), tls=certified()) as server, remote(server.url) as model:
        with pytest.raises(ModelError, match=r"(?i)certificate"):
            await ask(model)
    assert server.requests == []


# ── proxies ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with mock_model(rest=says("Hi.")) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
        async with remote("http://models.test/v1") as model:
            assert await ask(model) == HI
            stream = model.stream(sampling())
            await anext(stream)
            await stream.aclose()
    assert [it.target for it in proxy.posts] == ["http://models.test/v1/responses"] * 2


async def test_a_place_that_needs_no_proxy_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "127.0.0.1")
    async with scripted(says("Hi.")) as (_, model):
        assert await ask(model) == HI


async def test_a_request_is_like_the_one_before_but_for_its_body() -> None:
    given = {"api_key": "sk-secret", "http_headers": {"X-Loom": "warp"}, "query_params": {"api-version": "1"}}
    async with scripted(rest=says("Hi."), **given) as (server, model):
        await ask(model, sampling(user("one")))
        await ask(model, sampling(user("twenty-two")))
        await ask(model, sampling(user("one")))
    first, second, third = server.posts
    assert first == third
    assert (second.method, second.target) == (first.method, first.target) == ("POST", "/v1/responses?api-version=1")
    assert set(second.headers) == set(first.headers)
    assert {name for name, value in second.headers.items() if value != first.headers[name]} == {"content-length"}
    assert (first.headers["authorization"], first.headers["x-loom"]) == ("Bearer sk-secret", "warp")


REFUSALS: list[Any] = [
    pytest.param(wrong(400, "No."), id="bad"),
    pytest.param(wrong(401, "Who?"), id="unauthorized"),
    pytest.param(wrong(429, "Later.", retry_after="7"), id="too many"),
    pytest.param(wrong(503, "Later."), id="unavailable"),
    pytest.param(Reply([b"gone"], 302, {"location": "/elsewhere"}, framing="length"), id="moved"),
    pytest.param(Reply([Drop()], first=[b"HTTP/1.1"]), id="cut off in the head"),
    pytest.param(Reply([], first=[b"nonsense\r\n\r\n"]), id="not HTTP"),
]


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_failure_is_the_same_for_a_first_request_and_for_a_later_one(refusal: Reply) -> None:
    told = []
    for before in ([], [says("Hi.")]):
        async with scripted(*before, refusal) as (_, model):
            for _ in before:
                await ask(model)
            with pytest.raises(ModelError) as failure:
                await ask(model)
        told.append((str(failure.value).replace(str(model.provider.base_url), ""), failure.value.info))
    assert told[0] == told[1]
