"""A thread that takes what is queued, all of it at once, so that many askers share one costly step."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final, Generic, NamedTuple, TypeVar

from threadloom.log import logger
from threadloom.store.errors import StoreError

_log = logger(__name__)

T = TypeVar("T")

STOP_SECONDS: Final = 5.0  # what is queued at the end gets so long


class Waiter(NamedTuple):
    """Somebody on a loop who wants to know how it went."""

    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[None]

    @classmethod
    def here(cls) -> Waiter:
        """Of the running loop."""
        loop = asyncio.get_running_loop()
        return cls(loop, loop.create_future())


def tell(waiters: Sequence[Waiter], error: Exception | None) -> None:
    """Let them know, from another thread."""
    for loop in {waiter.loop for waiter in waiters}:
        with suppress(RuntimeError):  # the loop has gone, and whoever waited with it
            loop.call_soon_threadsafe(_tell, [it.future for it in waiters if it.loop is loop], error)


def _tell(futures: list[asyncio.Future[None]], error: Exception | None) -> None:
    for future in futures:
        if future.done():  # who waited was cancelled
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)


class Worker(Generic[T]):
    """Hands queued jobs to `work` in a thread of its own, which starts with the first job.

    `work` may return seconds after which it wants to be called again, with no jobs if none came. A job that is not
    `urgent` waits `linger` seconds for others to share the step with, or until one comes that is.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[list[T]], float | None],
        *,
        linger: float = 0.0,
        urgent: Callable[[T], bool] = lambda job: True,
    ) -> None:
        self._name = name
        self._work = work
        self._linger = linger
        self._urgent = urgent
        self._hurry = threading.Event()
        self._jobs: SimpleQueue[T | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = False

    def put(self, *jobs: T) -> None:
        """Queue jobs. Raises `StoreError` once it is closed."""
        with self._lock:  # what is queued at the end is worked through: nobody may come in behind it
            if self._closed:
                raise StoreError("The store is closed.")
            for job in jobs:
                self._jobs.put(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        if self._linger and any(map(self._urgent, jobs)):
            self._hurry.set()

    def close(self) -> bool:
        """Work through what is queued, then end; whether it has ended."""
        with self._lock:
            self._closed = True
            if self._thread is None:
                return True
            self._jobs.put(None)
        self._hurry.set()
        self._thread.join(STOP_SECONDS)
        return not self._thread.is_alive()

    def _run(self) -> None:
        again: float | None = None
        stopping = False
        while not stopping:
            jobs, stopping = self._take(again)
            try:
                again = self._work(jobs)
            except Exception as fault:  # the thread's boundary: others wait for it, so it goes on
                again = None
                with suppress(Exception):
                    _log.error("a step in the background failed", thread=self._name, exc_info=fault)
            del jobs  # they may hold much, and the next ones may be long in coming

    def _take(self, patience: float | None) -> tuple[list[T], bool]:
        jobs: list[T] = []
        with suppress(Empty):
            job = self._jobs.get(timeout=patience)
            if self._linger:
                self._hurry.wait(self._linger)
                self._hurry.clear()  # before the queue is emptied: who comes now is taken along, or hurries the next
            while job is not None:
                jobs.append(job)
                job = self._jobs.get_nowait()
            return jobs, True
        return jobs, False
