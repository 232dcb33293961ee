"""OpenAI's SDK as a program with an event loop uses it."""

from __future__ import annotations

import asyncio
import json

import pytest
from openai_codex import InvalidRequestError
from openai_codex.types import TurnStatus
from tests.clients.sdk import LEAVES_PIPES, Bench, kinds, methods, streamed

pytestmark = LEAVES_PIPES


async def test_a_run(bench: Bench) -> None:
    async with bench.async_codex() as codex:
        thread = await codex.thread_start()
        result = await thread.run("think\necho Good morning")
        assert (await codex.models()).data[0].id == "rehearsal"
    assert (result.status, result.final_response) == (TurnStatus.completed, "Good morning")
    assert kinds(result.items) == ["userMessage", "reasoning", "agentMessage"]
    assert result.usage is not None
    assert result.usage.last.output_tokens >= 2


async def test_a_stream_comes_while_the_model_still_speaks(bench: Bench) -> None:
    async with bench.async_codex() as codex:
        turn = await (await codex.thread_start()).turn("say 6 words\nwait")
        events, steered = [], False
        async for event in turn.stream():
            events.append(event)
            if event.method == "item/agentMessage/delta" and len(streamed(events).split()) == 6 and not steered:
                steered = True
                await turn.steer("echo enough")  # else it would wait for ever
    assert methods(events)[-1] == "turn/completed"
    assert streamed(events).endswith("enough")


async def test_interrupt_and_steer_at_once_after_the_start(bench: Bench) -> None:
    async with bench.async_codex() as codex:
        thread = await codex.thread_start()
        turn = await thread.turn("wait")
        await turn.interrupt()
        assert (await turn.run()).status is TurnStatus.interrupted
        turn = await thread.turn("wait")
        assert (await turn.steer("echo here I am")).turn_id == turn.id
        assert (await turn.run()).final_response == "here I am"
        with pytest.raises(InvalidRequestError, match="no active turn to steer"):
            await turn.steer("echo too late")


async def test_many_turns_at_once(bench: Bench) -> None:
    async with bench.async_codex() as codex:
        threads = await asyncio.gather(*(codex.thread_start() for _ in range(10)))
        runs = (
            thread.run(f"slow 5 ms\npieces of 1 word\nsay {number + 5} words") for number, thread in enumerate(threads)
        )
        results = await asyncio.gather(*runs)
    assert len({result.id for result in results}) == 10
    assert [len((result.final_response or "").split()) for result in results] == list(range(5, 15))


async def test_an_output_schema_and_a_failure(bench: Bench) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    async with bench.async_codex() as codex:
        thread = await codex.thread_start()
        shaped = await thread.run("a number, please", output_schema=schema)
        with pytest.raises(RuntimeError, match="no numbers left"):
            await thread.run("fail There are no numbers left")
        assert (await thread.run("echo again")).final_response == "again"
    assert isinstance(json.loads(shaped.final_response or "")["n"], int)


async def test_fork_resume_name_archive_and_list(bench: Bench) -> None:
    async with bench.async_codex() as codex:
        thread = await codex.thread_start()
        await thread.run("echo one")
        await thread.set_name("First")
        fork = await codex.thread_fork(thread.id)
        await fork.run("echo two")
        assert len((await fork.read(include_turns=True)).thread.turns) == 2
        await codex.thread_archive(thread.id)
        assert [it.id for it in (await codex.thread_list()).data] == [fork.id]
        assert [it.name for it in (await codex.thread_list(archived=True)).data] == ["First"]
        await codex.thread_unarchive(thread.id)
        again = await codex.thread_resume(thread.id)
        assert (await again.run("echo three")).final_response == "three"


async def test_close_and_reopen_with_the_same_object(bench: Bench) -> None:
    codex = bench.async_codex()
    thread = await codex.thread_start()  # it opens itself
    await thread.run("echo one")
    await codex.close()
    again = await codex.thread_resume(thread.id)
    assert (await again.run("echo two")).final_response == "two"
    await codex.close()
    assert bench.recorded.codes() == [0, 0]
