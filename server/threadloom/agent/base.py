"""An agent turns input into events and knows nothing of threads, logs or clients. Here are its ports."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import anyio

from threadloom.events import Aside, Emission

if TYPE_CHECKING:
    from threadloom.agent.collab.base import Tree
    from threadloom.agent.tools.patch.edits import Edits
    from threadloom.exec.terminals import Terminals
    from threadloom_protocol.model import Params, Result
    from threadloom_protocol.spec import ServerRequest
    from threadloom_protocol.v2.settings import ThreadSettings
    from threadloom_protocol.v2.values.guardian import GuardianApprovalReviewAction
    from threadloom_protocol.v2.values.status import ThreadActiveFlag

Item = dict[str, Any]  # an item of the model's history, in the shape of the Responses API


class Steering:
    """Word from the user while a turn runs: the stream under way is dropped and sampled again.

    Of `steer` and the record of what the user said, neither is seen without the other: no await between them.
    """

    def __init__(self) -> None:
        self._event = anyio.Event()
        self._noted = False
        self._notes: list[Item] = []
        self._dropping: anyio.CancelScope | None = None

    def steer(self) -> None:
        """There is something new in the history."""
        self._event.set()
        if self._dropping is not None:
            self._dropping.cancel()

    def note(self, news: Sequence[Item]) -> bool:
        """Something that can wait for the answer under way, and is to be read then. Without one, it goes down at once.

        Whether it has to wait; where not, the caller puts it into the history.
        """
        self._noted = True
        waits = self._dropping is not None
        self._notes += news if waits else ()
        return waits

    def notes(self) -> list[Item]:
        """What has waited: it goes into the history now."""
        notes, self._notes = self._notes, []
        return notes

    @property
    def waiting(self) -> bool:
        """Whether somebody has said something since the last `taken`."""
        return self._event.is_set()

    @property
    def unread(self) -> bool:
        """Whether there is anything new since then."""
        return self._noted or self.waiting

    def taken(self) -> None:
        """The history is about to be read."""
        self._event = anyio.Event()
        self._noted = False

    async def wait(self) -> None:
        """Until there is something new."""
        await self._event.wait()

    def drops(self) -> Dropping:
        """What is awaited inside is given up as soon as there is something new. One at a time."""
        return Dropping(self)

    def dropping(self, scope: anyio.CancelScope | None) -> None:
        """This is awaited now, and given up by that; nothing any more where there is none."""
        self._dropping = scope
        if scope is not None and self.waiting:
            scope.cancel()


class Dropping:
    """See `Steering.drops`. Spelled out: it is entered for every piece that a model sends."""

    __slots__ = ("_scope", "_steering")

    def __init__(self, steering: Steering) -> None:
        self._steering = steering
        self._scope = anyio.CancelScope()

    def __enter__(self) -> None:
        self._scope.__enter__()
        self._steering.dropping(self._scope)

    def __exit__(self, *fault: Any) -> bool:
        self._steering.dropping(None)
        return bool(self._scope.__exit__(*fault))


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
    total_usage: Usage = field(default_factory=lambda: Usage())  # of the thread so far: the agent counts on
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


class Action(NamedTuple):
    """What a tool wants to do, for a model that decides in a person's place."""

    shown: GuardianApprovalReviewAction  # to clients
    told: Item  # to that model


class Question(NamedTuple):
    """What somebody has to decide before a tool goes on."""

    request: ServerRequest[Any, Any]
    params: Params
    started: Emission  # the item that it is about: it is stored together with the question
    refusal: Result  # what counts where nobody decides in time
    flag: ThreadActiveFlag = "waitingOnApproval"
    action: Action | None = None  # where a model may decide


class Floor(Protocol):
    """Where a tool acts: what it tells is stored and shown at once, and what it asks outlives the process."""

    def emit(self, *batch: Emission | Aside) -> None:
        """Store and show."""
        ...

    def item_id(self, call: ToolCall) -> str:
        """The id of the item for a call: a new one, or the known one of a call that is taken up again."""
        ...

    async def ask(self, call: ToolCall, question: Question) -> Any:
        """The answer, as the result that the request declares. A call that is taken up again is not asked again."""
        ...

    def item_count(self) -> int:
        """How many items the turn has by now."""
        ...

    def asked(self, call: ToolCall) -> bool:
        """Whether somebody was asked about a call in an earlier life of the server: their answer counts, no other."""
        ...

    def allows(self, keys: Sequence[str]) -> bool:
        """Whether all of this was accepted for the rest of the thread."""
        ...

    def allow(self, keys: Sequence[str]) -> None:
        """Remember that this was accepted for the rest of the thread."""
        ...

    def spawn(self, work: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> None:
        """Let something run on that may outlive the turn."""
        ...

    def stop(self) -> None:
        """End the turn, as if interrupted, once the tool has told how it ended."""
        ...


Batch = list[Emission | Aside]


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


class Usage(NamedTuple):
    """Tokens, as providers count them."""

    input: int = 0
    cached: int = 0  # of the input
    output: int = 0
    reasoning: int = 0  # of the output

    def __add__(self, other: Usage) -> Usage:  # type: ignore[override]
        return Usage(*map(add, self, other))


class TextDelta(NamedTuple):
    """A piece of the answer."""

    text: str
    phase: str | None = None  # of its message, where the provider says so: see `MessagePhase`


class ReasoningDelta(NamedTuple):
    """A piece of the summary of the model's reasoning; `part` counts its paragraphs."""

    text: str
    part: int = 0


class ToolCall(NamedTuple):
    """The model wants a tool; `arguments` is JSON as the model wrote it, or plain text where the tool is free-form."""

    call_id: str
    name: str
    arguments: str
    freeform: bool = False


class ItemDone(NamedTuple):
    """An item of the answer is whole: what comes next is another one.

    `item` is for the history, as it came, where a later request needs more of it than was told (encrypted reasoning).
    """

    item: Item | None = None
    phase: str | None = None  # of a message


class Retrying(NamedTuple):
    """The answer broke off, or did not begin: all of it comes again. `info` is a CodexErrorInfo."""

    reason: str
    attempt: int
    of: int
    info: Any = None


class Done(NamedTuple):
    """The model has said all it wanted to."""

    usage: Usage


ModelEvent = TextDelta | ReasoningDelta | ToolCall | ItemDone | Retrying | Done


class ModelError(Exception):
    """The model failed; `info` is a CodexErrorInfo where there is one that fits."""

    def __init__(self, message: str, info: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.info = info


@dataclass(frozen=True, slots=True)
class Sampling:
    """One request to a model."""

    model: str
    effort: str | None
    instructions: Sequence[str]
    history: Sequence[Item]
    tools: Sequence[Item]  # function specs
    freeform: Mapping[str, Item] = field(default_factory=dict)  # specs of those that take plain text as well, by name
    output_schema: Any = None
    provider: str = "rehearsal"
    summary: str | None = None  # of the reasoning: auto, concise, detailed or none
    verbosity: str | None = None  # of the answer: low, medium or high
    service_tier: str | None = None
    cache_key: str | None = None  # the same for requests that begin alike


class Model(Protocol):
    """A provider of samplings. Closing the generator, or cancelling it, ends the request at once."""

    def stream(self, sampling: Sampling) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """What the model sends, in batches as they were read, `Done` last. Raises `ModelError`."""
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


Status = Literal["completed", "interrupted", "failed"]
