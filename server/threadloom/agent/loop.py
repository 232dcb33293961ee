"""The loop: ask the model, run the tools it wants, ask again, until it wants none."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Final

import anyio

from threadloom.agent.answer import Answer
from threadloom.agent.base import Batch, ToolResult, TurnInput
from threadloom.agent.compaction import OVERFLOW, compacted
from threadloom.agent.history import output_item, ready
from threadloom.agent.sampling import Model, ModelError, ModelEvent, Sampling, ToolCall
from threadloom.agent.steering import Steering
from threadloom.agent.tools.base import answered, freeform_specs
from threadloom.events import Aside
from threadloom.ids import uuid7

# A model that has asked for tools this often in one turn goes in circles. The longest honest work takes some hundreds.
MOST_ANSWERS: Final = 5000


def _milliseconds() -> int:
    return time.time_ns() // 1_000_000


class Loop:
    """The agent that all threads run on. `models` finds a model by name and provider, or raises `ModelError`."""

    def __init__(
        self,
        models: Callable[[str, str], Model],
        *,
        now: Callable[[], int] = _milliseconds,
        new_id: Callable[[], str] = uuid7,
        most_answers: int = MOST_ANSWERS,
    ) -> None:
        self._models = models
        self._now = now
        self._new_id = new_id
        self._most_answers = most_answers

    async def run(self, turn: TurnInput) -> AsyncGenerator[Batch, None]:
        """The events of a turn: see `Agent`."""
        model = self._models(turn.model, turn.provider)
        if turn.resumed and (told := await _run(turn, turn.resumed)):
            yield told
        helped = False  # the history was too long for the model, and has been condensed: it has not answered since
        for _ in range(self._most_answers):
            answer = Answer(turn, self._now, self._new_id)
            try:
                async with aclosing(_answering(model, turn, answer)) as batches:
                    async for batch in batches:
                        if batch:
                            yield batch
                too_long = answer.done and _due(turn, answer)
                helped = helped and not answer.done
            except ModelError as fault:
                if fault.info != OVERFLOW or turn.compaction is None or helped:
                    raise
                too_long = helped = True
            if notes := turn.steering.notes():
                yield [Aside(notes)]
            if answer.done and answer.calls:
                if told := await _run(turn, answer.calls):
                    yield told
            elif answer.done and not turn.steering.unread:
                return
            if too_long:
                async with aclosing(self.compact(turn)) as batches:
                    async for batch in batches:
                        yield batch
        raise ModelError(f"The model was asked {self._most_answers} times in this turn and still wants more.")

    async def compact(self, turn: TurnInput) -> AsyncGenerator[Batch, None]:
        """The events of condensing the history: see `Agent`."""
        async with aclosing(
            compacted(self._models(turn.model, turn.provider), turn, self._now, self._new_id)
        ) as batches:
            async for batch in batches:
                yield batch


def _due(turn: TurnInput, answer: Answer) -> bool:
    return turn.compaction is not None and turn.compaction.due(answer.last)


async def _answering(model: Model, turn: TurnInput, answer: Answer) -> AsyncGenerator[Batch, None]:
    """One answer: whole, or given up because the user has spoken or the model has failed."""
    async with aclosing(model.stream(_sampling(turn))) as stream:
        try:
            while not answer.done and (events := await _read(stream, turn.steering)) is not None:
                yield answer.take(events)
        except ModelError:
            yield answer.drop()
            raise
    yield answer.drop()


def _sampling(turn: TurnInput) -> Sampling:
    turn.steering.taken()
    return Sampling(
        model=turn.model,
        effort=turn.effort,
        instructions=turn.instructions,
        history=ready(turn.history()),
        tools=[tool.spec() for tool in turn.tools.values()],
        freeform=freeform_specs(turn.tools),
        output_schema=turn.output_schema,
        summary=turn.summary,
        verbosity=turn.verbosity,
        service_tier=turn.settings.service_tier if turn.settings is not None else None,
        cache_key=turn.thread_id,
    )


async def _read(stream: AsyncGenerator[Sequence[ModelEvent], None], steering: Steering) -> Sequence[ModelEvent] | None:
    """What the model sends next; none as soon as the user has spoken."""
    if steering.waiting:  # a stream that has more at hand would not notice
        return None
    with steering.drops():
        events: Sequence[ModelEvent] | None = await anext(stream, None)
        if events is None:
            raise ModelError("The model broke off in the middle of its answer.", _DISCONNECTED)
        return events
    return None


_DISCONNECTED: Final = {"responseStreamDisconnected": {"httpStatusCode": None}}


async def _run(turn: TurnInput, calls: Sequence[ToolCall]) -> Batch:
    """Run tools side by side. What one did is told as soon as it has; without a floor, in the order of the calls."""
    results: dict[int, ToolResult] = {}

    async def run(at: int, call: ToolCall) -> None:
        result = await answered(turn, call)
        if turn.floor is None:
            results[at] = result
        else:
            turn.floor.emit(*_told(call, result))

    try:
        async with anyio.create_task_group() as tasks:
            for at, call in enumerate(calls):
                tasks.start_soon(run, at, call)
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures  # the turn fails with the tool's own words
    return [it for at, result in sorted(results.items()) for it in _told(calls[at], result)]


def _told(call: ToolCall, result: ToolResult) -> Batch:
    """The end of a call: its events and, in the same write, what the model is told."""
    consumed = [{"@": "consumes", "ids": list(result.consumes)}] if result.consumes else []
    return [*result.emissions, Aside([output_item(call, result.output, result.pictures), *consumed])]
