"""OpenAI's SDK: a turn from its input to its result."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest
from openai_codex import (
    ExternalMessage,
    ImageInput,
    InvalidParamsError,
    InvalidRequestError,
    LocalImageInput,
    MentionInput,
    SkillInput,
    TextInput,
)
from openai_codex.types import ReasoningEffort, ReasoningSummary, TurnStatus
from tests.clients.sdk import LEAVES_PIPES, Bench, kinds, methods, streamed
from tests.support.counts import count

pytestmark = LEAVES_PIPES

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c02"
    "0000000b4944415478da6364f80f00010501012718e3660000000049454e44ae426082"
)


def test_a_run_returns_the_answer_with_its_items_its_usage_and_its_times(bench: Bench) -> None:
    with bench.codex() as codex:
        result = codex.thread_start().run("echo Good morning")
    assert (result.status, result.error, result.final_response) == (TurnStatus.completed, None, "Good morning")
    assert kinds(result.items) == ["userMessage", "agentMessage"]
    assert result.items[0].root.content[0].root.text == "echo Good morning"
    assert result.usage is not None
    assert result.usage.last.output_tokens == 2
    assert result.usage.total.total_tokens == result.usage.last.total_tokens > 2
    assert result.started_at is not None
    assert result.completed_at is not None
    assert result.completed_at >= result.started_at > 1_700_000_000
    assert result.duration_ms is not None
    assert 0 <= result.duration_ms < 60_000


def test_usage_adds_up_over_the_turns_of_a_thread(bench: Bench) -> None:
    with bench.codex() as codex:
        thread = codex.thread_start()
        usages = [thread.run(f"say {count} words").usage for count in (5, 7, 11)]
    spent = [usage.last.output_tokens for usage in usages if usage]
    assert spent == [5, 7, 11]
    assert [usage.total.output_tokens for usage in usages if usage] == [5, 12, 23]


def test_a_stream_tells_a_turn_in_its_order_and_its_deltas_are_the_answer(bench: Bench) -> None:
    with bench.codex() as codex:
        turn = codex.thread_start().turn("say 40 words")
        events = list(turn.stream())
    assert methods(events) == [
        "turn/started",
        "item/started",
        "item/completed",
        "item/started",
        "item/agentMessage/delta",
        "item/completed",
        "thread/tokenUsage/updated",
        "turn/completed",
    ]
    answers = [it.payload.item.root for it in events if it.method == "item/completed"][1:]
    assert [streamed(events)] == [answer.text for answer in answers]
    assert len(streamed(events).split()) == 40
    ended = events[-1].payload.turn
    assert (ended.id, ended.status) == (turn.id, TurnStatus.completed)
    assert [item.root.text for item in ended.items] == [streamed(events)]


def test_what_the_model_thought_and_what_it_planned_is_told_apart_from_what_it_says(bench: Bench) -> None:
    plan = [{"step": "look", "status": "in_progress"}, {"step": "leap", "status": "pending"}]
    call = f"call update_plan {json.dumps({'explanation': 'first', 'plan': plan})}"
    with bench.codex() as codex:
        events = list(codex.thread_start().turn(f"think\n{call}\necho Done").stream())
    told = methods(events)
    assert "item/reasoning/summaryTextDelta" in told
    reasoning = [it.payload.item.root for it in events if it.method == "item/completed"][1]
    thought = "".join(it.payload.delta for it in events if it.method == "item/reasoning/summaryTextDelta")
    assert (reasoning.type, reasoning.summary) == ("reasoning", [thought])
    updated = next(it.payload for it in events if it.method == "turn/plan/updated")
    assert updated.explanation == "first"
    assert [(it.step, it.status.value) for it in updated.plan] == [("look", "inProgress"), ("leap", "pending")]
    assert streamed(events).startswith("Done")


def test_an_output_schema_shapes_the_answer_of_that_turn_alone(bench: Bench) -> None:
    schema = {
        "type": "object",
        "properties": {"verdict": {"enum": ["yes", "no"]}, "reasons": {"type": "array", "items": {"type": "string"}}},
        "required": ["verdict", "reasons"],
        "additionalProperties": False,
    }
    with bench.codex() as codex:
        thread = codex.thread_start()
        shaped = thread.run("echo is it true?", output_schema=schema).final_response
        plain = thread.run("echo is it true?").final_response
    answer = json.loads(shaped or "")
    assert answer.keys() == {"verdict", "reasons"}
    assert answer["verdict"] in ("yes", "no")
    assert isinstance(answer["reasons"], list)
    assert plain == "is it true?"


def test_images_inline_and_from_a_file_are_part_of_what_was_said(bench: Bench) -> None:
    picture = bench.work / "pixel.png"
    picture.write_bytes(PIXEL)
    inline = f"data:image/png;base64,{b64encode(PIXEL).decode()}"
    with bench.codex() as codex:
        thread = codex.thread_start()
        asked = [TextInput("echo I see"), ImageInput(inline), LocalImageInput(str(picture))]
        result = thread.run(asked)
        kept = thread.read(include_turns=True).thread.turns[0].items[0]
    assert result.final_response == "I see"
    for item in (result.items[0], kept):
        parts = [part.root for part in item.root.content]
        assert [part.type for part in parts] == ["text", "image", "localImage"]
        assert parts[1].url == inline
        assert parts[2].path == str(picture)


def test_skills_and_mentions_are_part_of_what_was_said(bench: Bench) -> None:
    skill = bench.work / "SKILL.md"
    skill.write_text("---\nname: greet\ndescription: how to greet\n---\nSay good morning.\n")
    said = [TextInput("echo Morning"), SkillInput("greet", str(skill)), MentionInput("notes", "app://notes")]
    with bench.codex() as codex:
        result = codex.thread_start().run(said)
    assert result.status is TurnStatus.completed
    parts = [part.root for part in result.items[0].root.content]
    assert [(part.type, getattr(part, "path", None)) for part in parts] == [
        ("text", None),
        ("skill", str(skill)),
        ("mention", "app://notes"),
    ]


def test_an_interrupt_at_once_after_the_start_ends_the_turn(bench: Bench) -> None:
    with bench.codex() as codex:
        thread = codex.thread_start()
        for _ in range(count(200)):
            turn = thread.turn("wait")
            turn.interrupt()
            assert turn.run().status is TurnStatus.interrupted
        with pytest.raises(InvalidRequestError, match="no active turn to interrupt"):
            turn.interrupt()
        assert thread.run("echo still here").final_response == "still here"


def test_what_was_said_before_an_interrupt_is_kept(bench: Bench) -> None:
    with bench.codex() as codex:
        thread = codex.thread_start()
        turn = thread.turn("say 9 words\nwait")
        events = []
        for event in turn.stream():
            events.append(event)
            if len(streamed(events).split()) == 9 and event.method == "item/agentMessage/delta":
                turn.interrupt()
        kept = thread.read(include_turns=True).thread.turns[-1]
    assert events[-1].payload.turn.status is TurnStatus.interrupted
    assert kept.status is TurnStatus.interrupted
    assert [item.root.text for item in kept.items if item.root.type == "agentMessage"] == [streamed(events)]


def test_a_steer_at_once_after_the_start_is_heard(bench: Bench) -> None:
    with bench.codex() as codex:
        thread = codex.thread_start()
        for _ in range(count(200)):
            turn = thread.turn("wait")
            assert turn.steer("echo turn left").turn_id == turn.id
            result = turn.run()
            assert (result.id, result.final_response) == (turn.id, "turn left")
        with pytest.raises(InvalidRequestError, match="no active turn to steer"):
            turn.steer("echo too late")
    said = [it.root.content[0].root.text for it in result.items if it.root.type == "userMessage"]
    assert said == ["wait", "echo turn left"]


def test_a_turn_on_a_busy_thread_joins_the_one_that_runs(bench: Bench) -> None:
    with bench.codex() as codex:
        thread = codex.thread_start()
        first = thread.turn("wait")
        second = thread.turn("echo both of us")
        assert second.id == first.id
        results = [first.run(), second.run()]
    assert [it.final_response for it in results] == ["both of us"] * 2


def test_a_model_that_fails_fails_its_turn_with_its_own_words_and_no_other(bench: Bench) -> None:
    with bench.codex() as codex:
        thread = codex.thread_start()
        with pytest.raises(RuntimeError, match="The model is out of paper"):
            thread.run("fail The model is out of paper")
        status = thread.read().thread.status.root.type
        failed = thread.read(include_turns=True).thread.turns[-1]
        events = list(thread.turn("fail once more").stream())
        assert thread.run("echo better").final_response == "better"
        mended = thread.read().thread.status.root.type
    assert (status, mended) == ("systemError", "idle")
    assert failed.status is TurnStatus.failed
    assert failed.error is not None
    assert "out of paper" in failed.error.message
    (error,) = (it.payload for it in events if it.method == "error")
    assert (error.will_retry, error.error.message) == (False, "once more")


def test_settings_of_a_turn_are_taken(bench: Bench) -> None:
    with bench.codex() as codex:
        thread = codex.thread_start()
        effort = codex.models().data[0].supported_reasoning_efforts[-1].reasoning_effort
        result = thread.run(
            "echo as you like",
            cwd=str(bench.room),
            effort=effort,
            summary=ReasoningSummary.model_validate("concise"),
            source="a clock",
            turn_service_tier="priority",
        )
        assert isinstance(effort, ReasoningEffort)
        assert thread.read().thread.cwd.root == str(bench.room)
    assert result.final_response == "as you like"


def test_a_message_from_outside_is_nobodys_words_and_joins_a_turn_that_runs(bench: Bench) -> None:
    mail = ExternalMessage("mail", "you have mail", namespace="office")
    with bench.codex() as codex:
        thread = codex.thread_start()
        alone = thread.run(mail)
        waiting = thread.turn("wait")
        joined = thread.turn(mail)
        assert joined.id == waiting.id
        waiting.steer("echo read it")
        together = waiting.run()
        kept = thread.read(include_turns=True).thread.turns
    assert kinds(alone.items) == kinds(kept[0].items) == ["functionCallOutput", "agentMessage"]
    assert kinds(together.items) == ["userMessage", "functionCallOutput", "userMessage", "agentMessage"]
    item = alone.items[0].root
    assert (item.name, item.namespace, item.output.root) == ("mail", "office", "you have mail")


@pytest.mark.parametrize("text", ["a\u2028b\u2029c\x85d", "😀" * 3000, "x" * 1_000_000])
def test_any_text_arrives_as_it_was(bench: Bench, text: str) -> None:
    with bench.codex() as codex:
        thread = codex.thread_start()
        thread.run(text)
        (turn,) = thread.read(include_turns=True).thread.turns
    assert turn.items[0].root.content[0].root.text == text


def test_a_text_that_is_too_long_is_refused(bench: Bench) -> None:
    with bench.codex() as codex:
        thread = codex.thread_start()
        with pytest.raises(InvalidParamsError, match="maximum length"):
            thread.run("x" * 2_000_000)
        assert thread.run("echo shorter").final_response == "shorter"
