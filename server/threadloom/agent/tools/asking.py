"""`request_user_input`: the model puts questions to the person, and goes on from the answers."""

from __future__ import annotations

from typing import Annotated, Final

import orjson
from pydantic import Field, StringConstraints, field_validator

from threadloom.agent.base import ToolResult, TurnInput
from threadloom.agent.floor import Floor, Question
from threadloom.agent.sampling import Item, ToolCall
from threadloom.agent.tools.base import parsed, refused
from threadloom.agent.tools.spec import function, text, values
from threadloom_protocol.model import Snake
from threadloom_protocol.v2 import ask
from threadloom_protocol.v2.values.policy import AskForApproval

NAME: Final = "request_user_input"
MOST: Final = 3  # questions at once: more is a form, and nobody likes to fill in forms

NOBODY: Final = "Nobody has answered. Go on as you think best, and tell the person what you took for granted."

Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Option(Snake):
    """One of the answers on offer."""

    label: Words
    description: str = ""


class Asked(Snake):
    """One question."""

    id: Words
    header: str
    question: Words
    options: list[Option] | None = None

    def shown(self) -> ask.ToolRequestUserInputQuestion:
        """As clients get it: own words are always welcome, and what is typed is no secret, for the model reads it."""
        offered = [
            ask.ToolRequestUserInputOption(label=it.label, description=it.description) for it in self.options or ()
        ]
        return ask.ToolRequestUserInputQuestion(
            id=self.id, header=self.header, question=self.question, is_other=True, options=offered or None
        )


class Questions(Snake):
    """The arguments of `request_user_input`."""

    questions: list[Asked] = Field(min_length=1, max_length=MOST)

    @field_validator("questions")
    @classmethod
    def _distinct(cls, them: list[Asked]) -> list[Asked]:
        """An answer is known by the id of its question."""
        if len({it.id for it in them}) < len(them):
            raise ValueError("each question needs an id of its own")
        return them


class RequestUserInput:
    """Asks the person, and waits for the answer as long as an approval would be waited for."""

    name = NAME

    def spec(self) -> Item:
        """As the model is told of it."""
        return _SPEC

    async def run(self, turn: TurnInput, call: ToolCall) -> ToolResult:
        """Ask; what comes back is the answers by the ids of their questions."""
        asked = parsed(Questions, call)
        if isinstance(asked, ToolResult):
            return asked
        if turn.floor is None:
            return refused(NOBODY)
        answer: ask.ToolRequestUserInputResponse = await turn.floor.ask(call, _question(turn, turn.floor, call, asked))
        given = {it.id: answer.answers[it.id].answers for it in asked.questions if it.id in answer.answers}
        if not any(given.values()):
            return refused(NOBODY)
        return ToolResult(orjson.dumps({"answers": {it: {"answers": words} for it, words in given.items()}}).decode())


def somebody_answers(policy: AskForApproval) -> bool:
    """Whether there is a person to ask: who wants no question about commands wants none at all."""
    return policy != "never"


def _question(turn: TurnInput, floor: Floor, call: ToolCall, asked: Questions) -> Question:
    params = ask.ToolRequestUserInputParams(
        thread_id=turn.thread_id,
        turn_id=turn.turn_id,
        item_id=floor.item_id(call),
        questions=[it.shown() for it in asked.questions],
        is_blocking=True,
        origin=list(turn.origin),
    )
    return Question(
        ask.USER_INPUT,
        params,
        started=None,
        refusal=ask.ToolRequestUserInputResponse(answers={}),
        flag="waitingOnUserInput",
    )


_OPTION: Final = values(
    {"label": text("The answer, in a few words."), "description": text("What follows from it, in one sentence.")},
    "label",
    "description",
)
_QUESTION: Final = values(
    {
        "id": text("What its answer is called, such as `target_branch`. No two alike."),
        "header": text("What it is about, in a word or two."),
        "question": text("The question, in one sentence."),
        "options": {
            "type": "array",
            "description": (
                "Two or three answers to choose from, the one you would take first. The person can always answer in "
                "other words, so offer no `other`. Leave it out where there is nothing to choose from."
            ),
            "items": _OPTION,
        },
    },
    "id",
    "header",
    "question",
)
_SPEC: Final = function(
    NAME,
    "Ask the person up to three short questions and wait for the answers. Only for what they alone can decide and what "
    "changes your work: find out for yourself whatever can be found out.",
    {
        "questions": {
            "type": "array",
            "description": "The questions; one is best.",
            "items": _QUESTION,
            "minItems": 1,
            "maxItems": MOST,
        }
    },
    "questions",
)
