"""The lines of the rehearsal model that concern agents: which calls they stand for, and whom they mean."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.server.agent.stage import Doing, Stage, named

from threadloom.agent.base import ToolResult
from threadloom.agent.models.cast import resolved
from threadloom.agent.models.script import Call, Echo, complete, parse
from threadloom.agent.sampling import ToolCall

NESTED = """\
spawn as worker
  echo One.

  spawn echo Two.
    echo Three.
  wait for agents
and spawn echo Four.
  echo Five.
message agent 1:
  echo Six.
echo Seven."""


def calls(prompt: str) -> list[tuple[str, Any, bool]]:
    return [(it.tool, orjson.loads(it.arguments), it.joined) for it in parse(prompt) if isinstance(it, Call)]


@pytest.mark.parametrize(
    ("line", "tool", "arguments"),
    [
        ("spawn echo Hi.", "spawn_agent", {"message": "echo Hi."}),
        ("spawn as worker echo Hi.", "spawn_agent", {"message": "echo Hi.", "agent_type": "worker"}),
        ("message agent 2: echo Hi.", "send_input", {"id": "agent 2", "message": "echo Hi."}),
        ("interrupt agent 2: wait", "send_input", {"id": "agent 2", "message": "wait", "interrupt": True}),
        ("wait for agent 1", "wait", {"ids": ["agent 1"]}),
        ("wait for agents", "wait", {"ids": ["agents"]}),
        ("close agent 12", "close_agent", {"id": "agent 12"}),
        ("resume agent 1", "resume_agent", {"id": "agent 1"}),
    ],
)
def test_each_line_is_a_call(line: str, tool: str, arguments: Any) -> None:
    assert calls(line) == [(tool, arguments, False)]
    assert calls(f"  and {line} ") == [(tool, arguments, True)]


def test_lines_that_are_indented_more_belong_to_the_one_above() -> None:
    assert calls(NESTED) == [
        (
            "spawn_agent",
            {"agent_type": "worker", "message": "echo One.\n\nspawn echo Two.\n  echo Three.\nwait for agents"},
            False,
        ),
        ("spawn_agent", {"message": "echo Four.\necho Five."}, True),
        ("send_input", {"id": "agent 1", "message": "echo Six."}, False),
    ]
    assert parse(NESTED)[-1] == Echo("Seven.")
    inner = calls(calls(NESTED)[0][1]["message"])
    assert inner[0] == ("spawn_agent", {"message": "echo Two.\necho Three."}, False)


@pytest.mark.parametrize("line", ["close agent", "wait for", "Spawn echo x", "message agent x: y", "close agent 1 now"])
def test_other_lines_are_no_calls(line: str) -> None:
    assert calls(line) == []


def test_a_wait_for_everyone_is_one_for_each() -> None:
    steps = complete(parse("spawn wait\nwait for agents\nspawn wait\nwait for agents"), there=1)
    assert [(it.tool, it.arguments, it.joined) for it in steps if isinstance(it, Call) and it.tool == "wait"] == [
        ("wait", '{"ids":["agent 1"]}', False),
        ("wait", '{"ids":["agent 2"]}', True),
        ("wait", '{"ids":["agent 1"]}', False),
        ("wait", '{"ids":["agent 2"]}', True),
        ("wait", '{"ids":["agent 3"]}', True),
    ]
    assert complete(parse("wait for agents"), there=0) == []


def made(number: int, name: str, output: str) -> list[Any]:
    return [
        {"type": "function_call", "call_id": f"c{number}", "name": name, "arguments": "{}"},
        {"type": "function_call_output", "call_id": f"c{number}", "output": output},
    ]


def test_names_stand_for_those_who_were_made_in_the_order_of_the_calls() -> None:
    history = [
        *made(1, "spawn_agent", '{"agent_id":"a"}'),
        *made(2, "spawn_agent", "The limit is reached."),
        *made(3, "create_session", '{"session_id":"s"}'),
        *made(4, "spawn_agent", '{"agent_id":"b"}'),
    ]
    asked = (
        '{"ids": ["agent 1", "agent 2", "agent 3", "session 1", "session 2"], "x": {"y": "agent 1"}, "z": "of agent 1"}'
    )
    assert orjson.loads(resolved(asked, history)) == {
        "ids": ["a", "agent 2", "b", "s", "session 2"],  # who is not there stays as written
        "x": {"y": "a"},
        "z": "of agent 1",
    }
    assert resolved('{"id": "agent 1"', history) == '{"id": "agent 1"'  # no JSON, and none of its business


async def test_it_remembers_agents_of_earlier_turns() -> None:
    asked: list[ToolCall] = []

    async def answer(call: ToolCall) -> ToolResult:
        asked.append(call)
        return ToolResult('{"agent_id":"new"}')

    tools = named(*(Doing(name, answer) for name in ("spawn_agent", "wait", "close_agent")))
    before = made(1, "spawn_agent", '{"agent_id":"old"}')
    await Stage("spawn wait\nwait for agents\nclose agent 1", before=before, tools=tools).play()
    assert [(it.name, orjson.loads(it.arguments)) for it in asked[1:]] == [
        ("wait", {"ids": ["old"]}),
        ("wait", {"ids": ["new"]}),
        ("close_agent", {"id": "old"}),
    ]
