"""Answers over the Responses API: every dialect that servers speak, down to the barest."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.agent.models.asking import MANY, cut, decoded, merged
from tests.support.mock_model import call, completed, delta, failed, message, sse, usage

from threadloom.agent.models.failure import Failure
from threadloom.agent.sampling import Done, ItemDone, ModelEvent, ReasoningDelta, TextDelta, ToolCall, Usage

DONE = Done(Usage(10, 0, 3, 0))
NOTHING = Done(Usage())
HELLO = [TextDelta("Hel"), TextDelta("lo."), ItemDone()]
BARE = [{"type": "response.output_text.delta", "delta": text} for text in ("Hel", "lo.")]
TEXT_DONE = {"type": "response.output_text.done", "text": "Hello."}
MESSAGE = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"}
CALL = ToolCall("call_1", "look", '{"at":1}')


def summary(text: str, part: int = 0) -> dict[str, Any]:
    return {"type": "response.reasoning_summary_text.delta", "item_id": "rs_1", "summary_index": part, "delta": text}


def item(kind: str, it: dict[str, Any], index: int | None = 0) -> dict[str, Any]:
    return {"type": f"response.output_item.{kind}", "item": it} | ({} if index is None else {"output_index": index})


def arguments(kind: str, **rest: Any) -> dict[str, Any]:
    return {"type": f"response.function_call_arguments.{kind}", "item_id": "fc_1", "output_index": 0, **rest}


BEGUN = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": ""}

FULL = [
    {"type": "response.created", "response": {"id": "resp_1"}},
    item("added", REASONING | {"encrypted_content": None}),
    summary("So "),
    summary("far."),
    {"type": "response.reasoning_summary_text.done", "summary_index": 0, "text": "So far."},
    summary("And on.", 1),
    item("done", REASONING | {"summary": [{"text": "So far."}, {"text": "And on."}]}),
    item("added", MESSAGE | {"content": []}, 1),
    {"type": "response.content_part.added", "part": {"type": "output_text", "text": ""}},
    delta("Hel", index=1),
    delta("lo.", index=1),
    TEXT_DONE,
    {"type": "response.content_part.done", "part": {"type": "output_text", "text": "Hello."}},
    message("Hello.", index=1),
    item("added", BEGUN, 2),
    arguments("delta", output_index=2, delta='{"at"'),
    arguments("delta", output_index=2, delta=":1}"),
    arguments("done", output_index=2, arguments='{"at":1}'),
    call("look", {"at": 1}, index=2),
    completed(usage=usage(100, 20, cached=60, thought=7), output=[MESSAGE]),
]
FULLY = [
    ReasoningDelta("So "),
    ReasoningDelta("far."),
    ReasoningDelta("And on.", 1),
    ItemDone(REASONING | {"summary": [{"text": "So far."}, {"text": "And on."}]}),
    *HELLO,
    CALL,
    Done(Usage(100, 60, 20, 7)),
]

DIALECTS = [
    pytest.param(FULL, FULLY, id="all that OpenAI sends"),
    pytest.param([*BARE, completed()], [*HELLO[:2], DONE], id="deltas without an item"),
    pytest.param([*BARE, message("Hello."), completed()], [*HELLO, DONE], id="an item that was never added"),
    pytest.param([message("Hello."), completed()], [TextDelta("Hello."), ItemDone(), DONE], id="no deltas"),
    pytest.param([TEXT_DONE, completed()], [TextDelta("Hello."), DONE], id="a text that is done at once"),
    pytest.param(
        [BARE[0], TEXT_DONE, message("Hello."), completed()],
        [TextDelta("Hel"), TextDelta("lo."), ItemDone(), DONE],
        id="deltas that stop early",
    ),
    pytest.param([completed(output=[MESSAGE])], [TextDelta("Hello."), ItemDone(), DONE], id="all in the last event"),
    pytest.param([*BARE, completed(output=[MESSAGE])], [*HELLO[:2], DONE], id="told again in the last event"),
    pytest.param([*BARE, TEXT_DONE], [*HELLO[:2], NOTHING], id="no response.completed"),
    pytest.param([*BARE, b"[DONE]"], [*HELLO[:2], NOTHING], id="[DONE] and no response.completed"),
    pytest.param([*BARE, completed(), b"[DONE]"], [*HELLO[:2], DONE], id="[DONE] as well"),
    pytest.param([*BARE, completed(usage=None)], [*HELLO[:2], NOTHING], id="null usage"),
    pytest.param(
        [*BARE, completed(usage={"input_tokens": 5, "input_tokens_details": None, "output_tokens": None})],
        [*HELLO[:2], Done(Usage(5))],
        id="null usage details",
    ),
    pytest.param([*BARE, {"type": "response.completed"}], [*HELLO[:2], NOTHING], id="an empty response.completed"),
    pytest.param([b"so it goes", b"[1]", *BARE, completed()], [*HELLO[:2], DONE], id="data that is no object"),
    pytest.param(
        [{"type": "response.refusal.delta", "delta": "No."}, completed()], [TextDelta("No."), DONE], id="a refusal"
    ),
    pytest.param([call("look", {"at": 1}), completed()], [CALL, DONE], id="a call that was never added"),
    pytest.param(
        [item("done", {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": {"at": 1}}, None)],
        [CALL, NOTHING],
        id="a call without an id, its arguments an object",
    ),
    pytest.param(
        [item("done", {"type": "function_call", "id": "call_1", "name": "look", "arguments": '{"at":1}'}), completed()],
        [CALL, DONE],
        id="a call without a call id",
    ),
    pytest.param(
        [item("added", BEGUN), arguments("delta", delta='{"at":1}'), completed()], [CALL, DONE], id="a call never done"
    ),
    pytest.param(
        [item("added", BEGUN), arguments("done", arguments='{"at":1}'), b"[DONE]"],
        [CALL, NOTHING],
        id="a call whose arguments are done",
    ),
    pytest.param(
        [call("look", {"at": 1}), call("look", {"at": 1}), completed()], [CALL, DONE], id="a call that is told twice"
    ),
    pytest.param(
        [call("look", {"at": 1}), call("look", {"at": 2}, "call_2", 1), completed()],
        [CALL, ToolCall("call_2", "look", '{"at":2}'), DONE],
        id="calls side by side",
    ),
    pytest.param(
        [delta("Wait."), delta("Hello.", "msg_2"), completed()],
        [TextDelta("Wait."), ItemDone(), TextDelta("Hello."), DONE],
        id="two messages, told apart by their ids alone",
    ),
    pytest.param(
        [item("done", REASONING), message("Hello."), completed()],
        [ItemDone(REASONING), TextDelta("Hello."), ItemDone(), DONE],
        id="reasoning with nothing to show",
    ),
    pytest.param(
        [item("done", {"type": "reasoning", "summary": [{"text": "So."}]}), completed()],
        [ReasoningDelta("So."), ItemDone(), DONE],
        id="a summary that is done at once",
    ),
    pytest.param(
        [
            {"type": "response.reasoning_text.delta", "content_index": 0, "delta": "Hm."},
            item("done", {"type": "reasoning", "content": [{"text": "Hm."}]}),
            completed(),
        ],
        [ReasoningDelta("Hm."), ItemDone({"type": "reasoning", "content": [{"text": "Hm."}]}), DONE],
        id="reasoning in the open",
    ),
    pytest.param(
        [item("done", {"type": "web_search_call", "id": "ws"}), completed()],
        [ItemDone({"type": "web_search_call", "id": "ws"}), DONE],
        id="an item of the server's own",
    ),
    pytest.param(
        [delta("a\u2028b"), completed()], [TextDelta("a\u2028b"), DONE], id="a line separator inside the text"
    ),
]


@pytest.mark.parametrize(("events", "expected"), DIALECTS)
@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_a_dialect_is_understood(events: list[Any], expected: list[ModelEvent], newline: bytes) -> None:
    assert decoded([sse(*events, newline=newline)]) == expected
    assert decoded([sse(*events, newline=newline, names=False)]) == expected


@pytest.mark.parametrize(("events", "expected"), DIALECTS)
def test_an_answer_in_single_bytes_is_the_same_answer(events: list[Any], expected: list[ModelEvent]) -> None:
    assert decoded(bytes([byte]) for byte in sse(*events)) == expected


FULL_STREAM = sse(*FULL, newline=b"\r\n")


def test_an_answer_cut_at_any_byte_is_the_same_answer() -> None:
    for place in range(len(FULL_STREAM)):
        assert decoded([FULL_STREAM[:place], FULL_STREAM[place:]]) == FULLY


@MANY
@given(st.lists(st.integers(min_value=0), max_size=30), st.lists(st.text(min_size=1), min_size=1))
def test_any_text_in_any_pieces_arrives(places: list[int], pieces: list[str]) -> None:
    stream = sse(*map(delta, pieces), message("".join(pieces)), completed())
    assert merged(decoded(cut(stream, places))) == [TextDelta("".join(pieces)), ItemDone(), DONE]


def test_an_event_may_be_named_by_its_line_alone() -> None:
    stream = b'event: response.output_text.delta\ndata: {"delta": "Hi."}\n\nevent: response.completed\ndata: {}\n\n'
    assert decoded([stream]) == [TextDelta("Hi."), NOTHING]


def test_a_call_with_no_id_at_all_gets_one() -> None:
    it = {"type": "function_call", "name": "look", "arguments": "{}"}
    first, second, _ = decoded([sse(item("done", it, None), item("done", it, None), completed())])
    assert isinstance(first, ToolCall)
    assert isinstance(second, ToolCall)
    assert first.call_id.startswith("call_")
    assert first.call_id != second.call_id


ENDS = [
    pytest.param([], True, id="nothing was said"),
    pytest.param([{"type": "response.created"}], True, id="nothing but a beginning"),
    pytest.param(BARE, False, id="a text cut short, for all one knows"),
    pytest.param([item("added", BEGUN), arguments("delta", delta='{"at":')], True, id="half a call"),
    pytest.param([item("done", REASONING | {"type": "reasoning"}), *BARE][1:], False, id="no more than deltas"),
]


@pytest.mark.parametrize(("events", "framed"), ENDS)
def test_an_answer_that_ends_too_early_is_a_failure_that_is_worth_another_try(events: list[Any], framed: bool) -> None:
    with pytest.raises(Failure, match="broke off") as failure:
        decoded([sse(*events)], framed=framed)
    assert failure.value.again
    assert failure.value.info == {"responseStreamDisconnected": {"httpStatusCode": None}}


def test_a_body_that_ends_with_its_connection_is_whole_where_something_was_said_to_its_end() -> None:
    assert decoded([sse(*BARE, TEXT_DONE)], framed=False) == [*HELLO[:2], NOTHING]


FAILURES = [
    pytest.param(failed("It fell over."), "It fell over.", "internalServerError", True, id="failed"),
    pytest.param(failed("Odd.", "unheard_of"), "Odd.", "other", True, id="failed in a new way"),
    pytest.param(
        failed("Too long.", "context_length_exceeded"), "Too long.", "contextWindowExceeded", False, id="long"
    ),
    pytest.param(failed("No money.", "insufficient_quota"), "No money.", "usageLimitExceeded", False, id="quota"),
    pytest.param(failed("Busy.", "server_is_overloaded"), "Busy.", "serverOverloaded", False, id="overloaded"),
    pytest.param(failed("Slower.", "rate_limit_exceeded"), "Slower.", "rateLimitExceeded", True, id="rate limit"),
    pytest.param({"type": "response.failed", "response": None}, "The model failed.", "other", True, id="no reason"),
    pytest.param({"type": "error", "code": "server_error", "message": "Oh."}, "Oh.", "internalServerError", True),
    pytest.param({"type": "error", "error": {"message": "Oh."}}, "Oh.", "other", True, id="an error inside an error"),
    pytest.param(
        {"error": {"message": "Too long.", "code": "context_length_exceeded"}},
        "Too long.",
        "contextWindowExceeded",
        False,
        id="as Chat Completions have it",
    ),
    pytest.param(
        {"type": "response.completed", "response": {"status": "failed", "error": {"message": "Oh."}}},
        "Oh.",
        "other",
        True,
    ),
    pytest.param(
        {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}},
        "The model did not finish its answer: max_output_tokens.",
        "other",
        False,
        id="incomplete",
    ),
]


@pytest.mark.parametrize(("event", "text", "info", "again"), FAILURES)
def test_a_failure_has_the_models_words_and_a_kind(event: Any, text: str, info: str, again: bool) -> None:
    with pytest.raises(Failure) as failure:
        decoded([sse(delta("Hel"), event)])
    assert (failure.value.message, failure.value.info, failure.value.again) == (text, info, again)
    assert failure.value.stage == "stream"


WAITS = [
    ("Please try again in 1.5s.", 1.5),
    ("try again in 20 ms", 0.02),
    ("Please try again in 1m12.5s.", 72.5),
    ("Please try again in 2m.", 120),
    ("Please retry after 35 seconds.", 35),
    ("Try again in a moment.", None),
    ("Try again in 3 days.", None),
]


@pytest.mark.parametrize(("words", "seconds"), WAITS)
def test_a_failure_may_say_when_to_come_back(words: str, seconds: float | None) -> None:
    with pytest.raises(Failure) as failure:
        decoded([sse(failed(words, "rate_limit_exceeded"))])
    assert failure.value.after == seconds
