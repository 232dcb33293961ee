"""Servers that send nonsense: whatever the shape, it is a failure of the model or it is passed over."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.agent.models.asking import MANY, decoded

from threadloom.agent.models.failure import Failure
from threadloom.agent.models.responses import _HANDLERS
from threadloom.agent.sampling import Done, ItemDone, ModelEvent, ReasoningDelta, TextDelta, ToolCall

WORDS = [
    "delta",
    "text",
    "item",
    "item_id",
    "output_index",
    "summary_index",
    "arguments",
    "call_id",
    "name",
    "response",
]
WORDS += ["type", "id", "status", "usage", "output", "content", "summary", "error", "message", "code", "input_tokens"]
WORDS += [
    "choices",
    "tool_calls",
    "function",
    "index",
    "finish_reason",
    "reasoning_content",
    "prompt_tokens",
    "refusal",
]
KINDS = ["message", "function_call", "reasoning", "completed", "failed", "stop", "length", *_HANDLERS]

ATOMS = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=5)
VALUES: st.SearchStrategy[Any] = st.recursive(
    ATOMS | st.sampled_from(KINDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=12,
)
EVENTS = st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=6)
TYPED = st.builds(lambda event, kind: event | {"type": kind}, EVENTS, st.sampled_from(list(_HANDLERS)))
CHUNKS = st.builds(lambda delta, rest: {"choices": [{"delta": delta, **rest}]}, VALUES, EVENTS)


def check(event: ModelEvent) -> None:
    """What comes out has the types that it is declared with."""
    match event:
        case TextDelta(text) | ReasoningDelta(text, _):
            assert type(text) is str
        case ToolCall(call_id, name, arguments):
            assert (type(call_id), type(name), type(arguments)) == (str, str, str)
            assert name
        case ItemDone(item):
            assert item is None or type(item) is dict
        case Done(usage):
            assert all(type(number) is int and number >= 0 for number in usage)
        case _:
            raise AssertionError(event)


def read(events: list[Any], wire_api: str) -> None:
    with suppress(Failure):
        for event in decoded((b"data: %b\n\n" % orjson.dumps(event) for event in events), wire_api=wire_api):
            check(event)


@MANY
@given(st.lists(TYPED | EVENTS | VALUES, max_size=6))
def test_nonsense_over_responses_is_a_failure_or_nothing(events: list[Any]) -> None:
    read(events, "responses")


@MANY
@given(st.lists(CHUNKS | EVENTS | VALUES, max_size=6))
def test_nonsense_over_chat_is_a_failure_or_nothing(events: list[Any]) -> None:
    read(events, "chat")


@pytest.mark.parametrize("wire_api", ["responses", "chat"])
def test_bytes_that_are_no_text_are_passed_over(wire_api: str) -> None:
    with pytest.raises(Failure, match="broke off"):
        decoded([b"data: \xff\xfe\n\n", b"event: \xff\ndata: {}\n\n"], wire_api=wire_api, framed=True)
