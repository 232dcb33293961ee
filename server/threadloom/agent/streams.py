"""Items that are being streamed: begun, continued, completed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import orjson

from threadloom.agent.base import TurnInput
from threadloom.agent.history import message_item
from threadloom.agent.sampling import Item
from threadloom.events import Emission
from threadloom_protocol.v2 import item
from threadloom_protocol.v2.values.items import AgentMessageThreadItem, ReasoningThreadItem


class Stream(ABC):
    """An item that is not done."""

    def __init__(self, turn: TurnInput, item_id: str, at: int) -> None:
        self._turn_id = turn.turn_id
        self._thread_id = turn.thread_id
        self._id = item_id
        self._at = at

    def started(self) -> Emission:
        """It begins, with nothing in it."""
        begun = item.ItemStartedNotification(
            thread_id=self._thread_id, turn_id=self._turn_id, item=self.item(), started_at_ms=self._at
        )
        return Emission(item.STARTED, begun)

    def completed(self, at: int, model: list[Item] | None) -> Emission:
        """It is done; `model` is what the model sees of it."""
        done = item.ItemCompletedNotification(
            thread_id=self._thread_id, turn_id=self._turn_id, item=self.item(at), completed_at_ms=at
        )
        return Emission(item.COMPLETED, done, model)

    @abstractmethod
    def item(self, completed_at: int | None = None) -> Any:
        """The item with all that has come."""

    @abstractmethod
    def remembered(self) -> list[Item] | None:
        """What the model sees of it once it is done."""


class Message(Stream):
    """What the agent says."""

    def __init__(self, turn: TurnInput, item_id: str, at: int, phase: Any = None) -> None:
        super().__init__(turn, item_id, at)
        self.phase = phase  # as the provider says
        self._pieces: list[str] = []
        whose = {"threadId": self._thread_id, "turnId": self._turn_id, "itemId": self._id}
        self._head = orjson.dumps(whose)[:-1] + b',"delta":'  # of every piece

    def more(self, text: str) -> Emission:
        """It goes on. Encoded here, as nothing else is sent so often."""
        self._pieces.append(text)
        delta = item.AgentMessageDeltaNotification(
            thread_id=self._thread_id, turn_id=self._turn_id, item_id=self._id, delta=text
        )
        return Emission(item.AGENT_MESSAGE_DELTA, delta, body=b"%b%b}" % (self._head, orjson.dumps(text)))

    def item(self, completed_at: int | None = None) -> AgentMessageThreadItem:
        """The message so far."""
        return AgentMessageThreadItem(
            id=self._id,
            text=self._text(),
            phase=self.phase,
            started_at_ms=self._at,
            completed_at_ms=completed_at,
        )

    def remembered(self) -> list[Item]:
        """All of it."""
        return [message_item(self._text(), self.phase)]

    def _text(self) -> str:
        """All that was said, joined once: clients and the model are given the same."""
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]


class Reasoning(Stream):
    """The summary of what the model thinks, in parts."""

    def __init__(self, turn: TurnInput, item_id: str, at: int) -> None:
        super().__init__(turn, item_id, at)
        self._parts: list[list[str]] = []

    def more(self, text: str, part: int) -> list[Emission]:
        """It goes on in that part; the first piece of a part opens it."""
        opened = [self._add_part() for _ in range(len(self._parts), part + 1)]
        self._parts[part].append(text)
        delta = item.ReasoningSummaryTextDeltaNotification(
            thread_id=self._thread_id, turn_id=self._turn_id, item_id=self._id, delta=text, summary_index=part
        )
        return [*opened, Emission(item.REASONING_SUMMARY_DELTA, delta)]

    def _add_part(self) -> Emission:
        added = item.ReasoningSummaryPartAddedNotification(
            thread_id=self._thread_id, turn_id=self._turn_id, item_id=self._id, summary_index=len(self._parts)
        )
        self._parts.append([])
        return Emission(item.REASONING_SUMMARY_PART, added)

    def item(self, completed_at: int | None = None) -> ReasoningThreadItem:
        """The summary so far."""
        summary = ["".join(pieces) for pieces in self._parts]
        return ReasoningThreadItem(id=self._id, summary=summary, started_at_ms=self._at, completed_at_ms=completed_at)

    def remembered(self) -> None:
        """Nothing: a summary is for people."""
        return
