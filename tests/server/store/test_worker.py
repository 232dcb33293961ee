"""A thread that works through what is queued, up to the very end."""

from __future__ import annotations

import threading
from contextlib import suppress
from itertools import count

import pytest

from threadloom.store.errors import StoreError
from threadloom.store.worker import Worker


class Busy:
    """Somebody who queues jobs for as long as they are taken."""

    def __init__(self) -> None:
        self.done: list[int] = []
        self.taken: list[int] = []
        self.worker = Worker[int]("test", self._work)
        self._thread = threading.Thread(target=self._put)
        self._begun = threading.Event()
        self._thread.start()
        assert self._begun.wait(10)

    def _work(self, jobs: list[int]) -> None:
        self.done += jobs

    def _put(self) -> None:
        self._begun.set()
        with suppress(StoreError):
            for job in count():
                self.worker.put(job)
                self.taken.append(job)

    def close(self) -> bool:
        closed = self.worker.close()
        self._thread.join(10)
        return closed


def test_what_was_taken_is_worked_through_however_close_to_the_end_it_came() -> None:
    for _ in range(200):
        busy = Busy()
        assert busy.close()
        assert busy.done == busy.taken


def test_a_worker_that_had_nothing_to_do_is_closed_at_once() -> None:
    worker = Worker[int]("test", lambda jobs: None)
    assert worker.close()
    with pytest.raises(StoreError, match="closed"):
        worker.put(1)
