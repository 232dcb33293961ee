"""What a turn asks of its client: an answer from the person, or a tool that the client provides."""

from __future__ import annotations

from typing import Any

from threadloom_protocol.model import Maybe, Params, Result, UInt, Value
from threadloom_protocol.spec import ServerRequest
from threadloom_protocol.v2.values.content import DynamicToolCallOutputContentItem


class ToolRequestUserInputOption(Value):
    """One of the answers on offer."""

    label: str
    description: str


class ToolRequestUserInputQuestion(Value):
    """One question. `isOther` allows an answer beyond the options, `isSecret` hides what is typed."""

    id: str
    header: str
    question: str
    is_other: bool = False
    is_secret: bool = False
    options: list[ToolRequestUserInputOption] | None = None


class ToolRequestUserInputParams(Params):
    """Put questions to the person.

    `origin` is the chain of threads that they came up through, from the one that asks to its root.
    """

    thread_id: str
    turn_id: str
    item_id: str
    questions: list[ToolRequestUserInputQuestion]
    is_blocking: bool
    auto_resolution_ms: UInt | None = None
    origin: Maybe[list[str]] = None


class ToolRequestUserInputAnswer(Value):
    """What was chosen or typed."""

    answers: list[str]


class ToolRequestUserInputResponse(Result):
    """The answers, by the id of their question."""

    answers: dict[str, ToolRequestUserInputAnswer]


class DynamicToolCallParams(Params):
    """Run a tool that the client offered with `dynamicTools` when it started the thread."""

    thread_id: str
    turn_id: str
    call_id: str
    namespace: str | None = None
    tool: str
    arguments: Any
    origin: Maybe[list[str]] = None


class DynamicToolCallResponse(Result):
    """What the tool gave back."""

    content_items: list[DynamicToolCallOutputContentItem]
    success: bool


USER_INPUT = ServerRequest("item/tool/requestUserInput", ToolRequestUserInputParams, ToolRequestUserInputResponse)
TOOL_CALL = ServerRequest("item/tool/call", DynamicToolCallParams, DynamicToolCallResponse)
