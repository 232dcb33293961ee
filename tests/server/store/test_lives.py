"""Whether the index can be trusted without a look at the logs: only where whoever wrote them has ended well."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from signal import SIGSTOP

import pytest
from tests.server.store.peers import peer
from tests.support.storing import event, fold, index, thread

from threadloom.store import database
from threadloom.store.rollout import Rollouts


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def intact(home: Path) -> bool:
    """As a server that starts finds it."""
    with closing(Rollouts(home)) as store:
        return store.intact


def files(home: Path) -> list[Path]:
    """All that is there."""
    return sorted(home.rglob("*"))


async def worked(home: Path) -> None:
    """A life that wrote a thread, and ended well."""
    with closing(Rollouts(home)) as store:
        store.lease("root")
        index(store, thread(store, event(1)))
        await store.recover(fold)


async def test_a_home_is_trusted_once_it_was_looked_through(home: Path) -> None:
    assert not intact(home)
    with closing(Rollouts(home)) as store:
        await store.recover(fold)
        assert store.intact
    assert intact(home)


async def test_after_a_life_that_ended_well_it_still_is(home: Path) -> None:
    await worked(home)
    assert intact(home)
    assert list((home / "lives").iterdir()) == []


@pytest.mark.parametrize("stopped", [False, True])
async def test_after_one_that_was_killed_it_is_not_until_somebody_has_looked(home: Path, stopped: bool) -> None:
    await worked(home)
    with peer(home, "hold", "tree") as other:
        assert other.hear() == "held 1"
        if stopped:
            os.kill(other.pid, SIGSTOP)
        assert intact(home)  # whoever lives sees to it
        other.kill()
    assert not intact(home)
    with closing(Rollouts(home)) as store:
        assert not store.intact
        await store.recover(fold)
        assert store.intact
    assert intact(home)


async def test_an_index_made_anew_is_not_trusted(home: Path) -> None:
    await worked(home)
    (home / "index.sqlite").unlink()
    assert not intact(home)


async def test_of_another_version_it_is_not_trusted(home: Path) -> None:
    await worked(home)
    with closing(sqlite3.connect(home / "index.sqlite")) as db:
        db.execute("PRAGMA user_version = 1")
    assert not intact(home)


async def test_a_life_whose_rows_could_not_be_written_has_not_ended_well(home: Path) -> None:
    await worked(home)

    def refused(db: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with closing(Rollouts(home)) as store:
        store.lease("root")
        store.index.do(refused)
    assert not intact(home)


async def test_a_life_whose_index_was_replaced_meanwhile_has_not_ended_well(home: Path) -> None:
    await worked(home)
    with closing(Rollouts(home)) as store:
        store.lease("root")
        for name in ("", "-wal", "-shm"):
            (home / f"index.sqlite{name}").unlink()
        with closing(Rollouts(home)) as other:
            await other.recover(fold)
            index(store, thread(store, event(1)))
    assert not intact(home)


async def test_a_life_whose_index_was_in_memory_has_not_ended_well(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await worked(home)

    def refused(path: Path) -> sqlite3.Connection:
        raise sqlite3.OperationalError("database is locked")

    with monkeypatch.context() as patch:
        patch.setattr(database, "open_index", refused)
        store = Rollouts(home)
    with closing(store):
        store.lease("root")
        index(store, thread(store, event(1)))
    assert not intact(home)


async def test_who_only_looks_leaves_nothing(home: Path) -> None:
    await worked(home)
    before = files(home)
    with closing(Rollouts(home)) as store:
        await store.recover(fold)
    assert files(home) == before
