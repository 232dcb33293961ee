"""A fork here and a deletion there, at the same moment: the fork has all that it stands on, or there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.server.store.peers import peer
from tests.support.storing import event, events, fold, fork, index, opened, seqs, thread

from threadloom.store import holds
from threadloom.store.base import EventLog, Missing
from threadloom.store.folders import Blocked, Found
from threadloom.store.memory import MemoryStore
from threadloom.store.rollout import Rollouts
from threadloom.store.rows import Base
from threadloom.store.schema import Erased


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Rollouts]:
    with opened("file", tmp_path / "home") as made:
        assert isinstance(made, Rollouts)
        yield made


@pytest.fixture
def there(here: Rollouts) -> Iterator[Rollouts]:
    """As another process has the same home: nothing is shared but files."""
    with opened("file", here.home) as made:
        assert isinstance(made, Rollouts)
        yield made


async def source(store: Rollouts) -> EventLog:
    """A thread that every process knows."""
    log = thread(store, *events(1, 5))
    index(store, log)
    await store.index.settled()
    return log


def lose_index(store: Rollouts) -> None:
    for name in ("", "-wal", "-shm"):
        (store.home / f"index.sqlite{name}").unlink()


def logs(store: Rollouts) -> list[str]:
    return sorted(it.thread_id for it in store.folders.walk())


async def test_a_fork_that_no_index_knows_yet_keeps_its_base(
    here: Rollouts, there: Rollouts, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await source(here)
    late: list[tuple[Any, ...]] = []
    with monkeypatch.context() as patch:
        patch.setattr(here.index, "put_base", lambda *given: late.append(given))
        made = fork(here, log, 5, event(6))
    there.remove(log.header.thread_id)
    await there.index.settled()
    [told] = late
    here.index.put_base(*told)
    index(here, made)
    await here.index.settled()
    assert seqs(here.after(made.header.thread_id, 0)) == [1, 2, 3, 4, 5, 6]
    assert there.index.get(log.header.thread_id) is None, "it has left the lists all the same"
    there.remove(made.header.thread_id)
    await there.index.settled()
    assert logs(there) == [], "and goes with its last fork"


@pytest.mark.parametrize("purge", [False, True])
async def test_a_fork_of_what_was_just_deleted_is_refused_and_leaves_nothing(
    here: Rollouts, there: Rollouts, purge: bool
) -> None:
    log = await source(here)
    reading = here.read(log.header.thread_id)
    there.remove(log.header.thread_id, purge=purge)
    await there.index.settled()
    with pytest.raises(Missing):
        fork(here, reading, 5, event(6))
    await here.index.settled()
    assert logs(here) == here.index.forks() == []


async def test_a_fork_while_its_base_is_being_deleted_is_refused(
    here: Rollouts, there: Rollouts, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await source(here)
    refused: list[Exception] = []
    delete: Callable[[Sequence[Erased]], None] = there._delete

    def between(erased: Sequence[Erased]) -> None:
        """Nobody was found to need it; it is still there."""
        try:
            fork(here, log, 5, event(6))
        except Missing as fault:
            refused.append(fault)
        delete(erased)

    monkeypatch.setattr(there, "_delete", between)
    there.remove(log.header.thread_id)
    await there.index.settled()
    assert len(refused) == 1
    assert logs(here) == []


async def test_what_a_fork_in_memory_stands_on_is_not_deleted_from_elsewhere(here: Rollouts, there: Rollouts) -> None:
    log = await source(here)
    memory = MemoryStore(here)
    made = thread(memory, event(6), base=Base(log.header.thread_id, 5, log.end)).header.thread_id
    there.remove(log.header.thread_id)
    await there.index.settled()
    assert seqs(memory.after(made, 0)) == [1, 2, 3, 4, 5, 6]
    memory.remove(made)
    await here.index.settled()
    assert logs(here) == []
    memory.close()


async def test_a_birth_that_fails_holds_nothing(
    here: Rollouts, there: Rollouts, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await source(here)

    def refuse(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(here, "_created", refuse)
        with pytest.raises(OSError, match="No space"):
            fork(here, log, 5, event(6))
    there.remove(log.header.thread_id)
    await there.index.settled()
    assert logs(here) == []


async def test_who_has_lost_sight_of_the_index_deletes_nothing_that_may_be_needed(
    here: Rollouts, there: Rollouts
) -> None:
    log = await source(here)
    lose_index(here)
    with opened("file", here.home) as later:
        assert isinstance(later, Rollouts)
        await later.recover(fold)
        made = fork(later, log, 5, event(6))
        index(later, made)
        await later.index.settled()
        assert later.index.shared
        assert not here.index.shared
        here.remove(log.header.thread_id)
        await here.index.settled()
        assert seqs(later.after(made.header.thread_id, 0)) == [1, 2, 3, 4, 5, 6]


async def test_a_fork_that_others_cannot_see_keeps_its_base_all_the_same(here: Rollouts) -> None:
    log = await source(here)
    lose_index(here)
    with opened("file", here.home) as later:
        assert isinstance(later, Rollouts)
        await later.recover(fold)
        made = fork(here, log, 5, event(6))
        index(here, made)
        await here.index.settled()
        later.remove(log.header.thread_id)
        await later.index.settled()
        assert seqs(here.after(made.header.thread_id, 0)) == [1, 2, 3, 4, 5, 6]


async def test_who_is_killed_while_it_holds_a_log_is_asked_after_before_that_goes(
    here: Rollouts, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await source(here)
    with peer(here.home, "hold", "tree") as other:
        assert other.hear() == "held 1"
        lock = holds._locked

        def late(path: str, flags: int, how: int) -> int:
            if other.process.poll() is None:
                other.kill()  # it let go of the log right before we have it
            return lock(path, flags, how)

        monkeypatch.setattr(holds, "_locked", late)
        here.remove(log.header.thread_id)
        await here.index.settled()
    assert [it.kept for it in here.folders.walk()] == [True]


@pytest.mark.parametrize("first", [False, True])
async def test_nor_does_it_lose_what_its_base_stands_on(here: Rollouts, first: bool) -> None:
    """Whichever of two that do not see each other moved that log aside, both know it."""
    bottom = await source(here)
    middle = fork(here, bottom, 5, event(6))
    index(here, middle)
    await here.index.settled()
    lose_index(here)
    with opened("file", here.home) as later:
        assert isinstance(later, Rollouts)
        await later.recover(fold)
        hidden, seen = (fork(store, middle, 6, event(7)) for store in (here, later))
        index(later, seen)
        later.remove(bottom.header.thread_id)
        await later.index.settled()
        for store in (here, later) if first else (later, here):
            store.remove(middle.header.thread_id)
            await store.index.settled()
        later.remove(seen.header.thread_id)
        await later.index.settled()
        assert seqs(here.after(hidden.header.thread_id, 0)) == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("seen", [False, True])
async def test_a_log_that_is_moved_aside_while_an_index_is_made_anew_is_in_it(
    here: Rollouts, monkeypatch: pytest.MonkeyPatch, seen: bool
) -> None:
    """A folder that is read meanwhile may show neither of its names, or the old one."""
    bottom = await source(here)
    made = fork(here, bottom, 5, event(6)).header.thread_id
    here.remove(bottom.header.thread_id)
    await here.index.settled()
    lose_index(here)
    with opened("file", here.home) as later:
        assert isinstance(later, Rollouts)
        usual, walks = later.folders.walk, 0

        def walk(*blocked: Blocked) -> Iterator[Found]:
            nonlocal walks
            walks += 1
            found = [it for it in usual(*blocked) if seen or walks > 1 or it.thread_id != made]
            if seen and walks == 2:
                here.remove(made)
                here.index.flush()
            return iter(found)

        monkeypatch.setattr(later.folders, "walk", walk)
        await later.recover(fold)
        assert seqs(later.after(made, 0)) == [1, 2, 3, 4, 5, 6]
        assert later.index.base(made) is not None


async def test_what_a_killed_process_may_have_made_of_a_log_is_looked_for_before_that_goes(here: Rollouts) -> None:
    log = await source(here)
    with peer(here.home, "hold", "tree") as other:
        assert other.hear() == "held 1"
        other.kill()
    here.remove(log.header.thread_id)
    await here.index.settled()
    assert here.index.get(log.header.thread_id) is None
    assert [it.kept for it in here.folders.walk()] == [True]
    await here.recover(fold)
    assert logs(here) == []
