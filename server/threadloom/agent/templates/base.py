"""What a template is, and what can be wrong with one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from threadloom.agent.templates.policy import Policy

Source = Literal["project", "user", "built-in"]


@dataclass(frozen=True, slots=True)
class Persona:
    """Someone that a template can be: an `agent_name`. What it leaves out is the template's."""

    name: str
    description: str | None = None
    model: str | None = None
    reasoning_effort: str | None = None
    prompt: str | None = None


@dataclass(frozen=True, slots=True)
class Template:
    """A kind of agent: an `agent_type`. What it leaves out is the parent's."""

    name: str
    description: str
    model: str | None = None
    model_provider: str | None = None
    reasoning_effort: str | None = None
    read_only: bool = False
    allow_list: tuple[str, ...] | None = None  # none given: all tools; an empty one: no tool
    deny_list: tuple[str, ...] = ()
    personas: tuple[Persona, ...] = ()
    prompt: str | None = None
    source: Source = "built-in"
    path: str = ""

    @property
    def policy(self) -> Policy:
        """The tools of its agents, before the parent's rights cut them down."""
        return Policy.of(self.allow_list, self.deny_list, read_only=self.read_only)

    def persona(self, name: str) -> Persona:
        """One of its personas. Raises `UnknownPersona`."""
        for persona in self.personas:
            if persona.name == name:
                return persona
        raise UnknownPersona(name, self)


class Fault(NamedTuple):
    """Something about a template that cannot be used."""

    path: str
    reason: str
    skipped: bool = True  # all of the template; otherwise the part of it that the reason names

    def __str__(self) -> str:
        """One line: which file, and why."""
        return f"{self.path}{': skipped' if self.skipped else ''}: {self.reason}"


class UnknownTemplate(ValueError):
    """There is no such `agent_type`; the text says which ones there are, and what is wrong with the one meant."""

    def __init__(self, name: str, known: Iterable[str], faults: Sequence[Fault] = ()) -> None:
        broken = "".join(f" {fault}." for fault in faults)
        super().__init__(f"Unknown agent_type `{name}`. Available agent types: {_listed(known)}.{broken}")
        self.name = name


class UnknownPersona(ValueError):
    """The template has no such `agent_name`; the text says which ones it has."""

    def __init__(self, name: str, template: Template) -> None:
        known = _listed(it.name for it in template.personas)
        super().__init__(
            f"Unknown agent_name `{name}` for agent_type `{template.name}`. Available agent names: {known}."
        )
        self.name = name


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
