"""How an agent comes to be: what is asked for is checked and settled before anything is made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from threadloom.agent.collab.base import SpawnOrder, Tree
from threadloom.agent.collab.validate import Refused, directory, note, settled
from threadloom.agent.models.base import ModelInfo
from threadloom.agent.sampling import Item, ModelError
from threadloom.agent.templates.base import Fault, Persona, Template
from threadloom.agent.templates.catalog import Catalog
from threadloom.agent.templates.resolve import Asked, Spawn, chosen, default_note, resolve
from threadloom_protocol.v2.values.genealogy import CallbackConfig, OnParentClose, SpawnKind

Catalogs = Callable[[str], Catalog]  # of a directory
Models = Callable[[str], Awaitable[Sequence[ModelInfo] | None]]  # of a provider

WARNED: Final = 1_000  # faults of templates of which it is remembered that they were told


@dataclass(frozen=True, slots=True)
class Wanted:
    """An agent that somebody asks for."""

    content: Sequence[Item]
    agent_type: str | None = None
    agent_name: str | None = None
    working_directory: str | None = None
    model: str | None = None
    reasoning_effort: str | None = None
    note: str | None = None
    kind: SpawnKind = "agent"
    on_parent_close: OnParentClose = "cancel"
    callback: CallbackConfig | None = None
    call_id: str | None = None
    spawn_point: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """An agent that can be born."""

    order: SpawnOrder
    elsewhere: str | None = None  # where it is to work, if somebody has to be asked about that
    unnoted: str | None = None  # why the note that was asked for cannot be pinned to it


class Nursery:
    """Where agents are made ready."""

    def __init__(self, catalogs: Catalogs, models: Models) -> None:
        self.catalogs = catalogs
        self._models = models
        self._warned: set[tuple[str, str]] = set()  # thread, fault

    def warn(self, tree: Tree, faults: Iterable[Fault]) -> None:
        """Tell the clients of a thread once what of the templates is passed over."""
        for told in map(str, faults):
            if (tree.me, told) not in self._warned:
                if len(self._warned) >= WARNED:
                    self._warned.clear()
                self._warned.add((tree.me, told))
                tree.warn(told)

    async def ready(self, tree: Tree, wanted: Wanted) -> Ready:
        """Everything settled and checked, and nothing made. Raises `Refused`."""
        parent = tree.parent()
        template, persona, spawn = await self.settle(tree, wanted)
        elsewhere = directory(wanted.working_directory, parent.cwd)
        cwd = elsewhere or parent.cwd
        pinned, unnoted = _note(wanted.note)
        order = SpawnOrder(
            content=wanted.content,
            model=spawn.model,
            model_provider=spawn.model_provider,
            reasoning_effort=spawn.reasoning_effort,
            sandbox=spawn.sandbox,
            cwd=cwd,
            prompt=spawn.prompt,
            policy=spawn.policy,
            agent_type=_name(template),
            agent_name=None if persona is None else persona.name,
            note=default_note(template, persona) if wanted.note is None or unnoted else pinned,
            kind=wanted.kind,
            on_parent_close=wanted.on_parent_close,
            callback=wanted.callback,
            call_id=wanted.call_id,
            spawn_point=wanted.spawn_point,
            files=await tree.attached(wanted.content, cwd),
        )
        tree.may_spawn()
        return Ready(order, elsewhere, unnoted)

    async def settle(self, tree: Tree, wanted: Wanted) -> tuple[Template | None, Persona | None, Spawn]:
        """Who is asked for, and what that one runs with. Raises `Refused`."""
        parent = tree.parent()
        if wanted.kind != "agent":
            parent = replace(parent, prompt=None)  # it starts from its own context alone
        catalog = self.catalogs(parent.cwd)
        try:
            template, persona = chosen(catalog, wanted.agent_type, wanted.agent_name)
        except ValueError as unknown:
            raise Refused(str(unknown)) from unknown
        if template is not None:
            self.warn(tree, catalog.faults_of(template.name))
        asked = Asked(model=wanted.model, reasoning_effort=wanted.reasoning_effort)
        return template, persona, await self._settled(resolve(asked, persona, template, parent))

    async def _settled(self, spawn: Spawn) -> Spawn:
        if spawn.inherits("model", "model_provider", "reasoning_effort"):
            return spawn
        try:
            return settled(spawn, await self._models(spawn.model_provider))
        except ModelError as fault:
            raise Refused(fault.message) from fault


def born(tree: Tree, ready: Ready) -> str:
    """The agent; its id. A note that cannot be pinned to it never keeps it from being born."""
    agent_id = tree.spawn(ready.order)
    if ready.unnoted is not None:
        tree.warn(f"The note of agent {agent_id} was not set: {ready.unnoted}.")
    return agent_id


def _note(asked: str | None) -> tuple[str | None, str | None]:
    """A note as it is kept, or why it is not."""
    try:
        return (None if asked is None else note(asked)), None
    except Refused as refusal:
        return None, str(refusal)


def _name(template: Template | None) -> str | None:
    return None if template is None else template.name
