"""Models → JSON Schema definitions by class name: pydantic's, with the protocol's idea of null and required."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import cleandoc
from typing import Any, Final

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from threadloom_protocol.model import Experimental

Schema = dict[str, Any]
Models = Iterable[type[BaseModel]]

REF: Final = "#/definitions/"
NULL: Final = {"type": "null"}


def definitions(*, sent: Models, received: Models) -> dict[str, Schema]:
    """Every type once, seen from the client.

    A type that goes both ways has the shape that clients may send: what the server sends fits it too.
    """
    owners: dict[str, type[Any]] = {}
    theirs = _generate(received, "serialization", owners)
    ours = _generate(sent, "validation", owners)
    for name in theirs.keys() & ours.keys():  # an alias is no class that could be told apart by itself
        if "properties" not in ours[name] and theirs[name] != ours[name]:
            raise ValueError(f"two types are called {name}: {theirs[name]} and {ours[name]}")
    return theirs | ours


def _generate(models: Models, mode: JsonSchemaMode, owners: dict[str, type[Any]]) -> dict[str, Schema]:
    class Generator(_Generator):
        named = owners

    inputs = [(model, mode) for model in dict.fromkeys(models)]
    _, schemas = models_json_schema(inputs, schema_generator=Generator, ref_template=REF + "{model}")
    found: dict[str, Schema] = schemas.get("$defs", {})
    for shape in found.values():
        shape.pop("title", None)
    for model, _ in inputs:  # one that stands for a union of others is described by its own docstring, too
        found[model.__name__].setdefault("description", cleandoc(model.__doc__ or ""))
    return found


class _Generator(GenerateJsonSchema):
    named: dict[str, type[Any]]

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        cls: type[BaseModel] = schema["cls"]
        self._claim(cls)
        shape = super().model_schema(schema)
        if not cls.__pydantic_root_model__:
            _settle(cls, shape, self.mode)
        return shape

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
        self._claim(schema["cls"])
        return super().enum_schema(schema)

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        return {"oneOf": super().tagged_union_schema(schema)["oneOf"]}

    def tuple_schema(self, schema: core_schema.TupleSchema) -> JsonSchemaValue:
        shape = super().tuple_schema(schema)
        if "prefixItems" in shape:  # draft 07 calls it items
            shape["items"] = shape.pop("prefixItems")
        return shape

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def _claim(self, cls: type[Any]) -> None:
        other = self.named.setdefault(cls.__name__, cls)
        if other is not cls:
            raise ValueError(f"two types are called {cls.__name__}: in {other.__module__} and in {cls.__module__}")


def _settle(cls: type[BaseModel], shape: Schema, mode: JsonSchemaMode) -> None:
    """Say of each member whether it is required, may be null, is experimental."""
    if not cls.__pydantic_fields_complete__:
        cls.model_rebuild()
    members: Schema = shape.get("properties", {})
    required = []
    for name, field in cls.model_fields.items():
        name = field.alias or name
        if _is_required(members[name], field, mode):
            required.append(name)
        members[name] = _member(members[name], field, required=name in required)
    shape.pop("required", None)
    if required:
        shape["required"] = required


def _is_required(member: Schema, field: FieldInfo, mode: JsonSchemaMode) -> bool:
    """The server writes every member but those that it leaves out as absent; a tag is always there."""
    return field.is_required() or "const" in member or (mode == "serialization" and field.exclude_if is None)


def _member(member: Schema, field: FieldInfo, *, required: bool) -> Schema:
    member = dict(member)
    if required or member.get("default", ...) is None:
        member.pop("default", None)
    if field.exclude_if is not None:
        member = _without_null(member)
    if any(isinstance(mark, Experimental) for mark in field.metadata):
        member["x-experimental"] = True
    if "$ref" in member and len(member) > 1:  # draft 07 ignores what stands beside a $ref
        member["allOf"] = [{"$ref": member.pop("$ref")}]
    return member


def _without_null(member: Schema) -> Schema:
    arms: list[Schema] = [arm for arm in member.pop("anyOf", []) if arm != NULL]
    if len(arms) == 1:
        return member | arms[0]
    return member | {"anyOf": arms} if arms else member
