"""The Responses API: a sampling as a request, and the answer's events as ours. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, get_args

import orjson

from threadloom.agent.history import CALLS
from threadloom.agent.models.decoding import (
    UNREADABLE,
    Text,
    arguments,
    call_id,
    count,
    parsed,
    portion,
    string,
    unreadable,
)
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
from threadloom_protocol.v2.values.item_parts import MessagePhase

PAGE: Final = "/responses"
FREEFORM: Final = "custom_tool_call"


def request(sampling: Sampling, *, reasoning: bool = True, first: bool = False) -> dict[str, Any]:
    """The body of the request; instructions may have to come first, in no message of theirs."""
    said = [] if first else sampling.instructions
    body: dict[str, Any] = {
        "model": sampling.model,
        "input": [*map(_instruction, said), *(_sent(it) for it in sampling.history if not _elsewhere(it))],
        "stream": True,
        "store": False,
    }
    if first and sampling.instructions:
        body["instructions"] = "\n\n".join(sampling.instructions)
    if sampling.tools:
        tools = [sampling.freeform.get(tool.get("name", ""), tool) for tool in sampling.tools]
        body |= {"tools": tools, "tool_choice": "auto", "parallel_tool_calls": True}
    if reasoning:
        body |= {"reasoning": _reasoning(sampling), "include": ["reasoning.encrypted_content"]}
    if sampling.cache_key is not None:
        body["prompt_cache_key"] = sampling.cache_key
    if sampling.service_tier is not None:
        body["service_tier"] = _TIERS.get(sampling.service_tier, sampling.service_tier)
    if sampling.output_schema is not None:
        schema = {"type": "json_schema", "name": "output", "strict": True, "schema": sampling.output_schema}
        body["text"] = {"format": schema}
    if sampling.verbosity is not None:
        body["text"] = {**body.get("text", {}), "verbosity": sampling.verbosity}
    return body


_TIERS: Final = {"fast": "priority"}  # what people call it → what the API calls it


def _instruction(text: str) -> Item:
    return {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": text}]}


def _elsewhere(item: Item) -> bool:
    """Whether it is what a model has thought that was asked in Chat Completions."""
    return item.get("type") == "reasoning" and not (item.get("id") or item.get("encrypted_content"))


def _sent(item: Item) -> Item:
    """As it came; but that an item is whole, some servers say and do not want to hear."""
    if item.get("type") == "reasoning" and "status" in item:
        return {name: value for name, value in item.items() if name != "status"}
    return item


def _reasoning(sampling: Sampling) -> dict[str, str]:
    effort = {} if sampling.effort is None else {"effort": sampling.effort}
    summary = sampling.summary or "auto"
    return effort if summary == "none" else {**effort, "summary": summary}


class Decoder:
    """One answer. Items come one after another; of what servers may leave out, all but the text itself is optional."""

    def __init__(self) -> None:
        self.done = False
        self._text = Text()
        self._item: object = None  # the one that text comes for
        self._phases: dict[object, str] = {}  # of messages, by their ids, where the server tells
        self._thought: set[int] = set()  # parts of the reasoning under way that have come
        self._calls: dict[object, Item] = {}  # that have begun
        self._called: set[str] = set()
        self._spoke = False
        self._whole = False  # something was said to its end
        self._items = False  # the server tells when an item is

    def take(self, name: bytes, data: bytes, batch: list[ModelEvent]) -> None:
        """Add what an event says. Raises `Failure` where it says that there will be no answer."""
        event = parsed(data)
        if event is None:
            if data.strip() == b"[DONE]" and (self._whole or self._text):
                self._end(Usage(), batch)
            return
        try:
            handle = _HANDLERS.get(event.get("type") or _named(name, event))
            if handle is not None:
                handle(self, event, batch)
        except UNREADABLE:
            raise unreadable() from None

    def whole(self, body: object, batch: list[ModelEvent]) -> None:
        """An answer that did not come as a stream."""
        match body:
            case {"output": list()}:
                self.take(b"", orjson.dumps({"type": "response.completed", "response": body}), batch)
            case {"error": error} if error:
                raise told(error, "The model failed.")
            case _:
                raise unreadable()

    def end(self, framed: bool, batch: list[ModelEvent]) -> None:
        """The connection ended: well, where something was said and nothing speaks for more. Raises `Failure`."""
        if not (self._whole or (framed and self._text)):
            raise disconnected("The model broke off in the middle of its answer.")
        self._end(Usage(), batch)

    # ── text ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _delta(self, event: Item, batch: list[ModelEvent]) -> None:
        item = event.get("item_id")
        if item is not None and item != self._item:
            if self._item is not None and self._text:
                self._message_done(batch)
            self._item = item
        if text := string(event.get("delta")):
            self._spoke = True
            batch.append(TextDelta(self._text.add(text), self._phases.get(item) if self._phases else None))

    def _text_done(self, event: Item, batch: list[ModelEvent]) -> None:
        self._whole = True
        if rest := self._text.part(string(event.get("text") or event.get("refusal"))):
            self._spoke = True
            batch.append(TextDelta(rest))

    def _message(self, item: Item, batch: list[ModelEvent]) -> None:
        parts = [part for part in item.get("content") or () if isinstance(part, dict)]
        text = "".join(string(part.get("text") or part.get("refusal")) for part in parts)
        phase = _phase(item) or self._phases.get(item.get("id"))
        if rest := self._text.rest(text):
            batch.append(TextDelta(rest, phase))
        self._message_done(batch, phase)

    def _message_done(self, batch: list[ModelEvent], phase: str | None = None) -> None:
        self._whole = True
        self._text = Text()
        self._item = None
        batch.append(ItemDone(None, phase))

    # ── reasoning ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _summary(self, event: Item, batch: list[ModelEvent]) -> None:
        self._think(event.get("delta"), portion(event, "summary_index"), batch)

    def _summary_done(self, event: Item, batch: list[ModelEvent]) -> None:
        if (part := portion(event, "summary_index")) not in self._thought:
            self._think(event.get("text"), part, batch)

    def _thinking(self, event: Item, batch: list[ModelEvent]) -> None:
        """Open models show their reasoning itself, and no summary of it."""
        self._think(event.get("delta"), portion(event, "content_index"), batch)

    def _think(self, given: object, part: int, batch: list[ModelEvent]) -> None:
        if text := string(given):
            self._thought.add(part)
            batch.append(ReasoningDelta(text, part))

    def _reasoned(self, item: Item, batch: list[ModelEvent]) -> None:
        for part, it in enumerate(item.get("summary") or item.get("content") or ()):
            if part not in self._thought and isinstance(it, dict):
                self._think(it.get("text"), part, batch)
        self._thought = set()
        batch.append(ItemDone(item if item.get("encrypted_content") or item.get("content") else None))

    # ── calls ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _added(self, event: Item, batch: list[ModelEvent]) -> None:
        item = event.get("item")
        if isinstance(item, dict) and item.get("type") in CALLS:
            self._calls[_key(event, item)] = {**item, "arguments": _written(item)}
        elif isinstance(item, dict) and (phase := _phase(item)):
            self._phases[item.get("id")] = phase

    def _arguments(self, event: Item, batch: list[ModelEvent]) -> None:
        if (begun := self._calls.get(_key(event))) is not None:
            begun["arguments"] += string(event.get("delta"))

    def _arguments_done(self, event: Item, batch: list[ModelEvent]) -> None:
        self._whole = True
        begun = self._calls.setdefault(_key(event), {"id": event.get("item_id")})
        begun |= {name: event[name] for name in ("arguments", "name", "call_id") if event.get(name)}
        begun["arguments"] = arguments(begun.get("arguments"))

    def _input_done(self, event: Item, batch: list[ModelEvent]) -> None:
        self._whole = True
        begun = self._calls.setdefault(_key(event), {"id": event.get("item_id"), "type": FREEFORM})
        begun |= {name: event[name] for name in ("name", "call_id") if event.get(name)}
        begun["arguments"] = string(event.get("input"))

    def _call(self, item: Item, batch: list[ModelEvent]) -> None:
        identity, name = call_id(item.get("call_id") or item.get("id")), string(item.get("name"))
        if name and identity not in self._called:
            self._called.add(identity)
            batch.append(ToolCall(identity, name, _written(item), item.get("type") == FREEFORM))

    # ── items and the end ─────────────────────────────────────────────────────────────────────────────────────────

    def _item_done(self, event: Item, batch: list[ModelEvent]) -> None:
        item = event.get("item")
        if isinstance(item, dict):
            self._items = self._whole = True
            self._calls.pop(_key(event, item), None)
            self._take_item(item, batch)

    def _take_item(self, item: Item, batch: list[ModelEvent]) -> None:
        match item.get("type", "message"):
            case "message":
                self._message(item, batch)
            case "function_call" | "custom_tool_call":
                self._call(item, batch)
            case "reasoning":
                self._reasoned(item, batch)
            case _:  # what only this server understands
                batch.append(ItemDone(item))

    def _response(self, event: Item, batch: list[ModelEvent]) -> None:
        response = event.get("response")
        response = response if isinstance(response, dict) else {}
        match response.get("status"):
            case "failed":
                self._failed(event, batch)
            case "incomplete":
                self._incomplete(event, batch)
        for item in [] if self._items else response.get("output") or ():
            if isinstance(item, dict) and not (self._spoke and item.get("type") == "message"):
                self._take_item(item, batch)
        self._end(_usage(response.get("usage")), batch)

    def _end(self, usage: Usage, batch: list[ModelEvent]) -> None:
        for item in self._calls.values():
            self._call(item, batch)
        self.done = True
        batch.append(Done(usage))

    def _failed(self, event: Item, batch: list[ModelEvent]) -> None:
        response = event.get("response")
        raise told(response.get("error") if isinstance(response, dict) else None, "The model failed.")

    def _incomplete(self, event: Item, batch: list[ModelEvent]) -> None:
        response = event.get("response")
        details = response.get("incomplete_details") if isinstance(response, dict) else None
        reason = details.get("reason") if isinstance(details, dict) else None
        raise Failure(f"The model did not finish its answer: {reason or 'it gave no reason'}.")

    def _error(self, event: Item, batch: list[ModelEvent]) -> None:
        inner = event.get("error")
        raise told(inner if inner else event, "The model failed.")


Handler = Callable[[Decoder, Item, list[ModelEvent]], None]

_HANDLERS: Final[dict[str, Handler]] = {
    "response.output_text.delta": Decoder._delta,
    "response.output_text.done": Decoder._text_done,
    "response.refusal.delta": Decoder._delta,
    "response.refusal.done": Decoder._text_done,
    "response.reasoning_summary_text.delta": Decoder._summary,
    "response.reasoning_summary_text.done": Decoder._summary_done,
    "response.reasoning_text.delta": Decoder._thinking,
    "response.output_item.added": Decoder._added,
    "response.output_item.done": Decoder._item_done,
    "response.function_call_arguments.delta": Decoder._arguments,
    "response.function_call_arguments.done": Decoder._arguments_done,
    "response.custom_tool_call_input.delta": Decoder._arguments,
    "response.custom_tool_call_input.done": Decoder._input_done,
    "response.completed": Decoder._response,
    "response.done": Decoder._response,
    "response.failed": Decoder._failed,
    "response.incomplete": Decoder._incomplete,
    "error": Decoder._error,
}


def _named(name: bytes, event: Item) -> str:
    """What an event is that does not say so itself; gateways tell of an error as Chat Completions do."""
    return name.decode(errors="replace") or ("error" if event.get("error") else "")


def _written(call: Item) -> str:
    """What the model wrote to a tool; plain text may be under either name, as a call under way has it."""
    return arguments(call["arguments"] if "arguments" in call else call.get("input"))


def _key(event: Item, item: Item | None = None) -> object:
    """What tells an item from another: its place in the answer, else its id."""
    place = event.get("output_index")
    return place if place is not None else event.get("item_id") or (item or {}).get("id")


def _phase(item: Item) -> str | None:
    """What a message is to be, where that is something that clients know."""
    phase = item.get("phase")
    return phase if phase in _PHASES else None


_PHASES: Final = get_args(MessagePhase.__value__)


def _usage(usage: object) -> Usage:
    if not isinstance(usage, dict):
        return Usage()
    return Usage(
        input=count(usage, "input_tokens"),
        cached=count(usage, "input_tokens_details", "cached_tokens"),
        output=count(usage, "output_tokens"),
        reasoning=count(usage, "output_tokens_details", "reasoning_tokens"),
    )
