"""What is sent: the exact JSON for every kind of sampling, over both APIs, and nothing beside it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.agent.models.asking import ask, remote, sampling, user
from tests.support.mock_model import chats, mock_model, says

from threadloom import __version__
from threadloom.agent.models import chat, responses
from threadloom.agent.models.limits import within
from threadloom.agent.models.provider import Provider
from threadloom.agent.sampling import Item, Sampling

IMAGE = "data:image/png;base64,iVBORw0KGgo="
LOOK = {
    "type": "function",
    "name": "look",
    "description": "Look.",
    "strict": False,
    "parameters": {"type": "object", "properties": {"at": {"type": "integer"}}},
}
SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
REASONING = {"type": "reasoning", "id": "rs_1", "status": None, "summary": [], "encrypted_content": "sealed"}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]}
CALL = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at":1}'}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "a cat"}
PICTURE = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What is this?"}]}
PICTURE["content"] += [{"type": "input_image", "image_url": IMAGE}]  # type: ignore[operator]


def developer(text: str) -> Item:
    return {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": text}]}


def response(**rest: Any) -> dict[str, Any]:
    return {
        "model": "m",
        "input": [user("hello")],
        "stream": True,
        "store": False,
        "reasoning": {"summary": "auto"},
        "include": ["reasoning.encrypted_content"],
    } | rest


def completion(**rest: Any) -> dict[str, Any]:
    return {
        "model": "m",
        "messages": [{"role": "user", "content": "hello"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    } | rest


TOOL = {"type": "function", "function": {name: value for name, value in LOOK.items() if name != "type"}}
CALLED = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at":1}'}}
LOOKED = [user("look"), REASONING, SAID, CALL, OUTPUT, user("and?")]

REQUESTS = [
    pytest.param(sampling(), response(), completion(), id="text"),
    pytest.param(
        sampling(instructions=["Base.", "Developer."]),
        response(input=[developer("Base."), developer("Developer."), user("hello")]),
        completion(
            messages=[{"role": "system", "content": "Base.\n\nDeveloper."}, {"role": "user", "content": "hello"}]
        ),
        id="instructions",
    ),
    pytest.param(
        sampling(tools=[LOOK]),
        response(tools=[LOOK], tool_choice="auto", parallel_tool_calls=True),
        completion(tools=[TOOL], tool_choice="auto", parallel_tool_calls=True),
        id="tools",
    ),
    pytest.param(
        sampling(verbosity="low"),
        response(text={"verbosity": "low"}),
        completion(verbosity="low"),
        id="verbosity",
    ),
    pytest.param(
        sampling(effort="high"),
        response(reasoning={"effort": "high", "summary": "auto"}),
        completion(reasoning_effort="high"),
        id="effort",
    ),
    pytest.param(
        sampling(effort="low", summary="none"),
        response(reasoning={"effort": "low"}),
        completion(reasoning_effort="low"),
        id="no summary",
    ),
    pytest.param(
        sampling(output_schema=SCHEMA),
        response(text={"format": {"type": "json_schema", "name": "output", "strict": True, "schema": SCHEMA}}),
        completion(
            response_format={"type": "json_schema", "json_schema": {"name": "output", "strict": True, "schema": SCHEMA}}
        ),
        id="schema",
    ),
    pytest.param(
        sampling(output_schema=SCHEMA, verbosity="high"),
        response(
            text={
                "format": {"type": "json_schema", "name": "output", "strict": True, "schema": SCHEMA},
                "verbosity": "high",
            }
        ),
        completion(
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "output", "strict": True, "schema": SCHEMA},
            },
            verbosity="high",
        ),
        id="schema and verbosity",
    ),
    pytest.param(
        sampling(PICTURE),
        response(input=[PICTURE]),
        completion(
            messages=[
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "What is this?"},
                        {"type": "image_url", "image_url": {"url": IMAGE}},
                    ],
                }
            ]
        ),
        id="image",
    ),
    pytest.param(
        sampling(*LOOKED),
        response(
            input=[
                user("look"),
                {k: v for k, v in REASONING.items() if k != "status"},
                SAID,
                CALL,
                OUTPUT,
                user("and?"),
            ]
        ),
        completion(
            messages=[
                {"role": "user", "content": "look"},
                {"role": "assistant", "content": "I look.", "tool_calls": [CALLED]},
                {"role": "tool", "tool_call_id": "c1", "content": "a cat"},
                {"role": "user", "content": "and?"},
            ]
        ),
        id="history",
    ),
]


@pytest.mark.parametrize(("asked", "as_response", "as_completion"), REQUESTS)
async def test_a_sampling_is_one_post_with_exactly_this_in_it(
    asked: Sampling, as_response: dict[str, Any], as_completion: dict[str, Any]
) -> None:
    async with mock_model(says("Hi."), chats("Hi.")) as server:
        for wire_api in ("responses", "chat"):
            async with remote(server.url, wire_api=wire_api) as model:
                await ask(model, asked)
    assert [(it.method, it.target) for it in server.requests] == [
        ("POST", "/v1/responses"),
        ("POST", "/v1/chat/completions"),
    ]
    assert server.bodies == [as_response, as_completion]


async def test_these_headers_and_no_others_are_sent() -> None:
    async with mock_model(says("Hi."), says("Hi.")) as server:
        async with remote(server.url) as model:
            await ask(model)
        async with remote(
            f"{server.url}/", api_key="k-123", http_headers={"X-Team": "weavers"}, query_params={"api-version": "7"}
        ) as model:
            await ask(model)
    plain, dressed = server.requests
    expected = {
        "host": server.url.split("/")[2],
        "accept": "text/event-stream",
        "accept-encoding": "identity",
        "connection": "keep-alive",
        "content-type": "application/json",
        "content-length": str(len(plain.body)),
        "user-agent": f"threadloom/{__version__}",
    }
    assert plain.headers == expected
    assert dressed.headers == expected | {"authorization": "Bearer k-123", "x-team": "weavers"}
    assert (plain.target, dressed.target) == ("/v1/responses", "/v1/responses?api-version=7")


async def test_a_provider_may_bring_its_own_authorization_and_name() -> None:
    headers = {"Authorization": "Basic abc", "User-Agent": "me/1"}
    async with mock_model(says("Hi.")) as server, remote(server.url, http_headers=headers) as model:
        await ask(model)
    assert server.requests[0].headers["authorization"] == "Basic abc"
    assert server.requests[0].headers["user-agent"] == "me/1"


CALL_2 = CALL | {"call_id": "c2"}
OUTPUT_2 = OUTPUT | {"call_id": "c2", "output": [{"type": "input_image", "image_url": IMAGE, "detail": "high"}]}
PICTURED = {"type": "image_url", "image_url": {"url": IMAGE, "detail": "high"}}

HISTORIES = [
    pytest.param(
        [CALL, CALL_2, OUTPUT, OUTPUT_2, user("and?")],
        [
            {"role": "assistant", "content": None, "tool_calls": [CALLED, CALLED | {"id": "c2"}]},
            {"role": "tool", "tool_call_id": "c1", "content": "a cat"},
            {"role": "tool", "tool_call_id": "c2", "content": ""},
            {"role": "user", "content": [PICTURED]},
            {"role": "user", "content": "and?"},
        ],
        id="calls side by side, an image behind the outputs",
    ),
    pytest.param(
        [CALL, OUTPUT_2],
        [
            {"role": "assistant", "content": None, "tool_calls": [CALLED]},
            {"role": "tool", "tool_call_id": "c2", "content": ""},
            {"role": "user", "content": [PICTURED]},
        ],
        id="an image at the end",
    ),
    pytest.param(
        [user("a"), developer("b"), developer("c"), SAID, SAID],
        [
            {"role": "user", "content": "a"},
            {"role": "system", "content": "b\n\nc"},
            {"role": "assistant", "content": "I look."},
            {"role": "assistant", "content": "I look."},
        ],
        id="instructions in between",
    ),
    pytest.param(
        [{"role": "user", "content": "plain"}, {"type": "web_search_call"}, CALL | {"arguments": ""}],
        [
            {"role": "user", "content": "plain"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [CALLED | {"function": {"name": "look", "arguments": "{}"}}],
            },
        ],
        id="bare items, items of another server, no arguments",
    ),
]


@pytest.mark.parametrize(("history", "messages"), HISTORIES)
def test_a_history_becomes_messages(history: list[Item], messages: list[Item]) -> None:
    assert chat.request(sampling(*history))["messages"] == messages


def test_tools_that_chat_does_not_know_stay_at_home() -> None:
    assert "tools" not in chat.request(sampling(tools=[{"type": "custom", "name": "apply_patch"}]))


def test_building_a_request_leaves_the_history_as_it_is() -> None:
    history = [dict(it) for it in LOOKED]
    responses.request(sampling(*history))
    chat.request(sampling(*history))
    assert history == LOOKED


UNREADABLE = [
    pytest.param('{"plan": [', '{"input":"{\\"plan\\": ["}', id="cut short"),
    pytest.param("[1]", '{"input":"[1]"}', id="no object"),
    pytest.param("", "{}", id="nothing"),
    pytest.param('{"at":1}', '{"at":1}', id="an object"),
]


@pytest.mark.parametrize(("written", "sent"), UNREADABLE)
async def test_arguments_that_a_server_could_not_read_are_sent_as_an_object(written: str, sent: str) -> None:
    # Ollama and vLLM read those of past calls, and refuse every request with one that is no object in it.
    asked = sampling(user("look"), CALL | {"arguments": written}, OUTPUT)
    async with mock_model(says("Hi."), chats("Hi.")) as server:
        for wire_api in ("responses", "chat"):
            async with remote(server.url, wire_api=wire_api) as model:
                await ask(model, asked)
    [response, completion] = server.bodies
    assert response["input"][1]["arguments"] == sent
    assert completion["messages"][1]["tool_calls"][0]["function"]["arguments"] == sent


def test_openai_gets_what_its_model_wrote() -> None:
    asked = sampling(user("look"), CALL | {"arguments": "[1"}, OUTPUT)
    assert within(asked, Provider("openai")).history[1]["arguments"] == "[1"
