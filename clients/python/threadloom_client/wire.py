"""Values of the protocol ⇄ JSON, as a client writes and reads them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, Literal, TypeVar, get_args, get_origin

from threadloom_protocol.model import Wire

W = TypeVar("W", bound=Wire)


def encode(value: Wire) -> bytes:
    """Only what was set: absent and null are two different wishes, and the server knows its defaults best."""
    _keep_tags(value)
    return value.__pydantic_serializer__.to_json(value, exclude_unset=True)


def decode(kind: type[W], value: Any) -> W:
    """A value of this type out of parsed JSON; a missing one counts as empty."""
    return kind.model_validate({} if value is None else value)


def _keep_tags(value: object) -> None:
    """Count the tag of a union's member as set: it says what the rest is, so it is never left out."""
    if isinstance(value, Wire):
        value.__pydantic_fields_set__.update(_tags(type(value)))
        _keep_tags_of(getattr(value, name) for name in value.__pydantic_fields_set__)
    elif isinstance(value, dict):
        _keep_tags_of(value.values())
    elif isinstance(value, list | tuple):
        _keep_tags_of(value)


def _keep_tags_of(values: Iterable[object]) -> None:
    for value in values:
        _keep_tags(value)


@cache
def _tags(kind: type[Wire]) -> frozenset[str]:
    """The members that have one possible value."""
    return frozenset(
        name
        for name, field in kind.model_fields.items()
        if get_origin(field.annotation) is Literal and len(get_args(field.annotation)) == 1
    )
