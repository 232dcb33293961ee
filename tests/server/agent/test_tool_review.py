"""A model that decides in a person's place: what it is asked, what comes of its answer, and of none."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import orjson
import pytest
from tests.server.agent.floor import FakeFloor, turn_on
from tests.server.agent.stage import DONE, Gate, Read, Scripted, said

from threadloom.agent.base import ToolResult, TurnInput
from threadloom.agent.models.rehearsal import Rehearsal
from threadloom.agent.sampling import ModelError, ModelEvent, Retrying, Sampling, TextDelta, ToolCall
from threadloom.agent.tools.patch import ApplyPatch, Patches
from threadloom.agent.tools.review import INSTRUCTIONS, LONGEST, SCHEMA, Guidance, Reviewer
from threadloom.agent.tools.transcript import DEEDS, LEFT_OUT, PEOPLE, transcript

PATCH = "*** Begin Patch\n*** Add File: d.txt\n+x\n*** End Patch"
ALLOW = {"outcome": "allow", "risk_level": "low", "user_authorization": "high", "rationale": "You asked for it."}
DENY = ALLOW | {"outcome": "deny", "risk_level": "critical", "user_authorization": "low", "rationale": "It is rash."}
STARTED = ["item/started inProgress", "item/autoApprovalReview/started inProgress"]


def answer(verdict: Any) -> list[Read]:
    text = verdict if isinstance(verdict, str) else orjson.dumps(verdict).decode()
    return [[TextDelta(text[:7])], [TextDelta(text[7:])], [DONE]]


class Stand:
    """A patch that needs a word, and a model that gives it."""

    def __init__(self, work: Path, *reads: Read, guidance: Guidance | None = None, **turn: Any) -> None:
        self.work = work
        self.floor = FakeFloor()
        self.model = Scripted(reads)
        self.named: list[tuple[str, str]] = []
        self.turn = turn_on(self.floor, work, policy="untrusted", reviewer="auto_review", **turn)
        self.patience = 10.0
        self._guidance = guidance or Guidance()

    async def run(self, text: str = PATCH) -> ToolResult:
        """Have the patch reviewed, and perhaps applied."""

        def models(name: str, provider: str) -> Scripted:
            self.named.append((name, provider))
            return self.model

        review = Reviewer(models, lambda cwd: self._guidance, patience=self.patience)
        with anyio.fail_after(10):
            call = ToolCall("c", "apply_patch", text, freeform=True)
            result = await ApplyPatch(Patches(review)).run(self.turn, call)
        self.floor.emit(*result.emissions)
        return result

    @property
    def written(self) -> bool:
        return (self.work / "d.txt").exists()

    def told(self, method: str) -> Any:
        [found] = [it.event for it in self.floor.told if it.notification.method == method]
        return orjson.loads(found.to_json())


async def test_what_it_allows_is_done(tmp_path: Path) -> None:
    stand = Stand(tmp_path, *answer(ALLOW))
    assert (await stand.run()).ok
    assert stand.written
    assert stand.floor.questions == []
    assert stand.floor.story() == [
        *STARTED,
        "item/autoApprovalReview/completed approved",
        "item/completed completed",
        "turn/diff/updated",
    ]


async def test_what_it_denies_is_not_and_the_agent_hears_why(tmp_path: Path) -> None:
    stand = Stand(tmp_path, *answer(DENY))
    result = await stand.run()
    assert not stand.written
    assert not result.ok
    assert result.output.startswith("The reviewer that decides in the user's place said no to this: It is rash.\n")
    assert stand.floor.story() == [
        *STARTED,
        "item/autoApprovalReview/completed denied",
        "item/completed declined",
    ]
    assert not stand.floor.stopped  # the turn goes on


async def test_clients_see_the_review_in_the_shape_that_they_know(tmp_path: Path) -> None:
    stand = Stand(tmp_path, *answer(DENY))
    await stand.run()
    began, ended = (stand.told(f"item/autoApprovalReview/{it}") for it in ("started", "completed"))
    assert began == {
        "threadId": "thread",
        "turnId": "turn",
        "startedAtMs": began["startedAtMs"],
        "reviewId": began["reviewId"],
        "targetItemId": "item-c",
        "review": {"status": "inProgress", "riskLevel": None, "userAuthorization": None, "rationale": None},
        "action": {"type": "applyPatch", "cwd": str(tmp_path), "files": [str(tmp_path / "d.txt")]},
    }
    assert ended == began | {
        "completedAtMs": ended["completedAtMs"],
        "decisionSource": "agent",
        "review": {
            "status": "denied",
            "riskLevel": "critical",
            "userAuthorization": "low",
            "rationale": "It is rash.",
        },
    }
    assert ended["completedAtMs"] >= began["startedAtMs"]


async def test_it_is_one_request_with_the_transcript_the_action_and_a_strict_schema(tmp_path: Path) -> None:
    history = [said("Make d.txt, please."), {"type": "reasoning", "summary": []}, said("I do.", "assistant")]
    stand = Stand(tmp_path, *answer(ALLOW), history=lambda: history, provider="mock", instructions=["Be brief."])
    await stand.run()
    [asked] = stand.model.asked
    assert stand.named == [("model", "mock")]
    assert (asked.model, list(asked.instructions), list(asked.tools)) == ("model", [INSTRUCTIONS], [])
    assert asked.output_schema == SCHEMA
    assert set(SCHEMA["required"]) == set(SCHEMA["properties"])  # what strict means to OpenAI
    transcribed, action = (it["content"][0]["text"] for it in asked.history)
    assert transcribed.splitlines()[1:] == [
        '{"from":"user","text":"Make d.txt, please."}',
        '{"from":"assistant","text":"I do."}',
    ]
    told = orjson.loads(action.partition("\n")[2])
    assert (told["tool"], told["files"], told["patch"]) == ("apply_patch", [str(tmp_path / "d.txt")], PATCH)


async def test_another_model_and_further_rules_can_be_configured(tmp_path: Path) -> None:
    stand = Stand(tmp_path, *answer(ALLOW), guidance=Guidance("judge", "Nothing on Fridays."), provider="mock")
    await stand.run()
    assert stand.named == [("judge", "mock")]
    assert stand.model.asked[0].model == "judge"
    assert list(stand.model.asked[0].instructions) == [INSTRUCTIONS, "Nothing on Fridays."]


async def test_its_tokens_are_not_the_threads(tmp_path: Path) -> None:
    stand = Stand(tmp_path, *answer(ALLOW))
    before = stand.turn.total_usage
    await stand.run()
    assert stand.turn.total_usage == before
    assert "thread/tokenUsage/updated" not in stand.floor.story()


READ = [
    pytest.param({"outcome": "allow"}, True, id="the outcome alone"),
    pytest.param(f"Well.\n```json\n{orjson.dumps(ALLOW).decode()}\n```", True, id="words around it"),
    pytest.param(ALLOW | {"confidence": 1}, True, id="more than asked"),
    pytest.param({"outcome": "deny"}, False, id="no reason"),
]


@pytest.mark.parametrize(("verdict", "approved"), READ)
async def test_it_reads_what_models_make_of_the_schema(tmp_path: Path, verdict: Any, approved: bool) -> None:
    stand = Stand(tmp_path, *answer(verdict))
    assert (await stand.run()).ok is approved
    assert stand.written is approved


UNREAD = ["", "Sure, go ahead.", "{}", '{"outcome": "maybe"}', '{"outcome": true}', '["allow"]', '{"outcome": "allow"']


@pytest.mark.parametrize("text", UNREAD)
async def test_an_answer_that_cannot_be_read_is_a_no(tmp_path: Path, text: str) -> None:
    stand = Stand(tmp_path, *answer(text))
    result = await stand.run()
    assert not stand.written
    assert result.output.startswith("The reviewer that decides in the user's place could not decide")
    assert "Its answer could not be read." in result.output
    assert stand.floor.story()[2:] == ["item/autoApprovalReview/completed denied", "item/completed declined"]


async def test_a_model_that_fails_is_a_no(tmp_path: Path) -> None:
    stand = Stand(tmp_path, [TextDelta('{"outcome": "allow"')], ModelError("Out of breath.", "other"))
    result = await stand.run()
    assert not stand.written
    assert "counts as a no: Out of breath." in result.output
    assert stand.told("item/autoApprovalReview/completed")["review"]["rationale"] == "The review failed: Out of breath."


async def test_a_model_that_there_is_not_is_a_no(tmp_path: Path) -> None:
    def models(name: str, provider: str) -> Any:
        raise ModelError("There is no such model.")

    floor = FakeFloor()
    turn = turn_on(floor, tmp_path, policy="untrusted", reviewer="guardian_subagent")
    call = ToolCall("c", "apply_patch", PATCH, freeform=True)
    result = await ApplyPatch(Patches(Reviewer(models))).run(turn, call)
    assert "counts as a no: There is no such model." in result.output


async def test_a_model_that_takes_too_long_is_a_no(tmp_path: Path) -> None:
    stand = Stand(tmp_path, Gate(), *answer(ALLOW))
    stand.patience = 0.01
    result = await stand.run()
    assert not stand.written
    assert "It took longer than 0.01 seconds." in result.output
    assert stand.floor.story()[2:] == ["item/autoApprovalReview/completed timedOut", "item/completed declined"]
    assert stand.model.under_way == 0


async def test_what_is_too_long_to_be_read_is_not_approved_unread(tmp_path: Path) -> None:
    stand = Stand(tmp_path, *answer(ALLOW))
    result = await stand.run(PATCH.replace("+x", "+" + "x" * LONGEST))
    assert not stand.written
    assert "It is too long to be judged" in result.output
    assert stand.model.asked == []


async def test_an_answer_that_comes_again_counts_from_its_beginning(tmp_path: Path) -> None:
    again: Sequence[ModelEvent] = [TextDelta('{"outcome": "allow"}'), Retrying("broke off", 1, 5)]
    stand = Stand(tmp_path, again, *answer(DENY))
    assert not (await stand.run()).ok
    assert not stand.written


async def test_an_interrupt_ends_the_review(tmp_path: Path) -> None:
    gate = Gate()
    stand = Stand(tmp_path, gate, *answer(ALLOW))
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stand.run)
            await gate.reached.wait()
            tasks.cancel_scope.cancel()
    assert stand.floor.story() == [*STARTED, "item/autoApprovalReview/completed aborted"]
    assert stand.model.under_way == 0
    assert not stand.written


async def test_what_needs_no_word_is_not_reviewed(tmp_path: Path) -> None:
    floor = FakeFloor()
    turn = turn_on(floor, tmp_path, reviewer="auto_review")
    stand = Stand(tmp_path)
    stand.floor, stand.turn = floor, turn
    assert (await stand.run()).ok
    assert stand.model.asked == []


# ── the rehearsal ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def rehearsed(turn: TurnInput, text: str) -> ToolResult:
    call = ToolCall("c", "apply_patch", text, freeform=True)
    return await ApplyPatch(Patches(Reviewer(lambda name, provider: Rehearsal()))).run(turn, call)


@pytest.mark.parametrize(("text", "approved"), [(PATCH, True), (PATCH.replace("+x", "+forbidden"), False)])
async def test_the_rehearsal_model_judges_by_one_word_of_the_action(tmp_path: Path, text: str, approved: bool) -> None:
    history = [said("It is forbidden to speak of what is forbidden.")]
    floor = FakeFloor()
    turn = turn_on(floor, tmp_path, policy="untrusted", reviewer="auto_review", history=lambda: history)
    assert (await rehearsed(turn, text)).ok is approved


async def test_what_the_rehearsal_model_answers_fits_the_schema() -> None:
    for word in ("fine", "forbidden"):
        sampling = Sampling("m", None, [], [said(word)], [], output_schema=SCHEMA)
        stream: AsyncGenerator[Sequence[ModelEvent], None] = Rehearsal().stream(sampling)
        text = "".join([it.text async for batch in stream for it in batch if isinstance(it, TextDelta)])
        jsonschema.validate(orjson.loads(text), SCHEMA)


# ── the transcript ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_transcript_has_who_said_and_did_what() -> None:
    history = [
        said("Hello\nthere"),
        {"type": "function_call", "call_id": "1", "name": "look", "arguments": '{"at": 1}'},
        {"type": "function_call_output", "call_id": "1", "output": "a cat"},
        {"type": "custom_tool_call", "call_id": "2", "name": "apply_patch", "input": "*** Begin Patch"},
        {"type": "custom_tool_call_output", "call_id": "2", "output": "no"},
    ]
    assert transcript(history).splitlines() == [
        '{"from":"user","text":"Hello\\nthere"}',
        '{"from":"agent","calls":"look","text":"{\\"at\\": 1}"}',
        '{"from":"tool","text":"a cat"}',
        '{"from":"agent","calls":"apply_patch","text":"*** Begin Patch"}',
        '{"from":"tool","text":"no"}',
    ]


def test_what_no_person_said_is_not_told_as_the_users_word() -> None:
    kinds = ["context", "skill", None, "agentReport", "parent", "input", "beside"]
    history = [said(f"{kind} text") for kind in kinds[:-1]] + [said("by the application", "developer")]
    assert transcript(history, kinds).splitlines() == [
        '{"from":"context","kind":"context","text":"context text"}',
        '{"from":"context","kind":"skill","text":"skill text"}',
        '{"from":"user","text":"None text"}',
        '{"from":"report","text":"agentReport text"}',
        '{"from":"parent","text":"parent text"}',
        '{"from":"context","kind":"input","text":"input text"}',
        '{"from":"context","kind":"beside","text":"by the application"}',
    ]


async def test_the_reviewer_is_told_whose_words_are_whose(tmp_path: Path) -> None:
    history = [said("Do what you like."), said("Make d.txt, please.")]
    stand = Stand(tmp_path, *answer(ALLOW), history=lambda: history, kinds=lambda: ["agentReport", None])
    await stand.run()
    transcribed = stand.model.asked[0].history[0]["content"][0]["text"]
    assert transcribed.splitlines()[1:] == [
        '{"from":"report","text":"Do what you like."}',
        '{"from":"user","text":"Make d.txt, please."}',
    ]


def test_a_long_transcript_keeps_the_newest_and_does_not_lose_people_among_deeds() -> None:
    deeds = [{"type": "function_call_output", "call_id": "1", "output": f"{at} " + "x" * 1000} for at in range(100)]
    told = transcript([said("first"), *deeds, said("last")])
    assert len(told) < PEOPLE + DEEDS
    lines = told.splitlines()
    assert lines[:2] == ['{"from":"user","text":"first"}', LEFT_OUT]
    assert lines[-1] == '{"from":"user","text":"last"}'
    assert '"text":"99 xxx' in lines[-2]
    assert lines.count(LEFT_OUT) == 1


def test_one_long_entry_keeps_its_two_ends() -> None:
    [line] = transcript([said("begin" + "x" * 100_000 + "end")]).splitlines()
    text = orjson.loads(line)["text"]
    assert text.startswith("begin")
    assert text.endswith("end")
    assert len(text) < 2100
