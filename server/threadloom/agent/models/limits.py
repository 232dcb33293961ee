"""What a model cannot take is left out of what it is asked, or put in another way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from threadloom.agent.history import as_function
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
    if not provider.images:
        sampling = replace(sampling, history=[_described(item) for item in sampling.history])
    return sampling


def _described(item: Item) -> Item:
    shown = {key: [*map(_part, item[key])] for key in ("content", "output") if _has_images(item.get(key))}
    return item | shown


def _has_images(parts: Any) -> bool:
    return isinstance(parts, Sequence) and any(map(_is_image, parts))


def _is_image(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "input_image"


def _part(part: Any) -> Any:
    return {"type": "input_text", "text": UNSEEN} if _is_image(part) else part
