"""Tools and capabilities that a client brings along."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from threadloom_protocol.model import Value


class FunctionDynamicToolSpec(Value):
    """A tool."""

    type: Literal["function"] = "function"
    defer_loading: bool = False
    description: str
    input_schema: Any
    name: str


class FunctionDynamicToolNamespaceTool(Value):
    """A tool of a group."""

    type: Literal["function"] = "function"
    defer_loading: bool = False
    description: str
    input_schema: Any
    name: str


DynamicToolNamespaceTool = TypeAliasType("DynamicToolNamespaceTool", FunctionDynamicToolNamespaceTool)


class NamespaceDynamicToolSpec(Value):
    """A group of tools."""

    type: Literal["namespace"] = "namespace"
    description: str
    name: str
    tools: list[DynamicToolNamespaceTool]


DynamicToolSpec = TypeAliasType(
    "DynamicToolSpec", Annotated[FunctionDynamicToolSpec | NamespaceDynamicToolSpec, Field(discriminator="type")]
)


class EnvironmentCapabilityRootLocation(Value):
    """In an environment."""

    type: Literal["environment"] = "environment"
    environment_id: str
    path: str


CapabilityRootLocation = TypeAliasType("CapabilityRootLocation", EnvironmentCapabilityRootLocation)


class SelectedCapabilityRoot(Value):
    """A directory of capabilities to use."""

    id: str
    location: CapabilityRootLocation
