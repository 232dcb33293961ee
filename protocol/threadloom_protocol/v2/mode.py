"""Presets: sets of permissions, and what this server has none of, collaboration modes and feature switches."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from threadloom_protocol.model import Params, Result, Snake, UInt, Value
from threadloom_protocol.spec import ClientRequest, Stage
from threadloom_protocol.v2.values.common import ModeKind, ReasoningEffort


class CollaborationModeListParams(Params):
    """List presets of model, effort and instructions."""


class CollaborationModeMask(Snake):
    """A preset; null leaves a setting alone."""

    name: str
    mode: ModeKind | None = None
    model: str | None = None
    reasoning_effort: ReasoningEffort | None = None


class CollaborationModeListResponse(Result):
    """The presets."""

    data: list[CollaborationModeMask] = Field(default_factory=list)


class PermissionProfileListParams(Params):
    """List named sets of permissions: those that `permissions` may name. They hold in every directory."""

    cursor: str | None = None
    limit: UInt | None = None
    cwd: str | None = None


class PermissionProfileSummary(Value):
    """A named set of permissions, and whether it may be chosen."""

    id: str
    description: str | None = None
    allowed: bool


class PermissionProfileListResponse(Result):
    """A page of permission sets."""

    data: list[PermissionProfileSummary] = Field(default_factory=list)
    next_cursor: str | None = None


class ExperimentalFeatureListParams(Params):
    """List features that can be switched on."""

    cursor: str | None = None
    limit: UInt | None = None
    thread_id: str | None = None


ExperimentalFeatureStage = TypeAliasType(
    "ExperimentalFeatureStage", Literal["beta", "underDevelopment", "stable", "deprecated", "removed"]
)


class ExperimentalFeature(Value):
    """A feature and its switch."""

    name: str
    stage: ExperimentalFeatureStage
    display_name: str | None = None
    description: str | None = None
    announcement: str | None = None
    enabled: bool
    default_enabled: bool


class ExperimentalFeatureListResponse(Result):
    """A page of features."""

    data: list[ExperimentalFeature] = Field(default_factory=list)
    next_cursor: str | None = None


COLLABORATION_MODES = ClientRequest(
    "collaborationMode/list",
    CollaborationModeListParams,
    CollaborationModeListResponse,
    experimental=True,
    stage=Stage.EMPTY,
)
PERMISSION_PROFILES = ClientRequest(
    "permissionProfile/list", PermissionProfileListParams, PermissionProfileListResponse
)
EXPERIMENTAL_FEATURES = ClientRequest(
    "experimentalFeature/list", ExperimentalFeatureListParams, ExperimentalFeatureListResponse, stage=Stage.EMPTY
)
