"""A history that has grown too long: the model sums it up, and the summary takes its place."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from typing import Any, Final

from threadloom.agent.answer import retrying, token_usage
from threadloom.agent.base import Batch, TurnInput
from threadloom.agent.history import ready, user_item
from threadloom.agent.sampling import Done, Item, Model, ModelError, ModelEvent, Retrying, Sampling, TextDelta, Usage
from threadloom.events import Emission
from threadloom_protocol.v2 import item
from threadloom_protocol.v2.turn import TokenUsageBreakdown
from threadloom_protocol.v2.values.items import ContextCompactionThreadItem

OVERFLOW: Final = "contextWindowExceeded"  # what a model says that was given more than it can read
ATTEMPTS: Final = 5  # each with half of what was too much before: a window 16 times too small is still helped
CHARACTERS: Final = 4  # to a token, roughly, in the languages that models read most
CUT: Final = "[…]"  # where the rest of a text was
_TEXTS: Final = frozenset({"content", "text", "output", "input"})  # where an item has them
PICTURE: Final = 1_500  # tokens, roughly, whatever is in it


class _Summary:
    """What the model says of the history. Thoughts are not kept, and there are no tools to call."""

    def __init__(self) -> None:
        self.text = ""
        self.usage = Usage()

    def take(self, events: Sequence[ModelEvent]) -> Iterator[Retrying]:
        """Take in what one read brought; attempts that were given up."""
        for event in events:
            match event:
                case TextDelta(text):
                    self.text += text
                case Retrying():
                    self.text = ""
                    yield event
                case Done(usage):
                    self.usage = usage
                case _:
                    pass


async def compacted(
    model: Model, turn: TurnInput, now: Callable[[], int], new_id: Callable[[], str]
) -> AsyncGenerator[Batch, None]:
    """The events of a compaction. Where it fails with `ModelError`, the history is what it was."""
    compaction = turn.compaction
    assert compaction is not None
    part = compaction.part()
    begun = ContextCompactionThreadItem(id=new_id(), started_at_ms=now())
    where: dict[str, Any] = {"thread_id": turn.thread_id, "turn_id": turn.turn_id}
    yield [Emission(item.STARTED, item.ItemStartedNotification(item=begun, started_at_ms=now(), **where))]
    summary = _Summary()
    if part:
        async with aclosing(_summarised(model, turn, compaction.prompt, part, summary)) as batches:
            async for batch in batches:
                yield batch
    ended = begun.model_copy(update={"completed_at_ms": now()})
    completed = item.ItemCompletedNotification(item=ended, completed_at_ms=now(), **where)
    if not part:
        yield [Emission(item.COMPLETED, completed)]
        return
    turn.total_usage += summary.usage
    replaced = compaction.replaced(summary.text.strip())
    yield [
        token_usage(turn, summary.usage),
        Emission(item.COMPLETED, completed, replaced),
        _shrunk(turn, estimated(replaced)),
    ]


async def _summarised(
    model: Model, turn: TurnInput, prompt: str, part: Sequence[Item], summary: _Summary
) -> AsyncGenerator[Batch, None]:
    """Ask for the summary: of all of it, or of as much of its end as the model can read."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            async with aclosing(model.stream(_sampling(turn, prompt, part))) as stream:
                async for events in stream:
                    for retry in summary.take(events):
                        yield [retrying(turn, retry)]
            break
        except ModelError as fault:
            if fault.info != OVERFLOW or attempt == ATTEMPTS:
                raise
            part = _less(part)
    if not summary.text.strip():
        raise ModelError("The model was asked to sum the conversation up, and said nothing.", "other")


def _sampling(turn: TurnInput, prompt: str, part: Sequence[Item]) -> Sampling:
    return Sampling(
        model=turn.model,
        effort=turn.effort,
        instructions=turn.instructions,
        history=[*ready(part), user_item(prompt)],
        tools=[],
        summary=turn.summary,
    )


def _less(part: Sequence[Item]) -> Sequence[Item]:
    """The later half, and of an item that alone is longer than half of it all, the beginning."""
    room = estimated(part) // 2 * CHARACTERS
    return [_shortened(it, room) for it in part[len(part) // 2 :]]


def _shortened(value: Any, room: int) -> Any:
    match value:
        case {"type": "input_image" | "reasoning"}:  # half of such a thing is nothing
            return value
        case {"arguments": str(written)} if len(written) > room:
            return {**value, "arguments": "{}"}  # some servers read them
        case dict():
            return {name: _shortened(it, room) if name in _TEXTS else it for name, it in value.items()}
        case list():
            return [_shortened(it, room) for it in value]
        case str() if len(value) > room:
            return f"{value[:room]}{CUT}"
    return value


def _shrunk(turn: TurnInput, tokens: int) -> Emission:
    """How much of the window is left in use: an estimate, as nobody has counted it yet."""
    last = TokenUsageBreakdown(
        total_tokens=tokens, input_tokens=0, cached_input_tokens=0, output_tokens=0, reasoning_output_tokens=0
    )
    return token_usage(turn, last)


def estimated(items: Sequence[Item]) -> int:
    """Tokens in a history, roughly; marks count for nothing."""
    return sum(_weight(it) for it in items if "@" not in it)


def _weight(value: Any) -> int:
    match value:
        case {"type": "input_image"}:
            return PICTURE
        case dict():
            return sum(_weight(it) for it in value.values())
        case list():
            return sum(map(_weight, value))
        case str():
            return -(-len(value) // CHARACTERS)
        case _:
            return 1
