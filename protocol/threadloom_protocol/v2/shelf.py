"""Sections and projects to sort threads into. This server has none."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from threadloom_protocol.model import Params, Result, UInt, Value
from threadloom_protocol.spec import ClientRequest, Stage
from threadloom_protocol.v2.values.common import SortDirection
from threadloom_protocol.v2.values.threads import ThreadSection


class ThreadSectionListParams(Params):
    """List sections that threads are sorted into."""

    cursor: str | None = None
    limit: UInt | None = None


class ThreadSectionListResponse(Result):
    """A page of sections."""

    data: list[ThreadSection] = Field(default_factory=list)
    next_cursor: str | None = None


ProjectSortKey = TypeAliasType("ProjectSortKey", Literal["position", "recencyAt"])


class ProjectListParams(Params):
    """List projects that threads belong to."""

    cursor: str | None = None
    limit: UInt | None = None
    sort_key: ProjectSortKey | None = None
    sort_direction: SortDirection | None = None


class ProjectRoot(Value):
    """A directory of a project."""

    path: str


class Project(Value):
    """A project."""

    id: str
    name: str
    roots: list[ProjectRoot]
    metadata: dict[str, str]
    position: int
    created_at: int
    updated_at: int
    recency_at: int | None = None


class ProjectListResponse(Result):
    """A page of projects."""

    data: list[Project] = Field(default_factory=list)
    next_cursor: str | None = None


SECTIONS = ClientRequest("threadSection/list", ThreadSectionListParams, ThreadSectionListResponse, stage=Stage.EMPTY)
PROJECTS = ClientRequest("project/list", ProjectListParams, ProjectListResponse, experimental=True, stage=Stage.EMPTY)
