"""`update_plan`: what the person sees, and what the model is told."""

from __future__ import annotations

import jsonschema
import orjson
import pytest
from tests.server.agent.stage import DONE, Scripted, Stage

from threadloom.agent.sampling import TextDelta, ToolCall
from threadloom.agent.tools.plan import UpdatePlan

STEPS = [
    {"step": "sow", "status": "completed"},
    {"step": "water", "status": "in_progress"},
    {"step": "reap", "status": "pending"},
]


async def called(arguments: object) -> Stage:
    call = ToolCall("c", "update_plan", orjson.dumps(arguments).decode())
    return await Stage("plan", Scripted([[call, DONE]], [[TextDelta("There.")], [DONE]])).play()


def output(stage: Stage) -> str:
    text: str = stage.kept("function_call_output")[0]["output"]
    return text


@pytest.mark.parametrize("explanation", ["why", None])
async def test_a_plan_is_shown_as_it_stands(explanation: str | None) -> None:
    stage = await called({"explanation": explanation, "plan": STEPS})
    [event] = stage.events("turn/plan/updated")
    assert orjson.loads(event.to_json()) == {
        "threadId": "thread",
        "turnId": "turn",
        "explanation": explanation,
        "plan": [
            {"step": "sow", "status": "completed"},
            {"step": "water", "status": "inProgress"},
            {"step": "reap", "status": "pending"},
        ],
    }
    assert output(stage) == "Plan updated"


async def test_an_empty_plan_is_one() -> None:
    stage = await called({"plan": []})
    assert [it.plan for it in stage.events("turn/plan/updated")] == [[]]


REFUSED = [
    ({"plan": [STEPS[1], STEPS[1]]}, "At most one step can be in_progress; these are: water; water."),
    ({}, "The arguments of `update_plan` do not fit. plan: Field required."),
    ({"plan": "sow"}, "The arguments of `update_plan` do not fit. plan: Input should be a valid array."),
    ({"plan": [{"step": "sow"}]}, "The arguments of `update_plan` do not fit. plan.0.status: Field required."),
    ({"plan": [{"step": "sow", "status": "inProgress"}]}, "The arguments of `update_plan` do not fit. plan.0.status: "),
]


@pytest.mark.parametrize(("arguments", "told"), REFUSED)
async def test_a_plan_that_makes_no_sense_is_not_shown_and_the_model_is_told_why(arguments: object, told: str) -> None:
    stage = await called(arguments)
    assert output(stage).startswith(told)
    assert stage.events("turn/plan/updated") == []
    assert stage.text == "There."


def test_what_the_model_is_told_of_it_is_what_it_takes() -> None:
    spec = UpdatePlan().spec()
    assert (spec["type"], spec["name"]) == ("function", "update_plan")
    schema = spec["parameters"]
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate({"explanation": "why", "plan": STEPS}, schema)
    for arguments, _ in REFUSED[1:]:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(arguments, schema)
