"""The history as Chat Completions takes it: messages, with calls inside them and their outputs behind. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from threadloom.agent.history import as_function, text_of
from threadloom.agent.sampling import Item

Message = dict[str, Any]


def thought_item(text: str) -> Item:
    """What a model has thought, where its server shows it: for that kind of server alone."""
    return {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": text}]}


def messages(instructions: Sequence[str], history: Sequence[Item], *, thoughts: bool = False) -> list[Message]:
    """Instructions and history. Reasoning stays behind, unless it is wanted: most servers have no place for it."""
    writer = _Writer(thoughts)
    for text in instructions:
        writer.system(text)
    for item in history:
        writer.add(item)
    return writer.finish()


class _Writer:
    def __init__(self, thoughts: bool) -> None:
        self._thoughts = thoughts
        self._thought = ""  # that led to what the agent says or does next
        self._messages: list[Message] = []
        self._seen: list[Message] = []  # images in the outputs of tools, which may hold text alone

    def system(self, text: str) -> None:
        """Instructions: in one message where they follow each other, for many a template takes only one."""
        if self._messages and self._messages[-1]["role"] == "system":
            self._messages[-1]["content"] += f"\n\n{text}"
        else:
            self._messages.append({"role": "system", "content": text})

    def add(self, item: Item) -> None:
        """An item of the history."""
        item = as_function(item)
        kind = item.get("type", "message")
        if kind not in ("function_call_output", "reasoning"):
            self._show()
        match kind, item.get("role"):
            case "message", "assistant":
                self._assistant()["content"] = text_of(item.get("content"))
            case "message", "developer" | "system":
                self.system(text_of(item.get("content")))
            case "message", _:
                self._thought = ""
                self._messages.append({"role": "user", "content": _content(item.get("content"))})
            case "reasoning", _:
                self._thought = text_of(item.get("content"))
            case "function_call", _:
                self._call(item)
            case "function_call_output", _:
                self._output(item)

    def finish(self) -> list[Message]:
        """All of it."""
        self._show()
        return self._messages

    def _assistant(self) -> Message:
        thought, self._thought = self._thought, ""
        told = {"reasoning_content": thought} if self._thoughts else {}
        self._messages.append({"role": "assistant", "content": None, **told})
        return self._messages[-1]

    def _call(self, item: Item) -> None:
        """Calls of one answer are in one message, together with what was said before them."""
        last = self._messages[-1] if self._messages else {}
        message = last if last.get("role") == "assistant" else self._assistant()
        function = {"name": item.get("name"), "arguments": item.get("arguments") or "{}"}
        message.setdefault("tool_calls", []).append(
            {"id": item.get("call_id"), "type": "function", "function": function}
        )

    def _output(self, item: Item) -> None:
        output = item.get("output")
        self._messages.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": text_of(output)})
        if isinstance(output, list):
            self._seen += [_part(part) for part in output if part.get("type") == "input_image"]

    def _show(self) -> None:
        if self._seen:
            self._messages.append({"role": "user", "content": self._seen})
            self._seen = []


def _content(content: object) -> str | list[Message]:
    """Plain text where there is nothing but text."""
    parts = content if isinstance(content, list) else []
    if any(part.get("type") == "input_image" for part in parts):
        return [_part(part) for part in parts]
    return text_of(content)


def _part(part: Item) -> Message:
    if part.get("type") != "input_image":
        return {"type": "text", "text": part.get("text") or ""}
    detail = {"detail": part["detail"]} if part.get("detail") in ("low", "high") else {}
    return {"type": "image_url", "image_url": {"url": part.get("image_url"), **detail}}
