"""The commands of one thread: each with what it has printed, so that any number of looks can be taken at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import anyio

from threadloom.exec.base import STUCK, Fence, Process
from threadloom.exec.errands import exit_code
from threadloom.exec.output import Capped, Decoder

TIMED_OUT: Final = 124  # the exit code of a command that took too long, as timeout(1) has it
MOST: Final = 64  # commands of one thread that run at a time
UNSEEN: Final = 16  # that have ended and are kept until the model looks; what each has printed may be a megabyte
LIVE: Final = 1024 * 1024  # bytes of output that are shown as they come; what follows is in the item when it ends
SILENCE: Final = "\n… the rest of the output is shown when the command has ended …\n"


@dataclass(eq=False, slots=True)
class Terminal:
    """A command that runs, or of which something is left."""

    number: int
    item_id: str
    turn_id: str
    command: str
    cwd: str
    process: Process
    shown: Capped = field(default_factory=Capped)  # for clients
    unread: Capped = field(default_factory=Capped.for_model)  # for the model, since it last looked
    news: anyio.Event = field(default_factory=anyio.Event)  # it has printed something since
    ended: anyio.Event = field(default_factory=anyio.Event)
    code: int | None = None
    own: bool = False  # the person's: no agent may look at it or type into it
    fence: Fence | None = None  # that it runs in
    tty: bool = False  # whether it can be typed into
    late_ms: int | None = None  # it took longer than that, and was ended
    known: bool = False  # whether the model has seen how it ended

    @property
    def over(self) -> bool:
        """Whether it has ended, and nothing of it is left."""
        return self.ended.is_set() and self.process.gone

    async def watch(self, tell: Callable[[str], None]) -> None:
        """Take in what it prints until it has ended; `tell` hears it as it comes."""
        decoder = Decoder()
        try:
            async for piece in self.process.output():
                told = self.shown.total
                self.shown.feed(piece.data)
                self.unread.feed(piece.data)
                self.news.set()
                text = decoder.feed(piece.data)
                if text and told < LIVE:
                    tell(text if self.shown.total < LIVE else text + SILENCE)
            if rest := decoder.end():
                tell(rest)
            code = exit_code(await self.process.wait())
            self.code = code if self.late_ms is None else TIMED_OUT
        finally:
            self.ended.set()

    async def type(self, text: str) -> None:
        """Have it read that, however long it takes; one that has ended reads nothing any more."""
        with suppress(BrokenPipeError):
            await self.process.write(text.encode())

    def look(self) -> Capped:
        """What it has printed since the last look."""
        unread, self.unread = self.unread, Capped.for_model()
        self.news = anyio.Event()
        self.known = self.ended.is_set()
        return unread

    async def rest(self, seconds: float) -> None:
        """Wait until it has ended, so long at most."""
        with anyio.move_on_after(seconds):
            await self.ended.wait()


class Starting(NamedTuple):
    """A command that is being started."""

    turn_id: str
    scope: anyio.CancelScope
    settled: anyio.Event


class Terminals:
    """Those of one thread, by number."""

    def __init__(self, last: int = 0) -> None:
        self._all: dict[int, Terminal] = {}
        self._starting: dict[str, Starting] = {}  # by item
        self._last = last  # number that was given out
        self._patience = float("inf")  # no command is given more seconds to end than these

    def number(self) -> int:
        """A number that none had before."""
        self._last += 1
        return self._last

    @contextmanager
    def starting(self, item_id: str, turn_id: str) -> Iterator[None]:
        """Around the start of a command that no turn waits for: it is given up if the thread ends before."""
        with anyio.CancelScope() as scope:
            it = self._starting[item_id] = Starting(turn_id, scope, anyio.Event())
            try:
                yield
            finally:
                del self._starting[item_id]
                it.settled.set()

    def keep(self, terminal: Terminal) -> None:
        """From now on it is ended with the thread."""
        self._all[terminal.number] = terminal

    def get(self, number: int) -> Terminal | None:
        """The agent's one of that number, as long as it runs or its end was not seen: of many, of the latest."""
        found = self._all.get(number)
        return None if found is None or found.own else found

    def running(self) -> list[Terminal]:
        """Those that have not ended."""
        self._sweep()
        return [it for it in self._all.values() if not it.ended.is_set()]

    def left(self) -> dict[str, Terminal | None]:
        """The items that are not done, with what runs of them."""
        return dict.fromkeys(self._starting) | {it.item_id: it for it in self.running()}

    @property
    def busy(self) -> bool:
        """Whether anything is left of any of them."""
        return bool(self._starting) or not all(it.over for it in self._all.values())

    async def end(self, *terminals: Terminal, grace: float = 2.0, bounded: bool = True) -> None:
        """End some with everything they started, side by side. What is stuck runs on, unless all of it has to end."""
        grace = min(grace, self._patience)
        with anyio.move_on_after(grace + STUCK if bounded else None):
            async with anyio.create_task_group() as tasks:
                for it in terminals:
                    tasks.start_soon(it.process.end, grace)
            for it in terminals:
                await it.ended.wait()
        self._sweep()

    async def end_all(self, turn_id: str | None = None, grace: float = 2.0, bounded: bool = True) -> None:
        """End all, or all of one turn."""
        for starting in [it for it in self._starting.values() if turn_id in (None, it.turn_id)]:
            starting.scope.cancel()
            await starting.settled.wait()
        ending = [it for it in self._all.values() if turn_id in (None, it.turn_id)]
        await self.end(*ending, grace=grace, bounded=bounded)

    def hurry(self, patience: float) -> None:
        """From now on none of them is given longer to end; one that is being ended already needs to be told again."""
        self._patience = patience

    def _sweep(self) -> None:
        """Forget what is over, unless the model has yet to hear of it."""
        over = [number for number, it in self._all.items() if it.over]
        unseen = [number for number in over if not (self._all[number].own or self._all[number].known)]
        for number in {*over} - {*unseen[-UNSEEN:]}:
            del self._all[number]
