"""The Python client against a server that says what the test tells it to."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from tests.support.fake import Broken, FakeServer, faked
from tests.support.probe import (
    ECHO,
    QUESTION,
    TICKED,
    WHISPERED,
    Circle,
    ProbeEchoParams,
    ProbeQuestionParams,
    ProbeQuestionResponse,
    ProbeTicked,
    Square,
)

from threadloom.transports.memory import pair
from threadloom_client import (
    Client,
    Disconnected,
    Lagged,
    RequestTimeout,
    Subscription,
    UnexpectedAnswer,
    Unknown,
    connect,
)
from threadloom_protocol.errors import InvalidParams, MethodNotFound, Overloaded, RpcError
from threadloom_protocol.spec import Surface
from threadloom_protocol.v2.lifecycle import INITIALIZED, ClientInfo

PROBE = Surface(2, ["tests.support.probe"])


class Outcome:
    """What became of something that runs beside the test."""

    def __init__(self) -> None:
        self.result: Any = None
        self.fault: BaseException | None = None

    async def of(self, call: Any, *args: Any) -> None:
        try:
            self.result = await call(*args)
        except Exception as fault:
            self.fault = fault


# ── asking ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_request_sends_only_what_was_set_and_decodes_its_answer() -> None:
    async with faked(PROBE) as (client, server), anyio.create_task_group() as tasks:
        outcome = Outcome()
        tasks.start_soon(outcome.of, client.request, ECHO, ProbeEchoParams(note=None))
        request = await server.answer({"text": "hi", "given": ["note"], "new": "ignored"})
    assert request == {"id": 0, "method": "probe/echo", "params": {"note": None}}
    assert outcome.result.given == ["note"]


async def test_the_tag_of_a_union_is_always_sent() -> None:
    async with faked(PROBE) as (client, server), anyio.create_task_group() as tasks:
        params = ProbeEchoParams(shapes=[Circle(radius=1), Square(side=2)])
        tasks.start_soon(Outcome().of, client.request, ECHO, params)
        request = await server.answer({"text": "", "given": []})
    assert request["params"]["shapes"] == [{"type": "circle", "radius": 1}, {"type": "square", "side": 2}]


async def test_params_may_be_left_out_where_none_is_required() -> None:
    async with faked(PROBE) as (client, server), anyio.create_task_group() as tasks:
        tasks.start_soon(Outcome().of, client.request, ECHO)
        assert (await server.answer({"text": "", "given": []}))["params"] == {}


async def test_answers_find_their_requests_in_any_order() -> None:
    outcomes = [Outcome() for _ in range(3)]
    async with faked(PROBE) as (client, server), anyio.create_task_group() as tasks:
        for number, outcome in enumerate(outcomes):
            tasks.start_soon(outcome.of, client.call, "any", number)
        requests = [await server.read() for _ in outcomes]
        await server.say(*({"id": it["id"], "result": it["params"] * 10} for it in reversed(requests)))
    assert [it.result for it in outcomes] == [0, 10, 20]


@pytest.mark.parametrize("tagged", [False, True])
async def test_the_jsonrpc_tag_is_written_only_when_asked_for(tagged: bool) -> None:
    async with faked(PROBE, tagged=tagged) as (client, server), anyio.create_task_group() as tasks:
        tasks.start_soon(Outcome().of, client.call, "any")
        assert ("jsonrpc" in await server.answer(None)) is tagged


@pytest.mark.parametrize(
    ("code", "kind"), [(-32602, InvalidParams), (-32601, MethodNotFound), (-32001, Overloaded), (-32099, RpcError)]
)
async def test_a_refusal_is_raised_with_code_message_and_data(code: int, kind: type[RpcError]) -> None:
    outcome = Outcome()
    async with faked(PROBE) as (client, server), anyio.create_task_group() as tasks:
        tasks.start_soon(outcome.of, client.request, ECHO)
        identity = (await server.read())["id"]
        await server.say({"id": identity, "error": {"code": code, "message": "no", "data": {"why": 1}}})
    fault = outcome.fault
    assert type(fault) is kind
    assert (fault.wire_code, fault.message, fault.data) == (code, "no", {"why": 1})


async def test_an_answer_in_another_shape_is_told_from_a_refusal() -> None:
    outcome = Outcome()
    async with faked(PROBE) as (client, server), anyio.create_task_group() as tasks:
        tasks.start_soon(outcome.of, client.request, ECHO)
        await server.answer({"text": 5})
    assert isinstance(outcome.fault, UnexpectedAnswer)
    assert "probe/echo" in str(outcome.fault)


async def test_a_request_times_out_and_its_late_answer_disturbs_nobody() -> None:
    async with faked(PROBE) as (client, server):
        with pytest.raises(RequestTimeout, match=r"slow: no answer within 0\.01 s"):
            await client.call("slow", timeout=0.01)
        late = await server.read()
        outcome = Outcome()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(outcome.of, client.call, "quick")
            quick = await server.read()
            await server.say({"id": late["id"], "result": "late"}, {"id": quick["id"], "result": "in time"})
    assert outcome.result == "in time"


async def test_cancelling_a_request_leaves_the_connection_sound() -> None:
    async with faked(PROBE) as (client, server):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call, "given up")
            given_up = await server.read()
            tasks.cancel_scope.cancel()
        outcome = Outcome()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(outcome.of, client.call, "next")
            await server.say({"id": given_up["id"], "result": "unheard"})
            await server.answer("heard")
    assert outcome.result == "heard"


async def test_cancelling_while_the_server_does_not_read_never_sends_half_a_message() -> None:
    ours, theirs = pair(buffer=1)
    async with Client(ours, surface=PROBE).running() as client:
        async with anyio.create_task_group() as tasks:
            for number in range(600):  # more than pair, writer and outbox hold
                tasks.start_soon(client.call, "filler", number)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        server = FakeServer(theirs)
        async with anyio.create_task_group() as tasks:
            outcome = Outcome()
            tasks.start_soon(outcome.of, client.call, "last")
            seen = []
            while (message := await server.read())["method"] != "last":
                seen.append(message["params"])
            await server.say({"id": message["id"], "result": "whole"})
    await theirs.aclose()
    assert outcome.result == "whole"
    assert seen == list(range(len(seen)))
    assert 0 < len(seen) < 600


# ── losing the connection ─────────────────────────────────────────────────────────────────────────────────────────────


async def test_everything_pending_fails_when_the_server_goes() -> None:
    outcomes = [Outcome() for _ in range(5)]
    async with faked(PROBE) as (client, server):
        events = client.notifications()
        async with anyio.create_task_group() as tasks:
            for outcome in outcomes:
                tasks.start_soon(outcome.of, client.call, "any")
            for _ in outcomes:
                await server.read()
            await server.say({"method": "probe/ticked", "params": {"number": 1}})
            await server.leave()
        assert (await anext(events)).params == ProbeTicked(number=1)  # what came before is still there
        with pytest.raises(Disconnected):
            await anext(events)
        with pytest.raises(Disconnected):
            await client.call("afterwards")
        with pytest.raises(Disconnected):
            await anext(client.notifications())
    assert all(type(it.fault) is Disconnected for it in outcomes)


async def test_a_transport_that_raises_anything_has_ended() -> None:
    ours, theirs = pair()
    broken = Broken(ours)
    broken.on_send = OSError("the cable is out")
    broken.on_receive = OSError("the cable is out")
    async with Client(broken, surface=PROBE).running() as client:
        with pytest.raises(Disconnected, match="the cable is out"):
            await client.call("any")
    await theirs.aclose()


async def test_a_transport_that_can_only_receive_any_more_still_ends_what_waits() -> None:
    ours, theirs = pair()
    broken = Broken(ours)
    broken.on_send = OSError("no way out")
    async with Client(broken, surface=PROBE).running() as client:
        with pytest.raises(Disconnected, match="no way out"):
            await client.call("any", timeout=30)
    await theirs.aclose()


async def test_what_was_said_before_leaving_goes_out() -> None:
    ours, theirs = pair()
    async with Client(ours, surface=PROBE).running() as client:
        for _ in range(10):
            await client.notify(INITIALIZED)
    server = FakeServer(theirs)
    assert [await server.read() for _ in range(10)] == [{"method": "initialized"}] * 10
    await theirs.aclose()


async def test_an_exception_in_the_block_comes_out_as_it_is() -> None:
    with pytest.raises(KeyError, match="mine"):
        async with faked(PROBE):
            raise KeyError("mine")


async def test_junk_from_the_server_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    outcome = Outcome()
    with caplog.at_level(logging.WARNING):
        async with faked(PROBE) as (client, server), anyio.create_task_group() as tasks:
            tasks.start_soon(outcome.of, client.call, "any")
            identity = (await server.read())["id"]
            await server.say(b"not json", 7, {"id": None, "error": {"code": -32700, "message": "?"}}, {})
            await server.say([{"id": "nobody", "result": 1}, {"id": identity, "result": "fine"}])
    assert outcome.result == "fine"
    assert "not JSON" in caplog.text


# ── listening ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def ticks(*numbers: int) -> list[dict[str, Any]]:
    return [{"method": "probe/ticked", "params": {"number": number}} for number in numbers]


async def take(events: Subscription[Any], count: int) -> Sequence[Any]:
    with anyio.fail_after(5):
        return [await anext(events) for _ in range(count)]


async def test_every_subscriber_hears_everything_in_order_and_typed() -> None:
    async with faked(PROBE) as (client, server):
        one, other = client.notifications(), client.notifications(TICKED)
        await server.say(*ticks(1), {"method": "probe/whispered", "params": {"number": 9}}, *ticks(2))
        assert [(it.method, it.params.number) for it in await take(one, 3)] == [
            ("probe/ticked", 1),
            ("probe/whispered", 9),
            ("probe/ticked", 2),
        ]
        assert [it.params for it in await take(other, 2)] == [ProbeTicked(number=1), ProbeTicked(number=2)]


async def test_what_came_before_the_first_subscriber_is_kept_for_it_alone() -> None:
    async with faked(PROBE) as (client, server):
        await server.say(*ticks(1, 2), {"method": "sync"})
        await anyio.wait_all_tasks_blocked()
        first, second = client.notifications(TICKED), client.notifications(TICKED)
        await server.say(*ticks(3))
        assert [it.params.number for it in await take(first, 3)] == [1, 2, 3]
        assert [it.params.number for it in await take(second, 1)] == [3]


async def test_unknown_notifications_and_shapes_arrive_raw() -> None:
    async with faked(PROBE) as (client, server):
        events = client.notifications()
        await server.say({"method": "from/tomorrow", "params": {"x": 1}}, {"method": "probe/ticked", "params": {}})
        new, odd = await take(events, 2)
        assert (new.method, type(new.params), new.raw) == ("from/tomorrow", Unknown, {"x": 1})
        assert (odd.method, type(odd.params), odd.raw) == ("probe/ticked", Unknown, {})


async def test_a_slow_subscriber_is_told_how_much_it_missed_and_harms_only_itself() -> None:
    async with faked(PROBE) as (client, server):
        slow, quick = client.notifications(buffer=2), client.notifications()
        await server.say(*ticks(1, 2, 3, 4, 5))
        assert [it.params.number for it in await take(quick, 5)] == [1, 2, 3, 4, 5]
        assert [it.params.number for it in await take(slow, 2)] == [1, 2]
        await server.say(*ticks(6))
        await take(quick, 1)
        with pytest.raises(Lagged) as missed:
            await anext(slow)
        assert missed.value.missed == 3
        assert [it.params.number for it in await take(slow, 1)] == [6]


async def test_a_closed_subscription_ends_and_one_that_is_forgotten_costs_nothing() -> None:
    async with faked(PROBE) as (client, server):
        with client.notifications() as events:
            await server.say(*ticks(1))
            await take(events, 1)
        await server.say(*ticks(2))
        assert [it async for it in events] == []
        for _ in range(100):
            client.notifications()
        assert len(client._notifications._subscribers) <= 1


async def test_subscriptions_end_quietly_when_the_client_leaves() -> None:
    async with faked(PROBE) as (client, server):
        events = client.notifications(WHISPERED)
        await server.say(*ticks(1))
    assert [it async for it in events] == []


# ── answering ─────────────────────────────────────────────────────────────────────────────────────────────────────────

ASKED = {"id": "q1", "method": "probe/question", "params": {"question": "why?"}}


async def test_a_handler_answers_in_the_types_of_the_contract() -> None:
    async def because(params: ProbeQuestionParams) -> ProbeQuestionResponse:
        return ProbeQuestionResponse(answer=f"{params.question} because")

    async with faked(PROBE) as (client, server):
        client.on_request(QUESTION, because)
        await server.say(ASKED)
        assert await server.read() == {"id": "q1", "result": {"answer": "why? because"}}


async def test_a_handler_may_ask_the_server_before_it_answers() -> None:
    async with faked(PROBE) as (client, server):

        async def ask_back(params: ProbeQuestionParams) -> ProbeQuestionResponse:
            return ProbeQuestionResponse(answer=await client.call("what/do/you/mean"))

        client.on_request(QUESTION, ask_back)
        await server.say(ASKED)
        await server.answer("this")
        assert await server.read() == {"id": "q1", "result": {"answer": "this"}}


async def test_what_no_handler_can_answer_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    async def refuses(params: ProbeQuestionParams) -> ProbeQuestionResponse:
        raise InvalidParams("not like this", {"hint": 1})

    async def breaks(params: ProbeQuestionParams) -> ProbeQuestionResponse:
        raise KeyError("secret detail")

    async with faked(PROBE) as (client, server):
        await server.say(ASKED)
        assert (await server.read())["error"]["code"] == -32601
        client.on_request(QUESTION, refuses)
        await server.say(ASKED)
        assert (await server.read())["error"] == {"code": -32602, "message": "not like this", "data": {"hint": 1}}
        await server.say({**ASKED, "params": {"question": 7}})
        assert (await server.read())["error"]["code"] == -32602
        client.on_request(QUESTION, breaks)
        await server.say(ASKED)
        fault = (await server.read())["error"]
    assert fault["code"] == -32603
    assert "secret detail" not in str(fault)


async def test_too_many_open_requests_of_the_server_are_refused() -> None:
    async def never(params: ProbeQuestionParams) -> ProbeQuestionResponse:
        await anyio.sleep_forever()
        raise AssertionError

    async with faked(PROBE) as (client, server):
        client.on_request(QUESTION, never)
        await server.say(*({**ASKED, "id": number} for number in range(257)))
        refused = await server.read()
    assert (refused["id"], refused["error"]["code"]) == (256, -32001)


# ── connecting ────────────────────────────────────────────────────────────────────────────────────────────────────────

GREETING = {
    "userAgent": "x/0.166.0 (y) z (threadloom 1)",
    "codexHome": "/h",
    "platformFamily": "unix",
    "platformOs": "linux",
    "server": {"name": "threadloom", "version": "1"},
    "sandbox": {"kind": "none"},
}


async def test_connect_shakes_hands_first() -> None:
    ours, theirs = pair()
    server = FakeServer(theirs)
    said: list[Any] = []

    async def greet() -> None:
        said.extend([await server.answer(GREETING), await server.read()])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(greet)
        me = ClientInfo(name="me", version="2")
        async with connect(ours, client=me, experimental=True, opt_out=["a/b"], surface=PROBE) as client:
            assert client.server.server.name == "threadloom"
    await theirs.aclose()
    assert said == [
        {
            "id": 0,
            "method": "initialize",
            "params": {
                "clientInfo": {"name": "me", "version": "2"},
                "capabilities": {"experimentalApi": True, "optOutNotificationMethods": ["a/b"]},
            },
        },
        {"method": "initialized"},
    ]


async def test_a_command_that_is_not_there_or_ends_at_once_says_so() -> None:
    with pytest.raises(Disconnected, match="cannot start"):
        async with connect(["/nonexistent/threadloom"]):
            raise AssertionError
    with pytest.raises(Disconnected, match="exited with code 3"):
        async with connect([sys.executable, "-c", "raise SystemExit(3)"]):
            raise AssertionError


async def test_an_address_where_nobody_listens_says_so(tmp_path_factory: pytest.TempPathFactory) -> None:
    nobody = tmp_path_factory.mktemp("s") / "nobody.sock"
    for url in (f"unix://{nobody}", "ws://127.0.0.1:9", "ws://", "ws://127.0.0.1:99999", "ws://[::1"):
        with pytest.raises(Disconnected, match="cannot connect"):
            async with connect(url):
                raise AssertionError


STUBBORN = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('{"method":"up"}', flush=True)
time.sleep(60)
"""


async def test_a_child_that_will_not_leave_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("threadloom_client.stdio.PATIENCE", 0.2)
    from threadloom_client.stdio import spawn

    transport = await spawn([sys.executable, "-c", STUBBORN])
    with anyio.fail_after(10):
        assert await transport.receive() == [b'{"method":"up"}']
        await transport.aclose()
    assert transport.process.returncode == -9
    await transport.aclose()
