"""What the house asks of storage: logs, an index over them, and the right to write a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from threadloom.store.errors import Held as Held
from threadloom.store.errors import Missing as Missing
from threadloom.store.errors import StoreError as StoreError
from threadloom.store.rows import (
    Base,
    Direction,
    Folded,
    Header,
    ItemRow,
    Line,
    Page,
    Query,
    Row,
    SavedRow,
    TextRow,
    TurnRow,
)

if TYPE_CHECKING:
    from threadloom.store.saved import SavedNames
    from threadloom.store.texts import Texts


class EventLog(Protocol):
    """The log of one thread, as its one writer holds it."""

    @property
    def header(self) -> Header:
        """What the thread was born with."""
        ...

    @property
    def path(self) -> str | None:
        """Where it lies; none in memory."""
        ...

    @property
    def end(self) -> int:
        """Offset behind the last line."""
        ...

    @property
    def seq(self) -> int:
        """The last seq given out, of the base where there is no own one yet."""
        ...

    def append(self, lines: Sequence[bytes]) -> int:
        """Write encoded lines (`events.line`) in one write; where the first lies. Raises `StoreError`, writing none."""
        ...

    async def sync(self) -> None:
        """Return once all that was appended is on the disk. Many callers share one fdatasync."""
        ...

    def scan(self, start: int = 0, stop: int | None = None) -> Iterator[Line]:
        """The lines of this log from an offset on, without the header; damaged ones are left out and counted."""
        ...

    def seek(self, seq: int) -> int:
        """Offset of the first line whose seq is greater, found by bisection."""
        ...

    @property
    def damaged(self) -> int:
        """Damaged lines met so far."""
        ...

    def close(self) -> None:
        """Let the file go."""
        ...


# Replays a log from its row's state and offset, or from its beginning where there is no row. Runs off the loop.
Fold = Callable[[EventLog, Row | None], Folded | tuple[Row, Sequence[TurnRow], Sequence[ItemRow]]]
Progress = Callable[[int, int], None]  # logs done, logs to do; called on the loop


class Index(Protocol):
    """The projection that lists are read from. Writes are queued, and committed in groups; reads see those."""

    @property
    def saved(self) -> SavedNames:
        """The names under which threads were saved."""
        ...

    @property
    def texts(self) -> Texts:
        """What was said, for whoever searches."""
        ...

    def put(
        self,
        row: Row,
        turns: Sequence[TurnRow] = (),
        items: Sequence[ItemRow] = (),
        texts: Sequence[TextRow] = (),
        saved: Sequence[SavedRow] = (),
    ) -> None:
        """Queue rows, replacing those of the same key. The row's offset commits in the same transaction."""
        ...

    def hide(self, thread_id: str, from_seq: int, by_seq: int | None = None) -> None:
        """Queue: turns and items of this thread's history from a seq on are not listed any more (revert).

        `by_seq` is the revert's own seq: what comes behind is listed, and forks from a point before it are not
        touched. Left out, it is the one behind the last row that was put.
        """
        ...

    def owned(self, thread_id: str) -> dict[str, str]:
        """All that a thread owns, each with its owner, in the order of `descendants`."""
        ...

    def states(self, ids: Sequence[str]) -> dict[str, bytes]:
        """What loads of these threads start from, by id."""
        ...

    def due(self, root: str | None = None) -> list[str]:
        """The threads that have work to go on with, of one tree or of all."""
        ...

    def conceal(self, thread_id: str, *, concealed: bool) -> None:
        """Queue: no list shows the thread, or they show it again. Its log decides at the next start."""
        ...

    def drop(self, thread_id: str) -> None:
        """Queue: the thread leaves every list (delete)."""
        ...

    async def settled(self) -> None:
        """Return once all that was queued before is committed. Raises `StoreError` where it cannot be."""
        ...

    def written(self, thread_id: str) -> bool:
        """Whether all that was put of a thread is committed."""
        ...

    def get(self, thread_id: str) -> Row | None:
        """One thread."""
        ...

    def threads(self, query: Query) -> Page:
        """A page of threads."""
        ...

    def children(self, thread_id: str) -> list[str]:
        """The threads it owns directly, oldest first: archived and closed ones too."""
        ...

    def descendants(self, thread_id: str) -> list[str]:
        """All it owns, parents before their children."""
        ...

    def turns(
        self, thread_id: str, *, after: int | None = None, limit: int = 0, direction: Direction = "asc"
    ) -> list[TurnRow]:
        """Turns of its history (through its bases), from behind the turn with seq `after`; limit 0 = all.

        A row of a fork's own for a turn or an item of its base takes the place of the base's. A turn that a fork cut
        in two, and has no such row, reads `interrupted`, with `last` at its start.
        """
        ...

    def turn(self, thread_id: str, turn_id: str) -> TurnRow | None:
        """One turn of its history."""
        ...

    def items(
        self,
        thread_id: str,
        *,
        turn_id: str | None = None,
        after: int | None = None,
        until: int | None = None,
        limit: int = 0,
        direction: Direction = "asc",
    ) -> list[ItemRow]:
        """Items of its history (through its bases), or of one turn of it: behind `after`, before `until`.

        One that a fork cut comes as it began.
        """
        ...

    def item(self, thread_id: str, item_id: str) -> ItemRow | None:
        """One item of its history."""
        ...


class Lease(Protocol):
    """The right to write one tree; it falls with the process."""

    root_id: str
    epoch: int

    def release(self) -> None:
        """Give it up."""
        ...


class Router(Protocol):
    """Who writes which tree: this process takes the right to, or hears who has it."""

    def lease(self, root_id: str) -> Lease:
        """The right to write a tree. Raises `Held`."""
        ...

    def holder(self, root_id: str) -> int | None:
        """The pid of another process that writes this tree, if any; -1 where it has not said."""
        ...


class Store(Router, Protocol):
    """Logs and their index, in one home or in memory."""

    @property
    def index(self) -> Index:
        """The projection of these logs."""
        ...

    def path(self, header: Header) -> str | None:
        """Where the log of a new thread will lie; none in memory."""
        ...

    def create(self, header: Header, lines: Sequence[bytes]) -> EventLog:
        """A new log: header and first lines in one write. A thread exists from here on. Raises `StoreError`.

        A fork's base stays from here on; `Missing` where it has just gone.
        """
        ...

    def open(self, thread_id: str) -> EventLog:
        """An existing log, for appending: a torn tail is cut and reported. Raises `Missing` where there is none."""
        ...

    def read(self, thread_id: str) -> EventLog:
        """An existing log, for reading alone: nothing is cut, appending is an error."""
        ...

    def after(
        self, thread_id: str, seq: int, stop: int | None = None, cut: int | None = None, *, model: bool = False
    ) -> Iterator[Line]:
        """The lines of a history with a greater seq (up to `stop`), through its bases, in order; model lines too.

        `cut` is the offset in the thread's own log where the history ends. With `model`, what the model does not see
        is not read: such lines have a seq and no more.
        """
        ...

    def before(self, thread_id: str, seq: int) -> Base:
        """Where a fork starts that leaves a history right before the line with this seq."""
        ...

    def lines(self, rows: Sequence[tuple[str, int]]) -> list[Line]:
        """The lines at (thread, offset), each read by its offset.

        A damaged one, and one of a log that is lost, has no method, params or model.
        """
        ...

    def remove(self, thread_id: str, *, purge: bool = False) -> None:
        """Delete a log and its rows; one that a fork or a saved name still needs only leaves the lists.

        `purge` takes it from those, too. Queued with the index's writes: `index.settled` says when it is done, or why
        it cannot be.
        """
        ...

    def sweep(self, thread_id: str) -> None:
        """Delete a log that was only kept, if nothing needs it any more. Queued likewise."""
        ...

    async def bring_up(self, thread_id: str, fold: Fold) -> None:
        """The same as `recover` for one thread, if it has a log, for its owners, and for what these stand on."""
        ...

    @property
    def intact(self) -> bool:
        """Whether the index has all that the logs have, as far as that can be told without a look at them."""
        ...

    async def recover(self, fold: Fold, progress: Progress | None = None) -> None:
        """Bring the index up to the logs, off the loop: what came, grew or went while nobody looked."""
        ...

    def close(self) -> None:
        """Commit what is queued and let everything go."""
        ...
