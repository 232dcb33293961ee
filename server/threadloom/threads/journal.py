"""A thread's journal: its log, and its state as a fold over it.

Steps are plain functions, so nothing can cut one in half: they store, apply, then show. Waiting happens between steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from threadloom.agent.sampling import Item
from threadloom.events import Aside, Emission, Record, line, model_line, record
from threadloom.store.base import EventLog, Store, StoreError
from threadloom.store.rows import Base, Row
from threadloom.threads.hub import Hub
from threadloom.threads.projection import row
from threadloom.threads.recall import Recall, recalled
from threadloom.threads.replay import Replayed, epoch_mark, marks_of
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2.turn import ThreadTokenUsageUpdatedNotification
from threadloom_protocol.v2.values.status import CollabAgentStatus

INLINE: Final = 64 * 1024  # a longer line may be stored in another length


def now() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


class Journal:
    """What has happened in a thread, held by the process that may write it."""

    def __init__(
        self,
        hub: Hub,
        clock: Callable[[], int],
        store: Store,
        replayed: Replayed,
        epoch: int | None = None,
        changed: Callable[[Journal, CollabAgentStatus], None] = lambda journal, before: None,
    ) -> None:
        self.state = replayed.state
        self.clock = clock
        self.active_at = clock()
        self.hub = hub
        self._store = store
        self._log: EventLog = replayed.log
        self._projection = replayed.projection
        self._resting = replayed.resting
        self._epoch = epoch  # of the lease, where the log does not have it yet
        self._debt: Callable[[], None] | None = None  # records what nothing may come in front of
        self._recall: Recall | None = None  # read when a turn first needs it
        self._status = self.state.agent_status
        self._changed = changed  # hears how it stood before, once it is shown to stand otherwise
        self._released = False
        self._holds = 0
        self._held: list[Record] = []
        self._then: list[Callable[[], None]] = []
        self.shown = self.seq  # the last seq that anybody may have seen

    @property
    def id(self) -> str:
        """Its id."""
        return self._log.header.thread_id

    @property
    def owner(self) -> str | None:
        """The thread that owns it; none any more where it was set free."""
        return None if self.state.rest.freed else self._log.header.owner

    @property
    def header(self) -> Any:
        """What it was born with."""
        return self._log.header

    @property
    def store(self) -> Store:
        """Where it is kept."""
        return self._store

    @property
    def seq(self) -> int:
        """The last seq given out."""
        return self.state.rest.seq

    @property
    def end(self) -> int:
        """Offset behind its last line."""
        return self._log.end

    def usage(self) -> ThreadTokenUsageUpdatedNotification | None:
        """What it has used, as it was told last."""
        used, turn_id = self.state.rest.usage, self.state.rest.usage_turn
        if used is None or turn_id is None:
            return None
        return ThreadTokenUsageUpdatedNotification(thread_id=self.id, turn_id=turn_id, token_usage=used)

    def open_turn(self) -> dict[str, Any] | None:
        """What a fork needs to know of the turn under way."""
        return self._projection.inheritance() if self.state.turn is not None else None

    def emit(self, *batch: Emission | Aside) -> None:
        """Store, then apply, then show: what a client has seen can always be replayed. Raises `StoreError`."""
        if self._released:  # somebody has waited too long with it: another may be at its log by now
            raise InvalidRequest(f"thread {self.id} has left memory meanwhile; ask again")
        if self._debt is not None:
            self.settle()
        if self._epoch is not None:
            batch = Aside([epoch_mark(self._epoch)]), *batch
        at, seq = self.clock(), self.seq
        records: list[Record | None] = []
        for it in batch:
            seq += isinstance(it, Emission)
            records.append(record(self.id, seq, at, it) if isinstance(it, Emission) else None)
        offsets = self._append(
            [
                model_line(at, it.model or []) if made is None else line(made, it.model)
                for it, made in zip(batch, records, strict=True)
            ]
        )
        self._epoch = None
        for it, made, offset in zip(batch, records, offsets, strict=True):
            self._apply(made, offset, at, it.model)
        shown = [made for made in records if made is not None]
        pieces = len(shown) == len(batch) and all(made.event.streamed for made in shown)  # nothing that a list shows
        if not pieces:
            self.project()
        self.active_at = at
        self._show(shown)
        if not pieces and (status := self.state.agent_status) != self._status:
            before, self._status = self._status, status
            self.once_shown(lambda: self._changed(self, before))

    def _apply(self, made: Record | None, offset: int, at: int, model: list[dict[str, Any]] | None) -> None:
        if made is not None and made.event.streamed and model is None:  # as nearly always
            self.state.apply(made.seq, at, made.event)
            return
        marks = marks_of(model)
        if made is None:
            self.state.mark(marks)
            self._projection.mark(offset, self.seq, marks)
        else:
            self.state.apply(made.seq, at, made.event, marks)
            self._projection.take(offset, made.seq, made.event, marks)
        if self._recall is not None and model:
            self._recall.take(self.seq, model)
            self._recall.settle()

    def _append(self, lines: list[bytes]) -> list[int]:
        offset = self._log.append(lines)
        if len(lines) > 1 and max(map(len, lines)) > INLINE:
            return [it.offset for it in self._log.scan(offset)]
        offsets = []
        for it in lines:
            offsets.append(offset)
            offset += len(it)
        return offsets

    @property
    def owes(self) -> bool:
        """Whether something is to be recorded that storage has refused."""
        return self._debt is not None

    def owe(self, step: Callable[[], None]) -> None:
        """Storage refused a step: it comes before anything else that is recorded."""
        self._debt = step

    def settle(self) -> None:
        """Record what is owed. Raises `StoreError` where storage refuses it again: it is owed still."""
        debt, self._debt = self._debt, None
        if debt is None:
            return
        try:
            debt()
        except StoreError:
            self._debt = debt
            raise

    def row(self) -> Row:
        """As lists show it."""
        return row(self._log.header, self.state.rest, self._resting, self._log.path)

    def project(self) -> None:
        """Let lists show it as it is."""
        if self.state.turn is None:
            self._resting = self._log.end
        new = self._projection.drain(self.row())
        for it in new.hidden:  # before the row says that this is known: where it ends in between, it is read again
            self._store.index.hide(self.id, *it)
        self._store.index.put(new.row, new.turns, new.items, new.texts, new.saved)

    def _show(self, records: list[Record]) -> None:
        if self._holds:
            self._held.extend(records)
        elif records:
            self.shown = records[-1].seq
            self.hub.publish(records)

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Store and apply, but show nothing until the end: for what must be on disk, or answered, first."""
        self._hold()
        try:
            yield
        finally:
            self._release()

    def _hold(self) -> None:
        self._holds += 1

    def _release(self) -> None:
        self._holds -= 1
        if not self._holds:
            held, self._held = self._held, []
            then, self._then = self._then, []
            self._show(held)
            for step in then:
                step()

    def once_shown(self, step: Callable[[], None]) -> None:
        """Do something as soon as all that was emitted so far has been shown."""
        if self._holds:
            self._then.append(step)
        else:
            step()

    def quietly(self, *batch: Emission | Aside) -> Callable[[], None]:
        """Store and apply; what is returned shows it, once whoever asked has the answer."""
        self._hold()
        try:
            self.emit(*batch)
        except StoreError:
            self._release()
            raise
        return self._release

    def begin(self, records: Sequence[Record]) -> None:
        """A thread was just born: it is in the lists; `announce` shows it."""
        self.project()
        self._hold()
        if self._log.header.base is None:
            self._recall = Recall()
        self.shown = records[0].seq - 1
        self._held.extend(records)

    def announce(self) -> None:
        """Show a thread that was just born."""
        self._release()

    def release(self) -> None:
        """Let the log go: nothing is recorded here any more. What is owed is made good when it is read again."""
        self._released = True
        self._debt = None
        self._log.close()

    async def sync(self) -> None:
        """Return once all of it is on the disk."""
        await self._log.sync()

    @property
    def recall(self) -> Recall:
        """What the model remembers."""
        if self._recall is None or self._recall.lost:
            here = Base(self.id, self.seq, self.end)  # another process may have gone on behind it
            self._recall = recalled(self._store, self.id, self.state.rest.compactions, here)
        return self._recall

    def history(self) -> list[Item]:
        """What the model has seen and said, in order."""
        return self.recall.items
