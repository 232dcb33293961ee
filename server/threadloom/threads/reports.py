"""What a child tells its parent when a turn of it ends: exactly once, in order, over any crash.

The line that ends the turn carries the report. The parent's queue knows its id, so handing it over may repeat, and does
until the child has noted that the parent has it on the disk.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from threadloom.log import logger
from threadloom.store.errors import StoreError
from threadloom.threads import say
from threadloom.threads.report_text import PROMPT, SHORT, cut, rendered
from threadloom.threads.resting import Due, Queued, close_id
from threadloom_protocol.errors import RpcError
from threadloom_protocol.v2.values.genealogy import CallbackConfig, ChildReport
from threadloom_protocol.v2.values.items import AgentMessageThreadItem

if TYPE_CHECKING:
    from threadloom.threads.manager import Manager
    from threadloom.threads.thread import Thread
    from threadloom_protocol.v2.tree import ClosedThread

log = logger(__name__)


def report_id(thread_id: str, turn_id: str) -> str:
    """The id of the report of a turn."""
    return f"{thread_id}:{turn_id}"


class Reports:
    """Hands the reports of children to their parents."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._late: dict[str, dict[str, Thread]] = {}  # whom storage refused a report → the children that wait for it

    def deliver(self, *children: Thread) -> None:
        """Hand over what threads have to report, in the order in which it ended; what nobody can take now waits.

        What storage has refused is tried again with the next: nothing that ended later comes before it.
        """
        late, self._late = self._late, {}
        waiting = {it.id: it for some in late.values() for it in some.values() if self._is_loaded(it)}
        every = waiting | {it.id: it for it in children}
        dues = [(due, child) for child in every.values() for due in child.state.rest.due_reports]
        for due, child in sorted(dues, key=lambda it: it[0].at):
            if (parent := self._hand_over(child, due, behind=self._late)) is not None:
                parent.spawn(self._settle, parent, child, due)

    async def delivered(self, child: Thread) -> None:
        """The same for one thread that is about to leave memory: on the disk, and noted, when this returns."""
        for due in list(child.state.rest.due_reports):
            if (parent := self._hand_over(child, due)) is not None:
                await self._settle(parent, child, due)

    def _hand_over(self, child: Thread, due: Due, behind: Container[str] = ()) -> Thread | None:
        """Put a report into the queue of whoever is to have it, unless others come first: that thread, if it did."""
        to = None
        try:
            to = self._nearest(child)
            if to is not None and to in behind:
                self._late[to][child.id] = child
                return None
            parent = None if to is None else self._loaded(child, to)
            if parent is not None and not parent.state.rest.knows(due.id):
                parent.queue.report(self._entry(child, parent, due))
        except Exception as fault:  # a boundary: whatever is wrong with a report, its child goes on; it is tried again
            log.error("a report waits", thread=child.id, report=due.id, reason=str(fault) or type(fault).__name__)
            if isinstance(fault, StoreError) and to is not None:
                self._late[to] = {child.id: child}
            return None
        return parent

    async def _settle(self, parent: Thread, child: Thread, due: Due) -> None:
        """A report is on the disk before anything comes of it, and before its child forgets it."""
        try:
            await parent.sync()
            if self._is_loaded(child) and due in child.state.rest.due_reports:
                child.emit(say.reported(due.id))
                self._manager.trees.changed([child.id])
        except StoreError as fault:
            log.error("a report may not be on the disk", thread=parent.id, report=due.id, reason=str(fault))
        parent.queue.pump()

    def awaited(self, child: Thread) -> bool:
        """Whether it has something to report, and somebody is there to take it; else that is only kept."""
        return bool(child.state.rest.due_reports) and self._nearest(child) is not None

    def _is_loaded(self, child: Thread) -> bool:
        return self._manager.loaded.get(child.id) is child

    def _nearest(self, child: Thread) -> str | None:
        """The nearest of its ancestors that lives."""
        return next(filter(self._lives, child.header.facts.get("above") or [child.header.owner]), None)

    def _lives(self, thread_id: str) -> bool:
        if not self._manager.exists(thread_id):
            return False
        rest = self._manager.rest(thread_id)
        return not rest.closed and rest.archived_by is None

    def _loaded(self, child: Thread, thread_id: str) -> Thread | None:
        if self._manager.stopping and thread_id not in self._manager.loaded:
            return None
        try:
            return self._manager.get(thread_id)
        except (RpcError, StoreError) as fault:
            log.warning("a report cannot be handed over", thread=child.id, to=thread_id, reason=str(fault))
            return None

    def _entry(self, child: Thread, parent: Thread, due: Due) -> Queued:
        config = child.state.rest.callback or CallbackConfig()
        text, fault = rendered(config.template, self._context(child, parent, due, config))
        if fault is not None:
            told = f"the report template of agent {child.id} failed, the built-in one took its place: {fault}"
            parent.emit(say.background(parent.id, told, "warning", child=child.id))
        return Queued(
            id=due.id,
            input=[{"type": "text", "text": text}],
            client_user_message_id=due.id,
            kind="report",
            report=ChildReport(child_thread_id=child.id, child_turn_id=due.turn_id, status=due.status),
            coalesce=config.coalesce,
            at=self._manager.clock(),
        )

    def _context(self, child: Thread, parent: Thread, due: Due, config: CallbackConfig) -> dict[str, Any]:
        hint = f'read_agent {{"id": "{child.id}", "turn_id": "{due.turn_id}"}} has all of it'
        turn = due.turn_id if due.closed is None else ""  # a close is no turn
        prompt = " ".join(child.state.rest.thread.preview.split())
        return {
            "childSessionId": child.id[:SHORT],
            "childSessionFullId": child.id,
            "childTaskId": turn[:SHORT],
            "childTaskFullId": turn,
            "parentSessionId": parent.id,
            "spawnPrompt": prompt[:PROMPT] if config.include_original_prompt else None,
            "status": due.status,
            "completedAt": datetime.fromtimestamp(due.at / 1000, UTC).isoformat(timespec="seconds"),
            "messageCount": due.messages,
            "toolUseCount": due.tools,
            "lastAssistantMessage": cut(due.closed or self._words(child, due), hint)
            if config.include_last_message
            else None,
        }

    def _words(self, child: Thread, due: Due) -> str:
        last = child.state.last
        if last is None or last.id != due.turn_id:
            last = self._manager.reader.turn(child.id, due.turn_id, items="summary")
        if last is None:
            return ""
        said = [it.text for it in last.items if isinstance(it, AgentMessageThreadItem)]
        return said[-1] if said else last.error.message if last.error is not None else ""


def due_report(child: Thread, turn_id: str, status: str, *, lost: bool) -> list[dict[str, Any]]:
    """The mark in the line that ends a turn, where somebody is to be told of it. A cascade tells it in its own way."""
    opened, put_away = child.state.turn, child.put_away
    if opened is None or (child.taken_down and put_away is None) or not reports(child):
        return []
    messages, tools = opened.tally()
    more: dict[str, Any] = {"messages": messages, "tools": tools}
    if put_away is not None and status == "interrupted":
        return [_mark(child, turn_id, "cancelled", closed=f"{put_away}.", **more)]
    return [_mark(child, turn_id, "lost" if lost else status, **more)]


def closed_report(child: Thread, closed: Sequence[ClosedThread]) -> list[dict[str, Any]]:
    """The same for the thread that a close was called on, with what went before it."""
    if not reports(child):
        return []
    told = "\n".join(f"{it.thread_id}: {it.before} → {it.after} ({it.how}, {it.ms} ms)" for it in closed)
    text = f"Closed, with all that it owned:\n{told}" if told else "Closed."
    return [_mark(child, close_id(child.seq + 1), "cancelled", closed=text)]


def reports(child: Thread) -> bool:
    """Whether anybody is told how the turns of a thread end."""
    config = child.state.rest.callback
    return child.header.owner is not None and config is not None and config.enabled


def _mark(child: Thread, turn_id: str, status: str, **more: Any) -> dict[str, Any]:
    made = {"id": report_id(child.id, turn_id), "turnId": turn_id, "status": status, "at": child.clock()}
    return {"@": "report", **made, **more}
