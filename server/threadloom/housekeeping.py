"""What a server does by itself: it gets ready for requests before they come, and lets go of what nobody uses.

No request pays for all of it, and none waits long for it: it is done piece by piece, and where it can, in a lull.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import TaskGroup

from threadloom.lull import Lull
from threadloom_protocol.errors import InvalidRequest

if TYPE_CHECKING:
    from threadloom.app import App
    from threadloom.connection import Connection
    from threadloom.exec.base import Kind

# The first handshake goes first; the rest of the house is opened behind it, or after this many seconds alone.
QUIET: Final = 1.0

# Seconds that getting ready gives way to requests: a burst of first questions is over in BURST, and what they need had
# better be there then. The library that models are asked with takes half a second of everyone's time: it can wait.
BURST: Final = 0.04
LEISURE: Final = 2.0

SWEEP: Final = 60.0  # seconds between looks for threads that nobody uses any more

# New objects before the collector looks at them, and how often it looks at older ones as well. Most of what a server
# makes goes by itself, and a look at a thousand threads is a pause of 100 ms: with Python's own 700, 10, 10 too often.
GARBAGE: Final = (20_000, 10, 10)


class Housekeeping:
    """Of one server, in the task group of its background."""

    def __init__(
        self, app: App, tasks: TaskGroup, load_next: Callable[[], bool], lull: Callable[[float], Lull]
    ) -> None:
        self._app = app
        self._tasks = tasks
        self._load_next = load_next  # opens one more room, if there is one
        self._lull = lull  # with so many seconds of patience
        self._greeted = anyio.Event()
        self._open = anyio.Event()  # every room is loaded

    def begin(self) -> None:
        """From the start of the server on."""
        self._tasks.start_soon(self._open_rooms)
        self._tasks.start_soon(self._sweep)

    def welcome(self, connection: Connection) -> None:
        """A client has its handshake."""
        self._greeted.set()
        self._tasks.start_soon(self._warn, connection)

    def expect_turns(self) -> None:
        """Whoever starts a thread will want an answer soon."""
        self._tasks.start_soon(self._expect_turns)

    async def _open_rooms(self) -> None:
        """A missing handler ends the server here, and not sooner: to look for it would be most of a start."""
        with anyio.move_on_after(QUIET):
            await self._greeted.wait()
        lull = self._lull(BURST)
        await lull.wait()
        sandbox()
        while self._load_next():
            await lull.wait()
        self._open.set()
        gc.enable()
        gc.set_threshold(*GARBAGE)
        gc.freeze()
        if (self._app.settings.home / "index.sqlite").exists():
            await lull.wait()
            if self._app.settings.takes_up:
                await self._app.threads.upkeep.take_up()
            else:
                await self._app.threads.upkeep.prepare(lull.wait)

    async def _expect_turns(self) -> None:
        from threadloom.threads.warming import warm

        lull = self._lull(LEISURE)
        await lull.wait()
        self._tasks.start_soon(self._app.models.warm)
        await warm(lull.wait)

    async def _warn(self, connection: Connection) -> None:
        """Tell a client what of the configuration is passed over, once the house is open."""
        await self._open.wait()
        for fault in self._app.configuration.faults():
            from threadloom_protocol.v2.config import CONFIG_WARNING

            connection.publish(CONFIG_WARNING, fault.warning().to_json())

    async def _sweep(self) -> None:
        while True:
            await anyio.sleep(SWEEP)
            if self._app.runs_threads:
                await self._app.threads.upkeep.sweep(self._unload_delay())

    def _unload_delay(self) -> float | None:
        try:
            return self._app.configuration.recent().config.thread_unload_delay_secs
        except InvalidRequest:  # a strict server's file does not fit any more: whoever asks for something hears of it
            return None


def sandbox() -> Kind:
    """What fences commands in here: as a rule it is found out before anybody asks."""
    from threadloom.exec.choice import forced, pick

    kind, _, _ = pick(forced())
    return kind
