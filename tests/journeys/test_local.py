"""The local model as a client meets it: `model_provider = "local"`, and nothing else."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import orjson
import pytest
from tests.support.conformance import Conformance
from tests.support.flow import Flow
from tests.support.places import StdioPlace, running
from tests.support.processes import command, environment, server_home
from tests.support.talk import Talk, streamed, talking, text_of
from tests.support.tap import Tap
from tests.support.vitals import exists
from tests.support.wire import Wire

from threadloom.agent.models.local import weights
from threadloom_client import open_transport
from threadloom_client.stdio import StdioTransport

pytestmark = pytest.mark.skipif(weights() is None, reason="the extra `local` is not installed")

SHORT = "Say hello."
BRIEF = {"baseInstructions": "Be brief."}  # what is not read costs no time
SECONDS = 120  # it runs on whatever is left of the machine


@pytest.fixture
async def talk(tmp_path: Path, conformance: Conformance) -> AsyncIterator[Talk]:
    """A client of a server that has nothing but a line in its configuration."""
    home = server_home(tmp_path)
    home.mkdir()
    (home / "config.toml").write_text('model_provider = "local"\nmodel = "somebody-elses"\n')
    async with running("stdio", tmp_path, conformance) as place, talking(place) as talk:
        assert isinstance(place, StdioPlace)
        yield talk
        children = processes_of(place.newest.process.pid)
    assert not any(map(exists, children))


def processes_of(parent: int) -> list[int]:
    """The processes that a process has started and that are still its own."""
    return [int(it) for it in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


async def test_it_is_listed_and_answers_and_says_what_it_starts(talk: Talk) -> None:
    [model] = (await talk.ask("model/list"))["data"]
    assert (model["id"], model["isDefault"], model["inputModalities"]) == ("smollm2-135m", True, ["text"])
    started = await talk.ask("thread/start", BRIEF)
    assert (started["model"], started["modelProvider"]) == ("smollm2-135m", "local")
    assert talk.heard("warning") == []
    with anyio.fail_after(SECONDS):
        ended = await talk.turn(started["thread"]["id"], SHORT)
    assert (ended["status"], ended["error"]) == ("completed", None)
    assert text_of(ended) == streamed(talk.log)
    assert text_of(ended).strip()
    [warning] = talk.heard("warning")
    assert "SmolLM2" in warning["params"]["message"]
    usage = talk.heard("thread/tokenUsage/updated")[-1]["params"]["tokenUsage"]
    assert usage["last"]["inputTokens"] > 0
    assert usage["last"]["outputTokens"] > 0
    assert usage["modelContextWindow"] == 8192

    with anyio.fail_after(SECONDS):
        schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
        ended = await talk.turn(started["thread"]["id"], "A title, please.", outputSchema=schema)
    assert type(orjson.loads(text_of(ended))["title"]) is str
    assert len(talk.heard("warning")) == 1


async def test_an_interrupt_ends_the_answer_and_the_next_one_comes(talk: Talk) -> None:
    thread = await talk.start(**BRIEF)
    with anyio.fail_after(SECONDS):
        turn = await talk.begin(thread["id"], "Tell me a long story about a loom.")
        await talk.until("item/agentMessage/delta")
        await talk.ask("turn/interrupt", threadId=thread["id"], turnId=turn)
        assert (await talk.until("turn/completed"))["turn"]["status"] == "interrupted"
        ended = await talk.turn(thread["id"], SHORT)
        assert (ended["status"], ended["error"]) == ("completed", None)


async def test_another_model_is_not_pretended(talk: Talk) -> None:
    thread = await talk.start(model="gpt-5")
    ended = await talk.turn(thread["id"], SHORT)
    assert ended["status"] == "failed"
    assert "smollm2-135m" in ended["error"]["message"]
    assert talk.heard("warning") == []


async def test_a_server_that_is_killed_leaves_no_process_behind(tmp_path: Path, conformance: Conformance) -> None:
    words = command("-c", "model_provider=local")
    with (tmp_path / "stderr.log").open("wb") as stderr:
        transport = await open_transport(words, env=environment(tmp_path), cwd=tmp_path, stderr=stderr)
    assert isinstance(transport, StdioTransport)
    talk = Talk(Wire(Tap(transport, Flow(conformance)), "thread/loaded/list"))
    await talk.wire.initialize(experimentalApi=True)
    thread = await talk.start(**BRIEF)
    with anyio.fail_after(SECONDS):
        await talk.begin(thread["id"], "Tell me a long story about a loom.")
        await talk.until("item/agentMessage/delta")
    children = processes_of(transport.process.pid)
    assert len(children) == 1
    os.kill(transport.process.pid, signal.SIGKILL)
    with anyio.fail_after(20):
        while any(map(exists, children)):  # noqa: ASYNC110 (they are not ours, so that nothing tells)
            await anyio.sleep(0.01)
    await transport.aclose()
    assert "starting the local model" in (tmp_path / "stderr.log").read_text()
