"""The bases of every value on the wire: camelCase there, snake_case here."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.alias_generators import to_camel

T = TypeVar("T")

UInt = Annotated[int, Field(ge=0)]
UInt16 = Annotated[int, Field(ge=0, le=65535)]


class Experimental:
    """Marks a member for clients with `capabilities.experimentalApi` alone: `Annotated[T, EXPERIMENTAL]`."""

    __slots__ = ()


EXPERIMENTAL = Experimental()


class _NeverNull:
    """Takes null out of the schema of a member that is left out instead."""

    def __get_pydantic_json_schema__(self, core: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler(core)
        arms = [arm for arm in schema.pop("anyOf", []) if arm != {"type": "null"}]
        return schema | (arms[0] if len(arms) == 1 else {"anyOf": arms})


def _absent(value: object) -> bool:
    return value is None


# A member that is left out when there is nothing to say, where the contract has no room for null.
Maybe = Annotated[T | None, Field(default=None, exclude_if=_absent), _NeverNull()]


class Wire(BaseModel):
    """A value that crosses the wire. Unknown members are ignored on the way in; types are never coerced."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        extra="ignore",
        strict=True,
        # Hundreds of models, few of them used by any one process: each is built when it is first needed.
        defer_build=True,
    )

    def to_json(self) -> bytes:
        """This value as JSON, in its wire names."""
        return self.__pydantic_serializer__.to_json(self)


class Value(Wire):
    """A part of something larger."""


class Snake(Value):
    """A part whose members are in snake_case on the wire, too."""

    model_config = ConfigDict(alias_generator=None)


class Params(Wire):
    """What a request carries. Its docstring is the documentation of the method."""


class Result(Wire):
    """What a request is answered with."""


class Event(Wire):
    """What a notification carries."""


class Recorded(Event):
    """An event of a thread: `seq` is its place in the thread's log."""

    streamed: ClassVar[bool] = False  # a piece of something: asked often, and cheaper to ask than the class

    seq: Maybe[int] = None


class Delta(Recorded):
    """A piece of something longer. Pieces merged for a slow client begin at `fromSeq` and end at `seq`."""

    streamed: ClassVar[bool] = True

    from_seq: Maybe[int] = None
