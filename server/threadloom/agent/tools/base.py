"""How a call reaches a tool, and what the model is told where it does not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from threadloom.agent.base import Tool, ToolResult, TurnInput
from threadloom.agent.sampling import Item, ToolCall

A = TypeVar("A", bound=BaseModel)


class Freeform(ABC):
    """A tool that also takes plain text, from models that can write it: see `ToolCall.freeform`."""

    @abstractmethod
    def freeform(self) -> Item:
        """Name, description and format, as the Responses API takes a custom tool."""


def freeform_specs(tools: Mapping[str, Tool]) -> dict[str, Item]:
    """Those of the tools that take plain text as well, as the model is told of them."""
    return {name: tool.freeform() for name, tool in tools.items() if isinstance(tool, Freeform)}


async def answered(turn: TurnInput, call: ToolCall) -> ToolResult:
    """What a tool makes of a call; a call that reaches none is answered, too."""
    tool = turn.tools.get(call.name)
    if tool is None:
        return refused(f"There is no tool `{call.name}`. There are: {', '.join(sorted(turn.tools)) or 'none'}.")
    if call.freeform:
        return await tool.run(turn, call)
    call = call if call.arguments.strip() else call._replace(arguments="{}")
    try:
        arguments = orjson.loads(call.arguments)
    except orjson.JSONDecodeError as error:
        return refused(f"The arguments of `{call.name}` are not JSON: {error}.")
    if type(arguments) is not dict:
        return refused(f"The arguments of `{call.name}` must be a JSON object.")
    return await tool.run(turn, call)


def parsed(shape: type[A], call: ToolCall) -> A | ToolResult:
    """The arguments of a call in their shape, or what the model is told where they do not fit."""
    try:
        return shape.model_validate_json(call.arguments)
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, it['loc'])) or 'arguments'}: {it['msg']}" for it in error.errors()]
        return refused(f"The arguments of `{call.name}` do not fit. {'; '.join(wrong)}.")


def refused(why: str) -> ToolResult:
    """A tool did nothing, and the model is told why."""
    return ToolResult(why, ok=False)
