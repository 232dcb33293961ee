"""The surface → `v2.md`: every method with its members and an example, room by room, then every type they share."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

from threadloom_protocol.codegen.examples import Examples
from threadloom_protocol.codegen.schema import UNIONS, type_names
from threadloom_protocol.codegen.shapes import Schema
from threadloom_protocol.codegen.typescript import expression
from threadloom_protocol.spec import (
    ClientNotification,
    ClientRequest,
    Declaration,
    Origin,
    Room,
    ServerNotification,
    ServerRequest,
    Surface,
)

HEAD: Final = """\
<!-- Generated from the protocol's declarations. Change those, then run `python -m threadloom_protocol.codegen`. -->

# Protocol v{version}

One JSON object per line (stdio) or per text frame (WebSocket, unix socket). A request has `id`, `method` and `params`;
its answer has the same `id`, and `result` or `error`; a notification has no `id`. The member `jsonrpc` may be there or
not: whoever sends `"jsonrpc": "2.0"` with `initialize` gets it back on every message. Unknown members are ignored.

The first request of a connection is `initialize`, after which the client sends the notification `initialized`. What
is marked *experimental* needs `capabilities.experimentalApi: true` in `initialize`. *Planned* methods are answered with
−32601 until they are there; *answered empty* means the right shape with nothing in it: the product has no such thing.

The schema of all this is [`v2.json`](v2.json); where each of Codex's methods stands is in [`parity.md`](parity.md).
"""

KINDS: Final = {
    ClientRequest: "request, client → server",
    ClientNotification: "notification, client → server",
    ServerRequest: "request, server → client",
    ServerNotification: "notification, server → client",
}
WHOSE: Final = {Origin.CODEX: "Codex's", Origin.OURS: "Threadloom's own"}


WIDTH: Final = 120  # a longer message is spread over several lines

Lines = Iterator[str]


def render(surface: Surface, document: Schema) -> str:
    """The text of the page."""
    return "\n".join(_Page(surface, document).lines()).rstrip("\n") + "\n"


class _Page:
    def __init__(self, surface: Surface, document: Schema) -> None:
        self._version = surface.version
        self._types: dict[str, Schema] = document["definitions"]
        self._examples = Examples(self._types)
        self._rooms = [(room, _declared(room)) for room in surface.rooms()]
        with_method = {name for _, its in self._rooms for it in its for name in type_names(it)}
        unions = {kind.__name__ for kind in UNIONS}
        self._shared = [name for name in self._types if name not in with_method | unions]

    def lines(self) -> Lines:
        yield HEAD.format(version=self._version)
        yield from self._contents()
        for room, its in self._rooms:
            yield from (f"## {_title(room)}", "", _sentence(room), "")
            for it in its:
                yield from self._method(it)
        yield from ("## Types", "", "What the methods above are made of.", "")
        for name in self._shared:
            yield from self._type(name)

    def _contents(self) -> Lines:
        yield from ("| | |", "|---|---|")
        for room, its in self._rooms:
            links = ", ".join(f"[`{it.method}`](#{anchor(it.method)})" for it in its)
            yield f"| [{_title(room)}](#{anchor(_title(room))}) | {links} |"
        yield ""

    def _method(self, it: Declaration) -> Lines:
        yield from (f"### `{it.method}`", "", f"*{' · '.join(_facts(it))}*", "")
        for role, name in zip(("params", "result"), type_names(it), strict=False):
            about = self._types[name].get("description", "")
            yield from (
                (about, "", f"`{role}` ({name}):", "") if role == "params" else (f"`{role}` ({name}): {about}", "")
            )
            yield from self._shape(self._types[name])
        for message in self._messages(it):
            yield from ("```json", _json(message), "```", "")

    def _messages(self, it: Declaration) -> Iterator[dict[str, Any]]:
        """What goes over the wire, and comes back."""
        values = [self._examples.of(name) for name in type_names(it)]
        match it:
            case ClientRequest() | ServerRequest():
                identity = 1 if isinstance(it, ClientRequest) else "req_1"
                yield {"id": identity, "method": it.method, "params": values[0]}
                yield {"id": identity, "result": values[1]}
            case ServerNotification():
                yield {"method": it.method, "params": values[0]}
            case ClientNotification():
                yield {"method": it.method}

    def _type(self, name: str) -> Lines:
        schema = self._types[name]
        yield from (f"### {name}", "")
        if about := schema.get("description"):
            yield from (about, "")
        yield from self._shape(schema)

    def _shape(self, schema: Schema) -> Lines:
        if schema.get("properties"):
            yield from self._members(schema)
        elif arms := schema.get("oneOf") or schema.get("anyOf"):
            yield from ("One of", "", *(f"- {self._linked(arm)}" for arm in arms), "")
        elif schema.get("type") == "object" and "additionalProperties" not in schema:
            yield from ("No members.", "")
        else:
            yield from (self._linked(schema), "")

    def _members(self, schema: Schema) -> Lines:
        yield from ("| member | type | required | meaning |", "|---|---|---|---|")
        for name, member in schema["properties"].items():
            cells = [f"`{name}`", self._linked(member).replace("|", "\\|")]
            cells.append("yes" if name in schema.get("required", []) else "no")
            meaning = [
                *(["*Experimental.*"] if "x-experimental" in member else []),
                *member.get("description", "").split(),
            ]
            cells.append(" ".join(meaning).replace("|", "\\|"))
            yield f"| {' | '.join(cells)} |"
        yield ""

    def _linked(self, schema: Schema) -> str:
        """The type, with each name in it a link to what it stands for."""
        text = re.sub(r"([<*_])", r"\\\1", expression(schema))
        return re.sub(r"\b[A-Z]\w+\b", lambda found: self._link(found[0]), text)

    def _link(self, word: str) -> str:
        return f"[{word}](#{anchor(word)})" if word in self._types else word


def anchor(heading: str) -> str:
    """The name under which a heading can be linked to."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _declared(room: Room) -> list[Declaration]:
    return [*room.requests, *room.client_notifications, *room.server_requests, *room.notifications]


def _title(room: Room) -> str:
    return f"{room.name.rpartition('.')[2].replace('_', ' ').capitalize()} methods"


def _sentence(room: Room) -> str:
    return (import_module(room.name).__doc__ or "").strip()


def _json(message: dict[str, Any]) -> str:
    line = json.dumps(message, ensure_ascii=False)
    return line if len(line) <= WIDTH else json.dumps(message, indent=2, ensure_ascii=False)


def _facts(it: Declaration) -> Iterator[str]:
    yield KINDS[type(it)]
    if isinstance(it, ClientRequest):
        yield it.stage.value
    if not isinstance(it, ClientNotification):
        yield WHOSE[it.origin]
        if it.experimental:
            yield "experimental"
