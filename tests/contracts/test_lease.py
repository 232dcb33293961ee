"""What every store promises of the right to write a tree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.storing import KINDS, AnyStore, opened


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AnyStore]:
    with opened(request.param, tmp_path) as made:
        yield made


def test_every_new_lease_has_a_greater_epoch(store: AnyStore) -> None:
    epochs = []
    for _ in range(5):
        lease = store.lease("root")
        epochs.append(lease.epoch)
        lease.release()
    assert epochs == sorted(set(epochs))
    assert store.lease("other").root_id == "other"


def test_within_a_process_a_second_lease_is_the_same(store: AnyStore) -> None:
    first = store.lease("root")
    second = store.lease("root")
    assert second.epoch == first.epoch
    first.release()
    assert store.lease("root").epoch == first.epoch, "it is held until its last user lets it go"


def test_only_others_are_holders(store: AnyStore) -> None:
    assert store.holder("root") is None
    lease = store.lease("root")
    assert store.holder("root") is None
    lease.release()
    assert store.holder("root") is None
