"""Chat Completions, for servers that have nothing else: the chunks of an answer as events of ours. No I/O."""

from __future__ import annotations

from typing import Any, Final

from threadloom.agent.models.chat_history import messages, thought_item
from threadloom.agent.models.decoding import UNREADABLE, arguments, call_id, count, parsed, string, unreadable
from threadloom.agent.models.failure import Failure, disconnected, told
from threadloom.agent.sampling import (
    Done,
    Item,
    ItemDone,
    ModelEvent,
    ReasoningDelta,
    Sampling,
    TextDelta,
    ToolCall,
    Usage,
)

PAGE: Final = "/chat/completions"

# Why an answer may end before its end.
_SHORT: Final = {
    "length": "The model did not finish its answer: it came to the end of the tokens it may use.",
    "content_filter": "The model did not finish its answer: a filter of its server stopped it.",
}


def request(sampling: Sampling, *, reasoning: bool = True, thoughts: bool = False) -> dict[str, Any]:
    """The body of the request; few servers take `thoughts` back, and those want all of them."""
    body: dict[str, Any] = {
        "model": sampling.model,
        "messages": messages(sampling.instructions, sampling.history, thoughts=thoughts),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if tools := [_tool(tool) for tool in sampling.tools if tool.get("type") == "function"]:
        body |= {"tools": tools, "tool_choice": "auto", "parallel_tool_calls": True}
    if reasoning and sampling.effort is not None:
        body["reasoning_effort"] = sampling.effort
    if sampling.verbosity is not None:
        body["verbosity"] = sampling.verbosity
    if sampling.output_schema is not None:
        schema = {"name": "output", "strict": True, "schema": sampling.output_schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def _tool(tool: Item) -> Item:
    return {"type": "function", "function": {name: value for name, value in tool.items() if name != "type"}}


class Decoder:
    """One answer, piece by piece. `capped`: an answer that is as long as it may be is whole, not cut short."""

    def __init__(self, *, capped: bool = False) -> None:
        self.done = False
        self._capped = capped
        self._calls: list[Item] = []
        self._at: dict[object, Item] = {}  # the call that a place in the answer goes on with
        self._finish: str | None = None
        self._usage = Usage()
        self._spoke = False
        self._thoughts: list[str] = []  # that led to what comes next

    def take(self, name: bytes, data: bytes, batch: list[ModelEvent]) -> None:
        """Add what a chunk says. Raises `Failure` where it says that there will be no answer."""
        chunk = parsed(data)
        if chunk is None:
            if data.strip() == b"[DONE]":
                self._end(batch)
            return
        self._read(chunk, "delta", batch)

    def whole(self, body: object, batch: list[ModelEvent]) -> None:
        """An answer that did not come as a stream."""
        if not isinstance(body, dict) or not (body.get("choices") or body.get("error")):
            raise unreadable()
        self._read(body, "message", batch)
        self._end(batch)

    def end(self, framed: bool, batch: list[ModelEvent]) -> None:
        """The connection ended: well, where the model had finished. Raises `Failure`."""
        if self._finish is None and not (framed and self._spoke):
            raise disconnected("The model broke off in the middle of its answer.")
        self._end(batch)

    def _read(self, chunk: Item, kind: str, batch: list[ModelEvent]) -> None:
        try:
            self._chunk(chunk, kind, batch)
        except UNREADABLE:
            raise unreadable() from None

    def _chunk(self, chunk: Item, kind: str, batch: list[ModelEvent]) -> None:
        if error := chunk.get("error"):
            raise told(error, "The model failed.")
        if isinstance(counted := chunk.get("usage"), dict):
            self._usage = _usage(counted)
        for choice in chunk.get("choices") or ():
            if isinstance(delta := choice.get(kind), dict):
                self._delta(delta, batch)
            self._finish = string(choice.get("finish_reason")) or self._finish

    def _delta(self, delta: Item, batch: list[ModelEvent]) -> None:
        if text := string(delta.get("reasoning_content") or delta.get("reasoning")):
            self._thoughts.append(text)
            batch.append(ReasoningDelta(text))
        if text := string(delta.get("content") or delta.get("refusal")):
            self._spoke = True
            if self._thoughts:
                self._thought(batch)
            batch.append(TextDelta(text))
        for piece in delta.get("tool_calls") or ():
            self._call(piece)

    def _thought(self, batch: list[ModelEvent]) -> None:
        """Thoughts are whole once something follows them."""
        text, self._thoughts = "".join(self._thoughts), []
        batch.append(ItemDone(thought_item(text)))

    def _call(self, piece: Item) -> None:
        """A call begins where a place is new, or where another id comes for one that is not."""
        function = piece.get("function") or {}
        place, identity = piece.get("index"), piece.get("id")
        begun = self._at.get(place)
        if begun is None or (identity and begun["id"] and identity != begun["id"]):
            begun = {"id": identity, "name": "", "arguments": ""}
            self._calls.append(begun)
            self._at[place] = begun
        begun["id"] = begun["id"] or identity
        begun["name"] = begun["name"] or string(function.get("name"))
        begun["arguments"] += arguments(function.get("arguments"))

    def _end(self, batch: list[ModelEvent]) -> None:
        short = _SHORT.get(self._finish or "")
        if short is not None and not (self._capped and self._finish == "length"):
            raise Failure(short)
        if self._spoke:
            batch.append(ItemDone())
        if self._thoughts:
            self._thought(batch)
        batch += [ToolCall(call_id(it["id"]), it["name"], it["arguments"]) for it in self._calls if it["name"]]
        self.done = True
        batch.append(Done(self._usage))


def _usage(usage: Item) -> Usage:
    return Usage(
        input=count(usage, "prompt_tokens"),
        cached=count(usage, "prompt_tokens_details", "cached_tokens"),
        output=count(usage, "completion_tokens"),
        reasoning=count(usage, "completion_tokens_details", "reasoning_tokens"),
    )
