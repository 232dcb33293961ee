"""The smallest value that fits a JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from math import floor
from typing import Any, Final

TEXT: Final = "Rehearsal"  # what a string says where the schema leaves it open


class Endless(Exception):
    """A schema that can only be filled by going round in circles."""


def smallest(schema: Any) -> Any:
    """A value that fits, with no more in it than it needs. `pattern`, `format` and `not` are not looked at."""
    return _value(schema, schema, ())


def _value(schema: Any, root: Any, path: tuple[str, ...]) -> Any:
    schema = schema if isinstance(schema, dict) else {}
    match schema:
        case {"$ref": str(ref)}:
            if ref in path:
                raise Endless(ref)
            return _value(_resolve(root, ref), root, (*path, ref))
        case {"const": value} | {"enum": [value, *_]}:
            return value
        case {"allOf": [*arms]}:
            return _value(reduce(_both, arms, {key: it for key, it in schema.items() if key != "allOf"}), root, path)
        case {"anyOf": [*arms]} | {"oneOf": [*arms]}:
            return _first(arms, root, path)
    kind = schema.get("type", "object" if "properties" in schema else "null")
    kinds = kind if isinstance(kind, list) else [kind]
    return None if "null" in kinds else _of_kind(kinds[0], schema, root, path)


def _of_kind(kind: str, schema: dict[str, Any], root: Any, path: tuple[str, ...]) -> Any:
    match kind:
        case "object":
            members = schema.get("properties", {})
            return {name: _value(members.get(name), root, path) for name in schema.get("required", ())}
        case "array":
            first = schema.get("prefixItems", [])
            count = schema.get("minItems", 0)
            arms = [*first, *[schema.get("items")] * (count - len(first))][:count]
            return [_value(arm, root, path) for arm in arms]
        case "string":
            return TEXT.ljust(schema.get("minLength", 0), ".")[: schema.get("maxLength")]
        case "integer" | "number":
            return _number(kind, schema)
    return False


def _number(kind: str, schema: dict[str, Any]) -> int | float:
    """Zero, or what is nearest to it."""
    step = schema.get("multipleOf", 1 if kind == "integer" else 0)
    low, high = schema.get("minimum"), schema.get("maximum")
    if (above := schema.get("exclusiveMinimum")) is not None:
        low = floor(above / step) * step + step if step else above + 1
    if (below := schema.get("exclusiveMaximum")) is not None:
        high = -(floor(-below / step) * step + step) if step else below - 1
    value: int | float = max(0, low or 0) if high is None or high >= 0 else high
    if step:
        value = -(-value // step) * step if value >= 0 else value // step * step
    return int(value) if kind == "integer" else value


def _first(arms: list[Any], root: Any, path: tuple[str, ...]) -> Any:
    """Of the first arm that can be filled."""
    for arm in arms:
        try:
            return _value(arm, root, path)
        except Endless:
            continue
    raise Endless("anyOf")


def _both(one: Any, other: Any) -> dict[str, Any]:
    members = {**one.get("properties", {}), **other.get("properties", {})}
    required = [*one.get("required", ()), *other.get("required", ())]
    both = {**one, **other}
    return both | ({"properties": members, "required": list(dict.fromkeys(required))} if members else {})


def _resolve(root: Any, ref: str) -> Any:
    """A schema by its place in the document, `#/$defs/Name`; anything goes where there is none."""
    here = root
    for name in ref.removeprefix("#").strip("/").split("/"):
        key = name.replace("~1", "/").replace("~0", "~")
        here = here.get(key) if key and isinstance(here, Mapping) else here
    return here
