"""Tools that take plain text: who is offered them, how a call comes in, how it reads to those who know functions."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.server.agent.models.asking import ask, decoded, sampling, scripted, user
from tests.server.agent.stage import Stage, named
from tests.support.mock_model import Reply, chats, completed, says, sse, wrong

from threadloom.agent.base import ToolResult, TurnInput
from threadloom.agent.models import chat, responses
from threadloom.agent.models.provider import OPENAI, Provider
from threadloom.agent.sampling import Done, Item, Sampling, ToolCall, Usage
from threadloom.agent.tools.base import Freeform

FUNCTION = {"type": "function", "name": "draw", "description": "Draw.", "parameters": {"type": "object"}}
CUSTOM = {"type": "custom", "name": "draw", "description": "Draw.", "format": {"type": "text"}}
LOOK = {"type": "function", "name": "look", "parameters": {"type": "object"}}
CALLED = {"type": "custom_tool_call", "call_id": "call_1", "name": "draw", "input": 'a "cat"\n'}
OUTPUT = {"type": "custom_tool_call_output", "call_id": "call_1", "output": "drawn"}
AS_FUNCTION = {"type": "function_call", "call_id": "call_1", "name": "draw", "arguments": r'{"input":"a \"cat\"\n"}'}
OUTPUT_AS_FUNCTION = {"type": "function_call_output", "call_id": "call_1", "output": "drawn"}
CALL = ToolCall("call_1", "draw", 'a "cat"\n', freeform=True)
DONE = Done(Usage(10, 0, 3, 0))


def asked() -> Sampling:
    return sampling(user("draw"), CALLED, OUTPUT, tools=[LOOK, FUNCTION], freeform={"draw": CUSTOM})


# ── who is offered them ───────────────────────────────────────────────────────────────────────────────────────────────

TAKERS = [
    ({"base_url": OPENAI}, "gpt-5-codex", True),
    ({"base_url": OPENAI + "/"}, "gpt-5.3", True),
    ({"base_url": OPENAI}, "codex-mini-latest", True),
    ({"base_url": OPENAI}, "gpt-10", True),
    ({"base_url": OPENAI}, "gpt-4.1", False),
    ({"base_url": OPENAI}, "o3", False),
    ({"base_url": "http://127.0.0.1/v1"}, "gpt-5-codex", False),
    ({"base_url": "http://127.0.0.1/v1", "freeform": True}, "llama", True),
    ({"base_url": OPENAI, "freeform": False}, "gpt-5-codex", False),
]


@pytest.mark.parametrize(("provider", "model", "takes"), TAKERS)
def test_models_that_are_known_to_take_plain_text_are_offered_it(
    provider: dict[str, Any], model: str, takes: bool
) -> None:
    assert Provider("p", **provider).writes_freely(model) is takes


async def test_a_model_that_takes_plain_text_gets_the_custom_tool_and_its_calls_back() -> None:
    async with scripted(says("ok"), freeform=True) as (server, model):
        await ask(model, asked())
    [body] = server.bodies
    assert body["tools"] == [LOOK, CUSTOM]
    assert body["input"] == [user("draw"), CALLED, OUTPUT]


async def test_a_model_that_does_not_gets_functions_alone() -> None:
    async with scripted(says("ok")) as (server, model):
        await ask(model, asked())
    [body] = server.bodies
    assert body["tools"] == [LOOK, FUNCTION]
    assert body["input"] == [user("draw"), AS_FUNCTION, OUTPUT_AS_FUNCTION]
    assert orjson.loads(body["input"][1]["arguments"]) == {"input": CALLED["input"]}


CHAT_CALL = {"id": "call_1", "type": "function", "function": {"name": "draw", "arguments": AS_FUNCTION["arguments"]}}


@pytest.mark.parametrize("freeform", [None, True])
async def test_chat_completions_know_functions_alone(freeform: bool | None) -> None:
    async with scripted(chats("ok"), wire_api="chat", freeform=freeform) as (server, model):
        await ask(model, asked())
    [body] = server.bodies
    assert [it["function"]["name"] for it in body["tools"]] == ["look", "draw"]
    assert body["messages"] == [
        {"role": "user", "content": "draw"},
        {"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "drawn"},
    ]


async def test_a_server_that_turns_out_to_know_chat_alone_gets_functions() -> None:
    async with scripted(wrong(404, "no such page"), chats("ok"), freeform=True) as (server, model):
        await ask(model, asked())
    assert [it["function"]["name"] for it in server.bodies[1]["tools"]] == ["look", "draw"]


def test_a_request_without_such_tools_is_what_it_was() -> None:
    plain = sampling(tools=[LOOK])
    assert responses.request(plain)["tools"] == [LOOK]
    assert [it["function"]["name"] for it in chat.request(plain)["tools"]] == ["look"]


# ── how a call comes in ───────────────────────────────────────────────────────────────────────────────────────────────

BEGUN = CALLED | {"id": "ctc_1", "input": "", "status": "in_progress"}
WHOLE = CALLED | {"id": "ctc_1", "status": "completed"}


def item(kind: str, it: Item, **where: Any) -> Item:
    return {"type": f"response.output_item.{kind}", "item": it, **where}


def piece(kind: str, **rest: Any) -> Item:
    return {"type": f"response.custom_tool_call_input.{kind}", "item_id": "ctc_1", "output_index": 0, **rest}


DIALECTS = [
    pytest.param(
        [
            item("added", BEGUN, output_index=0),
            piece("delta", delta='a "cat'),
            piece("delta", delta='"\n'),
            piece("done", input='a "cat"\n'),
            item("done", WHOLE, output_index=0),
            completed(),
        ],
        id="all that OpenAI sends",
    ),
    pytest.param([item("done", WHOLE), completed()], id="no pieces"),
    pytest.param(
        [item("added", BEGUN, output_index=0), piece("delta", delta='a "cat"\n'), completed()], id="never done"
    ),
    pytest.param(
        [item("added", BEGUN, output_index=0), piece("done", input='a "cat"\n'), completed()], id="its input done"
    ),
    pytest.param(
        [piece("done", input='a "cat"\n', name="draw", call_id="call_1"), completed()], id="never added, never done"
    ),
    pytest.param([completed(output=[WHOLE])], id="all in the last event"),
    pytest.param([item("done", CALLED), item("done", CALLED), completed()], id="told twice"),
]


@pytest.mark.parametrize("events", DIALECTS)
def test_a_call_in_plain_text_is_one(events: list[Item]) -> None:
    assert decoded([sse(*events)]) == [CALL, DONE]


# ── a whole turn ──────────────────────────────────────────────────────────────────────────────────────────────────────


class Draw(Freeform):
    """Draws."""

    name = "draw"

    def spec(self) -> Item:
        return FUNCTION

    def freeform(self) -> Item:
        return CUSTOM

    async def run(self, turn: TurnInput, call: ToolCall) -> ToolResult:
        assert call == CALL
        return ToolResult("drawn")


async def test_a_turn_gives_the_model_its_call_and_the_output_back_as_they_were() -> None:
    drawing = Reply([sse(item("done", WHOLE), completed())])
    async with scripted(drawing, says("There."), freeform=True) as (server, model):
        stage = await Stage("draw", model, tools=named(Draw())).play()
    assert [body["tools"] for body in server.bodies] == [[CUSTOM], [CUSTOM]]
    assert server.bodies[1]["input"] == [user("draw"), CALLED, OUTPUT]
    assert stage.text == "There."
