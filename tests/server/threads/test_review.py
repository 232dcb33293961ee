"""A review: the reviewer works in a turn of the thread, apart from its conversation, and leaves what it found."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.server.agent.stage import Gate
from tests.server.threads.house import words
from tests.server.threads.studio import Studio

from threadloom.agent.history import text_of
from threadloom.agent.sampling import ModelError, ToolCall
from threadloom.agent.templates.policy import Policy
from threadloom.agent.templates.resolve import Spawn
from threadloom.agent.tools import asking
from threadloom.threads.findings import SCHEMA, rendered
from threadloom.threads.review import INTERRUPTED, Review
from threadloom.threads.thread import Thread
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2.values.policy import ReadOnlySandboxPolicy

FINDING = {
    "title": "[P1] Counts from one",
    "body": "The first is left out.\n\nAlways.",
    "confidence_score": 0.9,
    "priority": 1,
    "code_location": {"absolute_file_path": "/work/a.py", "line_range": {"start": 3, "end": 4}},
}
ANSWER = {
    "findings": [FINDING],
    "overall_correctness": "patch is incorrect",
    "overall_explanation": "It loses the first one.",
    "overall_confidence_score": 0.8,
}
TEXT = (
    "It loses the first one.\n\nFindings:\n\n"
    "- [P1] Counts from one — /work/a.py:3-4\n  The first is left out.\n\n  Always."
)
PLAN = ToolCall("c1", "update_plan", '{"plan": []}')


def reviewer(**more: Any) -> Spawn:
    policy = Policy.of(deny=more.pop("deny", ()), read_only=True)
    return Spawn("rehearsal", "rehearsal", ReadOnlySandboxPolicy(), prompt="You review.", policy=policy, **more)


def begin(thread: Thread, **more: Any) -> Any:
    running = Review(thread, reviewer(**more), "current changes", "Review it.").begin()
    running.show()
    return running


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (orjson.dumps(ANSWER).decode(), TEXT),
        (orjson.dumps(ANSWER | {"findings": []}).decode(), "It loses the first one."),
        (
            orjson.dumps(ANSWER | {"findings": [], "overall_explanation": ""}).decode(),
            "The reviewer has found nothing.",
        ),
        ("All is well.\n", "All is well."),
        ('{"findings": 1}', '{"findings": 1}'),
        ("", "The reviewer has said nothing."),
    ],
)
def test_what_it_found_is_told_in_words(answer: str, text: str) -> None:
    assert rendered(answer) == text


async def test_it_works_apart_and_leaves_what_it_found(loom: Studio) -> None:
    thread = loom.born()
    await loom.turn(thread, "We speak of cabbages.")
    loom.model.will(PLAN, orjson.dumps(ANSWER).decode())
    assert await loom.ended(thread, begin(thread)) == "completed"
    first, second = loom.model.asked[1:3]
    assert first.output_schema == SCHEMA
    assert list(first.instructions) == ["You review."]
    assert "cabbages" not in str(first.history)
    assert [text_of(it.get("content")) for it in first.history][-1] == "Review it."
    assert any("<environment_context>" in text_of(it.get("content")) for it in first.history)
    assert [it.get("type") for it in second.history][-2:] == ["function_call", "function_call_output"]
    assert loom.items(thread)[4:] == [
        "started enteredReviewMode",
        "completed enteredReviewMode",
        "started userMessage",
        "completed userMessage",
        "started exitedReviewMode",
        "completed exitedReviewMode",
        "started agentMessage",
        "completed agentMessage",
    ]
    assert loom.events(thread, "turn/plan/updated")  # what its tools show is shown
    assert "findings" not in str(loom.events(thread, "item/agentMessage/delta"))
    left = loom.events(thread, "item/completed")[-2:]
    assert [it["params"]["item"].get("review") or it["params"]["item"]["text"] for it in left] == [TEXT] * 2
    await loom.turn(thread, "And now?")
    told = loom.model.said()
    assert told[:2] == ["We speak of cabbages.", "ok"]
    assert told[2].startswith("The user had a review done: current changes.")
    assert told[3:] == [TEXT, "And now?"]
    assert "function_call" not in told  # its work is its own


async def test_it_only_reads_and_has_nobody_else(loom: Studio) -> None:
    thread = loom.born()
    seen: list[Any] = []
    run = loom.manager._ground.agent.run

    def spy(turn: Any) -> Any:
        seen.append(turn)
        return run(turn)

    loom.manager._ground.agent.run = spy  # type: ignore[method-assign]
    loom.manager._ground.tools[asking.NAME] = asking.RequestUserInput()
    await loom.ended(thread, begin(thread, deny=["update_plan"]))
    [turn] = seen
    assert (turn.read_only, turn.settings.sandbox_policy) == (True, ReadOnlySandboxPolicy())
    assert (turn.tree, turn.goals, dict(turn.tools)) == (None, None, {})


async def test_one_that_fails_says_so_and_is_left(loom: Studio) -> None:
    thread = loom.born()
    loom.model.will(ModelError("The model is overloaded."))
    assert await loom.ended(thread, begin(thread)) == "failed"
    assert loom.items(thread)[-1] == "completed exitedReviewMode"
    assert loom.events(thread, "item/completed")[-1]["params"]["item"]["review"] == (
        "The review failed: The model is overloaded."
    )
    await loom.turn(thread, "And now?")
    assert loom.model.said() == ["And now?"]


async def test_one_that_is_interrupted_is_left(loom: Studio) -> None:
    thread, gate = loom.born(), Gate()
    loom.model.will((gate,))
    running = begin(thread)
    await gate.reached.wait()
    await thread.interrupt()
    assert await loom.ended(thread, running) == "interrupted"
    assert loom.events(thread, "item/completed")[-1]["params"]["item"]["review"] == INTERRUPTED


async def test_it_cannot_be_steered(loom: Studio) -> None:
    thread, gate = loom.born(), Gate()
    loom.model.will((gate, "Done."))
    running = begin(thread)
    await gate.reached.wait()
    for speak in (thread.steer, thread.start_turn):
        with pytest.raises(InvalidRequest, match="cannot steer a review turn"):
            speak(words("Look here."))
    gate.open.set()
    assert await loom.ended(thread, running) == "completed"
