"""Two JSON Schemas side by side: what a value may be, whichever way it is written down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Schema = dict[str, Any]
Definitions = dict[str, Schema]


@dataclass
class Object:
    """The objects of a shape that share a tag, if they have one."""

    members: dict[str, Schema | bool] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    others: Schema | None = None  # what members without a name are, where they are of one type

    def merged(self, other: Object) -> Object:
        """Either of two: all members, required where both require them."""
        return Object(self.members | other.members, self.required & other.required, self.others or other.others)

    def joined(self, other: Object) -> Object:
        """Both of two at once."""
        return Object(self.members | other.members, self.required | other.required, self.others or other.others)


@dataclass
class Shape:
    """What a value may be: plain kinds and constants, lists, and objects by their tag."""

    anything: bool = False
    plain: set[str] = field(default_factory=set)
    items: list[Schema | bool] = field(default_factory=list)
    objects: dict[str, Object] = field(default_factory=dict)

    def add(self, found: Object) -> None:
        """One more kind of object; those with the same tag are one."""
        key = _key(found)
        self.objects[key] = self.objects[key].merged(found) if key in self.objects else found


def _key(found: Object) -> str:
    """How an arm of a union is told from the others: by a constant member, or by the one member it must have."""
    for name, member in found.members.items():
        constants = _constants(member) if isinstance(member, dict) else []
        if len(constants) == 1 and name in found.required:
            return f"{name}={constants[0]}"
    if len(found.members) == 1 and found.members.keys() == found.required:
        return f"{{{next(iter(found.members))}}}"
    return "object"


def _constants(schema: Schema) -> list[Any]:
    return [schema["const"]] if "const" in schema else schema.get("enum", [])


def shape(schema: Schema | bool, definitions: Definitions) -> Shape:
    """The shape that a schema describes."""
    result = Shape()
    _read(schema, definitions, Object(), result)
    return result


def _read(schema: Schema | bool, definitions: Definitions, beside: Object, result: Shape) -> None:
    match schema:
        case True:
            result.anything = True
        case {"$ref": str(target)}:
            _read(definitions[target.rpartition("/")[2]], definitions, beside, result)
        case {"allOf": [only]}:
            _read(only, definitions, beside, result)
        case {"oneOf": arms} | {"anyOf": arms}:
            for arm in arms:
                _read(arm, definitions, beside.joined(_own(schema)), result)
        case {"const": value}:
            result.plain.add(f'"{value}"')
        case {"enum": values}:
            result.plain.update("null" if value is None else f'"{value}"' for value in values)
        case {"type": kinds}:
            for kind in [kinds] if isinstance(kinds, str) else kinds:
                _add(kind, schema, beside, result)
        case _:
            result.anything = True


def _add(kind: str, schema: Schema, beside: Object, result: Shape) -> None:
    match kind:
        case "object":
            result.add(beside.joined(_own(schema)))
        case "array":
            result.items.append(schema.get("items", True))
        case "integer":
            result.plain.add("integer" if schema.get("minimum") is None else f"integer ≥ {schema['minimum']:.0f}")
        case "string":
            result.plain.add("string" if "minLength" not in schema else f"string of {schema['minLength']} or more")
        case _:
            result.plain.add(kind)


def _own(schema: Schema) -> Object:
    others = schema.get("additionalProperties")
    return Object(
        dict(schema.get("properties", {})),
        set(schema.get("required", ())),
        others if isinstance(others, dict) and others else None,
    )


class Comparison:
    """Ours against theirs. Members that they do not have are fine where `added` says so."""

    def __init__(self, ours: Definitions, theirs: Definitions, *, sent: set[str]) -> None:
        self.ours = ours
        self.theirs = theirs
        self.sent = sent  # types that clients send: they must not be asked for more, and not for less
        self.additions: set[tuple[str, str]] = set()

    def named(self, name: str) -> Iterator[str]:
        """The differences in a type that both have by that name."""
        yield from self._compare(self.ours[name], self.theirs[name], name, name)

    def _compare(self, ours: Schema | bool, theirs: Schema | bool, owner: str, path: str) -> Iterator[str]:
        if path != owner and _same_name(ours, theirs):
            return  # compared by itself
        mine, other = shape(ours, self.ours), shape(theirs, self.theirs)
        if mine.anything != other.anything:
            yield f"{path}: anything goes on one side only"
        if mine.plain != other.plain:
            yield f"{path}: {sorted(mine.plain)} here, {sorted(other.plain)} there"
        yield from self._items(mine, other, owner, path)
        yield from self._objects(mine, other, owner, path)

    def _items(self, mine: Shape, other: Shape, owner: str, path: str) -> Iterator[str]:
        if len(mine.items) != len(other.items):
            yield f"{path}: {len(mine.items)} kinds of lists here, {len(other.items)} there"
        for own, their in zip(mine.items, other.items, strict=False):
            yield from self._compare(own, their, owner, f"{path}[]")

    def _objects(self, mine: Shape, other: Shape, owner: str, path: str) -> Iterator[str]:
        if len(mine.objects) == len(other.objects) == 1:
            pairs = [(path, *mine.objects.values(), *other.objects.values())]
        else:
            if mine.objects.keys() != other.objects.keys():
                yield f"{path}: arms {sorted(mine.objects)} here, {sorted(other.objects)} there"
            shared = mine.objects.keys() & other.objects.keys()
            pairs = [(f"{path}<{key}>", mine.objects[key], other.objects[key]) for key in sorted(shared)]
        for place, own, their in pairs:
            yield from self._object(own, their, owner, place)

    def _object(self, own: Object, their: Object, owner: str, path: str) -> Iterator[str]:
        missing = their.members.keys() - own.members.keys()
        if missing:
            yield f"{path}: lacks {sorted(missing)}"
        self.additions.update((path, name) for name in own.members.keys() - their.members.keys())
        demanded = own.required & their.members.keys()
        if demanded != their.required if owner in self.sent else not demanded >= their.required:
            yield f"{path}: requires {sorted(demanded)} here, {sorted(their.required)} there"
        for name in sorted(own.members.keys() & their.members.keys()):
            yield from self._compare(own.members[name], their.members[name], owner, f"{path}.{name}")
        if (own.others is None) != (their.others is None):
            yield f"{path}: members without a name are typed on one side only"
        elif own.others is not None and their.others is not None:
            yield from self._compare(own.others, their.others, owner, f"{path}.*")


def _same_name(ours: Schema | bool, theirs: Schema | bool) -> bool:
    names = [_name(it) for it in (ours, theirs)]
    return names[0] is not None and names[0] == names[1]


def _name(schema: Schema | bool) -> str | None:
    match schema:
        case {"$ref": str(target)} | {"allOf": [{"$ref": str(target)}]}:
            return target.rpartition("/")[2]
        case {"anyOf": [{"$ref": str(target)}, {"type": "null"}]}:
            return target.rpartition("/")[2] + " or null"
    return None
