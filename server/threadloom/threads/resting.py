"""What is known of a thread between its turns, as it is stored: values, and the rules that hold among them. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal

from pydantic import Field

from threadloom_protocol.model import Wire
from threadloom_protocol.v2.goal import ThreadGoal
from threadloom_protocol.v2.settings import ThreadSettings
from threadloom_protocol.v2.turn import ThreadTokenUsage
from threadloom_protocol.v2.values.genealogy import (
    CallbackConfig,
    ChildReport,
    Coalesce,
    QueueKind,
    QueuePause,
    QueueState,
    ReportStatus,
)
from threadloom_protocol.v2.values.items import CommandExecutionThreadItem, UserMessageThreadItem
from threadloom_protocol.v2.values.status import ThreadActiveFlag
from threadloom_protocol.v2.values.threads import Thread
from threadloom_protocol.v2.values.turns import TurnStatus

MAX_REPORTS: Final = 2000  # ids of reports that are remembered: a child hands over again only what was just lost


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
    closed_by: str | None = None  # the operation that closed it
    closing: bool = False  # a close of it, and of what it owns, is under way
    own_close: str | None = None  # the last operation that was called on it, and took what it owns
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

    # ── what waits for it ─────────────────────────────────────────────────────────────────────────────────────────

    def knows(self, entry_id: str) -> bool:
        """Whether something has come to the queue already: it waits, it was taken, or it was told another way."""
        return entry_id in self.reports or any(it.id == entry_id for it in self.queue)

    def know(self, ids: Iterable[str]) -> None:
        """These have come: none of them is to come again."""
        self.reports |= dict.fromkeys(ids)
        while len(self.reports) > MAX_REPORTS:
            self.reports.pop(next(iter(self.reports)))

    def line_up(self, entries: list[Queued]) -> None:
        """This waits now, in this order; clients see how much it is."""
        self.know(it.id for it in entries if it.kind == "report")
        self.queue = entries
        paused = self.queue_paused
        self.thread.queue = QueueState(length=len(entries), paused=paused) if entries or paused else None

    def confirm(self, message: UserMessageThreadItem) -> None:
        """What a turn began with is in its log: it has been taken for good."""
        told = message.report
        name = message.id if told is None else f"{told.child_thread_id}:{told.child_turn_id}"
        self.claimed = [it for it in self.claimed if it.id != name]

    def give_back(self) -> None:
        """A turn is over: what it had taken, and the power went before it was told, comes first again."""
        if self.claimed:
            back, self.claimed = self.claimed, []
            self.line_up([*back, *(it for it in self.queue if it not in back)])

    # ── what it has to tell ───────────────────────────────────────────────────────────────────────────────────────

    def owe(self, reports: list[Due]) -> None:
        """These are to be reported now; clients see of which turns."""
        self.due_reports = reports
        me = self.thread.id
        kept = [ChildReport(child_thread_id=me, child_turn_id=it.turn_id, status=it.status) for it in reports]
        self.thread.kept_reports = kept or None


def close_id(seq: int) -> str:
    """Stands for a turn in the report of a close, by the seq of the event that told it."""
    return f"close-{seq}"
