"""One answer of the rehearsal model, as a sequence of cues. No I/O, no clock, no chance."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import cycle, islice
from typing import Final, NamedTuple

import orjson

from threadloom.agent.history import CALLS, OUTPUTS, text_of
from threadloom.agent.models.cast import resolved
from threadloom.agent.models.schema import Endless, smallest
from threadloom.agent.models.script import (
    Call,
    Echo,
    Fail,
    Pieces,
    Say,
    Slow,
    Step,
    Think,
    Wait,
    complete,
    parse,
    upcoming,
)
from threadloom.agent.sampling import (
    Done,
    Item,
    ModelError,
    ModelEvent,
    ReasoningDelta,
    Sampling,
    TextDelta,
    ToolCall,
    Usage,
)

LINES: Final = (
    "the loom stands in the café by the window and every thread goes over and under while a naïve weaver counts "
    "one two three and hums a tune about green hills and small boats before the bell rings for tea"
)
WORDS: Final = LINES.split()
THOUGHT: Final = "**Rehearsing** The rehearsal model has no thoughts; this is what they would look like."
INTRODUCTION: Final = (
    "This is the rehearsal model, not a real one: it is built in, works offline and always answers alike."
)
HINT: Final = "Write a line such as `say 20 words`, `think` or `run date`, and it does that."
FORBIDDEN: Final = "forbidden"  # what it declines, where it decides in a person's place

QUOTED: Final = 12  # words of the prompt that a plain answer repeats
PIECE: Final = 3  # words to a piece
RETOLD: Final = 400  # characters of a tool's output that the last words repeat


class Pause(NamedTuple):
    """Nothing for a while."""

    seconds: float


Cue = ModelEvent | Pause | Wait | Fail


class Performance:
    """Plays the part of the script that comes next."""

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling
        self._prompt, self._since = _last_prompt(sampling.history)
        self._pause = 0.0
        self._size = PIECE
        self._spoken = 0  # words
        self._thought = 0
        self._parts = 0  # of the reasoning under way
        self._talking = False  # in a message that goes on

    def cues(self) -> Iterator[Cue]:
        """What to do, in order, down to `Done`."""
        if self._sampling.output_schema is not None:
            yield from self._fit(self._sampling.output_schema)
        else:
            yield from self._play(self._steps())
        yield Done(self._usage())

    def _steps(self) -> list[Step]:
        steps = parse(self._prompt)
        if not steps:
            return [Echo(_greeting(self._prompt))]
        calls = [item for item in self._since if item.get("type") in CALLS]
        steps = complete(steps, _spawned(self._sampling.history) - _spawned(self._since))
        return upcoming(steps, len(calls)) + [Echo(line) for line in _told(calls, self._since)]

    def _play(self, steps: list[Step]) -> Iterator[Cue]:
        for at, step in enumerate(steps):
            match step:
                case Slow(ms):
                    self._pause = ms / 1000
                case Pieces(words):
                    self._size = words
                case Say(words):
                    yield from self._talk(_spaced(islice(cycle(WORDS), words), self._size), words)
                case Echo(text):
                    yield from self._talk(_cut(text, self._size), len(text.split()))
                case Think():
                    yield from self._think()
                case Call():
                    yield from self._call(steps[at:])
                    return  # the rest comes when the tools have answered
                case _:
                    yield step

    def _talk(self, pieces: Iterable[str], words: int) -> Iterator[Cue]:
        self._spoken += words
        self._parts = 0
        lead = "\n" if self._talking else ""
        for piece in pieces:
            if self._pause:
                yield Pause(self._pause)
            yield TextDelta(f"{lead}{piece}")
            lead, self._talking = "", True

    def _think(self) -> Iterator[Cue]:
        self._thought += len(THOUGHT.split())
        self._talking = False
        for piece in _cut(THOUGHT, self._size):
            if self._pause:
                yield Pause(self._pause)
            yield ReasoningDelta(piece, self._parts)
        self._parts += 1

    def _call(self, steps: list[Step]) -> Iterator[Cue]:
        """The call that is next, and those that are joined to it."""
        number = sum(item.get("type") in CALLS for item in self._sampling.history)
        for at, step in enumerate(steps, 1):
            if not isinstance(step, Call) or (at > 1 and not step.joined):
                return
            self._spoken += len(step.arguments.split())
            arguments = step.arguments if step.freeform else resolved(step.arguments, self._sampling.history)
            yield ToolCall(f"call_{number + at}", step.tool, arguments, step.freeform)

    def _fit(self, schema: object) -> Iterator[Cue]:
        try:
            made = _judgement(self._prompt) if _judges(schema) else smallest(schema)
            text = orjson.dumps(made).decode()
        except Endless as error:
            raise ModelError(f"The output schema can only be filled by going round in circles: {error}") from error
        yield from self._talk([text], len(text.split()))

    def _usage(self) -> Usage:
        """A word counts as a token."""
        texts = [*self._sampling.instructions, *map(_text, self._sampling.history)]
        heard = sum(len(text.split()) for text in texts)
        return Usage(input=heard, output=self._spoken + self._thought, reasoning=self._thought)


def _last_prompt(history: Iterable[Item]) -> tuple[str, list[Item]]:
    """What the user said last, and what has happened since."""
    prompt, since = "", list[Item]()
    for item in history:
        if item.get("role") == "user":
            prompt, since = _text(item), []
        else:
            since.append(item)
    return prompt, since


def _spawned(history: Iterable[Item]) -> int:
    return sum(item.get("name") == "spawn_agent" for item in history if item.get("type") in CALLS)


def _text(item: Item) -> str:
    """The words of an item, whatever it is."""
    return text_of(item.get("content") or item.get("output") or item.get("arguments") or item.get("input"))


def _judges(schema: object) -> bool:
    """Whether it is asked to decide in a person's place."""
    return isinstance(schema, dict) and {"outcome", "risk_level"} <= set(schema.get("properties", ()))


def _judgement(action: str) -> Item:
    """A verdict on an action that anybody can foresee."""
    no = FORBIDDEN in action
    return {
        "outcome": "deny" if no else "allow",
        "risk_level": "high" if no else "low",
        "user_authorization": "unknown",
        "rationale": f"The rehearsal model judges by one word, and `{FORBIDDEN}` is {'in it' if no else 'not in it'}.",
    }


def _greeting(prompt: str) -> str:
    words = prompt.split()
    quoted = " ".join(words[:QUOTED]) + ("…" if len(words) > QUOTED else "")
    heard = f"You wrote: “{quoted}”" if words else "You wrote nothing."
    return f"{INTRODUCTION} {heard} {HINT}"


def _told(calls: list[Item], since: list[Item]) -> list[str]:
    """What came back from the tools, in a line each."""
    outputs = {str(item.get("call_id")): _text(item) for item in since if item.get("type") in OUTPUTS}
    return [f"{call.get('name')} answered: {outputs.get(str(call.get('call_id')), '')[:RETOLD]}" for call in calls]


def _spaced(words: Iterator[str], size: int) -> Iterator[str]:
    """Words with a space between them, some to a piece."""
    piece = " ".join(islice(words, size))
    while piece:
        yield piece
        piece = " ".join(["", *islice(words, size)])


def _cut(text: str, size: int) -> Iterator[str]:
    """A text in pieces of some words; together they are the text, byte for byte."""
    words = re.findall(r"\s*\S+|\s+$", text)
    for at in range(0, len(words), size):
        yield "".join(words[at : at + size])
