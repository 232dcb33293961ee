"""Bringing the index up to the logs, in the background: what is known is served meanwhile, and progress is told."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import anyio

from threadloom.log import logger
from threadloom.store.errors import StoreError
from threadloom.threads.replay import fold
from threadloom_protocol.v2.stream import BACKGROUND, BackgroundEventNotification

if TYPE_CHECKING:
    from threadloom.threads.manager import Manager

log = logger(__name__)

PATIENCE: Final = 2.0  # seconds that a list waits for it: most homes are done in a moment
REST: Final = 1.0  # seconds until the logs are looked at that nobody waits for: first questions go first
TELLING: Final = 2.0  # seconds between two words on how far it is


class Recovery:
    """The work of one start, however many wait for it."""

    def __init__(self, manager: Manager, clock: Callable[[], float] = time.monotonic) -> None:
        self._manager = manager
        self._clock = clock
        self._began: float | None = None
        self._ended: anyio.Event | None = None
        self._wanted = anyio.Event()  # somebody waits for all of it
        self._fault: StoreError | None = None
        self._told = 0.0  # when progress was told last
        self._how_far = "The index of threads is being made."
        self._trusted = False
        self.done = False

    async def whole(self) -> None:
        """Return once the index knows of every log. Raises `StoreError`."""
        while not self.done:
            ended = self.begin()
            self._wanted.set()
            await ended.wait()
            if self._fault is not None:
                raise StoreError(str(self._fault))

    @property
    def trusted(self) -> bool:
        """Whether nothing can have been missed, so that nobody has to wait for the look at the logs."""
        self.begin()
        return self.done or self._trusted

    async def soon(self) -> None:
        """The same, but wait no longer than a list may take, and only where something may have been missed."""
        if not self.trusted:
            ended = self.begin()
            assert self._began is not None
            with anyio.move_on_after(max(0.0, self._began + PATIENCE - self._clock())):
                await ended.wait()
                if self._fault is not None:
                    raise StoreError(str(self._fault))

    def begin(self) -> anyio.Event:
        """Set to work, if nobody is at it; set once that has ended."""
        if self.done:
            ended = anyio.Event()
            ended.set()
            return ended
        if self._ended is None:
            self._trusted = self._manager.durable.intact  # before the work begins: it makes it so
            self._began = self._told = self._clock()
            self._ended = anyio.Event()
            self._fault = None
            self._manager.spawn(self._run, self._ended)
        return self._ended

    async def _run(self, ended: anyio.Event) -> None:
        total = 0

        def progress(done: int, of: int) -> None:
            nonlocal total
            total = of
            self._progress(done, of)

        try:
            if self._trusted:
                with anyio.move_on_after(REST):
                    await self._wanted.wait()
            await self._manager.durable.recover(fold, progress)
            self.done = True
        except StoreError as fault:
            self._fault = fault
        except Exception as fault:  # the supervisor's boundary: whoever asks hears of it, and the server goes on
            log.error("the logs cannot be gone through", exc_info=fault)
            self._fault = StoreError(f"The logs cannot be gone through: {fault!r}.")
        finally:
            self._ended = None
            ended.set()
        if self.done and self._began is not None and self._told > self._began:
            self._tell(f"The index of threads is complete: {total:,} logs were read.", final=True)

    def _progress(self, done: int, of: int) -> None:
        self._how_far = f"The index of threads is being made: {done:,} of {of:,} logs are read."
        if done < of and self._clock() >= self._told + TELLING:
            self._told = self._clock()
            self._tell(self._how_far)

    @property
    def lag(self) -> BackgroundEventNotification | None:
        """How far it is, for one who is answered while it is under way."""
        return _event(self._how_far) if self._ended is not None and not self._trusted else None

    def _tell(self, text: str, *, final: bool = False) -> None:
        if not self._manager.patient:  # else whoever waits for it hears of it, and of nothing else
            log.info("recovery", told=text)
        self._manager.hub.announce(BACKGROUND, _event(text, final=final).to_json())


def _event(text: str, *, final: bool = False) -> BackgroundEventNotification:
    return BackgroundEventNotification(thread_id=None, message=text, is_final=final, level="info")
