"""How a server leaves: soon, in peace, with everything answered, and with nothing on stdout but the protocol."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from signal import SIGHUP, SIGINT, SIGKILL, SIGTERM, Signals
from subprocess import DEVNULL, PIPE

import anyio
import orjson
import pytest
from anyio.abc import Process
from tests.support.conformance import Conformance
from tests.support.flow import Flow
from tests.support.places import MemoryPlace, SocketPlace, StdioPlace, running
from tests.support.processes import Log, command, environment, listening
from tests.support.talk import Talk
from tests.support.tap import Tap
from tests.support.vitals import exists
from tests.support.wire import Wire

from threadloom import app
from threadloom.connection import FAREWELL
from threadloom.threads.manager import STOPPING
from threadloom.transports import base
from threadloom_client import Closed, open_transport

PROMISED = 1.5  # seconds
IN_TIME = 10.0  # on a machine that is busy with something else
ORPHAN_CHECK = 1.0  # how often a server looks after its parent


@pytest.fixture
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("room")


async def ends(process: Process, within: float = IN_TIME) -> int:
    """The exit code, in time."""
    with anyio.fail_after(within):
        return await process.wait()


async def hold(wire: Wire, *identities: int) -> None:
    """Requests that stay open; they have been taken when this returns."""
    await wire.send(*({"id": it, "method": "probe/hold", "params": {"gate": "closed"}} for it in identities))
    await wire.is_alive()


def test_all_that_a_server_waits_for_at_its_end_is_within_what_was_promised() -> None:
    assert app.GRACE + STOPPING + FAREWELL <= PROMISED


# ── stdio ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def on_pipes(room: Path, conformance: Conformance) -> AsyncIterator[tuple[StdioPlace, Wire, Process]]:
    async with running("stdio", room, conformance, probing=True) as place:
        assert isinstance(place, StdioPlace)
        wire = Wire(await place.tapped(), "probe/echo")
        yield place, wire, place.newest.process


async def close_stdin(process: Process) -> None:
    assert process.stdin is not None
    await process.stdin.aclose()


async def test_the_end_of_input_ends_the_server(room: Path, conformance: Conformance) -> None:
    async with on_pipes(room, conformance) as (_, wire, process):
        await wire.initialize()
        await close_stdin(process)
        assert await ends(process) == 0


async def test_also_before_a_word_was_said(room: Path, conformance: Conformance) -> None:
    async with on_pipes(room, conformance) as (_, _, process):
        await close_stdin(process)
        assert await ends(process, within=10) == 0  # this one includes its start


@pytest.mark.parametrize("number", [SIGTERM, SIGINT, SIGHUP])
async def test_a_signal_ends_the_server(room: Path, conformance: Conformance, number: Signals) -> None:
    async with on_pipes(room, conformance) as (_, wire, process):
        await wire.initialize()
        process.send_signal(number)
        assert await ends(process) == 0


async def test_both_at_once_as_the_sdk_does_it(room: Path, conformance: Conformance) -> None:
    async with on_pipes(room, conformance) as (_, wire, process):
        await wire.initialize()
        await close_stdin(process)
        process.send_signal(SIGTERM)
        assert await ends(process) == 0


@pytest.mark.parametrize("how", ["end of input", "signal"])
async def test_a_command_that_takes_no_term_cannot_keep_it(room: Path, conformance: Conformance, how: str) -> None:
    async with on_pipes(room, conformance) as (_, wire, process):
        await wire.initialize(experimentalApi=True)
        talk, order = Talk(wire), {"cmd": "trap '' TERM; echo up; while :; do sleep 1; done", "login": False}
        thread_id = (await talk.start(cwd=str(room), approvalPolicy="never", sandbox="danger-full-access"))["id"]
        await talk.begin(thread_id, f"call exec_command {orjson.dumps(order | {'yield_time_ms': 30_000}).decode()}")
        await talk.until("item/commandExecution/outputDelta")
        if how == "signal":
            process.send_signal(SIGTERM)
        else:
            await close_stdin(process)
        assert await ends(process) == 0
        assert (await talk.until("turn/completed"))["turn"]["status"] == "interrupted"


@pytest.mark.parametrize("how", ["end of input", "signal"])
async def test_open_requests_are_answered_before_it_leaves(room: Path, conformance: Conformance, how: str) -> None:
    async with on_pipes(room, conformance) as (_, wire, process):
        await wire.initialize()
        await hold(wire, 1, 2, 3)
        if how == "signal":
            process.send_signal(SIGTERM)
        else:
            await close_stdin(process)
        answers = [await wire.read() for _ in range(3)]
        assert sorted(it["id"] for it in answers) == [1, 2, 3]
        assert {it["error"]["code"] for it in answers} == {-32603}
        assert await ends(process) == 0


async def test_what_was_asked_before_the_end_of_input_is_answered(room: Path, conformance: Conformance) -> None:
    async with on_pipes(room, conformance) as (_, wire, process):
        await wire.initialize()
        await wire.send(*({"id": number, "method": "probe/echo"} for number in range(200)))
        await close_stdin(process)
        assert [(await wire.read())["id"] for _ in range(200)] == list(range(200))
        assert await ends(process) == 0


async def test_a_peer_that_reads_nothing_cannot_keep_it(room: Path, conformance: Conformance) -> None:
    async with on_pipes(room, conformance) as (_, wire, process):
        await wire.initialize()
        # Far more than a pipe holds: the server's writes are stuck when the signal comes.
        await wire.send({"id": 1, "method": "probe/echo", "params": {"text": "x" * 5_000_000}})
        process.send_signal(SIGTERM)
        assert await ends(process) == 0


async def test_only_the_protocol_is_on_stdout(room: Path) -> None:
    words = command("--listen", "stdio://", probing=True)
    log = Log(words, room / "stderr.log")
    asked = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "n", "version": "1"}}},
        {"method": "initialized"},
        {"id": 2, "method": "probe/print", "params": {"text": "a stray line"}},
        {"id": 3, "method": "probe/fail"},
        {"id": 4, "method": "model/list"},
    ]
    text = b"hello\n\n" + b"".join(orjson.dumps(it) + b"\n" for it in asked)
    with log.path.open("wb") as stderr, anyio.fail_after(30):
        done = await anyio.run_process(words, input=text, stdout=PIPE, stderr=stderr, env=environment(room), cwd=room)
    lines = done.stdout.decode().splitlines(keepends=True)
    assert all(line.endswith("\n") for line in lines)
    assert [orjson.loads(line)["id"] for line in lines] == [None, 1, 2, 3, 4]
    assert log.text.count("a stray line") == 4
    log.assert_clean()


FOSTER = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:])
print(child.pid, file=sys.stderr, flush=True)
child.wait()
"""


async def test_a_server_whose_parent_died_leaves(room: Path) -> None:
    """The pipe stays open, as it does when another process has inherited it."""
    words = [sys.executable, "-c", FOSTER, *command("--listen", "stdio://", probing=True)]
    parent = await anyio.open_process(words, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment(room), cwd=room)
    async with parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        assert parent.stderr is not None
        with anyio.fail_after(20):
            pid = int(await parent.stderr.receive())
            await parent.stdin.send(b'{"id":1,"method":"probe/echo"}\n')
            assert b"Not initialized" in await parent.stdout.receive()
        try:
            parent.send_signal(SIGKILL)
            with anyio.fail_after(IN_TIME + ORPHAN_CHECK), pytest.raises(anyio.EndOfStream):
                await parent.stdout.receive()
            with anyio.fail_after(5):
                while exists(pid):  # its end of the pipe goes a moment before it does
                    await anyio.lowlevel.checkpoint()
        finally:
            if exists(pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


# ── a server that listens ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(params=["websocket", "unix"])
async def listener(request: pytest.FixtureRequest, room: Path, conformance: Conformance) -> AsyncIterator[SocketPlace]:
    async with running(request.param, room, conformance, probing=True) as place:
        assert isinstance(place, SocketPlace)
        yield place


@pytest.mark.parametrize("number", [SIGTERM, SIGINT, SIGHUP])
async def test_a_listening_server_ends_at_a_signal(room: Path, listener: SocketPlace, number: Signals) -> None:
    async with listener.wire() as wire:
        await wire.is_alive()
        listener.server.process.send_signal(number)
        with pytest.raises(Closed, match="received 100"):
            await wire.read()
        assert await ends(listener.server.process) == 0
    assert not (room / "s").exists()


async def test_with_nobody_there_too(listener: SocketPlace) -> None:
    listener.server.process.send_signal(SIGTERM)
    assert await ends(listener.server.process) == 0


async def test_every_client_is_answered_before_it_leaves(listener: SocketPlace) -> None:
    async with listener.wire() as one, listener.wire() as other:
        await hold(one, 1, 2)
        await hold(other, 3)
        listener.server.process.send_signal(SIGTERM)
        answers = [await one.read(), await one.read(), await other.read()]
        assert sorted(it["id"] for it in answers) == [1, 2, 3]
        assert all(it["error"]["code"] == -32603 for it in answers)
        assert await ends(listener.server.process) == 0


async def test_clients_that_come_and_go_do_not_end_it(listener: SocketPlace) -> None:
    for _ in range(3):
        async with listener.wire() as wire:
            await wire.is_alive()
    assert listener.server.process.returncode is None


@pytest.mark.parametrize("scheme", ["ws", "unix"])
async def test_a_second_signal_forces(scheme: str, room: Path, conformance: Conformance) -> None:
    words = command("--listen", "ws://127.0.0.1:0" if scheme == "ws" else f"unix://{room / 's'}", probing=True)
    process = await anyio.open_process(
        words, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE, env=environment(room), cwd=room
    )
    async with process:
        assert process.stderr is not None
        with anyio.fail_after(20):
            said = await process.stderr.receive()
        url = said.decode().partition("listening on ")[2].split()[0]
        wire = Wire(Tap(await open_transport(url), Flow(conformance)), "probe/echo")
        try:
            await wire.initialize()
            await hold(wire, 1)
            process.send_signal(SIGTERM)
            # The first one has been heard when the server takes no new work.
            with anyio.fail_after(5):
                while "error" not in await wire.ask("probe/echo"):
                    pass
            process.send_signal(SIGTERM)
            assert await ends(process, within=IN_TIME) == 128 + SIGTERM
        finally:
            await wire.transport.aclose()
            if process.returncode is None:
                process.kill()


async def test_two_servers_do_not_share_a_socket(room: Path, conformance: Conformance) -> None:
    async with running("unix", room, conformance) as first:
        assert isinstance(first, SocketPlace)
        words = command("--listen", first.url)
        second = await anyio.run_process(words, check=False, env=environment(room), cwd=room)
        assert second.returncode not in (0, None)
        assert b"already" in second.stderr
        assert b"Traceback" not in second.stderr
        async with first.wire() as wire:
            await wire.is_alive()


BAD_WORDS = [
    ["--listen", "carrier-pigeon://"],
    ["--listen", "ws://127.0.0.1"],
    ["--listen", "ws://0.0.0.0:0"],  # off loopback, and no way to tell who comes
    ["--listen", "stdio://", "--config", "no value"],
]


@pytest.mark.parametrize("words", BAD_WORDS, ids=" ".join)
async def test_what_cannot_be_served_is_refused_in_a_line(words: list[str], room: Path) -> None:
    with anyio.fail_after(20):
        done = await anyio.run_process(command(*words), stdin=DEVNULL, check=False, env=environment(room), cwd=room)
    assert done.returncode not in (0, None)
    assert done.stdout == b""
    assert len(done.stderr.splitlines()) == 1, done.stderr.decode()


async def test_it_says_where_it_listens(room: Path) -> None:
    async with listening("ws://127.0.0.1:0", room) as server:
        host, _, port = server.url.removeprefix("ws://").partition(":")
        assert host == "127.0.0.1"
        assert int(port) > 0


async def test_a_server_in_this_process_lets_everyone_go(room: Path, conformance: Conformance) -> None:
    async with running("memory", room, conformance, probing=True) as place:
        assert isinstance(place, MemoryPlace)
        wire = Wire(await place.tapped(), "probe/echo")
        await wire.initialize()
        await hold(wire, 1)
        with anyio.fail_after(IN_TIME):
            await place.app.stop()
        assert (await wire.read())["error"]["code"] == -32603
        with pytest.raises(base.Closed):
            await wire.read()
        await wire.transport.aclose()
