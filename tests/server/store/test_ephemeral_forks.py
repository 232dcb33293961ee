"""Forks in memory that stand on logs on the disk: by reference, too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.storing import event, events, fold, fork, index, seqs, thread

from threadloom.store.base import StoreError
from threadloom.store.memory import MemoryStore
from threadloom.store.rollout import Rollouts
from threadloom.store.rows import Base


@pytest.fixture
def durable(tmp_path: Path) -> Iterator[Rollouts]:
    store = Rollouts(tmp_path)
    yield store
    store.close()


@pytest.fixture
def ephemeral(durable: Rollouts) -> Iterator[MemoryStore]:
    store = MemoryStore(durable)
    yield store
    store.close()


async def family(durable: Rollouts, ephemeral: MemoryStore) -> list[str]:
    """A log on the disk, a fork of it there, an ephemeral fork of that one, and one of this."""
    source = thread(durable, *events(1, 12))
    middle = fork(durable, source, 11, *events(12, 14))
    at = middle.seek(13)
    made = thread(ephemeral, *events(14, 15), base=Base(middle.header.thread_id, 13, at))
    last = fork(ephemeral, made, 14, event(15))
    for store, log in ((durable, source), (durable, middle), (ephemeral, made), (ephemeral, last)):
        index(store, log)
    await durable.index.settled()
    return [log.header.thread_id for log in (source, middle, made, last)]


async def test_their_history_goes_through_both_stores(durable: Rollouts, ephemeral: MemoryStore) -> None:
    source, middle, made, last = await family(durable, ephemeral)
    assert seqs(ephemeral.after(last, 0)) == [*range(1, 16)]
    assert seqs(ephemeral.after(made, 12)) == [13, 14, 15]
    items = ephemeral.index.items(last)
    assert [it.seq for it in items] == [*range(1, 16)]
    assert [it.thread_id for it in items] == [source] * 11 + [middle] * 2 + [made, last]
    assert seqs(ephemeral.lines([(it.thread_id, it.offset) for it in items])) == [*range(1, 16)]
    assert ephemeral.index.turn(last, "turn-0") == durable.index.turn(source, "turn-0")
    assert ephemeral.index.item(last, "item-2") is not None


async def test_what_they_stand_on_is_kept_for_them(durable: Rollouts, ephemeral: MemoryStore) -> None:
    source, middle, made, last = await family(durable, ephemeral)
    for gone in (middle, source):
        durable.remove(gone)
    await durable.index.settled()
    await durable.recover(fold)
    assert durable.index.get(middle) is None
    assert seqs(ephemeral.after(last, 0)) == [*range(1, 16)]
    ephemeral.remove(made)
    await durable.index.settled()
    assert seqs(ephemeral.after(last, 0)) == [*range(1, 16)]
    ephemeral.remove(last)
    await durable.index.settled()
    assert list(durable.folders.walk()) == []
    with pytest.raises(StoreError):
        ephemeral.read(made)


async def test_what_is_in_the_lists_stays_when_they_go(durable: Rollouts, ephemeral: MemoryStore) -> None:
    _, middle, made, last = await family(durable, ephemeral)
    for gone in (made, last):
        ephemeral.remove(gone)
    await durable.index.settled()
    assert durable.index.get(middle) is not None
    assert seqs(durable.after(middle, 0)) == [*range(1, 15)]


async def test_what_a_process_kept_for_its_forks_goes_after_it(tmp_path: Path) -> None:
    first = Rollouts(tmp_path)
    await family(first, MemoryStore(first))
    for it in first.index.marks():
        first.remove(it)
    first.close()
    second = Rollouts(tmp_path)
    assert len(list(second.folders.walk())) == 2
    await second.recover(fold)
    assert list(second.folders.walk()) == []
    second.close()
