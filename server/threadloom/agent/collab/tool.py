"""What the tools for agents have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, NamedTuple, TypeVar

from pydantic import BaseModel

from threadloom.agent.base import ToolResult, TurnInput
from threadloom.agent.collab.base import Tree
from threadloom.agent.collab.item import Act
from threadloom.agent.collab.validate import Refused
from threadloom.agent.floor import Floor
from threadloom.agent.sampling import Item, ToolCall
from threadloom.agent.tools.base import parsed, refused

A = TypeVar("A", bound=BaseModel)

ALONE = "There are no agents here."


class Seat(NamedTuple):
    """Where a call is answered."""

    turn: TurnInput
    call: ToolCall
    tree: Tree
    floor: Floor


class Collaboration(ABC, Generic[A]):
    """A tool that concerns agents. What is refused is an answer to the model, and a failed item to clients."""

    name: str
    shape: type[A]
    described: Item
    asks = False  # whether somebody is asked first: then its item begins behind the answer

    def spec(self) -> Item:
        """As the model is told of it."""
        return self.described

    def act(self, seat: Seat, asked: A) -> Act | None:
        """What clients see of it, if anything."""
        return None

    @abstractmethod
    async def answer(self, seat: Seat, asked: A, act: Act | None) -> ToolResult:
        """Do it. Raises `Refused`."""

    async def run(self, turn: TurnInput, call: ToolCall) -> ToolResult:
        """Do it, and show that."""
        asked = parsed(self.shape, call)
        if isinstance(asked, ToolResult):
            return asked
        if turn.tree is None or turn.floor is None:
            return refused(ALONE)
        seat = Seat(turn, call, turn.tree, turn.floor)
        act = self.act(seat, asked)
        if act is not None and not self.asks:
            act.begin()
        try:
            return await self.answer(seat, asked, act)
        except Refused as refusal:
            return refused(str(refusal)) if act is None else act.failed(str(refusal))
