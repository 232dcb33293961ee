"""`request_user_input`: what the person is asked, and what the model is told."""

from __future__ import annotations

from typing import Any

import jsonschema
import orjson
import pytest
from tests.server.agent.stage import DONE, Scripted, Stage, named

from threadloom.agent.floor import Question
from threadloom.agent.sampling import TextDelta, ToolCall
from threadloom.agent.tools.asking import NOBODY, RequestUserInput
from threadloom.events import Aside, Emission
from threadloom_protocol.v2.ask import ToolRequestUserInputResponse

COLOUR = {"id": "colour", "header": "Colour", "question": "Which colour?"}
SIZE = {"id": "size", "header": "Size", "question": "Which size?"}
OPTIONS = [{"label": "red", "description": "Warm."}, {"label": "blue", "description": "Cold."}]


class Person:
    """A floor with somebody on it who answers."""

    def __init__(self, answers: Any) -> None:
        self._answers = answers
        self.asked: list[Question] = []
        self.told: list[Emission | Aside] = []

    def emit(self, *batch: Emission | Aside) -> None:
        self.told += batch

    def item_id(self, call: ToolCall) -> str:
        return f"item of {call.call_id}"

    async def ask(self, call: ToolCall, question: Question) -> Any:
        self.asked.append(question)
        return ToolRequestUserInputResponse.model_validate({"answers": self._answers})


async def called(arguments: object, answers: Any = None) -> tuple[Person, str]:
    """Who was asked, and what the model was told."""
    person = Person(answers or {})
    call = ToolCall("c", "request_user_input", orjson.dumps(arguments).decode())
    model = Scripted([[call, DONE]], [[TextDelta("There.")], [DONE]])
    await Stage("ask", model, tools=named(RequestUserInput()), floor=person).play()
    [output] = [it for told in person.told for it in told.model or ()]
    return person, output["output"]


async def test_the_model_gets_the_answers_by_the_ids_of_their_questions() -> None:
    answers = {"colour": {"answers": ["red"]}, "size": {"answers": ["as it is"]}}
    person, output = await called({"questions": [{**COLOUR, "options": OPTIONS}, SIZE]}, answers)
    assert orjson.loads(output) == {"answers": answers}
    [question] = person.asked
    shown = orjson.loads(question.params.to_json())
    assert shown == {
        "threadId": "thread",
        "turnId": "turn",
        "itemId": "item of c",
        "questions": [
            {**COLOUR, "isOther": True, "isSecret": False, "options": OPTIONS},
            {**SIZE, "isOther": True, "isSecret": False, "options": None},
        ],
        "isBlocking": True,
        "autoResolutionMs": None,
        "origin": [],
    }
    assert (question.flag, question.started) == ("waitingOnUserInput", None)


async def test_one_answer_of_two_is_worth_telling() -> None:
    _, output = await called({"questions": [COLOUR, SIZE]}, {"size": {"answers": ["small"]}})
    assert orjson.loads(output) == {"answers": {"size": {"answers": ["small"]}}}


@pytest.mark.parametrize("answers", [{}, {"colour": {"answers": []}}, {"other": {"answers": ["red"]}}])
async def test_where_nobody_answers_the_model_is_told_to_go_on(answers: Any) -> None:
    _, output = await called({"questions": [COLOUR]}, answers)
    assert output == NOBODY


async def test_what_is_asked_is_never_a_secret() -> None:
    person, _ = await called({"questions": [{**COLOUR, "isSecret": True, "is_secret": True}]})
    assert [it.is_secret for it in person.asked[0].params.questions] == [False]  # type: ignore[attr-defined]


REFUSED = [
    ({}, "questions: Field required."),
    ({"questions": []}, "questions: List should have at least 1 item"),
    ({"questions": [{**COLOUR, "id": str(at)} for at in range(4)]}, "questions: List should have at most 3 items"),
    ({"questions": "Which colour?"}, "questions: Input should be a valid array."),
    ({"questions": [{"id": "colour", "header": "Colour"}]}, "questions.0.question: Field required."),
    ({"questions": [{"header": "Colour", "question": "Which?"}]}, "questions.0.id: Field required."),
    ({"questions": [{"id": "colour", "question": "Which?"}]}, "questions.0.header: Field required."),
    ({"questions": [{**COLOUR, "options": "red"}]}, "questions.0.options: Input should be a valid array."),
    ({"questions": [{**COLOUR, "options": [{}]}]}, "questions.0.options.0.label: Field required."),
    ({"questions": [COLOUR, COLOUR]}, "questions: Value error, each question needs an id of its own."),
    ({"questions": [{**COLOUR, "question": " "}]}, "questions.0.question: String should have at least 1 character."),
    ({"questions": [{**COLOUR, "id": ""}]}, "questions.0.id: String should have at least 1 character."),
]


@pytest.mark.parametrize(("arguments", "told"), REFUSED)
async def test_questions_that_make_no_sense_are_not_asked(arguments: object, told: str) -> None:
    person, output = await called(arguments)
    assert person.asked == []
    assert output.startswith(f"The arguments of `request_user_input` do not fit. {told}")


async def test_without_a_floor_there_is_nobody_to_ask() -> None:
    call = ToolCall("c", "request_user_input", orjson.dumps({"questions": [COLOUR]}).decode())
    model = Scripted([[call, DONE]], [[TextDelta("There.")], [DONE]])
    stage = await Stage("ask", model, tools=named(RequestUserInput())).play()
    assert stage.kept("function_call_output")[0]["output"] == NOBODY


def test_what_the_model_is_told_of_it_is_what_it_takes() -> None:
    spec = RequestUserInput().spec()
    schema = spec["parameters"]
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate({"questions": [{**COLOUR, "options": OPTIONS}, SIZE]}, schema)
    for arguments, _ in REFUSED[:9]:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(arguments, schema)
