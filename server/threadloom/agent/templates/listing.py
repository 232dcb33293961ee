"""What `list_agents` tells the model of the templates."""

from __future__ import annotations

from typing import Any

from threadloom.agent.templates.base import Persona, Template
from threadloom.agent.templates.catalog import Catalog


def listed(catalog: Catalog, agent_type: str | None = None, *, expanded: bool = False) -> list[dict[str, Any]]:
    """All of them, or one. Raises `UnknownTemplate`."""
    templates = catalog.all() if agent_type is None else [catalog.get(agent_type)]
    return [_role(it, expanded) for it in templates]


def _role(template: Template, expanded: bool) -> dict[str, Any]:
    role: dict[str, Any] = {
        "agent_type": template.name,
        "description": template.description,
        "allow_list": None if template.allow_list is None else list(template.allow_list),
        "deny_list": list(template.deny_list),
    }
    if expanded:
        role |= {
            "model": template.model,
            "reasoning_effort": template.reasoning_effort,
            "default_prompt": template.prompt,
        }
    if template.personas:
        role["agent_names"] = [_persona(it, expanded) for it in template.personas]
    return role


def _persona(persona: Persona, expanded: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": persona.name, "description": persona.description}
    if expanded:
        entry |= {"model": persona.model, "reasoning_effort": persona.reasoning_effort, "prompt": persona.prompt}
    return entry
