"""A thread that works through what is queued, up to the very end."""

from __future__ import annotations

import threading

import pytest

from threadloom.store.errors import StoreError
from threadloom.store.worker import Worker


def test_what_was_taken_is_worked_through_however_close_to_the_end_it_came() -> None:
    for _ in range(200):
        done: list[int] = []
        worker = Worker[int]("test", done.extend)  # type: ignore[arg-type]  # nothing comes of it
        taken: list[int] = []
        begun = threading.Event()

        def put(worker: Worker[int] = worker, taken: list[int] = taken, begun: threading.Event = begun) -> None:
            begun.set()
            with pytest.raises(StoreError, match="closed"):
                for job in range(10_000):
                    worker.put(job)
                    taken.append(job)

        other = threading.Thread(target=put)
        other.start()
        begun.wait(10)
        assert worker.close()
        other.join(10)
        assert done == taken


def test_a_worker_that_had_nothing_to_do_is_closed_at_once() -> None:
    worker = Worker[int]("test", lambda jobs: None)
    assert worker.close()
    with pytest.raises(StoreError):
        worker.put(1)
