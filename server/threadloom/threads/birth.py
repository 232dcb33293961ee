"""What a new thread starts from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from threadloom.events import Emission
from threadloom.store.base import Base
from threadloom_protocol.v2.settings import ThreadSettings
from threadloom_protocol.v2.turn import ThreadTokenUsageUpdatedNotification
from threadloom_protocol.v2.values.genealogy import SpawnConfig, SpawnPoint
from threadloom_protocol.v2.values.sources import (
    SessionSource,
    SubAgentSessionSource,
    ThreadSpawn,
    ThreadSpawnSubAgentSource,
)


@dataclass(frozen=True, slots=True)
class Birth:
    """What a new thread starts from."""

    settings: ThreadSettings
    owner: str | None = None
    ephemeral: bool = False
    base_instructions: str | None = None
    developer_instructions: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)  # its own, over that of its directory
    name: str | None = None
    note: str | None = None
    originator: str | None = None
    thread_source: str | None = None
    preview: str = ""
    source: SessionSource | None = None  # by default an agent where there is an owner, else a client's thread
    role: str | None = None  # of an agent: the name of its template
    nickname: str | None = None  # and of its persona
    spawn_config: SpawnConfig | None = None
    spawn_point: SpawnPoint | None = None
    base: Base | None = None
    forked_from: str | None = None  # the thread that a fork was made of; its base may lie further back
    facts: Mapping[str, Any] = field(default_factory=dict)
    beginning: Callable[[str], Sequence[Emission]] | None = None  # its id → what is written together with its birth
    usage: ThreadTokenUsageUpdatedNotification | None = None  # what the base had told of it last
    compactions: Sequence[int] = ()  # those of the base: their seqs


def spawned(parent: str, depth: int, role: str | None = None, nickname: str | None = None) -> SessionSource:
    """The source of an agent."""
    spawn = ThreadSpawn(parent_thread_id=parent, depth=depth, agent_role=role, agent_nickname=nickname)
    return SubAgentSessionSource(sub_agent=ThreadSpawnSubAgentSource(thread_spawn=spawn))
