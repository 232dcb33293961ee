"""What every model keeps to, whoever runs it: the rehearsal, the Responses API, Chat Completions, the local one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import orjson
import pytest
from tests.server.agent.models.asking import SECONDS, ask, remote, sampling, user
from tests.support.mock_model import (
    Hang,
    MockModel,
    Reply,
    call,
    calling,
    chunk,
    completed,
    delta,
    failed,
    message,
    mock_model,
    sse,
)

from threadloom.agent.models.base import LOCAL
from threadloom.agent.models.local import Local, weights
from threadloom.agent.models.provider import Provider
from threadloom.agent.models.rehearsal import Rehearsal
from threadloom.agent.sampling import Done, Model, ModelError, ModelEvent, ReasoningDelta, Sampling, TextDelta, ToolCall

KINDS = ("rehearsal", "responses", "chat")
INSTALLED = pytest.mark.skipif(weights() is None, reason="the extra `local` is not installed")
# The local one is real: it says what it likes, and takes its time.
ALL = (*KINDS, pytest.param("local", marks=INSTALLED))
PATIENCE = 120
TEXT, THOUGHT, FAIL, WAIT = "echo Good morning.", "think\necho Well.", "fail Out of breath.", "wait"
CALLS = 'call look {"at":1}\nand call look {"at":2}'
SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
COUNTED = {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 3}}
THINKING = {"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": "Hm."}


def chatted(*chunks: Any) -> Reply:
    return Reply([sse(*chunks, COUNTED, b"[DONE]", names=False)])


# What the servers say to a prompt; the rehearsal reads it from the prompt itself.
SPOKEN = {
    "responses": {
        TEXT: Reply([sse(delta("Good "), delta("morning."), message("Good morning."), completed())]),
        THOUGHT: Reply([sse(THINKING, delta("Well."), message("Well."), completed())]),
        CALLS: Reply([sse(call("look", {"at": 1}), call("look", {"at": 2}, "call_2", 1), completed())]),
        FAIL: Reply([sse(failed("Out of breath."))]),
        WAIT: Reply([sse({"type": "response.created"}), Hang()]),
        "schema": Reply([sse(delta('{"title":"x"}'), completed())]),
    },
    "chat": {
        TEXT: chatted(chunk(content="Good "), chunk(content="morning."), chunk("stop")),
        THOUGHT: chatted(chunk(reasoning_content="Hm."), chunk(content="Well."), chunk("stop")),
        CALLS: chatted(calling("look", '{"at":1}'), calling("look", '{"at":2}', "call_2", 1), chunk("tool_calls")),
        FAIL: Reply([sse({"error": {"message": "Out of breath."}}, names=False)]),
        WAIT: Reply([sse(chunk(role="assistant"), names=False), Hang()]),
        "schema": chatted(chunk(content='{"title":"x"}'), chunk("stop")),
    },
}


@dataclass
class Setting:
    """A model, and the server behind it where there is one."""

    model: Model
    server: MockModel | None


@asynccontextmanager
async def made(kind: str, prompt: str) -> AsyncIterator[Setting]:
    if kind == "rehearsal":
        with anyio.fail_after(SECONDS):
            yield Setting(Rehearsal(), None)
        return
    if kind == "local":
        local = Local(Provider("local", wire_api="chat", tools=False, images=False))
        try:
            with anyio.fail_after(PATIENCE):
                yield Setting(local, None)
        finally:
            await local.aclose()
        return
    async with mock_model(rest=SPOKEN[kind][prompt]) as server, remote(server.url, wire_api=kind) as model:
        yield Setting(model, server)


def asking(prompt: str, **rest: Any) -> Sampling:
    return sampling(user(prompt), **({"model": LOCAL.id} | rest))


def text(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=ALL)
def any_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def check_said(kind: str, heard: str) -> None:
    assert heard.strip() if kind == "local" else heard == "Good morning."


async def test_an_answer_is_text_and_ends_with_its_usage(any_kind: str) -> None:
    async with made(any_kind, TEXT) as setting:
        events = await ask(setting.model, asking(TEXT))
    check_said(any_kind, text(events))
    done = events[-1]
    assert isinstance(done, Done)
    assert done.usage.input > 0
    assert done.usage.output > 0
    assert sum(isinstance(event, Done) for event in events) == 1


async def test_thoughts_come_before_words(kind: str) -> None:
    async with made(kind, THOUGHT) as setting:
        events = await ask(setting.model, asking(THOUGHT))
    kinds = [type(event) for event in events]
    assert kinds.index(ReasoningDelta) < kinds.index(TextDelta)
    assert text(events) == "Well."


async def test_tools_are_called_side_by_side(kind: str) -> None:
    tool = {"type": "function", "name": "look", "parameters": {"type": "object"}}
    async with made(kind, CALLS) as setting:
        events = await ask(setting.model, asking(CALLS, tools=[tool]))
    calls = [event for event in events if isinstance(event, ToolCall)]
    assert [(it.name, orjson.loads(it.arguments)) for it in calls] == [("look", {"at": 1}), ("look", {"at": 2})]
    assert len({it.call_id for it in calls}) == 2
    assert isinstance(events[-1], Done)


async def test_a_schema_is_filled(any_kind: str) -> None:
    async with made(any_kind, "schema") as setting:
        events = await ask(setting.model, asking("schema", output_schema=SCHEMA))
    assert type(orjson.loads(text(events))["title"]) is str


async def test_a_failure_is_told_in_the_models_words(kind: str) -> None:
    async with made(kind, FAIL) as setting:
        with pytest.raises(ModelError, match=r"Out of breath\.") as failure:
            await ask(setting.model, asking(FAIL))
    assert failure.value.info is not None


async def test_a_model_that_is_waited_for_can_be_given_up(any_kind: str) -> None:
    async with made(any_kind, WAIT) as setting:
        with anyio.move_on_after(0.05) as scope:
            await ask(setting.model, asking(WAIT))
        assert scope.cancelled_caught
        if setting.server is not None:
            await setting.server.until(lambda it: it.left == [0])


async def test_one_model_answers_many_at_once(any_kind: str) -> None:
    answers: list[str] = []
    many = 3 if any_kind == "local" else 20

    async def one() -> None:
        answers.append(text(await ask(setting.model, asking(TEXT))))

    async with made(any_kind, TEXT) as setting, anyio.create_task_group() as tasks:
        for _ in range(many):
            tasks.start_soon(one)
    assert len(answers) == many
    for answer in answers:
        check_said(any_kind, answer)
    if setting.server is not None:
        assert len(setting.server.posts) == many


async def test_what_was_asked_is_left_as_it_was(any_kind: str) -> None:
    asked = asking(TEXT)
    before = orjson.dumps(asked.history)
    async with made(any_kind, TEXT) as setting:
        await ask(setting.model, asked)
    assert orjson.dumps(asked.history) == before
