"""The TypeScript client when things go wrong: refusals, silence, nonsense, and connections that end."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from textwrap import indent
from typing import Any

import anyio
import pytest
from tests.clients.node import Peer, Script, playing, run_node

PROGRAM = """\
import {{ connect, ConnectionClosed, RequestTimeout, RpcError }} from "./src/index.js";
const url = process.argv[2];
const show = (value) => console.log(JSON.stringify(value));
const caught = (promise) =>
  promise.then(
    (value) => ({{ value }}),
    ({{ name, code, message, data }}) => ({{ name, code, message, data }}),
  );

{body}
"""

Told = Callable[[str, Script], Awaitable[list[Any]]]


@pytest.fixture
def tell(built: Path, request: pytest.FixtureRequest) -> Told:
    """Run a client's side against a server's side; what the client showed."""

    async def tell(body: str, script: Script) -> list[Any]:
        program = built / f"{request.node.name}.js"
        program.write_text(PROGRAM.format(body=indent(body, "")))
        async with playing(script) as url:
            code, said, complaints = await run_node(program, url)
        assert (code, complaints) == (0, "")
        return [json.loads(line) for line in said.splitlines()]

    return tell


async def test_a_refusal_has_its_code_and_data(tell: Told) -> None:
    async def script(peer: Peer) -> None:
        asked = await peer.hear("thread/archive")
        assert asked["params"] == {"threadId": "1"}
        await peer.say(id=asked["id"], error={"code": -32001, "message": "Busy", "data": {"retry": True}})
        await peer.connection.wait_closed()

    shown = await tell(
        """\
const client = await connect(url);
show(await caught(client.request("thread/archive", { threadId: "1" })));
await client.close();
""",
        script,
    )
    assert shown == [{"name": "RpcError", "code": -32001, "message": "Busy", "data": {"retry": True}}]


async def test_answers_find_their_questions_in_any_order(tell: Told) -> None:
    async def script(peer: Peer) -> None:
        asked = [await peer.hear("model/list") for _ in range(3)]
        for number, request in reversed(list(enumerate(asked))):
            assert request["params"] == {}
            await peer.say(id=request["id"], result=number)
        await peer.connection.wait_closed()

    shown = await tell(
        """\
const client = await connect(url);
show(await Promise.all([1, 2, 3].map(() => client.request("model/list"))));
await client.close();
""",
        script,
    )
    assert shown == [[0, 1, 2]]


async def test_silence_ends_in_a_timeout_and_a_late_answer_in_nothing(tell: Told) -> None:
    async def script(peer: Peer) -> None:
        first = await peer.hear("model/list")
        second = await peer.hear("model/list")
        await peer.say(id=first["id"], result="late")
        await peer.say(id=second["id"], result="in time")
        await peer.connection.wait_closed()

    shown = await tell(
        """\
const client = await connect(url);
show(await caught(client.request("model/list", {}, { timeoutMs: 50 })));
show(await client.request("model/list"));
await client.close();
""",
        script,
    )
    assert shown == [{"name": "RequestTimeout", "message": "model/list: nothing after 50 ms"}, "in time"]


async def test_when_the_server_goes_everything_that_waits_is_rejected(tell: Told) -> None:
    async def script(peer: Peer) -> None:
        await peer.hear("model/list")
        await peer.hear("thread/list")
        await peer.connection.close(1001, "going away")

    shown = await tell(
        """\
const client = await connect(url);
show(await Promise.all([caught(client.request("model/list")), caught(client.request("thread/list"))]));
show(await caught(client.request("thread/list")));
show((await client.closed).code);
await client.close();
""",
        script,
    )
    gone = {"name": "ConnectionClosed", "code": 1001, "message": "the connection is closed: going away"}
    assert shown == [[gone, gone], gone, 1001]


async def test_a_client_that_leaves_rejects_what_it_still_waits_for(tell: Told) -> None:
    async def script(peer: Peer) -> None:
        await peer.hear("model/list")
        await peer.say(method="warning", params={})
        await peer.connection.wait_closed()
        assert peer.connection.close_code == 1000

    shown = await tell(
        """\
const client = await connect(url);
client.onNotification(() => client.close());
show(await caught(client.request("model/list")));
show((await client.closed).code);
""",
        script,
    )
    left = {"name": "ConnectionClosed", "code": 1000, "message": "the connection is closed: closed by this side"}
    assert shown == [left, 1000]


async def test_requests_of_the_server_are_answered_whatever_the_handler_does(tell: Told) -> None:
    answers: list[Any] = []

    async def script(peer: Peer) -> None:
        for identity in ("good", "refused", "broken", "unknown"):
            method = f"item/{'tool/call' if identity == 'unknown' else 'fileChange/requestApproval'}"
            await peer.say(id=identity, method=method, params={"itemId": identity})
            answers.append(await peer.hear())
        await peer.say(method="warning", params={})
        await peer.connection.wait_closed()

    shown = await tell(
        """\
const client = await connect(url);
client.onRequest("item/fileChange/requestApproval", async ({ itemId }, id) => {
  show([itemId, id]);
  if (itemId === "refused") throw new RpcError(-32000, "no", { why: "not today" });
  if (itemId === "broken") throw new Error("oops");
  return { decision: "accept" };
});
client.onNotification("warning", () => client.close());
await client.closed;
""",
        script,
    )
    assert shown == [["good", "good"], ["refused", "refused"], ["broken", "broken"]]
    assert answers == [
        {"id": "good", "result": {"decision": "accept"}},
        {"id": "refused", "error": {"code": -32000, "message": "no", "data": {"why": "not today"}}},
        {"id": "broken", "error": {"code": -32603, "message": "oops"}},
        {"id": "unknown", "error": {"code": -32601, "message": "Method not found: item/tool/call"}},
    ]


async def test_nonsense_and_a_broken_listener_are_reported_and_survived(tell: Told) -> None:
    async def script(peer: Peer) -> None:
        asked = await peer.hear("model/list")
        for frame in ("not JSON", "[]", "7", "null", b"{}"):
            await peer.connection.send(frame)
        await peer.say(id="nobody asked", result=1)
        await peer.say(method="warning", params={"message": "first"})
        await peer.say(id=asked["id"], result="still here")
        await peer.connection.wait_closed()

    shown = await tell(
        """\
const client = await connect(url, { onFault: (fault) => show(fault.message) });
client.onNotification(() => { throw new Error("a listener broke"); });
const stop = client.onNotification("warning", ({ message }) => show(message));
show(await client.request("model/list"));
stop();
await client.close();
""",
        script,
    )
    assert shown[:4] == ["not a message: not JSON", "not a message: []", "not a message: 7", "not a message: null"]
    assert shown[4].startswith("not a message: ")
    assert shown[5:] == ["a listener broke", "first", "still here"]


async def test_a_listener_that_stopped_hears_no_more(tell: Told) -> None:
    async def script(peer: Peer) -> None:
        await peer.say(method="warning", params={"message": "one"})
        await peer.say(method="warning", params={"message": "two"})
        await peer.connection.wait_closed()

    shown = await tell(
        """\
const client = await connect(url);
const stop = client.onNotification("warning", ({ message }) => { show(message); stop(); });
let heard = 0;
client.onNotification(() => { if (++heard === 2) client.close(); });
await client.closed;
show(heard);
""",
        script,
    )
    assert shown == ["one", 2]


async def test_nobody_there_is_an_error_and_so_is_a_door_that_never_opens(built: Path) -> None:
    async def silent(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            async for _ in stream:
                pass

    program = built / "nobody.js"
    body = """\
const { name, code } = await caught(connect(url));
show({ name, code });
const slow = await caught(connect(process.argv[3], { timeoutMs: 100 }));
show(slow.name);
process.exit(); // Node itself would go on waiting for the door
"""
    program.write_text(PROGRAM.format(body=body))
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, silent)
        # A port that was free a moment ago, and that nobody listens on.
        closed = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
        free = closed.extra(anyio.abc.SocketAttribute.local_port)
        await closed.aclose()
        code, said, complaints = await run_node(program, f"ws://127.0.0.1:{free}", f"ws://127.0.0.1:{port}")
        tasks.cancel_scope.cancel()
    assert (code, complaints) == (0, "")
    assert [json.loads(line) for line in said.splitlines()] == [
        {"name": "ConnectionClosed", "code": 1006},
        "RequestTimeout",
    ]


async def test_any_socket_of_the_right_shape_will_do_and_closing_it_is_bounded(built: Path) -> None:
    program = built / "own_socket.js"
    body = """\
const listeners = {};
const socket = {
  addEventListener: (type, listener) => (listeners[type] ??= []).push(listener),
  send: (text) => show(JSON.parse(text)),
  close: (code) => show(["close", code]), // and then nothing: a peer that never answers the closing frame
};
const opened = connect("ws://nowhere", {
  token: "t",
  webSocket: (url, protocols) => (show([url, protocols]), socket),
});
for (const listener of listeners.open) listener();
const client = await opened;
const asked = caught(client.request("thread/archive", { threadId: "1" }));
await client.close();
show((await asked).name);
show((await client.closed).code);
"""
    program.write_text(PROGRAM.format(body=body))
    code, said, complaints = await run_node(program)
    assert (code, complaints) == (0, "")
    assert [json.loads(line) for line in said.splitlines()] == [
        ["ws://nowhere", ["bearer.t"]],
        {"id": 1, "method": "thread/archive", "params": {"threadId": "1"}},
        ["close", 1000],
        "ConnectionClosed",
        1000,
    ]
