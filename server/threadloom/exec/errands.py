"""Commands that a client has run for itself: known by the names it gave them, and gone with its connection."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import anyio

from threadloom.exec.base import STUCK, Order, Output, Process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyio.abc import TaskGroup

    from threadloom.exec.launch import Host
    from threadloom_protocol.v2.values.policy import SandboxPolicy

TIMED_OUT: Final = 124  # the exit code of a command that took too long, as timeout(1) has it
SIGNALLED: Final = 128  # with a signal's number: the exit code of one that it ended, as shells have it

Stream = Literal["stdout", "stderr"]
Tell = Callable[[Stream, bytes, bool], Awaitable[None]]  # a piece of output, and whether it is the last that counts


def exit_code(code: int) -> int:
    """How a process ended, as shells tell it: signals count from 128."""
    return SIGNALLED - code if code < 0 else code


class Captured:
    """The beginning of what a stream brought."""

    def __init__(self, cap: int | None) -> None:
        self.full = False  # what comes from here on is dropped
        self._cap = cap
        self._seen = 0
        self._kept = bytearray()

    def take(self, data: bytes, *, keep: bool) -> bytes:
        """The part of it that counts."""
        counts = data if self._cap is None else data[: self._cap - self._seen]
        self._seen += len(counts)
        self.full = self._seen == self._cap
        if keep:
            self._kept += counts
        return counts

    def text(self) -> str:
        """All that was kept."""
        return self._kept.decode("utf-8", "replace")


class Ended(NamedTuple):
    """How an errand ended."""

    code: int
    stdout: Captured
    stderr: Captured


class Errand:
    """One command. What it prints is told as it comes, or kept until it has ended."""

    def __init__(self, order: Order, *, seconds: float | None, cap: int | None, tell: Tell | None) -> None:
        self.order = order
        self._seconds = seconds
        self._streams: dict[Stream, Captured] = {"stdout": Captured(cap), "stderr": Captured(cap)}
        self._tell = tell
        self._process: Process | None = None
        self._settled = anyio.Event()  # it has started, or never will
        self._aborted = False

    async def start(self, host: Host) -> None:
        """Start it, or raise `LaunchError`."""
        try:
            self._process = await host.launch(self.order)
        finally:
            self._settled.set()
        if self._aborted:
            self._process.abort()

    async def finish(self) -> Ended:
        """See it through; nothing of it is left afterwards, but what is stuck."""
        process, code = self._process, TIMED_OUT
        assert process is not None
        try:
            with anyio.move_on_after(self._seconds):
                async with aclosing(process.output()) as output:
                    async for piece in output:
                        await self._take(piece)
                code = exit_code(await process.wait())
        finally:
            with anyio.move_on_after(STUCK, shield=True):
                await process.end(0)
        return Ended(code, self._streams["stdout"], self._streams["stderr"])

    async def _take(self, piece: Output) -> None:
        into = self._streams[piece.stream]
        if not into.full:
            counts = into.take(piece.data, keep=self._tell is None)
            if self._tell is not None:
                await self._tell(piece.stream, counts, into.full)

    async def process(self) -> Process | None:
        """What runs, once it does; none where it could not be started."""
        await self._settled.wait()
        return self._process

    def abort(self) -> None:
        """End it at once, with all that it started."""
        self._aborted = True
        if self._process is not None:
            self._process.abort()


class Errands:
    """Those of all clients of a server, and what their commands start from."""

    def __init__(
        self,
        host: Host,
        tasks: TaskGroup,
        environment: Callable[[str], Mapping[str, str]],
        policy: Callable[[str], SandboxPolicy],
        present: Callable[[object], bool],
    ) -> None:
        self.host = host
        self.environment = environment  # of commands in a folder
        self.policy = policy  # the fence that is configured for a folder
        self._tasks = tasks
        self._present = present  # whether a client is still there
        self._all: dict[object, dict[object, Errand]] = {}  # by client, and by what the client calls them

    def get(self, client: object, name: object) -> Errand | None:
        """The one that a client means."""
        return self._all.get(client, {}).get(name)

    @contextmanager
    def known(self, client: object, name: object, errand: Errand) -> Iterator[None]:
        """Let a client call an errand by a name, until it has ended."""
        self.put(client, name, errand)
        try:
            yield
        finally:
            self.drop(client, name)

    def put(self, client: object, name: object, errand: Errand) -> None:
        """From now on it has that name, and ends with the client's connection."""
        self._all.setdefault(client, {})[name] = errand
        if not self._present(client):  # it asked, and left before its turn had come
            errand.abort()

    def drop(self, client: object, name: object) -> None:
        """It has ended."""
        theirs = self._all.get(client, {})
        theirs.pop(name, None)
        if not theirs:
            self._all.pop(client, None)

    def leave(self, client: object) -> None:
        """A connection has ended: what ran for it does, too."""
        for errand in self._all.pop(client, {}).values():
            errand.abort()

    def spawn(self, work: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> None:
        """Let something run on after its request was answered."""
        self._tasks.start_soon(work, *args)
