"""Skills that a turn can be given."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from threadloom_protocol.model import Maybe, Params, Result, Value
from threadloom_protocol.spec import ClientRequest, Stage


class SkillsListParams(Params):
    """List skills by directory."""

    cwds: Maybe[list[str]] = None
    force_reload: bool = False


class SkillErrorInfo(Value):
    """A skill that could not be read, and why."""

    path: str
    message: str


class SkillToolDependency(Value):
    """A tool that a skill needs."""

    type: str
    value: str
    description: str | None = None
    transport: str | None = None
    command: str | None = None
    url: str | None = None


class SkillDependencies(Value):
    """What a skill needs."""

    tools: list[SkillToolDependency]


class SkillInterface(Value):
    """How a skill looks in a list."""

    display_name: str | None = None
    short_description: str | None = None
    icon_small: str | None = None
    icon_large: str | None = None
    icon_small_url: str | None = None
    icon_large_url: str | None = None
    brand_color: str | None = None
    default_prompt: str | None = None


SkillScope = TypeAliasType("SkillScope", Literal["user", "repo", "system", "admin"])


class SkillMetadata(Value):
    """A skill."""

    name: str
    description: str
    short_description: str | None = None
    interface: SkillInterface | None = None
    dependencies: SkillDependencies | None = None
    path: str
    scope: SkillScope
    enabled: bool
    plugin_id: str | None = None


class SkillsListEntry(Value):
    """The skills of one directory."""

    cwd: str
    skills: list[SkillMetadata]
    errors: list[SkillErrorInfo]


class SkillsListResponse(Result):
    """The skills, by directory."""

    data: list[SkillsListEntry] = Field(default_factory=list)


LIST = ClientRequest("skills/list", SkillsListParams, SkillsListResponse, stage=Stage.EMPTY)
