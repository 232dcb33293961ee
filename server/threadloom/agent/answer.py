"""One answer of the model as it comes: its events become items of the turn. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from threadloom.agent.base import Batch, TurnInput
from threadloom.agent.history import call_item
from threadloom.agent.sampling import (
    Done,
    Item,
    ItemDone,
    ModelEvent,
    ReasoningDelta,
    Retrying,
    TextDelta,
    ToolCall,
    Usage,
)
from threadloom.agent.streams import Message, Reasoning, Stream
from threadloom.events import Aside, Emission
from threadloom_protocol.v2.turn import (
    ERROR,
    TOKEN_USAGE_UPDATED,
    ErrorNotification,
    ThreadTokenUsage,
    ThreadTokenUsageUpdatedNotification,
    TokenUsageBreakdown,
)
from threadloom_protocol.v2.values.turns import TurnError

S = TypeVar("S", bound=Stream)


class Answer:
    """Takes what the model sends, gives the events of it, and keeps what the loop goes on with."""

    def __init__(self, turn: TurnInput, now: Callable[[], int], new_id: Callable[[], str]) -> None:
        self.calls: list[ToolCall] = []
        self.last = Usage()  # what this answer took, once it is done
        self.done = False
        self._turn = turn
        self._now = now
        self._new_id = new_id
        self._open: Stream | None = None
        self._kept: list[Item] = []  # for the history, once what they lead to is there

    def take(self, events: Sequence[ModelEvent]) -> Batch:
        """The events of what one read brought."""
        batch: Batch = []
        for event in events:
            match event:
                case TextDelta(text, phase) if text:
                    batch.append(self._stream(Message, batch, phase=phase).more(text))
                case ReasoningDelta(text, part) if text:
                    batch += self._stream(Reasoning, batch).more(text, part)
                case ToolCall():
                    self._complete(batch)
                    self.calls.append(event)
                    self._kept.append(call_item(event))
                case ItemDone(item, phase):
                    if isinstance(self._open, Message):
                        self._open.phase = phase or self._open.phase
                    self._complete(batch)
                    self._kept += [] if item is None else [item]
                case Retrying():
                    batch += [*self.drop(), retrying(self._turn, event)]
                case Done(usage):
                    self._complete(batch)
                    batch += self._end(usage)
        return batch

    def drop(self) -> Batch:
        """An answer that is not whole is given up: what has begun is completed as it stands, unseen by the model."""
        if self.done:
            return []
        self.calls, self._kept = [], []
        stream, self._open = self._open, None
        return [] if stream is None else [stream.completed(self._now(), None)]

    def _stream(self, kind: type[S], batch: Batch, **given: Any) -> S:
        """The item that is open, or a new one where that is of another kind."""
        if isinstance(self._open, kind):
            return self._open
        self._complete(batch)
        self._open = stream = kind(self._turn, self._new_id(), self._now(), **given)
        batch.append(stream.started())
        return stream

    def _complete(self, batch: Batch) -> None:
        if self._open is not None:
            batch.append(self._open.completed(self._now(), self._with_reasoning(self._open.remembered())))
            self._open = None

    def _with_reasoning(self, remembered: list[Item] | None) -> list[Item] | None:
        """What led to a message goes before it; what led to a call stays with the call."""
        if remembered is None or self.calls:
            return remembered
        kept, self._kept = self._kept, []
        return [*kept, *remembered]

    def _end(self, last: Usage) -> Batch:
        """Calls are recorded once the answer is whole: one that is dropped leaves none behind without its output."""
        self.done = True
        self.last = last
        self._turn.total_usage += last
        kept: Batch = [Aside(self._kept)] if self._kept else []
        return [*kept, token_usage(self._turn, last)]


def retrying(turn: TurnInput, event: Retrying) -> Emission:
    """The model is asked again."""
    error = TurnError(
        message=f"Trying again ({event.attempt}/{event.of})",
        codex_error_info=event.info,
        additional_details=event.reason,
    )
    told = ErrorNotification(error=error, will_retry=True, thread_id=turn.thread_id, turn_id=turn.turn_id)
    return Emission(ERROR, told)


def token_usage(turn: TurnInput, last: Usage | TokenUsageBreakdown) -> Emission:
    """What the thread has used by now, and the latest of it."""
    usage = ThreadTokenUsage(
        last=_wire(last) if isinstance(last, Usage) else last,
        total=_wire(turn.total_usage),
        model_context_window=turn.context_window,
    )
    event = ThreadTokenUsageUpdatedNotification(thread_id=turn.thread_id, turn_id=turn.turn_id, token_usage=usage)
    return Emission(TOKEN_USAGE_UPDATED, event)


def _wire(usage: Usage) -> TokenUsageBreakdown:
    return TokenUsageBreakdown(
        total_tokens=usage.input + usage.output,
        input_tokens=usage.input,
        cached_input_tokens=usage.cached,
        output_tokens=usage.output,
        reasoning_output_tokens=usage.reasoning,
    )
