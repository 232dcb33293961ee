"""What waits for a thread: prompts of people and reports of children, in one order, over any restart.

Always enqueue, always trigger; the claim decides: the line that starts the turn says what it consumes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

import orjson

from threadloom.agent.history import user_item
from threadloom.events import Aside, Emission
from threadloom.ids import uuid7
from threadloom.log import logger
from threadloom.store.errors import StoreError
from threadloom.threads import say
from threadloom.threads.inputs import NO_FILES, WRITTEN, Files, taken
from threadloom.threads.recall import REPORT
from threadloom.threads.report_text import quoted
from threadloom.threads.resting import Queued
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2.values.genealogy import QueuePause, QueueState
from threadloom_protocol.v2.values.items import UserMessageThreadItem

if TYPE_CHECKING:
    from threadloom.threads.running import Running
    from threadloom.threads.thread import Thread

log = logger(__name__)

MOST: Final = 100  # prompts that may wait
FAILED: Final = ("failed", "lost")


class Queue:
    """The queue of one thread."""

    def __init__(self, thread: Thread) -> None:
        self._thread = thread

    @property
    def entries(self) -> list[Queued]:
        """What waits, in order."""
        return self._thread.state.rest.queue

    @property
    def state(self) -> QueueState:
        """How it stands."""
        return QueueState(length=len(self.entries), paused=self._thread.state.rest.queue_paused)

    # ── what people do with it ────────────────────────────────────────────────────────────────────────────────────

    def add(self, content: Sequence[Any], client_id: str) -> Queued:
        """Put a prompt at its end; the same one again is not put twice."""
        known = next(
            (it for it in self.entries if it.kind == "prompt" and it.client_user_message_id == client_id), None
        )
        if known is not None:
            return known
        self._thread.takes_work()
        if sum(it.kind == "prompt" for it in self.entries) >= MOST:
            raise InvalidRequest(f"{MOST} prompts wait for thread {self._thread.id} already; delete one, or let it run")
        made = Queued(id=uuid7(), input=_plain(content), client_user_message_id=client_id, at=self._thread.clock())
        self._put(made)
        return made

    def find(self, entry_id: str) -> Queued:
        """One of them."""
        found = next((it for it in self.entries if it.id == entry_id), None)
        if found is None:
            raise InvalidRequest(f"queued submission not found: {entry_id}")
        return found

    def update(self, entry_id: str, content: Sequence[Any]) -> Queued:
        """Change a prompt."""
        old = self.find(entry_id)
        if old.kind == "report":
            raise InvalidRequest("a report cannot be edited")
        new = old.model_copy(update={"input": _plain(content)})
        self._emit({"@": "requeued", "entry": orjson.loads(new.to_json())})
        return new

    def delete(self, entry_id: str) -> bool:
        """Take one out; false where it is gone already."""
        if all(it.id != entry_id for it in self.entries):
            return False
        self._emit({"@": "unqueued", "ids": [entry_id]})
        return True

    def reorder(self, ids: Sequence[str]) -> None:
        """Put all of them into an order."""
        if sorted(ids) != sorted(it.id for it in self.entries):
            raise InvalidRequest("queue reorder must include every queued submission exactly once")
        self._emit({"@": "reordered", "ids": list(ids)})

    def pause(self, why: QueuePause = "user") -> None:
        """Hold it."""
        if self._thread.state.rest.queue_paused != why:
            self._emit({"@": "paused", "why": why})

    def hold(self) -> None:
        """The user has interrupted what it would tell of: hold it, unless it is held already."""
        if self._thread.state.rest.queue_paused is None:
            self.pause("interrupt")

    def resume(self) -> None:
        """Let it run again; `pump` begins with that."""
        if self._thread.state.rest.queue_paused is not None:
            self._emit({"@": "paused", "why": None})

    # ── what children do with it ──────────────────────────────────────────────────────────────────────────────────

    def report(self, entry: Queued) -> None:
        """Put a report at its end; nothing happens where it is known: this step may repeat."""
        if not self._thread.state.rest.knows(entry.id):
            self._put(entry)

    # ── what runs ─────────────────────────────────────────────────────────────────────────────────────────────────

    def ended(self, status: str, *, by_user: bool) -> list[dict[str, Any]]:
        """What the end of a turn does to it, for the line that tells that end.

        Where the turn failed, or the user ended it, the queue is held back: so an outage burns nothing. A turn that
        ends well lets it go on, unless it was the user who paused it.
        """
        paused = self._thread.state.rest.queue_paused
        why: QueuePause | None = paused
        if status == "completed" and paused in ("interrupt", "turnFailed"):
            why = None
        elif paused is None and (status == "failed" or (status == "interrupted" and by_user)):
            why = "turnFailed" if status == "failed" else "interrupt"
        return [] if why == paused else [{"@": "paused", "why": why}]

    def pump(self) -> bool:
        """Begin a turn with what comes first, if the thread is at rest; whether it did."""
        thread = self._thread
        if not self._goes_on:
            return False
        due, later = self._head()
        if not due:
            thread.pump_later(later)
        elif _names_files(due):
            thread.spawn(self._fetch, due)
        else:
            return self._begin(due, NO_FILES)
        return False

    @property
    def _goes_on(self) -> bool:
        return bool(self.entries) and self._thread.state.rest.queue_paused is None and self._thread.at_rest

    def _begin(self, due: Sequence[Queued], files: Files) -> bool:
        try:
            self.start(due, files).show()
        except (InvalidRequest, StoreError) as fault:  # the sweep tries again
            log.warning("the queue could not go on", thread=self._thread.id, reason=str(fault))
            return False
        return True

    async def _fetch(self, due: Sequence[Queued]) -> None:
        """Begin with something that names files; where they cannot be read, the queue waits for somebody to look."""
        try:
            files = await self.files(due)
        except InvalidRequest as fault:
            told = f"The queue is paused, its first prompt cannot be sent: {fault.message}"
            self._thread.emit(say.background(self._thread.id, told, "warning"))
            self.pause("turnFailed")
            return
        if self._goes_on and self.entries[0].id == due[0].id:
            self._begin(due, files)

    async def files(self, due: Sequence[Queued]) -> Files:
        """The files that entries name. Raises `InvalidRequest` where one cannot be read."""
        from threadloom.threads.attachments import attached

        content = [part for it in due for part in _content(it)]
        return await attached(content, self._thread.state.rest.settings.cwd)

    def _head(self) -> tuple[list[Queued], float]:
        """What the next turn begins with; where that is to be gathered yet, in how many seconds to look again."""
        first = self.entries[0]
        if first.coalesce is None:
            return [first], 0
        same = list(takewhile(lambda it: it.coalesce is not None, self.entries))
        same.sort(key=lambda it: not _failed(it))  # what went wrong comes first, and waits for nothing
        left = first.coalesce.window_ms - (self._thread.clock() - first.at)
        if left > 0 and len(same) < first.coalesce.max and not _failed(same[0]):
            return [], left / 1000
        return same[: max(1, first.coalesce.max)], 0

    def start(self, due: Sequence[Queued], files: Files = NO_FILES) -> Running:
        """Begin a turn with some of them: its first line says that it has taken them."""
        return self._thread.start_queued(due, files)

    def opening(self, turn_id: str, due: Sequence[Queued], files: Files) -> list[Emission | Aside]:
        """What such a turn begins with."""
        return [it for entry in due for it in self._message(turn_id, entry, files)]

    def _message(self, turn_id: str, entry: Queued, files: Files) -> list[Emission]:
        content = _content(entry)
        if entry.report is None:
            item, read = taken(content, files, entry.client_user_message_id)
            item = item.model_copy(update={"id": entry.id})  # so that whoever adds it again finds it
        else:
            item = UserMessageThreadItem(id=uuid7(), content=content, report=entry.report)
            text = "\n".join(part.text for part in content if part.type == "text")
            told = quoted(text, entry.report.child_thread_id)
            read = [{"@": REPORT}, user_item(told)]
        started, completed = say.whole_item(self._thread.id, turn_id, item, self._thread.clock())
        return [started, completed._replace(model=read)]

    def _put(self, entry: Queued) -> None:
        self._emit({"@": "queued", "entry": orjson.loads(entry.to_json())})

    def _emit(self, mark: dict[str, Any]) -> None:
        self._thread.emit(say.queue_changed(self._thread.id)._replace(model=[mark]))


def _failed(entry: Queued) -> bool:
    return entry.report is not None and entry.report.status in FAILED


def _content(entry: Queued) -> list[Any]:
    return WRITTEN.validate_python(entry.input)


def _names_files(entries: Sequence[Queued]) -> bool:
    return any(part.get("type") in ("localImage", "skill") for it in entries for part in it.input)


def _plain(content: Sequence[Any]) -> list[Any]:
    return [orjson.loads(it.to_json()) for it in content]
