"""Surface → one JSON Schema document: every type by its class name, every method in the union of its direction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from threadloom_protocol.codegen.shapes import REF, Schema, definitions
from threadloom_protocol.spec import (
    ClientNotification,
    ClientRequest,
    Declaration,
    ServerNotification,
    ServerRequest,
    Surface,
)

DIALECT: Final = "http://json-schema.org/draft-07/schema#"  # the one that Codex's own schemas are written in

UNIONS: Final = {
    ClientRequest: "A request that a client sends.",
    ServerRequest: "A request that the server sends and one client answers.",
    ServerNotification: "A notification that the server sends.",
    ClientNotification: "A notification that a client sends.",
}

REQUEST_ID: Final = {
    "description": "Chosen by the side that asks; the answer carries it unchanged.",
    "anyOf": [{"type": "string"}, {"type": "integer"}],
}


def document(surface: Surface, *, experimental: bool = True) -> Schema:
    """The whole contract, or without `experimental` the part of it that every client may use."""
    everything = list(declarations(surface))
    shown = [it for it in everything if experimental or not is_experimental(it)]
    types = _types(everything)
    if not experimental:
        types = {name: _stable(definition) for name, definition in types.items()}
    types |= {"RequestId": REQUEST_ID} | _unions(shown, types)
    roots = ["RequestId", *(kind.__name__ for kind in UNIONS), *(name for it in shown for name in type_names(it))]
    return {
        "$schema": DIALECT,
        "title": f"ThreadloomProtocolV{surface.version}",
        "definitions": select(types, roots),
        "x-methods": {it.method: _entry(it) for it in sorted(shown, key=lambda it: it.method)},
    }


def render(schema: Schema) -> str:
    """A schema as the text of its file: the same for the same surface, whatever wrote the keys in which order."""
    return json.dumps(_ordered(schema), indent=2, ensure_ascii=False) + "\n"


def standalone(types: Mapping[str, Schema], name: str) -> Schema:
    """The schema of one type, complete in itself."""
    others = select(types, references(types[name]))
    return {"$schema": DIALECT, "title": name, **types[name]} | ({"definitions": others} if others else {})


def select(types: Mapping[str, Schema], roots: Iterable[str]) -> dict[str, Schema]:
    """The named types and all that they refer to, in the order of their names."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(references(types[name]))
    return {name: types[name] for name in sorted(found)}


def references(schema: Any) -> Iterator[str]:
    """The names of the types that a schema refers to."""
    match schema:
        case {"$ref": str(target)}:
            yield target.removeprefix(REF)
        case dict():
            for part in schema.values():
                yield from references(part)
        case list():
            for part in schema:
                yield from references(part)


def declarations(surface: Surface) -> Iterator[Declaration]:
    """Everything that a surface declares, room by room."""
    for room in surface.rooms():
        yield from room.requests
        yield from room.server_requests
        yield from room.notifications
        yield from room.client_notifications


def is_experimental(it: Declaration) -> bool:
    """Whether a client has to ask for it, with `capabilities.experimentalApi`."""
    return not isinstance(it, ClientNotification) and it.experimental


def type_names(it: Declaration) -> list[str]:
    """The types of a declaration: what it carries, then what answers it."""
    match it:
        case ClientRequest() | ServerRequest():
            return [it.params.__name__, it.result.__name__]
        case ServerNotification():
            return [it.params.__name__]
        case _:
            return []


def _types(everything: list[Declaration]) -> dict[str, Schema]:
    sent, received = [], []
    for it in everything:
        match it:
            case ClientRequest():
                sent.append(it.params)
                received.append(it.result)
            case ServerRequest():
                received.append(it.params)
                sent.append(it.result)
            case ServerNotification():
                received.append(it.params)
    return definitions(sent=sent, received=received)


def _unions(shown: list[Declaration], types: dict[str, Schema]) -> dict[str, Schema]:
    unions: dict[str, Schema] = {}
    for kind, description in UNIONS.items():
        arms = [_arm(it, types) for it in shown if isinstance(it, kind)]
        unions[kind.__name__] = {"description": description, **({"oneOf": arms} if arms else {"not": {}})}
    return unions


def _arm(it: Declaration, types: dict[str, Schema]) -> Schema:
    members: Schema = {"method": {"const": it.method, "type": "string"}}
    required = ["method"]
    if isinstance(it, ClientRequest | ServerRequest):
        members = {"id": _ref("RequestId"), **members}
        required = ["id", "method"]
    if not isinstance(it, ClientNotification):
        members["params"] = _ref(it.params.__name__)
        # A client may leave the params out where all of them may be left out.
        if not isinstance(it, ClientRequest) or types[it.params.__name__].get("required"):
            required.append("params")
    return {"type": "object", "properties": members, "required": required}


def _entry(it: Declaration) -> Schema:
    """What the unions cannot say of a method: what answers it, whose it is, how far it is."""
    entry: Schema = {"kind": type(it).__name__}
    entry |= {role: _ref(name) for role, name in zip(("params", "result"), type_names(it), strict=False)}
    if isinstance(it, ClientRequest):
        entry["stage"] = it.stage.value
    if not isinstance(it, ClientNotification):
        entry |= {"experimental": it.experimental, "origin": it.origin.value}
    return entry


def _ref(name: str) -> Schema:
    return {"$ref": REF + name}


def _stable(definition: Schema) -> Schema:
    """A type without its experimental members."""
    members = definition.get("properties", {})
    kept = {name: member for name, member in members.items() if "x-experimental" not in member}
    if len(kept) == len(members):
        return definition
    required = [name for name in definition.get("required", []) if name in kept]
    rest = {key: value for key, value in definition.items() if key not in ("properties", "required")}
    return rest | ({"properties": kept} if kept else {}) | ({"required": required} if required else {})


def _ordered(value: Any, *, names: bool = False) -> Any:
    """Keywords by the alphabet; the names of members as they were declared."""
    if isinstance(value, list):
        return [_ordered(part) for part in value]
    if not isinstance(value, dict):
        return value
    keys = value if names else sorted(value)
    return {key: _ordered(value[key], names=key == "properties" and not names) for key in keys}
