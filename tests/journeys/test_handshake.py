"""The first words of a connection, over every transport."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.conformance import Conformance
from tests.support.flow import Flow
from tests.support.places import Place, StdioPlace
from tests.support.probe import NOTIFY, TICKED, ProbeNotifyParams
from tests.support.processes import listening
from tests.support.tap import Tap
from tests.support.wire import HELLO

from threadloom import __version__
from threadloom_client import Refused, connect, open_transport
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2 import lifecycle, model, roster
from threadloom_protocol.v2.lifecycle import ClientInfo

# <client name>/<version of Codex that it is compatible with> (<system>) <terminal> (threadloom <version>)
USER_AGENT = re.compile(r"(?P<client>[^/]+)/(?P<codex>\d+\.\d+\.\d+) \([^()]+\) \S.* \(threadloom (?P<ours>[^()]+)\)")


async def test_the_server_introduces_itself(over: Place) -> None:
    async with over.client(client=ClientInfo(name="diary", version="7.0")) as client:
        server = client.server
        agent = USER_AGENT.fullmatch(server.user_agent)
        assert agent is not None, server.user_agent
        assert agent["client"] == "diary"
        # Clients read the version after the first slash, and need this one at least.
        assert tuple(map(int, agent["codex"].split("."))) >= (0, 151, 0)
        assert server.user_agent.partition("/")[2].startswith(agent["codex"])
        assert agent["ours"] == server.server.version == __version__
        assert server.server.name == "threadloom"
        assert (server.platform_family, server.platform_os) == ("unix", "linux")
        assert os.path.isabs(server.codex_home)
        assert server.sandbox.kind


async def test_home_is_where_the_environment_says(over: Place) -> None:
    async with over.client() as client:
        assert client.server.codex_home == str(over.home)


async def test_lists_that_need_no_thread_are_answered_at_once(over: Place) -> None:
    async with over.client() as client:
        models = (await client.request(model.LIST)).data
        assert [it.id for it in models if it.is_default] == [models[0].id]
        assert (await client.request(roster.LOADED)).data == []


@pytest.mark.parametrize("tagged", [False, True])
async def test_jsonrpc_is_answered_in_kind(over: Place, tagged: bool) -> None:
    tag = {"jsonrpc": "2.0"} if tagged else {}
    async with over.wire(initialize=False) as wire:
        # Before the handshake each message is answered in its own kind, afterwards all in the handshake's.
        early = await wire.ask("model/list", {}, jsonrpc="2.0")
        assert early["jsonrpc"] == "2.0"
        assert "jsonrpc" not in await wire.ask("model/list", {})
        assert ("jsonrpc" in await wire.ask("initialize", HELLO, **tag)) is tagged
        for kind in ({}, {"jsonrpc": "2.0"}):
            assert ("jsonrpc" in await wire.ask("model/list", {}, **kind)) is tagged
            assert ("jsonrpc" in await wire.ask("no/such", {}, **kind)) is tagged
        await wire.send(b"junk")
        assert ("jsonrpc" in await wire.read()) is tagged
        await wire.send([{"id": 1, "method": "model/list", **tag}])
        assert ("jsonrpc" in (await wire.read())[0]) is tagged


async def test_nothing_is_served_before_and_no_second_handshake_after(over: Place) -> None:
    async with over.wire(initialize=False) as wire:
        early = await wire.ask("model/list", {})
        assert early["error"] == {"code": -32600, "message": "Not initialized"}
        await wire.initialize()
        again = await wire.ask("initialize", HELLO)
        assert again["error"] == {"code": -32600, "message": "Already initialized"}
        await wire.is_alive()


async def test_a_client_cannot_shake_hands_twice(over: Place) -> None:
    async with over.client() as client:
        with pytest.raises(InvalidRequest, match="Already initialized"):
            await client.initialize(ClientInfo(name="again", version="1"))


async def test_requests_may_follow_the_handshake_without_waiting_for_its_answer(over: Place) -> None:
    async with over.wire(initialize=False) as wire:
        await wire.send(
            {"id": 1, "method": "initialize", "params": HELLO},
            {"method": "initialized"},
            {"id": 2, "method": "model/list"},
            {"id": 3, "method": "thread/loaded/list"},
        )
        answers = [await wire.read() for _ in range(3)]
        assert answers[0]["id"] == 1  # the others are about no thread, and may overtake each other
        assert {it["id"] for it in answers} == {1, 2, 3}
        assert all("result" in it for it in answers)


ODD_HELLOS: dict[str, Any] = {
    "least": {"clientInfo": {"name": "n", "version": "1"}},
    "no capabilities": {**HELLO, "capabilities": None},
    "empty capabilities": {**HELLO, "capabilities": {}},
    "nulls": {**HELLO, "capabilities": {"optOutNotificationMethods": None}},
    "unknown members": {
        "clientInfo": {"name": "n", "version": "1", "title": "T", "color": "red"},
        "capabilities": {"experimentalApi": False, "requestAttestation": False, "telepathy": {"a": [1]}},
        "trace": "verbose",
    },
    "the TUI's": {
        "clientInfo": {"name": "codex-tui", "title": None, "version": "0.166.0"},
        "capabilities": {"experimentalApi": True, "optOutNotificationMethods": []},
    },
    "unicode": {"clientInfo": {"name": "Größe 漢字", "version": "∞"}},
}


@pytest.mark.parametrize("params", ODD_HELLOS.values(), ids=ODD_HELLOS.keys())
async def test_handshakes_of_many_kinds(over: Place, params: dict[str, Any]) -> None:
    async with over.wire(initialize=False) as wire:
        answer = await wire.ask("initialize", params)
        assert answer["result"]["userAgent"].startswith(f"{params['clientInfo']['name']}/")
        await wire.is_alive()


async def test_opted_out_notifications_stay_out_and_others_come(probing_over: Place) -> None:
    async with probing_over.client(opt_out=["probe/ticked"], experimental=True) as client:
        events = client.notifications()
        await client.request(NOTIFY, ProbeNotifyParams(count=3))
        assert [(await anext(events)).method for _ in range(3)] == ["probe/whispered"] * 3


async def test_experimental_notifications_come_only_to_those_who_asked(probing_over: Place) -> None:
    async with probing_over.client() as client:
        events = client.notifications()
        await client.request(NOTIFY, ProbeNotifyParams(count=3))
        assert [(await anext(events)).method for _ in range(3)] == [TICKED.method] * 3


async def test_experimental_methods_need_the_capability(probing_over: Place) -> None:
    async with probing_over.wire() as wire:
        refused = await wire.ask("probe/secret", {})
        assert refused["error"]["code"] == -32600
        assert refused["error"]["message"] == "probe/secret requires experimentalApi capability"
    async with probing_over.wire(experimentalApi=True) as wire:
        assert (await wire.ask("probe/secret", {}))["result"] == {}


async def test_every_connection_has_a_handshake_of_its_own(over: Place) -> None:
    if isinstance(over, StdioPlace):
        return  # one connection is all that it has
    async with over.wire(tagged=True) as one, over.wire(initialize=False) as other:
        assert (await other.ask("model/list", {}))["error"]["message"] == "Not initialized"
        await one.is_alive()
        await other.initialize()
        assert "jsonrpc" not in await other.ask("model/list", {})
        assert "jsonrpc" in await one.ask("model/list", {})


@pytest.mark.parametrize("as_subprotocol", [False, True])
async def test_a_token_opens_the_door_and_nothing_else_does(
    tmp_path: Path, conformance: Conformance, as_subprotocol: bool
) -> None:
    token = tmp_path / "token"
    token.write_text("correct-horse-battery-staple-0123456789")
    flags = ["--ws-auth", "capability-token", "--ws-token-file", str(token)]
    async with listening("ws://127.0.0.1:0", tmp_path, *flags) as server:
        for wrong in (None, "wrong-horse"):
            with pytest.raises(Refused) as refused:
                await open_transport(server.url, token=wrong, as_subprotocol=as_subprotocol)
            assert refused.value.status == 401
        opened = await open_transport(server.url, token=token.read_text(), as_subprotocol=as_subprotocol)
        async with connect(Tap(opened, Flow(conformance))) as client:
            assert (await client.request(roster.LOADED)).data == []


def test_what_is_tested_by_name_is_what_is_declared() -> None:
    assert lifecycle.INITIALIZE.method == "initialize"
    assert lifecycle.INITIALIZED.method == "initialized"
    assert (model.LIST.method, roster.LOADED.method) == ("model/list", "thread/loaded/list")
