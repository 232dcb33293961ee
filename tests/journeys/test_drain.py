"""`--drain SECONDS`: a server that is told to stop lets its turns end first, and begins nothing new."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from signal import SIGTERM
from subprocess import DEVNULL, PIPE

import anyio
import pytest
from anyio.abc import Process
from tests.support.conformance import Conformance
from tests.support.flow import Flow
from tests.support.processes import command, environment, listening
from tests.support.talk import Talk, said, text_of
from tests.support.tap import Tap
from tests.support.wire import Wire

from threadloom.dispatcher import BEGINNINGS
from threadloom_client import open_transport
from threadloom_protocol.v2 import V2

LONG = "300"  # seconds: more than any of these tests waits
IN_TIME = 10.0


@asynccontextmanager
async def talking_to(url: str, conformance: Conformance) -> AsyncIterator[Talk]:
    wire = Wire(Tap(await open_transport(url), Flow(conformance)), "thread/loaded/list")
    try:
        await wire.initialize(experimentalApi=True)
        yield Talk(wire)
    finally:
        await wire.transport.aclose()


async def refuses(talk: Talk) -> None:
    """Return once the signal has been heard: a beginning is refused."""
    with anyio.fail_after(IN_TIME):
        while "result" in (answer := await begun(talk)):
            pass
    assert answer["error"] == {
        "code": -32603,
        "message": "The server is shutting down: what runs may end, but nothing new begins.",
    }


async def begun(talk: Talk) -> dict[str, object]:
    identity = await talk.send("thread/start", {"ephemeral": True})
    while (message := await talk.read()).get("id") != identity:
        pass
    return message


async def ends(process: Process) -> int:
    with anyio.fail_after(IN_TIME):
        return await process.wait()


async def test_a_turn_goes_on_to_its_end(tmp_path: Path, conformance: Conformance) -> None:
    async with (
        listening("ws://127.0.0.1:0", tmp_path, "--drain", LONG) as server,
        talking_to(server.url, conformance) as talk,
    ):
        thread = (await talk.start())["id"]
        turn_id = await talk.begin(thread, "wait")
        server.process.send_signal(SIGTERM)
        await refuses(talk)
        for method, params in (("turn/start", {"threadId": thread, "input": said("Hello")}), ("thread/start", {})):
            assert "nothing new begins" in (await talk.refused(method, **params)).message
        read = await talk.ask("thread/read", threadId=thread)
        assert read["thread"]["status"]["type"] == "active"
        await talk.ask("turn/steer", threadId=thread, expectedTurnId=turn_id, input=said("echo To the end."))
        turn = (await talk.until("turn/completed"))["turn"]
        assert (turn["status"], text_of(turn)) == ("completed", "To the end.")
        assert await ends(server.process) == 0


async def test_a_turn_can_be_ended_meanwhile(tmp_path: Path, conformance: Conformance) -> None:
    async with (
        listening(f"unix://{tmp_path / 's'}", tmp_path, "--drain", LONG) as server,
        talking_to(server.url, conformance) as talk,
    ):
        thread = (await talk.start())["id"]
        turn_id = await talk.begin(thread, "wait")
        server.process.send_signal(SIGTERM)
        await refuses(talk)
        await talk.ask("turn/interrupt", threadId=thread, turnId=turn_id)
        assert await ends(server.process) == 0


async def test_what_waits_for_its_turn_waits_for_the_next_server(tmp_path: Path, conformance: Conformance) -> None:
    async with (
        listening("ws://127.0.0.1:0", tmp_path, "--drain", LONG) as server,
        talking_to(server.url, conformance) as talk,
    ):
        thread = (await talk.start())["id"]
        turn_id = await talk.begin(thread, "wait")
        await talk.ask("thread/queue/add", threadId=thread, input=said("echo Later."), clientUserMessageId="later")
        server.process.send_signal(SIGTERM)
        await refuses(talk)
        await talk.ask("turn/steer", threadId=thread, expectedTurnId=turn_id, input=said("echo Now."))
        assert (await talk.until("turn/completed"))["turn"]["status"] == "completed"
        assert await ends(server.process) == 0
    async with listening("ws://127.0.0.1:0", tmp_path) as server, talking_to(server.url, conformance) as talk:
        await talk.ask("thread/resume", threadId=thread)
        with anyio.fail_after(IN_TIME):
            while (turns := await listed(talk, thread)) != [("Later.", "completed"), ("Now.", "completed")]:
                assert len(turns) <= 2


async def listed(talk: Talk, thread_id: str) -> list[tuple[str, str]]:
    turns = (await talk.ask("thread/turns/list", threadId=thread_id, itemsView="full"))["data"]
    return [(text_of(it), it["status"]) for it in turns]


async def test_a_turn_that_takes_longer_is_ended(tmp_path: Path, conformance: Conformance) -> None:
    async with (
        listening("ws://127.0.0.1:0", tmp_path, "--drain", "0.2") as server,
        talking_to(server.url, conformance) as talk,
    ):
        thread = (await talk.start())["id"]
        await talk.begin(thread, "echo This much.\nwait")
        await talk.until("item/completed")
        server.process.send_signal(SIGTERM)
        assert (await talk.until("turn/completed"))["turn"]["status"] == "interrupted"
        assert await ends(server.process) == 0


async def test_a_second_signal_does_not_wait(tmp_path: Path, conformance: Conformance) -> None:
    words = command("--listen", f"unix://{tmp_path / 's'}", "--drain", LONG)
    async with await anyio.open_process(
        words, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE, env=environment(tmp_path), cwd=tmp_path
    ) as process:
        try:
            assert process.stderr is not None
            with anyio.fail_after(20):
                url = (await process.stderr.receive()).decode().partition("listening on ")[2].split()[0]
            async with talking_to(url, conformance) as talk:
                thread = (await talk.start())["id"]
                await talk.begin(thread, "wait")
                process.send_signal(SIGTERM)
                await refuses(talk)
                process.send_signal(SIGTERM)
                assert await ends(process) == 128 + SIGTERM
        finally:
            if process.returncode is None:
                process.kill()


@pytest.mark.parametrize("method", sorted(BEGINNINGS))
def test_what_counts_as_a_beginning_is_declared(method: str) -> None:
    assert method in V2.requests
