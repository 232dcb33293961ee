"""A contract as JSON Schema: what the server may answer, tell and ask, each held against compiled validators."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

from jsonschema import Draft7Validator
from jsonschema.exceptions import best_match
from referencing import Registry
from referencing.jsonschema import DRAFT7


class Role(Enum):
    """What the server sends a value as."""

    RESULT = "result of"
    NOTIFICATION = "params of the notification"
    REQUEST = "params of the server request"


Types = Mapping[tuple[Role, str], str]

# Beyond this a shape is not remembered, only checked again: tests with random texts have no end of them.
MAX_SHAPES = 20_000


class Contract:
    """One JSON Schema document, and which of its types stands for which message."""

    def __init__(
        self, name: str, document: dict[str, Any], types: Types, experimental: frozenset[str] = frozenset()
    ) -> None:
        self.name = name
        self.types = types
        self.experimental = experimental  # methods, of those that say so
        self._uri = f"urn:contract:{name.replace(' ', '-')}"
        self._registry: Registry[Any] = Registry().with_resource(self._uri, DRAFT7.create_resource(document))
        self._validators: dict[str, Draft7Validator] = {}
        self._words = frozenset(_words(document))
        self._good: set[tuple[str, Any]] = set()

    def fault(self, role: Role, method: str, value: Any) -> str | None:
        """What is wrong with a value, if anything. A shape that has been found good is not looked at again."""
        pointer = self.types[role, method]
        known = (pointer, shape(value, self._words))
        if known in self._good:
            return None
        error = best_match(self._validator(pointer).iter_errors(value))
        if error is None:
            if len(self._good) < MAX_SHAPES:
                self._good.add(known)
            return None
        where = "/".join(map(str, error.absolute_path)) or "(root)"
        return f"{role.value} {method} against {self.name}: at {where}: {error.message[:300]}"

    def type_of(self, role: Role, method: str) -> str | None:
        """The name of the type that a message has in this contract; None where it has no such message."""
        pointer = self.types.get((role, method))
        return pointer and pointer.rpartition("/")[2]

    def _validator(self, pointer: str) -> Draft7Validator:
        if pointer not in self._validators:
            self._validators[pointer] = Draft7Validator({"$ref": self._uri + pointer}, registry=self._registry)
        return self._validators[pointer]


def shape(value: Any, words: Collection[str]) -> Any:
    """All of a value that a schema may ask about: members, types, signs of numbers, and the words that it knows."""
    match value:
        case dict():
            return tuple((name, shape(member, words)) for name, member in value.items())
        case list():
            return ("[]", *dict.fromkeys(shape(member, words) for member in value))
        case str():
            return value if not value or value in words else str
        case bool() | None:
            return value
        case int():
            return (int, (value > 0) - (value < 0))
        case _:
            return type(value)


def _words(schema: Any) -> Iterator[str]:
    """The texts that a schema tells from others: beside them it asks at most whether there is any text at all."""
    if isinstance(schema, list):
        for member in schema:
            yield from _words(member)
    if not isinstance(schema, dict):
        return
    assert not isinstance(schema.get("pattern"), str), "this schema looks into texts"
    yield from (it for it in [schema.get("const"), *_listed(schema.get("enum"))] if isinstance(it, str))
    for member in schema.values():
        yield from _words(member)


def _listed(enum: Any) -> list[Any]:
    return enum if isinstance(enum, list) else []


def ours(document: dict[str, Any], name: str) -> Contract:
    """The contract in a document that `threadloom_protocol.codegen` wrote."""
    methods = document["x-methods"]
    experimental = frozenset(method for method, entry in methods.items() if entry.get("experimental"))
    return Contract(name, document, dict(_our_types(methods)), experimental)


def _our_types(methods: Mapping[str, Any]) -> Iterator[tuple[tuple[Role, str], str]]:
    for method, entry in methods.items():
        match entry:
            case {"kind": "ClientRequest", "result": {"$ref": target}}:
                yield (Role.RESULT, method), target
            case {"kind": "ServerRequest", "params": {"$ref": target}}:
                yield (Role.REQUEST, method), target
            case {"kind": "ServerNotification", "params": {"$ref": target}}:
                yield (Role.NOTIFICATION, method), target


def codexs(document: dict[str, Any], name: str, our_types: Types) -> Contract:
    """The contract in the one big document that Codex writes.

    It says which params a method has, but not which result: that goes by the name that we share.
    """
    definitions = document["definitions"]
    results = {
        key: pointer
        for key, ours in our_types.items()
        if key[0] is Role.RESULT and (pointer := _find(definitions, ours.rpartition("/")[2])) is not None
    }
    told = _params(Role.NOTIFICATION, definitions["ServerNotification"]["oneOf"])
    asked = _params(Role.REQUEST, definitions["ServerRequest"]["oneOf"])
    return Contract(name, document, results | dict(told) | dict(asked))


def _find(definitions: Mapping[str, Any], name: str) -> str | None:
    if name in definitions["v2"]:
        return f"#/definitions/v2/{name}"
    return f"#/definitions/{name}" if name in definitions else None


def _params(role: Role, arms: Iterable[Mapping[str, Any]]) -> Iterator[tuple[tuple[Role, str], str]]:
    for arm in arms:
        match arm["properties"]:
            case {"method": {"enum": [method]}, "params": {"$ref": target}}:
                yield (role, method), target
