"""Answers over Chat Completions: pieces of text, of thought and of calls."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.server.agent.models.asking import decoded
from tests.support.mock_model import chunk, sse

from threadloom.agent.models import chat
from threadloom.agent.models.chat_history import thought_item
from threadloom.agent.models.failure import Failure
from threadloom.agent.sampling import Done, ItemDone, ModelEvent, ReasoningDelta, TextDelta, ToolCall, Usage

USAGE = {
    "prompt_tokens": 10,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens": 3,
    "completion_tokens_details": {"reasoning_tokens": 1},
}
COUNTED = {"choices": [], "usage": USAGE}
DONE = Done(Usage(10, 4, 3, 1))
NOTHING = Done(Usage())


def calling(index: int | None, call_id: str | None = None, name: str | None = None, arguments: str = "") -> Any:
    function = {"arguments": arguments} | ({} if name is None else {"name": name})
    piece = {"function": function} | ({} if index is None else {"index": index})
    return chunk(tool_calls=[piece if call_id is None else piece | {"id": call_id, "type": "function"}])


DIALECTS = [
    pytest.param(
        [
            chunk(role="assistant", content=""),
            chunk(content="Hel"),
            chunk(content="lo."),
            chunk("stop"),
            COUNTED,
            b"[DONE]",
        ],
        [TextDelta("Hel"), TextDelta("lo."), ItemDone(), DONE],
        id="all that OpenAI sends",
    ),
    pytest.param(
        [chunk(content="Hi."), chunk("stop")], [TextDelta("Hi."), ItemDone(), NOTHING], id="no usage, no [DONE]"
    ),
    pytest.param([chunk(content="Hi.")], [TextDelta("Hi."), ItemDone(), NOTHING], id="no reason to finish"),
    pytest.param(
        [chunk(content="Hi."), chunk("stop") | {"usage": USAGE}, b"[DONE]"],
        [TextDelta("Hi."), ItemDone(), DONE],
        id="usage in the last piece",
    ),
    pytest.param(
        [
            chunk(content="Hi.") | {"usage": None},
            chunk("stop") | {"usage": {"prompt_tokens": 5, "prompt_tokens_details": None}},
        ],
        [TextDelta("Hi."), ItemDone(), Done(Usage(5))],
        id="null usage",
    ),
    pytest.param(
        [chunk(reasoning_content="Hm."), chunk(reasoning="So."), chunk(content="Hi."), chunk("stop")],
        [
            ReasoningDelta("Hm."),
            ReasoningDelta("So."),
            ItemDone(thought_item("Hm.So.")),
            TextDelta("Hi."),
            ItemDone(),
            NOTHING,
        ],
        id="thoughts",
    ),
    pytest.param(
        [calling(0, "a", "look", '{"at'), calling(0, arguments='":1}'), chunk("tool_calls"), COUNTED, b"[DONE]"],
        [ToolCall("a", "look", '{"at":1}'), DONE],
        id="a call in pieces",
    ),
    pytest.param(
        [
            calling(0, "a", "look", "{"),
            calling(1, "b", "see", "{"),
            calling(0, arguments="}"),
            calling(1, arguments="}"),
            chunk("tool_calls"),
        ],
        [ToolCall("a", "look", "{}"), ToolCall("b", "see", "{}"), NOTHING],
        id="calls whose pieces take turns",
    ),
    pytest.param(
        [calling(0, "a", "look", "{}"), calling(0, "b", "see", "{}"), chunk("stop")],
        [ToolCall("a", "look", "{}"), ToolCall("b", "see", "{}"), NOTHING],
        id="calls that are all the first",
    ),
    pytest.param(
        [calling(None, "a", "look", "{}"), calling(None, "b", "see", "{"), calling(None, arguments="}"), chunk("stop")],
        [ToolCall("a", "look", "{}"), ToolCall("b", "see", "{}"), NOTHING],
        id="calls without a number",
    ),
    pytest.param(
        [chunk(content="I look."), calling(0, "a", "look", "{}"), chunk("tool_calls")],
        [TextDelta("I look."), ItemDone(), ToolCall("a", "look", "{}"), NOTHING],
        id="words before a call",
    ),
]


@pytest.mark.parametrize(("events", "expected"), DIALECTS)
def test_a_dialect_is_understood(events: list[Any], expected: list[ModelEvent]) -> None:
    stream = sse(*events, names=False)
    assert decoded([stream], wire_api="chat") == expected
    assert decoded((bytes([byte]) for byte in stream), wire_api="chat") == expected


def test_a_call_with_no_id_gets_one() -> None:
    call, _ = decoded([sse(calling(0, None, "look", "{}"), chunk("tool_calls"))], wire_api="chat")
    assert isinstance(call, ToolCall)
    assert call.call_id.startswith("call_")


SERVER = {"type": "server_error"}
FAILURES = [
    pytest.param(
        [chunk(content="Hi"), {"error": {"message": "Oh.", "code": "server_error"}}], "Oh.", "internalServerError", True
    ),
    pytest.param([{"error": "Oh."}], "Oh.", "other", True, id="bare words"),
    pytest.param(
        [chunk(content="Hi"), {"error": {"message": "Context size has been exceeded.", "code": 500, **SERVER}}],
        "exceeded",
        "contextWindowExceeded",
        False,
        id="too much in view, under a code of another kind",
    ),
    pytest.param([{"error": {"message": "Oh.", "code": 400}}], "Oh.", "badRequest", False, id="a status that stays"),
    pytest.param(
        [{"error": {"message": "Oh.", "code": 500}}], "Oh.", "internalServerError", True, id="and one that passes"
    ),
    pytest.param(
        [{"error": {"message": "Too many tokens per minute.", "code": "rate_limit_exceeded"}}],
        "per minute",
        "rateLimitExceeded",
        True,
        id="a limit that is no window",
    ),
    pytest.param([chunk(content="Hi"), chunk("length"), b"[DONE]"], "end of the tokens", "other", False, id="too long"),
    pytest.param([chunk("content_filter"), b"[DONE]"], "a filter", "other", False, id="filtered"),
]


@pytest.mark.parametrize(("events", "text", "info", "again"), FAILURES)
def test_a_failure_has_the_models_words_and_a_kind(events: list[Any], text: str, info: str, again: bool) -> None:
    with pytest.raises(Failure, match=text) as failure:
        decoded([sse(*events, names=False)], wire_api="chat")
    assert (failure.value.info, failure.value.again) == (info, again)


def test_an_answer_of_a_model_that_may_only_say_so_much_ends_there() -> None:
    batch: list[ModelEvent] = []
    decoder = chat.Decoder(capped=True)
    for event in (chunk(content="Hi"), chunk("length"), b"[DONE]"):
        decoder.take(b"", event if isinstance(event, bytes) else orjson.dumps(event), batch)
    assert batch == [TextDelta("Hi"), ItemDone(), Done(Usage())]
    with pytest.raises(Failure, match="a filter"):
        chat.Decoder(capped=True).whole({"choices": [{"message": {}, "finish_reason": "content_filter"}]}, [])


@pytest.mark.parametrize(
    ("events", "framed"), [([], True), ([chunk(content="Hi")], False), ([calling(0, "a", "look")], True)]
)
def test_an_answer_that_ends_too_early_is_worth_another_try(events: list[Any], framed: bool) -> None:
    with pytest.raises(Failure, match="broke off") as failure:
        decoded([sse(*events, names=False)], wire_api="chat", framed=framed)
    assert failure.value.again
