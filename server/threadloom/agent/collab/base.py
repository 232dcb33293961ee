"""The tree of agents, as the tools of one thread see it. Here is the port; the threads' room implements it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, Protocol

from threadloom.agent.sampling import Item, ToolCall
from threadloom.agent.steering import Steering
from threadloom.agent.templates.policy import Policy
from threadloom.agent.templates.resolve import Parent
from threadloom_protocol.v2.values.genealogy import CallbackConfig, OnParentClose, SpawnKind
from threadloom_protocol.v2.values.policy import SandboxPolicy
from threadloom_protocol.v2.values.status import CollabAgentStatus

Scope = Literal["children", "descendants", "all"]

# As tools tell it to models; clients hear the same in camel case.
TOLD: Final[Mapping[CollabAgentStatus, str]] = {
    "pendingInit": "pending_init",
    "running": "running",
    "interrupted": "interrupted",
    "completed": "completed",
    "errored": "errored",
    "shutdown": "shutdown",
    "notFound": "not_found",
}
FINAL: Final = frozenset[CollabAgentStatus]({"completed", "errored", "interrupted", "shutdown", "notFound"})

OUTSIDE: Final = "Not permitted to {verb} agents outside your subtree."


class Standing(NamedTuple):
    """How an agent stands, and what it said last or died of."""

    status: CollabAgentStatus
    message: str | None = None

    @property
    def final(self) -> bool:
        """Whether it is at rest, or gone."""
        return self.status in FINAL

    def told(self) -> Any:
        """As tools answer it."""
        if self.status in ("completed", "errored"):
            return {self.status: self.message or ""}
        return TOLD[self.status]


class Waited(NamedTuple):
    """What a wait has brought: those at rest, by id; or that time, or the user, came first."""

    standings: Mapping[str, Standing]
    timed_out: bool = False
    steered: bool = False


class ActiveAgent(NamedTuple):
    """An agent of the tree at this moment."""

    thread_id: str
    parent_thread_id: str | None
    depth: int
    name: str | None
    note: str | None
    agent_type: str | None
    agent_name: str | None
    status: CollabAgentStatus
    since: int  # milliseconds: when it came to stand so
    model: str | None
    reasoning_effort: str | None
    updated_at: int  # seconds


class Sent(NamedTuple):
    """What was said to an agent: the id under which that is in its log, and reports of what it has cut short."""

    submission: str
    cut: Sequence[str] = ()


class Closed(NamedTuple):
    """What a close has done: how the agent stood before, and every thread that went, children first."""

    before: CollabAgentStatus
    report: Sequence[Any]  # protocol.v2.tree.ClosedThread


@dataclass(frozen=True, slots=True)
class SpawnOrder:
    """An agent to be born: everything is settled and checked."""

    content: Sequence[Item]  # its first input, as clients write it
    model: str
    model_provider: str
    reasoning_effort: str | None
    sandbox: SandboxPolicy
    cwd: str
    prompt: str | None = None  # its developer instructions
    policy: Policy = field(default_factory=Policy)
    agent_type: str | None = None
    agent_name: str | None = None
    note: str | None = None
    kind: SpawnKind = "agent"
    on_parent_close: OnParentClose = "cancel"
    callback: CallbackConfig | None = None  # its parent's, if not given
    call_id: str | None = None  # of the tool that spawned it
    spawn_point: tuple[str, int] | None = None  # turn, and how many items it had
    files: Mapping[str, str] = field(default_factory=dict)  # that its input names: see `Tree.attached`


class Tree(Protocol):
    """What one thread may do with the agents of its tree. It is bound to that thread: no argument claims another.

    Raises `Refused` (`agent.collab.validate`) with a text for the model.
    """

    @property
    def me(self) -> str:
        """The thread whose tools these are."""
        ...

    def parent(self) -> Parent:
        """What this thread runs with, and its rights: what its agents inherit."""
        ...

    async def attached(self, content: Sequence[Item], cwd: str) -> Mapping[str, str]:
        """The files that an input names, by path."""
        ...

    def spawn(self, order: SpawnOrder) -> str:
        """A new agent that this thread owns, its first turn under way; its id. Refused past the limits."""
        ...

    def may_spawn(self) -> None:
        """Raise `Refused` where the limits leave no room: before anything is asked or made."""
        ...

    async def may_work_in(self, call: ToolCall, directory: str) -> bool:
        """Ask whether an agent may work elsewhere: in the owner's turn where it has one, else in this thread's."""
        ...

    async def send(self, agent_id: str, content: Sequence[Item], *, interrupt: bool = False) -> Sent:
        """Say something to an agent: joins its turn or starts one."""
        ...

    async def wait(self, ids: Sequence[str], seconds: float, steering: Steering | None = None) -> Waited:
        """Until one of them is at rest. Only observes: cancelling it cancels nothing else."""
        ...

    def standing(self, agent_id: str) -> Standing:
        """How an agent stands now; what it said last is for itself and for those above it."""
        ...

    def told(self, ids: Iterable[str]) -> list[str]:
        """What a tool consumes that tells how these agents stand: they need not report it once more."""
        ...

    async def close(self, agent_id: str) -> Closed:
        """Close an agent and all it owns. Closing oneself takes what one owns now, and oneself after the answer."""
        ...

    async def resume(self, agent_id: str) -> Standing:
        """Take up a closed agent with what its close took; nothing happens to one that is not closed."""
        ...

    def set_note(self, agent_id: str, note: str | None) -> str:
        """Pin a note to an agent; an id for what was recorded."""
        ...

    def active(self, scope: Scope = "children", *, include_closed: bool = False) -> list[ActiveAgent]:
        """The agents of the tree, parents before their children."""
        ...

    def session(self, session_id: str) -> None:
        """Raise `Refused` where this is no sub-session of this thread, or of one below it."""
        ...

    async def read(self, agent_id: str, turn_id: str | None = None) -> tuple[str, str]:
        """The whole text of a turn of an agent, the last one if none is named: its id, and all that was said."""
        ...

    def tell(self, text: str, child: str | None = None) -> None:
        """Tell the clients of this thread something beside the conversation; `child` is the agent it is about."""
        ...

    def warn(self, text: str) -> None:
        """The same, where something is not as it should be."""
        ...
