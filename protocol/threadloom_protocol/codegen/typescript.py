"""The schema document → TypeScript: a type per definition, unions that narrow by `method`, a map of typed requests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from threadloom_protocol.codegen.shapes import NULL, REF, Schema

HEADER: Final = (
    "// Generated from the protocol's declarations. Change those, then run `python -m threadloom_protocol.codegen`."
)
PLAIN: Final = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
IDENTIFIER: Final = re.compile(r"[A-Za-z_$][\w$]*")

MAPS: Final = {
    "Methods": ("ClientRequest", "Every request of clients, with what it carries and what answers it."),
    "ServerMethods": ("ServerRequest", "Every request of the server, with what it carries and what answers it."),
    "Notifications": ("ServerNotification", "Every notification of the server, with what it carries."),
}


def render(document: Schema) -> str:
    """The text of the module."""
    types = document["definitions"]
    blocks = [HEADER, *(_declaration(name, types[name]) for name in types)]
    blocks += [_map(name, document, *about) for name, about in MAPS.items()]
    return "\n\n".join(blocks) + "\n"


def expression(schema: Schema) -> str:
    """The type that a schema describes."""
    match schema:
        case {"$ref": str(target)}:
            return target.removeprefix(REF)
        case {"const": value}:
            return json.dumps(value, ensure_ascii=False)
        case {"enum": list(values)}:
            return _union(json.dumps(value, ensure_ascii=False) for value in values)
        case {"anyOf": list(arms)} | {"oneOf": list(arms)}:
            return _union(expression(arm) for arm in arms)
        case {"allOf": list(parts)}:
            return " & ".join(_grouped(expression(part)) for part in parts)
        case {"type": list(names)}:
            return _union(expression({**schema, "type": name}) for name in names)
        case {"type": "array"}:
            return _array(schema)
        case {"type": "object"}:
            return _object(schema)
        case {"type": str(name)}:
            return PLAIN[name]
        case {"not": _}:
            return "never"
        case _:
            return "unknown"


def _declaration(name: str, schema: Schema) -> str:
    comment = _comment(schema)
    if schema.get("type") == "object" and schema.get("properties"):
        return f"{comment}export interface {name} {{\n{_members(schema)}\n}}"
    arms = schema.get("oneOf") or schema.get("anyOf") or []
    if len(arms) > 1:
        return f"{comment}export type {name} =" + "".join(f"\n  | {_arm(arm)}" for arm in arms) + ";"
    return f"{comment}export type {name} = {expression(schema)};"


def _arm(schema: Schema) -> str:
    return _grouped(expression(schema)) if schema != NULL else "null"


def _members(schema: Schema) -> str:
    required = schema.get("required", [])
    return "\n".join(
        f"{_comment(member, '  ')}  {_key(name)}{'' if name in required else '?'}: {expression(member)};"
        for name, member in schema["properties"].items()
    )


def _object(schema: Schema) -> str:
    if members := schema.get("properties"):
        required = schema.get("required", [])
        inside = (f"{_key(k)}{'' if k in required else '?'}: {expression(v)}" for k, v in members.items())
        return "{ " + "; ".join(inside) + " }"
    values = schema.get("additionalProperties")
    if values is None:
        return "Record<string, never>"
    return f"Record<string, {expression(values) if isinstance(values, dict) else 'unknown'}>"


def _array(schema: Schema) -> str:
    items = schema.get("items", {})
    if isinstance(items, list):
        return "[" + ", ".join(expression(item) for item in items) + "]"
    return f"{_grouped(expression(items))}[]"


def _union(arms: Iterator[str]) -> str:
    return " | ".join(dict.fromkeys(arms))


def _grouped(text: str) -> str:
    return f"({text})" if " | " in text or " & " in text else text


def _map(name: str, document: Schema, kind: str, description: str) -> str:
    lines = [f"/** {description} */", f"export interface {name} {{"]
    for method, entry in document["x-methods"].items():
        if entry["kind"] == kind:
            roles = "; ".join(f"{role}: {expression(entry[role])}" for role in ("params", "result") if role in entry)
            about = document["definitions"][expression(entry["params"])] | {"x-experimental": entry["experimental"]}
            lines.append(f"{_comment(about, '  ')}  {json.dumps(method)}: {{ {roles} }};")
    return "\n".join([*lines, "}"])


def _key(name: str) -> str:
    return name if IDENTIFIER.fullmatch(name) else json.dumps(name)


def _comment(schema: dict[str, Any], indent: str = "") -> str:
    lines = str(schema.get("description", "")).replace("*/", "*\\/").split("\n") if schema.get("description") else []
    if schema.get("x-experimental"):
        lines.append("@experimental")
    if not lines:
        return ""
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    return "".join([f"{indent}/**\n", *(f"{indent} * {line}".rstrip() + "\n" for line in lines), f"{indent} */\n"])
