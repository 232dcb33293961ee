"""JSON Schema → Hypothesis: values that a schema allows, for the part of draft 07 that Codex writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

Schema = dict[str, Any]

RANGES = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint": (0, 2**32 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}

MAX_MEMBERS = 2  # of a list or a map: a thread has turns has items has parts

TEXT = st.text(max_size=12)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=MAX_MEMBERS) | st.dictionaries(TEXT, inner, max_size=MAX_MEMBERS),
    max_leaves=3,
)


class Strategies:
    """Strategies for one set of definitions, each named type built once."""

    def __init__(self, definitions: dict[str, Schema]) -> None:
        self._definitions = definitions
        self._named: dict[str, SearchStrategy[Any]] = {}

    def of(self, name: str) -> SearchStrategy[Any]:
        """Values of a named type."""
        if name not in self._named:
            # Deferred before it is built, so that a type may contain itself.
            self._named[name] = st.deferred(lambda: self.values(self._definitions[name]))
        return self._named[name]

    def values(self, schema: Schema | bool) -> SearchStrategy[Any]:
        """Values that a schema allows."""
        if isinstance(schema, bool):
            return ANYTHING if schema else st.nothing()
        return st.one_of(list(self._alternatives(schema)))

    def _alternatives(self, schema: Schema) -> Iterator[SearchStrategy[Any]]:
        match schema:
            case {"$ref": str(target)}:
                yield self.of(target.rpartition("/")[2])
            case {"allOf": [only]}:
                yield self.values(only)
            case {"enum": values}:
                yield st.sampled_from(values)
            case {"oneOf": arms} | {"anyOf": arms}:
                yield from (self._arm(schema, arm) for arm in arms)
            case {"type": str(kind)}:
                yield self._plain(kind, schema)
            case {"type": kinds}:
                yield from (self._plain(kind, schema) for kind in kinds)
            case _:
                yield ANYTHING

    def _arm(self, schema: Schema, arm: Schema) -> SearchStrategy[Any]:
        """An arm of a union; what stands beside the union belongs to each arm."""
        if "properties" not in schema:
            return self.values(arm)
        own = {key: value for key, value in schema.items() if key not in ("oneOf", "anyOf")}
        return st.tuples(self.values(own), self.values(arm)).map(lambda both: both[0] | both[1])

    def _plain(self, kind: str, schema: Schema) -> SearchStrategy[Any]:
        match kind:
            case "null":
                return st.none()
            case "boolean":
                return st.booleans()
            case "string":
                return st.text(min_size=schema.get("minLength", 0), max_size=12)
            case "integer":
                low, high = RANGES[schema["format"]]
                return st.integers(max(low, int(schema.get("minimum", low))), high)
            case "number":
                return st.floats(allow_nan=False, allow_infinity=False)
            case "array":
                return st.lists(self.values(schema.get("items", True)), max_size=MAX_MEMBERS)
            case "object":
                return self._object(schema)
        raise NotImplementedError(kind)

    def _object(self, schema: Schema) -> SearchStrategy[dict[str, Any]]:
        members = {name: self.values(member) for name, member in schema.get("properties", {}).items()}
        required = {name: members.pop(name) for name in schema.get("required", ()) if name in members}
        named = st.fixed_dictionaries(required, optional=members)
        others = schema.get("additionalProperties", False)
        if others is False:
            return named
        more = st.dictionaries(TEXT, self.values(others), max_size=MAX_MEMBERS)
        return st.tuples(more, named).map(lambda both: both[0] | both[1])
