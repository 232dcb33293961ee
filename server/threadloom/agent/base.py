"""An agent turns input into events and knows nothing of threads, logs or clients. Here are its ports."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from threadloom.agent.floor import Floor
from threadloom.agent.sampling import Item, ToolCall, Usage
from threadloom.agent.steering import Steering
from threadloom.events import Aside, Emission

if TYPE_CHECKING:
    from threadloom.agent.collab.base import Tree
    from threadloom.agent.tools.patch.edits import Edits
    from threadloom.exec.terminals import Terminals
    from threadloom_protocol.v2.settings import ThreadSettings

Batch = list[Emission | Aside]


@dataclass(slots=True)
class TurnInput:
    """A turn, as the agent sees it."""

    thread_id: str
    turn_id: str
    model: str
    effort: str | None
    cwd: str
    history: Callable[[], Sequence[Item]]  # as it stands now: input of this turn and steering included
    steering: Steering
    kinds: Callable[[], Sequence[str | None]] = tuple  # of its items, where nobody here said or did them
    instructions: Sequence[str] = ()
    output_schema: Any = None
    tools: Mapping[str, Tool] = field(default_factory=dict)
    provider: str = "rehearsal"
    summary: str | None = None  # of the reasoning: auto, concise, detailed or none
    verbosity: str | None = None  # of the answer: low, medium or high
    total_usage: Usage = field(default_factory=Usage)  # of the thread so far: the agent counts on
    context_window: int | None = None  # of the model, in tokens, where it is known
    output_tokens: int | None = None  # of a command that the model gets to read at most
    compaction: Compaction | None = None  # where the history can be condensed
    goals: Goals | None = None  # where the thread can have one
    settings: ThreadSettings | None = None  # of the thread: approvals, fence, reviewer
    floor: Floor | None = None  # where its tools act
    terminals: Terminals | None = None  # the commands of the thread
    edits: Edits | None = None  # what the turn has changed in files: made by the first patch
    tree: Tree | None = None  # the agents that the thread may act on
    read_only: bool = False  # nobody may let it out of its fence
    origin: Sequence[str] = ()  # the thread and its owners, up to the root
    resumed: Sequence[ToolCall] = ()  # calls that wait for an answer since an earlier life of the server: they go first


class Compaction(Protocol):
    """How a history that has grown too long is condensed: the agent asks for a summary, the thread makes use of it."""

    @property
    def prompt(self) -> str:
        """What asks the model for the summary."""
        ...

    def due(self, last: Usage) -> bool:
        """Whether the history is too long after an answer that took so much."""
        ...

    def part(self) -> Sequence[Item]:
        """What is to be summed up, as it stands now. Empty where there is nothing."""
        ...

    def replaced(self, summary: str) -> list[Item]:
        """What takes the place of the history: the `model` part of the record that tells of it."""
        ...


class Goals(Protocol):
    """What a thread is after, for the model to read and to change. Raises `ValueError` where it may not."""

    def read(self) -> Item | None:
        """The goal, as clients see it."""
        ...

    def create(self, objective: str, token_budget: int | None) -> Item:
        """A new one."""
        ...

    def update(self, status: Literal["complete", "blocked", "paused"]) -> Item:
        """Let it rest, or end."""
        ...


class Agent(Protocol):
    """Turns input into events. Cancelling the iteration, or closing it, stops the model and its tools."""

    def run(self, turn: TurnInput) -> AsyncGenerator[Batch, None]:
        """The events of a turn after its user message, in batches as the model sends them.

        A batch holds what one read from the model brought, or what the tools did; it is in the history by the time
        the next one is asked for. The last one ends with the final message's `item/completed` and
        `thread/tokenUsage/updated`; status, turn/started and turn/completed are the thread's. A turn that fails
        raises `ModelError`. Items that a cancelled turn leaves open are the thread's to complete.
        Where iteration ends there is no steering left; whoever stops early closes it (`contextlib.aclosing`).
        """
        ...

    def compact(self, turn: TurnInput) -> AsyncGenerator[Batch, None]:
        """The events of condensing the history, as an item of the turn. `run` does it by itself where that is due."""
        ...


class ToolResult(NamedTuple):
    """What a tool did: text for the model, and events for the clients."""

    output: str
    emissions: Sequence[Emission] = ()
    ok: bool = True
    consumes: Sequence[str] = ()  # reports of children that the output tells already
    pictures: Sequence[Item] = ()  # for the model to look at, behind the text


class Tool(Protocol):
    """Something the model can do."""

    name: str

    def spec(self) -> Item:
        """Name, description and parameters, as the Responses API takes a function."""
        ...

    async def run(self, turn: TurnInput, call: ToolCall) -> ToolResult:
        """Do it. A bad argument is an answer to the model (`ok=False`), never an exception."""
        ...
