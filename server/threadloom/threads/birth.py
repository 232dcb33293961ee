"""What a new thread starts from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from threadloom.events import Emission
from threadloom.store.rows import Base, Header
from threadloom_protocol.v2.settings import ThreadSettings
from threadloom_protocol.v2.turn import ThreadTokenUsageUpdatedNotification
from threadloom_protocol.v2.values.genealogy import SpawnConfig, SpawnPoint
from threadloom_protocol.v2.values.sources import (
    SessionSource,
    SubAgentSessionSource,
    ThreadSpawn,
    ThreadSpawnSubAgentSource,
)
from threadloom_protocol.v2.values.status import IdleThreadStatus
from threadloom_protocol.v2.values.threads import Thread as View

COMPATIBLE: Final = "0.166.0"  # what `cliVersion` says: clients compare it with Codex's


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


def viewed(birth: Birth, header: Header, depth: int, path: str | None, *, ephemeral: bool) -> View:
    """A new thread as clients see it. `depth` says how many owners are above it."""
    seconds = header.created_at // 1000
    return View(
        id=header.thread_id,
        session_id=header.root,
        project_id=None,
        forked_from_id=birth.forked_from,
        parent_thread_id=birth.owner,
        preview=birth.preview,
        ephemeral=ephemeral,
        model_provider=birth.settings.model_provider,
        model=birth.settings.model,
        reasoning_effort=birth.settings.effort,
        created_at=seconds,
        updated_at=seconds,
        recency_at=seconds,
        status=IdleThreadStatus(),
        path=path,
        cwd=birth.settings.cwd,
        cli_version=COMPATIBLE,
        source=birth.source or _source(birth, depth),
        agent_role=birth.role,
        agent_nickname=birth.nickname,
        spawn_config=birth.spawn_config,
        spawn_point=birth.spawn_point,
        name=birth.name,
        note=birth.note,
        originator=birth.originator,
        thread_source=birth.thread_source,
        history_mode="paginated",
        turns=[],
    )


def _source(birth: Birth, depth: int) -> SessionSource:
    if birth.owner is None:
        return "vscode"
    spawn = ThreadSpawn(parent_thread_id=birth.owner, depth=depth, agent_role=birth.role, agent_nickname=birth.nickname)
    return SubAgentSessionSource(sub_agent=ThreadSpawnSubAgentSource(thread_spawn=spawn))


def kept(birth: Birth) -> dict[str, Any]:
    """What the header of its log keeps: a load starts from it."""
    found = {
        "settings": orjson.loads(birth.settings.to_json()),
        "baseInstructions": birth.base_instructions,
        "developerInstructions": birth.developer_instructions,
        "config": dict(birth.config) or None,
        "callback": orjson.loads(birth.spawn_config.callback_config.to_json()) if birth.spawn_config else None,
        "usage": orjson.loads(birth.usage.token_usage.to_json()) if birth.usage else None,
        "usageTurn": birth.usage.turn_id if birth.usage else None,
        "compactions": list(birth.compactions) or None,
    }
    return {name: value for name, value in found.items() if value is not None}
