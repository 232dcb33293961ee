"""What a model cannot take is left out of what it is asked, or put in another way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from typing import Any, Final

import orjson

from threadloom.agent.history import CALLS, as_function, text_of
from threadloom.agent.models.provider import Provider
from threadloom.agent.sampling import Item, Sampling

UNSEEN: Final = "[an image, which this model cannot see]"


def within(sampling: Sampling, provider: Provider) -> Sampling:
    """The same without tools, plain text for tools and images, where the model has no use for them."""
    if not provider.tools:
        spoken = [item for item in sampling.history if item.get("type", "message") == "message"]
        sampling = replace(sampling, history=spoken, tools=())
    if not provider.writes_freely(sampling.model):
        sampling = replace(sampling, history=[as_function(item) for item in sampling.history], freeform={})
    if not provider.is_openai:
        sampling = replace(sampling, history=[_readable(item) for item in sampling.history])
    if not provider.images:
        sampling = replace(sampling, history=[_described(item, _is_image) for item in sampling.history])
    return sampling


def instructed_first(sampling: Sampling) -> Sampling:
    """The same with all instructions in one, before everything else."""
    instructing = [it for it in sampling.history if it.get("role") in ("developer", "system")]
    texts = [*sampling.instructions, *(text_of(it.get("content")) for it in instructing)]
    history = [it for it in sampling.history if it.get("role") not in ("developer", "system")]
    return replace(sampling, instructions=["\n\n".join(texts)] if texts else [], history=history)


def sealed(history: Sequence[Item]) -> set[int]:
    """The reasoning in it that only whoever made it can read."""
    return {_seal(it) for it in history if it.get("encrypted_content")}


def without(sampling: Sampling, strange: Set[int]) -> Sampling:
    """The same without reasoning that somebody else has sealed: another server, or this one for another account."""
    if not strange:
        return sampling
    return replace(sampling, history=[it for it in sampling.history if _seal(it) not in strange])


def _seal(item: Item) -> int:
    return hash(str(item.get("encrypted_content")))


def _readable(item: Item) -> Item:
    """A call with an object for its arguments, whatever the model wrote.

    Many servers read those of past calls, and would refuse all that comes behind one that they cannot read.
    """
    written = item.get("arguments")
    if item.get("type") != "function_call" or _is_object(written):
        return item
    return item | {"arguments": orjson.dumps({"input": written} if written else {}).decode()}


def _is_object(written: Any) -> bool:
    try:
        return type(orjson.loads(written)) is dict
    except orjson.JSONDecodeError:
        return False


class Pictures:
    """The pictures of one sampling, and what to do where the server does not take them.

    `refused` outlives it: one that is broken stays in the history, and would be refused with all that comes behind it.
    """

    def __init__(self, sampling: Sampling, refused: set[int]) -> None:
        self._whole = sampling
        self._refused = refused
        self._left_out: set[int] = set()
        self.times = 0  # that fewer were left

    def sampling(self) -> Sampling:
        """What to ask for now."""
        hidden = self._refused | self._left_out
        if not hidden:
            return self._whole
        history = [_described(item, lambda part: self._key(part) in hidden) for item in self._whole.history]
        return replace(self._whole, history=history)

    def fewer(self) -> bool:
        """Leave out those that the model has not answered yet; then all. Whether there were any."""
        history = self._whole.history
        made = [at for at, item in enumerate(history) if item.get("role") == "assistant" or item.get("type") in MADE]
        for some in (history[made[-1] + 1 :] if made else history, history):
            found = {self._key(part) for item in some for part in _images(item)} - self._refused - self._left_out
            if found:
                self._left_out |= found
                self.times += 1
                return True
        return False

    def settle(self) -> None:
        """Without them, it has answered."""
        self._refused |= self._left_out

    def _key(self, part: Any) -> int:
        shown = (part.get("image_url"), part.get("file_id")) if _is_image(part) else ()
        return hash((self._whole.model, *shown))


MOST_TIMES: Final = 2  # as `Pictures.fewer` has it
MADE: Final = frozenset({"reasoning", *CALLS})  # items that come from the model


def _described(item: Item, hidden: Callable[[Any], bool]) -> Item:
    shown = {key: item[key] for key in ("content", "output") if _has_images(item.get(key))}
    told = {"type": "input_text", "text": UNSEEN}
    return item | {key: [told if hidden(part) else part for part in parts] for key, parts in shown.items()}


def _images(item: Item) -> Iterator[Any]:
    for key in ("content", "output"):
        if _has_images(item.get(key)):
            yield from (part for part in item[key] if _is_image(part))


def _has_images(parts: Any) -> bool:
    return isinstance(parts, Sequence) and any(map(_is_image, parts))


def _is_image(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "input_image"
