"""Who started a thread."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypeAliasType

from threadloom_protocol.model import Snake, Value


class CustomSessionSource(Value):
    """A client of another kind, by its name."""

    custom: str


class ThreadSpawn(Snake):
    """An agent that another thread spawned."""

    parent_thread_id: str
    depth: int
    agent_path: str | None = None
    agent_nickname: str | None = None
    agent_role: str | None = None


class ThreadSpawnSubAgentSource(Snake):
    """Spawned as an agent."""

    thread_spawn: ThreadSpawn


class OtherSubAgentSource(Value):
    """Started by the server for some other reason: `subSession` here."""

    other: str


SubAgentSource = TypeAliasType(
    "SubAgentSource",
    Literal["review", "compact", "memory_consolidation"] | ThreadSpawnSubAgentSource | OtherSubAgentSource,
)


class SubAgentSessionSource(Value):
    """Started by another thread."""

    sub_agent: SubAgentSource


SessionSource = TypeAliasType(
    "SessionSource",
    Literal["cli", "vscode", "exec", "appServer", "unknown"] | CustomSessionSource | SubAgentSessionSource,
)


# Kinds of `SessionSource`, to filter by.
ThreadSourceKind = TypeAliasType(
    "ThreadSourceKind",
    Literal[
        "cli",
        "vscode",
        "exec",
        "appServer",
        "subAgent",
        "subAgentReview",
        "subAgentCompact",
        "subAgentThreadSpawn",
        "subAgentOther",
        "unknown",
    ],
)
