"""What a thread is, as a fold over its log. No I/O: the live thread and a replay run the same code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from pydantic import Field

from threadloom_protocol.model import Recorded, Wire
from threadloom_protocol.v2.goal import ThreadGoal, ThreadGoalClearedNotification, ThreadGoalUpdatedNotification
from threadloom_protocol.v2.item import (
    AgentMessageDeltaNotification,
    CommandExecutionOutputDeltaNotification,
    ItemCompletedNotification,
    ItemStartedNotification,
    PlanDeltaNotification,
    ReasoningSummaryPartAddedNotification,
    ReasoningSummaryTextDeltaNotification,
    ReasoningTextDeltaNotification,
)
from threadloom_protocol.v2.note import ThreadNoteUpdatedNotification
from threadloom_protocol.v2.roster import (
    ThreadArchivedNotification,
    ThreadClosedNotification,
    ThreadNameUpdatedNotification,
    ThreadStatusChangedNotification,
    ThreadUnarchivedNotification,
)
from threadloom_protocol.v2.settings import ThreadSettings, ThreadSettingsUpdatedNotification
from threadloom_protocol.v2.thread import ThreadStartedNotification
from threadloom_protocol.v2.turn import (
    ThreadTokenUsage,
    ThreadTokenUsageUpdatedNotification,
    TurnCompletedNotification,
    TurnStartedNotification,
)
from threadloom_protocol.v2.values.common import GitInfo
from threadloom_protocol.v2.values.genealogy import (
    CallbackConfig,
    ChildReport,
    Coalesce,
    QueueKind,
    QueuePause,
    QueueState,
    ReportStatus,
    SavedPoint,
)
from threadloom_protocol.v2.values.items import CommandExecutionThreadItem, UserMessageThreadItem
from threadloom_protocol.v2.values.status import CollabAgentStatus, ThreadActiveFlag
from threadloom_protocol.v2.values.threads import Thread
from threadloom_protocol.v2.values.turns import Turn, TurnStatus

PREVIEW: Final = 240  # characters of the first message that lists show
MAX_REPORTS: Final = 2000  # ids of reports that are remembered: a child hands over again only what was just lost
MAX_ALLOWED: Final = 1000  # things accepted for the rest of a thread that are remembered
MAX_KNOWN: Final = 1000  # client message ids remembered per thread: a client that sends again does so soon

Mark = dict[str, Any]  # a fact in the `model` part of a line that is no item of the history: {"@": kind, …}


class Asked(Wire):
    """A question to the clients, as it is stored: enough to ask it again, and to go on from its answer."""

    class Call(Wire):
        """The call of a tool that waits for the answer."""

        call_id: str
        name: str
        arguments: str
        freeform: bool | None = None

    id: str
    method: str
    params: dict[str, Any]
    call: Call
    item_id: str
    flag: ThreadActiveFlag
    at: int  # milliseconds


class Left(Wire):
    """A command that runs on though its turn has ended."""

    turn_id: str
    item: CommandExecutionThreadItem  # as it began


class Queued(Wire):
    """Something that waits for its turn: a prompt, or the report of a child."""

    id: str  # of a report: `child:turn`
    input: list[Any]  # as clients write it
    client_user_message_id: str
    kind: QueueKind = "prompt"
    report: ChildReport | None = None
    coalesce: Coalesce | None = None
    at: int  # milliseconds


class Due(Wire):
    """A turn that has ended and is to be reported."""

    id: str
    turn_id: str
    status: ReportStatus
    at: int = 0  # milliseconds
    messages: int = 0
    tools: int = 0
    closed: str | None = None  # of a close: what went with it


class Resting(Wire):
    """All that is known of a thread between its turns: small, and enough to load it from."""

    thread: Thread  # its `turns` are empty: they are read from the log when asked for
    settings: ThreadSettings
    base_instructions: str | None = None
    developer_instructions: str | None = None
    config: dict[str, Any] = Field(default_factory=dict)  # its own, over that of its directory: dotted keys
    usage: ThreadTokenUsage | None = None
    usage_turn: str | None = None  # the turn that told it
    last_turn: TurnStatus | None = None
    status_at: int = 0  # milliseconds: since when it has stood in its tree as it does
    took: int = 0  # milliseconds of its last turn
    last_end: str | None = (
        None  # its last turn that ended; where it was closed since, what stands for that: `close-SEQ`
    )
    known: dict[str, str] = Field(default_factory=dict)  # client message id → the turn it went into
    closed: bool = False
    closed_by: str | None = None  # the thread on which that close was called
    closing: bool = False  # a close of it, and of what it owns, is under way
    freed: bool = False  # its owner has gone without it
    archived_by: str | None = None  # the operation that archived it
    archiving: str | None = None  # the operation that is about to archive it, and takes what it owns first
    unarchiving: str | None = None  # the operation whose work is being undone in what it owns
    deleting: Literal["keep", "purge"] | None = None  # it goes once all that it owns has gone
    compactions: list[int] = Field(default_factory=list)  # seqs of those that hold: a load begins with the last
    goal: ThreadGoal | None = None
    goal_ms: int = 0  # milliseconds that were spent on it
    pending: dict[str, Asked] = Field(default_factory=dict)  # what its open turn waits for, by the id of the request
    allowed: list[str] = Field(default_factory=list)  # what was accepted for the rest of it
    queue: list[Queued] = Field(default_factory=list)
    queue_paused: QueuePause | None = None
    claimed: list[Queued] = Field(default_factory=list)  # what its open turn has taken, until its message is there
    reports: dict[str, None] = Field(default_factory=dict)  # ids of reports that came, or were told another way
    due_reports: list[Due] = Field(default_factory=list)  # of its own turns, as long as nobody has taken them
    callback: CallbackConfig | None = None  # how it reports: its own copy decides
    left: dict[str, Left] = Field(default_factory=dict)  # commands that outlived their turns, by item
    seq: int = 0

    @property
    def moving(self) -> bool:
        """Whether it is being put away, brought back or deleted, with what it owns."""
        return any(it is not None for it in (self.archiving, self.unarchiving, self.deleting))


class OpenItem:
    """An item that is being streamed: pieces are kept apart until somebody looks, and go into a copy."""

    __slots__ = ("_item", "_own", "_pieces")

    def __init__(self, item: Any) -> None:
        self._item = item
        self._own = False
        self._pieces: dict[tuple[str, int], list[str]] = {}

    def add(self, member: str, at: int, piece: str) -> None:
        """One more piece of a member; `at` is its place where the member is a list."""
        self._pieces.setdefault((member, at), []).append(piece)

    def look(self) -> Any:
        """The item with all that has come."""
        if self._pieces and not self._own:
            self._item, self._own = self._item.model_copy(deep=True), True
        for (member, at), pieces in sorted(self._pieces.items()):
            text = "".join(pieces)
            if at < 0:
                setattr(self._item, member, (getattr(self._item, member) or "") + text)
            else:
                parts = getattr(self._item, member)
                parts.extend([""] * (at + 1 - len(parts)))
                parts[at] += text
        self._pieces.clear()
        return self._item


class OpenTurn:
    """A turn under way."""

    __slots__ = ("_items", "refused", "schema", "turn")

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.schema: Any = None  # what its answer has to fit
        self.refused: set[str] = set()  # items of what somebody said no to
        self._items: dict[str, OpenItem | Any] = {}

    def tally(self) -> tuple[int, int]:
        """How many messages it has, and how many uses of tools."""
        kinds = [(it.look() if isinstance(it, OpenItem) else it).type for it in self._items.values()]
        messages = sum(kind in ("agentMessage", "userMessage") for kind in kinds)
        return messages, sum(kind not in ("agentMessage", "userMessage", "reasoning", "plan") for kind in kinds)

    def count(self) -> int:
        """How many items it has."""
        return len(self._items)

    @property
    def newest(self) -> str:
        """The id of the item that began last."""
        return next(reversed(self._items))

    def start(self, item: Any) -> None:
        """An item begins."""
        self._items[item.id] = OpenItem(item)

    def complete(self, item: Any) -> None:
        """An item is done: it supersedes what was streamed of it."""
        self._items[item.id] = item

    def add(self, item_id: str, member: str, at: int, piece: str) -> None:
        """A piece of an item that is open."""
        item = self._items.get(item_id)
        if isinstance(item, OpenItem):
            item.add(member, at, piece)

    def open_items(self) -> list[Any]:
        """The items that are not done, with what has come of them."""
        return [item.look() for item in self._items.values() if isinstance(item, OpenItem)]

    def look(self) -> Turn:
        """The turn with everything so far, partial text included."""
        items = [
            item.look().model_copy(deep=True) if isinstance(item, OpenItem) else item for item in self._items.values()
        ]
        return self.turn.model_copy(update={"items": items})


class ThreadState:
    """The fold. `rest` is what is kept; `turn` lives only while one runs."""

    def __init__(self, rest: Resting, turn: OpenTurn | None = None) -> None:
        self.rest = rest
        self.turn = turn
        self.last: Turn | None = None  # the turn that ended last, with its last words, where that was in this life

    def apply(self, seq: int, at: int, event: Recorded, marks: list[Mark] | None = None) -> None:
        """Take in one record. `at` is in milliseconds."""
        self.rest.seq = seq
        step = _STEPS.get(type(event))
        if step is not None and event.streamed:  # a piece changes nothing else
            step(self, event, at)
        elif step is not None:
            before = self.agent_status
            step(self, event, at)
            if self.agent_status != before:
                self.rest.status_at = at
        self.mark(marks or [])

    def mark(self, marks: list[Mark]) -> None:
        """Take in the facts that no notification carries."""
        for mark in marks:
            match mark.get("@"):
                case "archive":
                    self.rest.archived_by = mark["by"]
                case "git":
                    self.rest.thread.git_info = GitInfo.model_validate(mark["info"]) if mark["info"] else None
                case "compact":
                    self.rest.compactions = [*self._compactions(self.rest.seq), self.rest.seq]
                case "revert":
                    self.rest.compactions = self._compactions(mark["fromSeq"])
                case "queued" if not self.knows(mark["entry"]["id"]):
                    self._queue([*self.rest.queue, Queued.model_validate(mark["entry"])])
                case "requeued":
                    new = Queued.model_validate(mark["entry"])
                    self._queue([new if it.id == new.id else it for it in self.rest.queue])
                case "unqueued" | "consumes":
                    if mark.get("claim"):
                        taken = [it for it in [*self.rest.claimed, *self.rest.queue] if it.id in mark["ids"]]
                        self.rest.claimed = list({it.id: it for it in taken}.values())
                    self._know(mark["ids"])
                    self._queue([it for it in self.rest.queue if it.id not in mark["ids"]])
                case "reordered":
                    places = {it: at for at, it in enumerate(mark["ids"])}  # one that came later stays behind them
                    self._queue(sorted(self.rest.queue, key=lambda it: places.get(it.id, len(places))))
                case "paused":
                    self.rest.queue_paused = mark["why"]
                    self._queue(self.rest.queue)
                case "report":
                    self._owe([*self._owed_but(mark["id"]), Due.model_validate(mark)])
                case "reported":
                    self._owe(self._owed_but(mark["id"]))
                case "callback":
                    self.rest.callback = CallbackConfig.model_validate(mark["config"])
                case "saved":
                    point = SavedPoint(name=mark["name"], seq=self.rest.seq, saved_at=mark["at"] // 1000)
                    self.rest.thread.saved_as = [*self._saved_but(mark["name"]), point]
                case "unsaved":
                    self.rest.thread.saved_as = self._saved_but(mark["name"])
                case "closing":
                    self.rest.closing = True
                case "archiving":
                    self.rest.archiving = mark["by"]
                case "unarchiving":
                    self.rest.unarchiving = mark["by"]
                case "deleting":
                    self.rest.deleting = mark["how"]
                case "freed":
                    self.rest.freed = True
                case "schema" if self.turn is not None:
                    self.turn.schema = mark["schema"]
                case "asked":
                    self.rest.pending[mark["id"]] = Asked.model_validate(mark)
                case "answered":
                    self._answered(self.rest.pending.pop(mark["id"], None), mark["answer"])
                case "allowed":
                    others = [it for it in self.rest.allowed if it not in mark["keys"]]
                    self.rest.allowed = [*others, *mark["keys"]][-MAX_ALLOWED:]
                case "spent":
                    self.rest.goal_ms = mark["ms"]
                case "thread":
                    for name, value in mark["set"].items():
                        setattr(self.rest.thread, name, value)

    def knows(self, entry_id: str) -> bool:
        """Whether something has come to the queue already: it waits, it was taken, or it was told another way."""
        return entry_id in self.rest.reports or any(it.id == entry_id for it in self.rest.queue)

    def confirm(self, message: UserMessageThreadItem) -> None:
        """What a turn began with is in its log: it has been taken for good."""
        told = message.report
        name = message.id if told is None else f"{told.child_thread_id}:{told.child_turn_id}"
        self.rest.claimed = [it for it in self.rest.claimed if it.id != name]

    def give_back(self) -> None:
        """A turn is over: what it had taken, and the power went before it was told, comes first again."""
        if self.rest.claimed:
            back, self.rest.claimed = self.rest.claimed, []
            self._queue([*back, *(it for it in self.rest.queue if it not in back)])

    def _queue(self, entries: list[Queued]) -> None:
        self._know([it.id for it in entries if it.kind == "report"])
        self.rest.queue = entries
        paused = self.rest.queue_paused
        self.rest.thread.queue = QueueState(length=len(entries), paused=paused) if entries or paused else None

    def _owed_but(self, report_id: str) -> list[Due]:
        return [it for it in self.rest.due_reports if it.id != report_id]

    def _owe(self, reports: list[Due]) -> None:
        self.rest.due_reports = reports
        me = self.rest.thread.id
        kept = [ChildReport(child_thread_id=me, child_turn_id=it.turn_id, status=it.status) for it in reports]
        self.rest.thread.kept_reports = kept or None

    def _know(self, ids: list[str]) -> None:
        self.rest.reports |= dict.fromkeys(ids)
        while len(self.rest.reports) > MAX_REPORTS:
            self.rest.reports.pop(next(iter(self.rest.reports)))

    def _answered(self, asked: Asked | None, answer: Any) -> None:
        if asked is not None and self.turn is not None and (answer or {}).get("decision") in ("decline", "cancel"):
            self.turn.refused.add(asked.item_id)

    def _saved_but(self, name: str) -> list[SavedPoint]:
        return [it for it in self.rest.thread.saved_as if it.name != name]

    def _compactions(self, before: int) -> list[int]:
        return [it for it in self.rest.compactions if it < before]

    @property
    def agent_status(self) -> CollabAgentStatus:
        """Its state in the tree."""
        if self.rest.closed:
            return "shutdown"
        if self.turn is not None or self.rest.pending:
            return "running"
        return _AGENT_STATUS[self.rest.last_turn] if self.rest.last_turn else "pendingInit"

    def snapshot(self) -> Thread:
        """The thread as clients see it, without turns."""
        return self.rest.thread.model_copy(update={"seq": self.rest.seq, "turns": []})


def close_id(seq: int) -> str:
    """Stands for a turn in the report of a close, by the seq of the event that told it."""
    return f"close-{seq}"


def stored_status(state: Mapping[str, Any], *, held: bool) -> CollabAgentStatus:
    """How a thread stands in its tree that is not in memory; `held`: another process has it.

    A turn that only waits for an answer goes on from that. Any other that is open and that nobody runs is over.
    """
    if state.get("closed"):
        return "shutdown"
    opened = state["thread"]["status"]["type"] == "active"
    if state.get("pending") or (opened and held):
        return "running"
    last: TurnStatus | None = "interrupted" if opened else state.get("lastTurn")
    return _AGENT_STATUS[last] if last else "pendingInit"


_AGENT_STATUS: Final[dict[TurnStatus, CollabAgentStatus]] = {
    "completed": "completed",
    "failed": "errored",
    "interrupted": "interrupted",
    "inProgress": "running",
}


def _started(state: ThreadState, event: ThreadStartedNotification, at: int) -> None:
    state.rest.thread = event.thread.model_copy()


def _status(state: ThreadState, event: ThreadStatusChangedNotification, at: int) -> None:
    state.rest.thread.status = event.status
    if event.status.type != "notLoaded":
        state.rest.closed, state.rest.closed_by = False, None


def _named(state: ThreadState, event: ThreadNameUpdatedNotification, at: int) -> None:
    state.rest.thread.name = event.thread_name


def _noted(state: ThreadState, event: ThreadNoteUpdatedNotification, at: int) -> None:
    state.rest.thread.note = event.note


def _archived(state: ThreadState, event: ThreadArchivedNotification, at: int) -> None:
    state.rest.archived_by, state.rest.archiving = state.rest.thread.id, None


def _unarchived(state: ThreadState, event: ThreadUnarchivedNotification, at: int) -> None:
    state.rest.archived_by = None


def _closed(state: ThreadState, event: ThreadClosedNotification, at: int) -> None:
    if event.reason == "closed":
        state.rest.closed, state.rest.closed_by, state.rest.closing = True, event.by, False
        state.rest.last_end = close_id(state.rest.seq)


def _settled(state: ThreadState, event: ThreadSettingsUpdatedNotification, at: int) -> None:
    settings = event.thread_settings
    state.rest.settings = settings
    state.rest.thread.cwd = settings.cwd
    state.rest.thread.model = settings.model
    state.rest.thread.model_provider = settings.model_provider
    state.rest.thread.reasoning_effort = settings.effort


def _turn_started(state: ThreadState, event: TurnStartedNotification, at: int) -> None:
    state.turn = OpenTurn(event.turn)
    state.rest.thread.updated_at = state.rest.thread.recency_at = at // 1000


def _turn_completed(state: ThreadState, event: TurnCompletedNotification, at: int) -> None:
    _leave(state)
    state.give_back()
    state.turn, state.last = None, event.turn
    state.rest.pending = {}
    state.rest.last_turn = event.turn.status
    state.rest.last_end = event.turn.id
    state.rest.took = event.turn.duration_ms or 0
    state.rest.thread.updated_at = at // 1000


def _item_started(state: ThreadState, event: ItemStartedNotification, at: int) -> None:
    if state.turn is not None:
        state.turn.start(event.item)


def _leave(state: ThreadState) -> None:
    """What an ended turn leaves running: other items were completed with it."""
    turn = state.turn
    for it in turn.open_items() if turn is not None else ():
        if isinstance(it, CommandExecutionThreadItem) and it.status == "inProgress" and turn is not None:
            as_begun = it.model_copy(update={"aggregated_output": None})
            state.rest.left[it.id] = Left(turn_id=turn.turn.id, item=as_begun)


def _item_completed(state: ThreadState, event: ItemCompletedNotification, at: int) -> None:
    state.rest.left.pop(event.item.id, None)
    if state.turn is not None and state.turn.turn.id == event.turn_id:
        state.turn.complete(event.item)
    if isinstance(event.item, UserMessageThreadItem):
        _user_said(state, event)


def _user_said(state: ThreadState, event: ItemCompletedNotification) -> None:
    item = event.item
    assert isinstance(item, UserMessageThreadItem)
    state.confirm(item)
    if item.client_id is not None:
        state.rest.known[item.client_id] = event.turn_id
        while len(state.rest.known) > MAX_KNOWN:
            state.rest.known.pop(next(iter(state.rest.known)))
    if not state.rest.thread.preview:
        text = " ".join(part.text for part in item.content if part.type == "text")
        state.rest.thread.preview = text.strip()[:PREVIEW]


def _goal_updated(state: ThreadState, event: ThreadGoalUpdatedNotification, at: int) -> None:
    state.rest.goal = event.goal


def _goal_cleared(state: ThreadState, event: ThreadGoalClearedNotification, at: int) -> None:
    state.rest.goal, state.rest.goal_ms = None, 0


def _usage(state: ThreadState, event: ThreadTokenUsageUpdatedNotification, at: int) -> None:
    state.rest.usage, state.rest.usage_turn = event.token_usage, event.turn_id


def _piece(member: str, place: str | None = None) -> Callable[[ThreadState, Any, int], None]:
    def step(state: ThreadState, event: Any, at: int) -> None:
        if state.turn is not None:
            index = -1 if place is None else getattr(event, place)
            state.turn.add(event.item_id, member, index, getattr(event, "delta", ""))

    return step


_STEPS: Final[dict[type[Recorded], Callable[[ThreadState, Any, int], None]]] = {
    ThreadStartedNotification: _started,
    ThreadStatusChangedNotification: _status,
    ThreadNameUpdatedNotification: _named,
    ThreadNoteUpdatedNotification: _noted,
    ThreadArchivedNotification: _archived,
    ThreadUnarchivedNotification: _unarchived,
    ThreadClosedNotification: _closed,
    ThreadSettingsUpdatedNotification: _settled,
    TurnStartedNotification: _turn_started,
    TurnCompletedNotification: _turn_completed,
    ItemStartedNotification: _item_started,
    ItemCompletedNotification: _item_completed,
    ThreadTokenUsageUpdatedNotification: _usage,
    ThreadGoalUpdatedNotification: _goal_updated,
    ThreadGoalClearedNotification: _goal_cleared,
    AgentMessageDeltaNotification: _piece("text"),
    PlanDeltaNotification: _piece("text"),
    CommandExecutionOutputDeltaNotification: _piece("aggregated_output"),
    ReasoningSummaryTextDeltaNotification: _piece("summary", "summary_index"),
    ReasoningSummaryPartAddedNotification: _piece("summary", "summary_index"),
    ReasoningTextDeltaNotification: _piece("content", "content_index"),
}
