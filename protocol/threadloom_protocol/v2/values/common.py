"""Small values that turn up everywhere."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from threadloom_protocol.model import Snake, UInt, Value

InputModality = TypeAliasType("InputModality", Literal["text", "image", "audio"])


# Which words there are depends on the model.
ReasoningEffort = TypeAliasType("ReasoningEffort", Annotated[str, Field(min_length=1)])


CyberAccessProgram = TypeAliasType("CyberAccessProgram", Literal["standard", "daybreakBlue", "daybreakRed"])


class CustomMultiAgentMode(Value):
    """Instructions of one's own."""

    custom: str


MultiAgentMode = TypeAliasType("MultiAgentMode", Literal["explicitRequestOnly", "proactive"] | CustomMultiAgentMode)


Personality = TypeAliasType("Personality", Literal["none", "friendly", "pragmatic"])


class TurnEnvironmentParams(Value):
    """An environment to work in."""

    environment_id: str
    cwd: str
    runtime_workspace_roots: list[str] | None = None


ModeKind = TypeAliasType("ModeKind", Literal["plan", "default"])


class Settings(Snake):
    """What a preset sets."""

    model: str
    reasoning_effort: ReasoningEffort | None = None
    developer_instructions: str | None = None


class CollaborationMode(Value):
    """A preset by its kind, with its settings."""

    mode: ModeKind
    settings: Settings


class GitInfo(Value):
    """Where a thread was in Git when it began."""

    sha: str | None = None
    branch: str | None = None
    origin_url: str | None = None


SortDirection = TypeAliasType("SortDirection", Literal["asc", "desc"])


class ByteRange(Value):
    """A part of a text, in bytes of UTF-8."""

    start: UInt
    end: UInt


ReasoningSummary = TypeAliasType("ReasoningSummary", Literal["auto", "concise", "detailed", "none"])
