"""What a new agent runs with: the call's word first, then the persona's, the template's, and the parent's turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from threadloom.agent.templates.base import Persona, Template
from threadloom.agent.templates.catalog import Catalog
from threadloom.agent.templates.policy import EVERYTHING, Policy, narrow
from threadloom_protocol.v2.values.policy import SandboxPolicy

Layer = Literal["call", "persona", "template", "parent"]
FIELDS: Final = ("model", "model_provider", "reasoning_effort", "prompt")
MAX_NOTE: Final = 500


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call asks for; what it leaves out is not its business."""

    model: str | None = None
    model_provider: str | None = None
    reasoning_effort: str | None = None
    prompt: str | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """What an agent runs with, and its rights."""

    model: str
    model_provider: str
    sandbox: SandboxPolicy
    reasoning_effort: str | None = None
    prompt: str | None = None
    policy: Policy = EVERYTHING


@dataclass(frozen=True, slots=True)
class Parent(Terms):
    """The turn that starts an agent, and where that works."""

    cwd: str = ""


@dataclass(frozen=True, slots=True)
class Spawn(Terms):
    """What a new agent runs with, and who said so."""

    origins: Mapping[str, Layer] = field(default_factory=dict)  # by field

    def inherits(self, *names: str) -> bool:
        """Whether all of these come from the parent."""
        return all(self.origins.get(name, "parent") == "parent" for name in names)


def chosen(catalog: Catalog, agent_type: str | None, agent_name: str | None) -> tuple[Template | None, Persona | None]:
    """Who is asked for. Raises `UnknownTemplate`, `UnknownPersona`, and `ValueError` for a name without a type."""
    if agent_type is None and agent_name is not None:
        raise ValueError("`agent_name` names a persona of a template: give its `agent_type`, too.")
    template = catalog.get(agent_type) if agent_type is not None else None
    persona = template.persona(agent_name) if template is not None and agent_name is not None else None
    return template, persona


def resolve(call: Asked, persona: Persona | None, template: Template | None, parent: Parent) -> Spawn:
    """Each setting from the first that has it. Rights are never more than the parent's, whoever asks."""
    layers: dict[Layer, object] = {"call": call, "persona": persona, "template": template, "parent": parent}
    found = {name: _first(layers, name) for name in FIELDS}
    policy = narrow(parent.policy, template.policy) if template is not None else parent.policy
    spawn = Spawn(
        parent.model,
        parent.model_provider,
        sandbox=policy.sandbox(parent.sandbox),
        policy=policy,
        origins={name: layer for name, (layer, _) in found.items()},
    )
    return replace(spawn, **{name: value for name, (_, value) in found.items()})


def _first(layers: Mapping[Layer, object], name: str) -> tuple[Layer, Any]:
    for layer, said in layers.items():
        value = getattr(said, name, None)
        if value is not None:
            return layer, value
    return "parent", None


def default_note(template: Template | None, persona: Persona | None = None) -> str | None:
    """What is pinned to an agent that was given no note: who it is, as far as that is known."""
    described = persona.description if persona is not None and persona.description else None
    parts = {
        "agent_type": template.name if template is not None else None,
        "agent_name": persona.name if persona is not None else None,
        "agent_description": described or (template.description if template is not None else None),
    }
    note = "; ".join(f"{key}={' '.join(value.split())}" for key, value in parts.items() if value)
    return (note if len(note) <= MAX_NOTE else f"{note[: MAX_NOTE - 1]}…") or None
