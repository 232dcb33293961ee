"""The thread as a value."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from threadloom_protocol.model import EXPERIMENTAL, Maybe, Value
from threadloom_protocol.v2.values.common import GitInfo, ReasoningEffort
from threadloom_protocol.v2.values.genealogy import ChildReport, QueueState, SavedPoint, SpawnConfig, SpawnPoint
from threadloom_protocol.v2.values.sources import SessionSource
from threadloom_protocol.v2.values.status import ThreadStatus
from threadloom_protocol.v2.values.turns import Turn

# Whether the history comes whole or in pages.
ThreadHistoryMode = TypeAliasType("ThreadHistoryMode", Literal["legacy", "paginated"])


class ThreadEnvironment(Value):
    """An environment that a thread works in."""

    environment_id: str
    cwd: str
    runtime_workspace_roots: list[str]


class ThreadExtra(Value):
    """Room for what an implementation wants to add."""


class ThreadSectionAppearance(Value):
    """How a section looks."""

    icon: str | None = None
    color: str | None = None


class ThreadSection(Value):
    """A section that threads are sorted into."""

    id: str
    name: str
    appearance: ThreadSectionAppearance | None = None


class Thread(Value):
    """A thread. Its tree is named by `sessionId`, the id of the root; times are in seconds.

    `turns` is filled only where a method says so. Of this product: `note`, the names it is `savedAs`, its `queue`,
    where and with what it was spawned, the reports on its turns that nobody has taken (`keptReports`), and `seq`, the
    number of the last event in it.
    """

    id: str
    environments: Annotated[list[ThreadEnvironment] | None, EXPERIMENTAL] = None
    extra: Annotated[ThreadExtra | None, EXPERIMENTAL] = None
    session_id: str
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    preview: str
    ephemeral: bool
    section: ThreadSection | None = None
    section_entered_at: int | None = None
    project_id: str | None
    history_mode: ThreadHistoryMode = "legacy"
    model_provider: str
    model: str | None = None
    reasoning_effort: ReasoningEffort | None = None
    created_at: int
    updated_at: int
    recency_at: int | None = None
    status: ThreadStatus
    path: str | None = None
    cwd: str
    cli_version: str
    originator: str | None = None
    source: SessionSource
    can_accept_direct_input: Annotated[bool | None, EXPERIMENTAL] = None
    thread_source: str | None = None
    agent_nickname: str | None = None
    agent_role: str | None = None
    git_info: GitInfo | None = None
    name: str | None = None
    daybreak_enabled: Annotated[bool | None, EXPERIMENTAL] = None
    turns: list[Turn]
    note: str | None = None
    saved_as: list[SavedPoint] = Field(default_factory=list)
    queue: Maybe[QueueState] = None
    spawn_point: SpawnPoint | None = None
    spawn_config: SpawnConfig | None = None
    kept_reports: Maybe[list[ChildReport]] = None
    seq: Maybe[int] = None


class ThreadStartThreadUnreadPosition(Value):
    """Nothing was read yet."""

    type: Literal["threadStart"] = "threadStart"


class TurnThreadUnreadPosition(Value):
    """Unread from this turn on."""

    type: Literal["turn"] = "turn"
    turn_id: str


ThreadUnreadPosition = TypeAliasType(
    "ThreadUnreadPosition",
    Annotated[ThreadStartThreadUnreadPosition | TurnThreadUnreadPosition, Field(discriminator="type")],
)


class ThreadReadState(Value):
    """How far a person has read."""

    first_unread: ThreadUnreadPosition | None = None
    revision: str
