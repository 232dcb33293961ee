"""The history as a model sees it: items in the shape of the Responses API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import orjson

from threadloom.agent.sampling import Item, ToolCall

# A call, and what its output is called.
CALLS: Final[Mapping[str, str]] = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
}
OUTPUTS: Final = frozenset(CALLS.values())
ABORTED: Final = "aborted"  # the output of a call that was cut short


def user_item(text: str) -> Item:
    """What the model is told."""
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def message_item(text: str, phase: str | None = None) -> Item:
    """What the agent said; what it was to be is for the provider that said so."""
    told = {} if phase is None else {"phase": phase}
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}], **told}


def call_item(call: ToolCall) -> Item:
    """What the model wanted."""
    if call.freeform:
        return {"type": "custom_tool_call", "call_id": call.call_id, "name": call.name, "input": call.arguments}
    return {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}


def output_item(call: ToolCall, output: str, pictures: Sequence[Item] = ()) -> Item:
    """What came of it."""
    kind = CALLS["custom_tool_call" if call.freeform else "function_call"]
    told = [{"type": "input_text", "text": output}, *pictures] if pictures else output
    return {"type": kind, "call_id": call.call_id, "output": told}


def as_function(item: Item) -> Item:
    """A call in plain text, or its output, as a function's: for models that know no other."""
    match item.get("type"):
        case "custom_tool_call":
            arguments = orjson.dumps({"input": item.get("input")}).decode()
            called = {name: item.get(name) for name in ("call_id", "name")}
            return {"type": "function_call", **called, "arguments": arguments}
        case "custom_tool_call_output":
            return {**item, "type": "function_call_output"}
    return item


def unanswered(history: Sequence[Item], output: str = ABORTED) -> list[Item]:
    """Outputs for the calls that never got one: without them, no provider takes the next request."""
    answered = {item.get("call_id") for item in history if item.get("type") in OUTPUTS}
    return [
        {"type": CALLS[item["type"]], "call_id": item.get("call_id"), "output": output}
        for item in history
        if item.get("type") in CALLS and item.get("call_id") not in answered
    ]


def ready(history: Sequence[Item]) -> list[Item]:
    """The history as providers insist on it: outputs right behind their calls, one for each.

    What a person said while a tool ran comes behind its output, and a call that was cut short reads so.
    """
    outputs = _outputs(history)
    result: list[Item] = []
    due: list[Item] = []
    for at, item in enumerate(history):
        kind = str(item.get("type"))
        if kind in OUTPUTS:
            continue
        if kind in CALLS:
            due.append(outputs.get(at) or {"type": CALLS[kind], "call_id": item.get("call_id"), "output": ABORTED})
        elif due:
            result += due
            due = []
        result.append(item)
    return result + due


def _outputs(history: Sequence[Item]) -> dict[int, Item]:
    """The output of each call, by the place of the call: some models use a call id more than once."""
    found: dict[int, Item] = {}
    waiting: dict[str, int] = {}
    for at, item in enumerate(history):
        kind = str(item.get("type"))
        if kind in CALLS:
            waiting[str(item.get("call_id"))] = at
        elif kind in OUTPUTS and (call := waiting.pop(str(item.get("call_id")), None)) is not None:
            found[call] = item
    return found


def text_of(content: object) -> str:
    """The text in the content of a message or in the output of a tool, however it is wrapped."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))
