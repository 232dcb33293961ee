"""What a model is asked, and what it sends: values, and the port that every provider fills."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add
from typing import Any, NamedTuple, Protocol

Item = dict[str, Any]  # an item of the model's history, in the shape of the Responses API


class Usage(NamedTuple):
    """Tokens, as providers count them."""

    input: int = 0
    cached: int = 0  # of the input
    output: int = 0
    reasoning: int = 0  # of the output

    def __add__(self, other: Usage) -> Usage:  # type: ignore[override]
        return Usage(*map(add, self, other))


class TextDelta(NamedTuple):
    """A piece of the answer."""

    text: str
    phase: str | None = None  # of its message, where the provider says so: see `MessagePhase`


class ReasoningDelta(NamedTuple):
    """A piece of the summary of the model's reasoning; `part` counts its paragraphs."""

    text: str
    part: int = 0


class ToolCall(NamedTuple):
    """The model wants a tool; `arguments` is JSON as the model wrote it, or plain text where the tool is free-form."""

    call_id: str
    name: str
    arguments: str
    freeform: bool = False


class ItemDone(NamedTuple):
    """An item of the answer is whole: what comes next is another one.

    `item` is for the history, as it came, where a later request needs more of it than was told (encrypted reasoning).
    """

    item: Item | None = None
    phase: str | None = None  # of a message


class Retrying(NamedTuple):
    """The answer broke off, or did not begin: all of it comes again. `info` is a CodexErrorInfo."""

    reason: str
    attempt: int
    of: int
    info: Any = None


class Done(NamedTuple):
    """The model has said all it wanted to."""

    usage: Usage


ModelEvent = TextDelta | ReasoningDelta | ToolCall | ItemDone | Retrying | Done


class ModelError(Exception):
    """The model failed; `info` is a CodexErrorInfo where there is one that fits."""

    def __init__(self, message: str, info: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.info = info


@dataclass(frozen=True, slots=True)
class Sampling:
    """One request to a model."""

    model: str
    effort: str | None
    instructions: Sequence[str]
    history: Sequence[Item]
    tools: Sequence[Item]  # function specs
    freeform: Mapping[str, Item] = field(default_factory=dict)  # specs of those that take plain text as well, by name
    output_schema: Any = None
    provider: str = "rehearsal"
    summary: str | None = None  # of the reasoning: auto, concise, detailed or none
    verbosity: str | None = None  # of the answer: low, medium or high
    service_tier: str | None = None
    cache_key: str | None = None  # the same for requests that begin alike


class Model(Protocol):
    """A provider of samplings. Closing the generator, or cancelling it, ends the request at once."""

    def stream(self, sampling: Sampling) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """What the model sends, in batches as they were read, `Done` last. Raises `ModelError`."""
        ...
