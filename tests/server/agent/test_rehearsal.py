"""The rehearsal model: what each line makes it do, and that it can be relied on."""

from __future__ import annotations

import anyio
import jsonschema
import orjson
import pytest
from anyio.lowlevel import checkpoint
from tests.server.agent.stage import SECONDS, Doing, Stage, named, said

from threadloom.agent.base import ToolResult
from threadloom.agent.models.performance import THOUGHT, WORDS
from threadloom.agent.models.rehearsal import BATCH, Rehearsal
from threadloom.agent.models.script import FAILURE, JUSTIFICATION, Call, Echo, Step, parse
from threadloom.agent.sampling import ModelError, Sampling, TextDelta, ToolCall, Usage
from threadloom_protocol.v2.turn import TokenUsageBreakdown

MESSAGE = ["item/started", "item/agentMessage/delta", "item/completed"]
USAGE = ["thread/tokenUsage/updated"]
PART = ["item/reasoning/summaryPartAdded", "item/reasoning/summaryTextDelta"]
REASONING = ["item/started", *PART, "item/completed"]
PLAN = 'call update_plan {"plan": [{"step": "sow", "status": "in_progress"}]}'
FIVE = " ".join(WORDS[:5])

LINES = [
    pytest.param("say 5 words", [*MESSAGE, *USAGE], FIVE, id="say"),
    pytest.param("say 1 word", [*MESSAGE, *USAGE], WORDS[0], id="say one"),
    pytest.param("say 0 words", USAGE, "", id="say nothing"),
    pytest.param("  echo Grüße,  Welt ", [*MESSAGE, *USAGE], "Grüße,  Welt", id="echo"),
    pytest.param("echo a\nsay 0 words\necho b", [*MESSAGE, *USAGE], "a\nb", id="two lines, one message"),
    pytest.param("think", [*REASONING, *USAGE], "", id="think"),
    pytest.param(
        "think\nthink\necho a",
        ["item/started", *PART, *PART, "item/completed", *MESSAGE, *USAGE],
        "a",
        id="think twice",
    ),
    pytest.param("echo a\nthink\necho b", [*MESSAGE, *REASONING, *MESSAGE, *USAGE], "b", id="think between"),
    pytest.param("slow 5 ms\nsay 5 words", [*MESSAGE, *USAGE], FIVE, id="slow"),
    pytest.param("pieces of 1 word\nsay 5 words", [*MESSAGE, *USAGE], FIVE, id="pieces"),
    pytest.param("Please\nsay 5 words\nfor me", [*MESSAGE, *USAGE], FIVE, id="other lines are passed over"),
    pytest.param(
        f"echo a\n{PLAN}\necho b",
        [*MESSAGE, *USAGE, "turn/plan/updated", *MESSAGE, *USAGE],
        "b\nupdate_plan answered: Plan updated",
        id="call",
    ),
    pytest.param(
        f"{PLAN}\n{PLAN}",
        [*USAGE, "turn/plan/updated", *USAGE, "turn/plan/updated", *MESSAGE, *USAGE],
        "update_plan answered: Plan updated\nupdate_plan answered: Plan updated",
        id="one call after the other",
    ),
    pytest.param(
        f"{PLAN}\nthink\n{PLAN}",
        [*USAGE, "turn/plan/updated", *REASONING, *USAGE, "turn/plan/updated", *MESSAGE, *USAGE],
        "update_plan answered: Plan updated\nupdate_plan answered: Plan updated",
        id="think between calls",
    ),
    pytest.param(
        f"{PLAN}\nand {PLAN}\nand call nosuch",
        [*USAGE, "turn/plan/updated", "turn/plan/updated", *MESSAGE, *USAGE],
        "update_plan answered: Plan updated\nupdate_plan answered: Plan updated\n"
        "nosuch answered: There is no tool `nosuch`. There are: update_plan.",
        id="calls at once",
    ),
]


@pytest.mark.parametrize(("prompt", "methods", "text"), LINES)
async def test_a_line_makes_it_do_that(prompt: str, methods: list[str], text: str) -> None:
    stage = await Stage(prompt).play()
    assert stage.methods == methods
    assert stage.text == text


PLAIN = [
    pytest.param("Write me a parser", "You wrote: “Write me a parser”", id="short"),
    pytest.param("one two " * 20, "You wrote: “one two one two one two one two one two one two…”", id="long"),
    pytest.param("say five words\nSay 5 words\nthinking\nslow 5", "You wrote: “say five words Say 5", id="near misses"),
    pytest.param(" \n", "You wrote nothing.", id="nothing"),
]


@pytest.mark.parametrize(("prompt", "part"), PLAIN)
async def test_plain_words_get_a_streamed_answer_that_says_what_it_is(prompt: str, part: str) -> None:
    stage = await Stage(prompt).play()
    assert stage.methods == [*MESSAGE, *USAGE]
    assert "rehearsal model" in stage.text
    assert part in stage.text
    assert len(stage.events("item/agentMessage/delta")) > 5


async def test_it_answers_alike_and_only_to_what_was_said_last() -> None:
    before = [said("fail"), said("I did.", "assistant"), said("think")]
    first, second = await Stage("Hello", before=before).play(), await Stage("Hello").play()
    assert first.text == second.text
    assert first.methods == second.methods


async def test_its_thoughts_are_a_summary_in_parts() -> None:
    stage = await Stage("think\nthink").play()
    assert [it.item.summary for it in stage.events("item/completed")] == [[THOUGHT, THOUGHT]]


@pytest.mark.parametrize(("line", "text"), [("fail", FAILURE), ("fail The disk is on fire", "The disk is on fire")])
async def test_it_fails_when_told_to_and_keeps_what_it_had_said(line: str, text: str) -> None:
    stage = Stage(f"say 5 words\n{line}\necho never")
    with pytest.raises(ModelError) as failure:
        await stage.play()
    assert (failure.value.message, failure.value.info) == (text, "other")
    assert stage.text == FIVE


async def test_it_waits_until_it_is_steered() -> None:
    started = anyio.Event()
    stage = Stage("say 5 words\nwait\necho never", on=lambda batch: started.set())
    async with stage.playing():
        await started.wait()
        stage.steer("echo at last")
    assert [it.item.text for it in stage.events("item/completed")] == [FIVE, "at last"]


async def test_it_waits_until_it_is_interrupted() -> None:
    started = anyio.Event()
    stage = Stage("think\nwait", on=lambda batch: started.set())
    async with stage.playing() as interrupt:
        await started.wait()
        interrupt()
    assert "item/completed" not in stage.methods


async def test_a_call_that_was_steered_over_is_not_counted_for_the_new_prompt() -> None:
    async def look(call: ToolCall) -> ToolResult:
        stage.steer("call look {}\necho done")
        looked.append(call.call_id)
        if len(looked) == 2:
            stage.steering.taken()  # nobody speaks during the second
            stage.history.pop()
        return ToolResult(f"look {len(looked)}")

    looked: list[str] = []
    stage = Stage("call look {}\necho never", tools=named(Doing("look", look)))
    await stage.play()
    assert looked == ["call_1", "call_2"]
    assert stage.text == "done\nlook answered: look 2"


async def test_slow_waits_before_each_piece_from_there_on_even_behind_a_call() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await checkpoint()

    prompt = f"echo quick\nslow 250 ms\nsay 7 words\n{PLAN}\necho b c d\n{PLAN}\nslow 10 ms\necho e\nslow 0 ms"
    await Stage(prompt, Rehearsal(sleep)).play()
    assert slept == [0.25, 0.25, 0.25, 0.25, 0.01]


async def sent(prompt: str) -> list[list[str]]:
    sampling = Sampling("rehearsal", None, [], [said(prompt)], [])
    return [
        [it.text for it in batch if isinstance(it, TextDelta)]
        async for batch in Rehearsal(anyio.sleep).stream(sampling)
    ]


async def test_a_piece_is_a_few_words_and_a_read_brings_several_pieces() -> None:
    reads = await sent("say 100 words")
    assert {len(piece.split()) for read in reads for piece in read} == {3, 1}
    assert [len(read) for read in reads] == [BATCH, BATCH, 2]
    [single] = await sent("pieces of 1 word\nsay 4 words")
    assert single == [WORDS[0], *(f" {word}" for word in WORDS[1:4])]
    slow = await sent("slow 0 ms\nsay 6 words\nslow 1 ms\nsay 6 words")
    assert [len(read) for read in slow] == [2, 1, 1]


async def test_however_much_it_has_to_say_others_get_their_turn() -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await checkpoint()

    stage = Stage("say 12000 words", on=lambda batch: seen.append(ticks))
    seen: list[int] = []
    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(tick)
            await stage.play()
            tasks.cancel_scope.cancel()
    assert len(stage.text.split()) == 12000
    assert len(seen) == 12000 // 3 // BATCH + 1
    assert sorted(set(seen)) == seen  # between any two batches, somebody else ran


async def test_a_word_counts_as_a_token() -> None:
    before = [said("one two"), said("three", "assistant")]
    stage = await Stage("think\nsay 5 words\ncall nosuch {}", before=before, instructions=["Be brief"]).play()
    thought = len(THOUGHT.split())
    answer = len(stage.kept("function_call_output")[0]["output"].split())
    first = Usage(input=2 + 3 + 7, output=thought + 5 + 1, reasoning=thought)
    second = Usage(input=first.input + 5 + 1 + answer, output=2 + answer)
    usages = [it.token_usage for it in stage.events("thread/tokenUsage/updated")]
    assert [_usage(it.last) for it in usages] == [first, second]
    assert [_usage(it.total) for it in usages] == [first, first + second]
    assert usages[1].total.total_tokens == sum(it.last.total_tokens for it in usages)


def _usage(wire: TokenUsageBreakdown) -> Usage:
    return Usage(wire.input_tokens, wire.cached_input_tokens, wire.output_tokens, wire.reasoning_output_tokens)


NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "name": {"type": "string"}}}
LIST = {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/List"}, "minItems": 1}, {"type": "null"}]}
SCHEMAS = [
    ({"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}, {"title": "Rehearsal"}),
    ({"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]}, {"a": "Rehearsal"}),
    ({"type": "string", "minLength": 12}, "Rehearsal..."),
    ({"type": "string", "maxLength": 4}, "Rehe"),
    ({"type": "string", "enum": ["red", "green"]}, "red"),
    ({"const": {"a": [1]}}, {"a": [1]}),
    ({"type": ["string", "null"]}, None),
    ({"type": ["integer", "string"], "minimum": 3}, 3),
    ({"type": "integer", "minimum": 2.5}, 3),
    ({"type": "integer", "exclusiveMinimum": 4, "multipleOf": 5}, 5),
    ({"type": "integer", "maximum": -3, "multipleOf": 2}, -4),
    ({"type": "integer", "exclusiveMaximum": 0}, -1),
    ({"type": "number", "minimum": 0.5}, 0.5),
    ({"type": "number", "exclusiveMaximum": -1}, -2),
    ({"type": "number", "minimum": -5}, 0),
    ({"type": "boolean"}, False),
    ({"type": "array", "items": {"type": "string"}}, []),
    ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [0, 0]),
    ({"type": "array", "prefixItems": [{"const": 1}], "items": {"type": "null"}, "minItems": 2}, [1, None]),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 0),
    ({"allOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]}, {"required": ["b"]}]}, {"a": 1, "b": None}),
    ({"$ref": "#/$defs/A~1B", "$defs": {"A/B": {"type": "boolean"}}}, False),
    ({"$ref": "#/$defs/Node", "$defs": {"Node": {**NODE, "required": ["name"]}}}, {"name": "Rehearsal"}),
    ({"$ref": "#/$defs/List", "$defs": {"List": LIST}}, None),
    (True, None),
]


@pytest.mark.parametrize(("schema", "value"), SCHEMAS, ids=[orjson.dumps(schema).decode() for schema, _ in SCHEMAS])
async def test_with_an_output_schema_it_answers_with_the_smallest_json_that_fits(schema: object, value: object) -> None:
    stage = await Stage("wait\ncall update_plan {}", output_schema=schema).play()
    assert orjson.loads(stage.text) == value
    jsonschema.validate(orjson.loads(stage.text), schema)
    assert stage.methods == [*MESSAGE, *USAGE]


async def test_a_schema_that_nothing_finite_fits_is_a_failure() -> None:
    schema = {"$ref": "#/$defs/Node", "$defs": {"Node": {**NODE, "required": ["next"]}}}
    with pytest.raises(ModelError, match="round in circles"):
        await Stage("hello", output_schema=schema).play()


async def test_it_reads_any_shape_of_content() -> None:
    history = [{"role": "user", "content": "echo plain"}]
    sampling = Sampling("rehearsal", None, [], history, [])
    [batch] = [batch async for batch in Rehearsal().stream(sampling)]
    assert batch[0] == TextDelta("plain")


# ── commands and patches ──────────────────────────────────────────────────────────────────────────────────────────────

PATCH = "*** Begin Patch\n*** Add File: a\n+echo not a line of the script\n*** End Patch"


def asked(question: str, *labels: str) -> Call:
    options = [{"label": it, "description": ""} for it in labels] or None
    only = {"id": "answer", "header": "Rehearsal", "question": question, "options": options}
    return Call("request_user_input", orjson.dumps({"questions": [only]}).decode())


ACTING = [
    pytest.param("run ls -l | wc", [Call("exec_command", '{"cmd":"ls -l | wc"}')], id="run"),
    pytest.param(
        "run outside the sandbox date",
        [
            Call(
                "exec_command",
                f'{{"cmd":"date","sandbox_permissions":"require_escalated","justification":"{JUSTIFICATION}"}}',
            )
        ],
        id="run outside the sandbox",
    ),
    pytest.param("ask Which? red | dark green", [asked("Which?", "red", "dark green")], id="ask with options"),
    pytest.param("ask Why? Really?", [asked("Why?", "Really?")], id="ask with one option"),
    pytest.param("ask And why?", [asked("And why?")], id="ask"),
    pytest.param(
        "patch notes/a.txt with Buy wool",
        [Call("apply_patch", '{"input":"*** Begin Patch\\n*** Add File: notes/a.txt\\n+Buy wool\\n*** End Patch"}')],
        id="patch",
    ),
    pytest.param(
        f"echo a\n{PATCH}\necho b",
        [Echo("a"), Call("apply_patch", PATCH, freeform=True), Echo("b")],
        id="a whole patch",
    ),
    pytest.param(
        PATCH[:-14],
        [Call("apply_patch", PATCH[:-14], freeform=True)],
        id="a patch without an end is for the tool to judge",
    ),
    pytest.param("Please run ls", [], id="in the middle of a line"),
    pytest.param("patch a.txt", [], id="patch without a text"),
]


@pytest.mark.parametrize(("prompt", "steps"), ACTING)
def test_lines_for_commands_and_patches_are_calls(prompt: str, steps: list[Step]) -> None:
    assert parse(prompt) == steps


async def test_a_call_in_plain_text_counts_as_one_and_its_output_is_told() -> None:
    async def draw(call: ToolCall) -> ToolResult:
        assert call.freeform
        return ToolResult(f"{len(call.arguments)} characters")

    stage = await Stage(f"{PATCH}\necho Done.", tools=named(Doing("apply_patch", draw))).play()
    assert stage.text == f"Done.\napply_patch answered: {len(PATCH)} characters"
    assert [it["call_id"] for it in stage.kept("custom_tool_call")] == ["call_1"]
