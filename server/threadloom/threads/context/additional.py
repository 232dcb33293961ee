"""What a client adds to a message that the person did not say: in its own name, or from where nobody vouches for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from threadloom.agent.sampling import Item
from threadloom.threads.recall import BESIDE, Recall
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2.turn import AdditionalContextEntry

NAME: Final = re.compile("[a-z][a-z0-9_]{0,63}")
_NO_TAG: Final = re.compile("[^A-Za-z0-9_.-]")  # what cannot stand in the name of a tag

Additional = Mapping[str, AdditionalContextEntry]  # by a key of the client's


def checked(entries: Additional | None) -> Additional:
    """The entries; refused where one has a name that is none."""
    for it in (entries or {}).values():
        if it.name is not None and not NAME.fullmatch(it.name):
            raise InvalidRequest(f"additional context name must match {NAME.pattern}")
    return entries or {}


def unheard(entries: Additional, recall: Recall) -> list[dict[str, Any]]:
    """A mark and the messages of what the model has not been told yet, in these words."""
    heard: dict[str, Item] = {}
    for entry in recall.entries if entries else ():
        if entry.kind == BESIDE:
            heard[_tag_of(entry.item)] = entry.item
    items = [_item(key, entries[key]) for key in sorted(entries)]
    new = [item for item in items if heard.get(_tag_of(item)) != item]
    return [{"@": BESIDE, "items": len(new)}, *new] if new else []


def _item(key: str, entry: AdditionalContextEntry) -> Item:
    """The application speaks as a developer does; what comes from elsewhere is marked as such, to its very end."""
    name = _NO_TAG.sub("_", key)
    role, tag = ("developer", name) if entry.kind == "application" else ("user", f"external_{name}")
    value = entry.value.replace(f"</{tag}", f"<\\/{tag}")
    text = f"<{tag}>{value}</{tag}>"
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


def _tag_of(item: Item) -> str:
    text: str = item["content"][0]["text"]
    return text[: text.index(">")]
