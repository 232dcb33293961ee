"""Models: what a thread may think with."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from threadloom_protocol.model import Params, Result, UInt, Value
from threadloom_protocol.spec import ClientRequest
from threadloom_protocol.v2.values.common import CyberAccessProgram, InputModality, ReasoningEffort


class ModelListParams(Params):
    """List the models that can be chosen, the default one marked.

    `includeHidden` adds those a picker would leave out.
    """

    cursor: str | None = None
    limit: UInt | None = None
    include_hidden: bool | None = None


class ModelAccessPrograms(Value):
    """Programs under which a model can be had."""

    cyber: list[CyberAccessProgram]


class ModelAvailabilityNux(Value):
    """What to tell a person who first sees the model."""

    message: str


class ModelServiceTier(Value):
    """A speed and price at which a model is offered."""

    id: str
    name: str
    description: str


class ModelUpgradeInfo(Value):
    """Which model takes the place of this one."""

    model: str
    upgrade_copy: str | None = None
    model_link: str | None = None
    migration_markdown: str | None = None
    retirement_at: int | None = None


MultiAgentVersion = TypeAliasType("MultiAgentVersion", Literal["disabled", "v1", "v2"])


class ReasoningEffortOption(Value):
    """How hard the model may think."""

    reasoning_effort: ReasoningEffort
    description: str


def _text_and_image() -> list[InputModality]:
    return ["text", "image"]


class Model(Value):
    """A model. `id` is what requests name it by."""

    id: str
    model: str
    upgrade: str | None = None
    upgrade_info: ModelUpgradeInfo | None = None
    availability_nux: ModelAvailabilityNux | None = None
    display_name: str
    description: str
    model_specialty: str | None = None
    hidden: bool
    supported_reasoning_efforts: list[ReasoningEffortOption]
    default_reasoning_effort: ReasoningEffort
    input_modalities: list[InputModality] = Field(default_factory=_text_and_image)
    supports_personality: bool = False
    multi_agent_version: MultiAgentVersion | None = None
    additional_speed_tiers: list[str] = Field(default_factory=list)
    service_tiers: list[ModelServiceTier] = Field(default_factory=list)
    default_service_tier: str | None = None
    available_access_programs: ModelAccessPrograms | None = None
    is_default: bool


class ModelListResponse(Result):
    """A page of models."""

    data: list[Model]
    next_cursor: str | None = None


LIST = ClientRequest("model/list", ModelListParams, ModelListResponse)
