"""What lists show of a thread: rows for the index, from the same records that the fold takes in."""

from __future__ import annotations

from typing import Any, Final

from threadloom.store.rows import Folded, Header, Hidden, ItemRow, Row, SavedRow, TextRow, TurnRow
from threadloom.threads.marks import Mark
from threadloom.threads.resting import Resting
from threadloom_protocol.model import Recorded
from threadloom_protocol.v2.item import ItemCompletedNotification, ItemStartedNotification
from threadloom_protocol.v2.turn import TurnCompletedNotification, TurnStartedNotification
from threadloom_protocol.v2.values.items import AgentMessageThreadItem, UserMessageThreadItem
from threadloom_protocol.v2.values.sources import CustomSessionSource, SessionSource, SubAgentSessionSource

# Characters of a message that a search looks through: what is longer is a dump, and would be kept twice in full.
SEARCHED: Final = 256 * 1024


class Projection:
    """Turns and items of one log, by where they lie in it."""

    def __init__(self, thread_id: str, inherited: dict[str, Any] | None = None) -> None:
        self._thread_id = thread_id
        self._turn: TurnRow | None = None
        self._items: dict[str, int] = {}  # items of the open turn → the seq they began with
        self.turns: list[TurnRow] = []
        self.items: list[ItemRow] = []
        self.hidden: list[Hidden] = []
        self.texts: list[TextRow] = []
        self.saved: list[SavedRow] = []
        if inherited is not None:  # a fork in mid-turn ends a turn that began in its base
            self._turn = TurnRow(thread_id, inherited["turnId"], inherited["seq"], 0, 0, "inProgress")
            self._items = dict(inherited["items"])

    def take(self, offset: int, seq: int, event: Recorded, marks: list[Mark] | None) -> None:
        """Note where a record lies."""
        match event:
            case TurnStartedNotification(turn=turn):
                self._items = {}
                self._put(TurnRow(self._thread_id, turn.id, seq, offset, offset, turn.status))
            case TurnCompletedNotification(turn=turn) if self._turn is not None:
                self._put(self._turn._replace(last=offset, status=turn.status))
                self._turn = None
            case ItemStartedNotification(item=item, turn_id=turn_id):
                self._items[item.id] = seq
                self.items.append(ItemRow(self._thread_id, turn_id, item.id, seq, offset))
            case ItemCompletedNotification(item=item, turn_id=turn_id):
                began = self._items.get(item.id, seq)
                self.items.append(ItemRow(self._thread_id, turn_id, item.id, began, offset))
                if text := spoken(item):
                    self.texts.append(TextRow(self._thread_id, turn_id, item.id, seq, text[:SEARCHED]))
        self.mark(offset, seq, marks)

    def mark(self, offset: int, seq: int, marks: list[Mark] | None) -> None:
        """Note what a line says beside its record."""
        for mark in marks or []:
            match mark.get("@"):
                case "revert":
                    self.hidden.append(Hidden(mark["fromSeq"], seq))
                case "saved" | "unsaved" as what:
                    name, at, digest = mark["name"], mark["at"], mark.get("digest", "")
                    self.saved.append(SavedRow(self._thread_id, name, seq, offset, at, digest, what == "unsaved"))

    def drain(self, row: Row) -> Folded:
        """The rows since the last time, with the thread's own. What is reverted stays: forks may stand on it."""
        rows = Folded(row, self.turns, self.items, self.hidden, self.texts, self.saved)
        self.turns, self.items, self.hidden, self.texts, self.saved = [], [], [], [], []
        return rows

    def inheritance(self) -> dict[str, Any] | None:
        """What a fork needs to know of the turn that is open here."""
        return self._turn and {"turnId": self._turn.turn_id, "seq": self._turn.seq, "items": dict(self._items)}

    def _put(self, row: TurnRow) -> None:
        self._turn = row
        self.turns.append(row)


def spoken(item: Any) -> str:
    """What a search finds of an item: what was said, by whomever."""
    match item:
        case AgentMessageThreadItem(text=text):
            return text
        case UserMessageThreadItem(content=content):
            return "\n".join(part.text for part in content if part.type == "text")
    return ""


def row(header: Header, rest: Resting, resting: int, path: str | None) -> Row:
    """A thread as the index keeps it.

    `resting` is the offset to replay from: the end of the log, or where the turn began that is open. Taking in a line
    once more changes nothing, so the state may be ahead of it.
    """
    thread = rest.thread
    return Row(
        thread_id=header.thread_id,
        owner=None if rest.freed else header.owner,
        root=thread.session_id,
        forked_from=thread.forked_from_id,
        created_at=header.created_at,
        updated_at=thread.updated_at * 1000,
        recency_at=(thread.recency_at or thread.created_at) * 1000,
        source_kind=source_kind(thread.source),
        provider=thread.model_provider,
        cwd=thread.cwd,
        name=thread.name,
        preview=thread.preview,
        archived=rest.archived_by is not None,
        closed=rest.closed,
        thread=thread.to_json(),
        state=rest.to_json(),
        offset=resting,
        seq=rest.seq,
        originator=thread.originator,
        git_branch=thread.git_info.branch if thread.git_info else None,
        path=path,
        due=unfinished(header, rest) or bool(rest.due_reports),
    )


def unfinished(header: Header, rest: Resting) -> bool:
    """Whether there is work to go on with, where the process ends here; what is only to be told is another matter."""
    live = not rest.closed and rest.archived_by is None
    waits = bool(rest.queue or rest.claimed) and rest.queue_paused is None
    unborn = bool(header.facts.get("input")) and rest.last_end is None  # what it was spawned for has not been done
    watched = header.owner is not None and rest.callback is not None and rest.callback.enabled
    unheard = watched and rest.thread.status.type == "active"  # of its end, somebody is to hear
    half_done = rest.moving or (rest.closing and not rest.closed)
    return bool(rest.pending) or (live and (waits or unborn or unheard)) or half_done


def source_kind(source: SessionSource) -> str:
    """The kind that `sourceKinds` filters by."""
    match source:
        case SubAgentSessionSource(sub_agent=str(name)):
            return {"review": "subAgentReview", "compact": "subAgentCompact"}.get(name, "subAgentOther")
        case SubAgentSessionSource(sub_agent=inner):
            return "subAgentThreadSpawn" if hasattr(inner, "thread_spawn") else "subAgentOther"
        case CustomSessionSource():
            return "unknown"
        case _:
            return str(source)
