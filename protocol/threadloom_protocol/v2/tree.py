"""The tree of threads: seen as a whole, and closed from any point of it."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypeAliasType

from threadloom_protocol.model import Event, Maybe, Params, Result, UInt, Value
from threadloom_protocol.spec import ClientRequest, Origin, ServerNotification
from threadloom_protocol.v2.values.genealogy import ChildReport, SpawnConfig, SpawnPoint
from threadloom_protocol.v2.values.status import CollabAgentStatus

# By itself within the grace; cut off; closed before; or not seen to end within the clock of the call.
CloseHow = TypeAliasType("CloseHow", Literal["cooperative", "forced", "already", "unverified"])


class ThreadCloseParams(Params):
    """Close a thread and everything it owns: sealed from the top, closed from the bottom.

    `grace` is how many seconds tasks may take to end by themselves (5 by default); the call returns within a second
    of it, whatever is left. Closing twice is a success, and a close during a close joins it. With `dryRun` nothing
    is touched: the answer has the same threads in the same order.
    """

    thread_id: str
    grace: float | None = None
    dry_run: bool = False


class ClosedThread(Value):
    """How one thread ended. In a dry run `after` repeats `before`; `how` and `ms` are null."""

    thread_id: str
    before: CollabAgentStatus
    after: CollabAgentStatus
    how: CloseHow | None
    ms: UInt | None


class ThreadCloseResponse(Result):
    """Every thread of the subtree, once, in the order they ended: children before their parents."""

    report: list[ClosedThread]


class ThreadTreeParams(Params):
    """Read the whole tree that a thread belongs to in one answer.

    With `subscribe`, `thread/tree/changed` follows for as long as the connection lasts, or until it unsubscribes
    from the root.
    """

    thread_id: str
    subscribe: bool = False


class ThreadTreeNode(Value):
    """One thread of a tree, as a tree view shows it, and where it comes from.

    `parentThreadId` is who spawned it, also where that has gone without it: the root of a tree has `depth` 0.
    `keptReports` are those of its own that nobody is there to take.
    """

    thread_id: str
    parent_thread_id: str | None
    depth: UInt
    name: str | None
    note: str | None
    agent_role: str | None
    agent_nickname: str | None
    status: CollabAgentStatus
    status_at: int
    activity: str | None
    model: str | None
    total_tokens: UInt
    queue_length: UInt
    spawn_point: SpawnPoint | None = None
    spawn_config: SpawnConfig | None = None
    forked_from_id: str | None = None
    kept_reports: Maybe[list[ChildReport]] = None


class ThreadTreeResponse(Result):
    """The tree by its root, parents before their children."""

    root_thread_id: str
    data: list[ThreadTreeNode]


class ThreadTreeChangedNotification(Event):
    """Something in a tree changed: nodes that are new or different, and ids of those that left it."""

    root_thread_id: str
    changed: list[ThreadTreeNode]
    removed: list[str]


CLOSE = ClientRequest("thread/close", ThreadCloseParams, ThreadCloseResponse, origin=Origin.OURS)
READ = ClientRequest("thread/tree", ThreadTreeParams, ThreadTreeResponse, origin=Origin.OURS)
CHANGED = ServerNotification("thread/tree/changed", ThreadTreeChangedNotification, origin=Origin.OURS)
