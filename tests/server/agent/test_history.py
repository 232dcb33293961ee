"""The history as providers insist on it, and ids."""

from __future__ import annotations

import time
import uuid

import pytest
from tests.server.agent.stage import said

from threadloom import ids
from threadloom.agent.history import ready, unanswered
from threadloom.agent.sampling import Item


def call(call_id: str, kind: str = "function_call") -> Item:
    return {"type": kind, "call_id": call_id, "name": "look"}


def output(call_id: str, text: str, kind: str = "function_call") -> Item:
    return {"type": f"{kind}_output", "call_id": call_id, "output": text}


A, B = said("a"), said("b")
HISTORIES = [
    pytest.param([], [], id="nothing"),
    pytest.param([A, {"role": "user", "content": "x"}], [A, {"role": "user", "content": "x"}], id="words alone"),
    pytest.param([A, call("1"), output("1", "x"), B], [A, call("1"), output("1", "x"), B], id="in order"),
    pytest.param([call("1"), A, B, output("1", "x")], [call("1"), output("1", "x"), A, B], id="words between"),
    pytest.param(
        [call("1"), call("2"), A, output("2", "y"), output("1", "x")],
        [call("1"), call("2"), output("1", "x"), output("2", "y"), A],
        id="two at once",
    ),
    pytest.param([call("1"), A], [call("1"), output("1", "aborted"), A], id="cut short"),
    pytest.param([A, call("1")], [A, call("1"), output("1", "aborted")], id="cut short at the end"),
    pytest.param([A, output("1", "x"), B], [A, B], id="an output of nothing"),
    pytest.param(
        [call("1"), output("1", "x"), A, call("1"), output("1", "y")],
        [call("1"), output("1", "x"), A, call("1"), output("1", "y")],
        id="an id used twice",
    ),
    pytest.param(
        [call("1"), A, call("1"), output("1", "y")],
        [call("1"), output("1", "aborted"), A, call("1"), output("1", "y")],
        id="an id used twice, the first cut short",
    ),
    pytest.param(
        [call("1", "custom_tool_call"), A],
        [call("1", "custom_tool_call"), output("1", "aborted", "custom_tool_call"), A],
        id="of another kind",
    ),
    pytest.param(
        [{"type": ["odd"]}, {"type": "function_call"}],
        [{"type": ["odd"]}, {"type": "function_call"}, {**output("", "aborted"), "call_id": None}],
        id="what a client injected",
    ),
]


@pytest.mark.parametrize(("history", "expected"), HISTORIES)
def test_outputs_come_right_behind_their_calls_one_for_each(history: list[Item], expected: list[Item]) -> None:
    assert ready(history) == expected
    assert ready(expected) == expected


def test_ids_are_uuids_of_version_7_that_begin_with_the_time() -> None:
    before = time.time_ns() // 1_000_000
    made = uuid.UUID(ids.uuid7())
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    # Counting on within a millisecond can borrow from the next one, no more.
    assert before <= made.int >> 80 <= time.time_ns() // 1_000_000 + 1


def test_ids_are_unique_and_in_order_even_where_the_clock_stands_still_or_goes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = [ids.uuid7() for _ in range(2000)]
    now = time.time_ns()
    for moment in (now, now, now - 10**12):
        monkeypatch.setattr(time, "time_ns", lambda moment=moment: moment)
        made += [ids.uuid7() for _ in range(2000)]
    assert sorted(set(made)) == made


def test_a_call_with_no_id_is_answered_like_any_other() -> None:
    injected = {"type": "function_call", "name": "look"}
    assert unanswered([injected, call("1"), output("1", "x")]) == [{**output("", "aborted"), "call_id": None}]
    assert unanswered([injected, {"type": "function_call_output", "output": "x"}]) == []
