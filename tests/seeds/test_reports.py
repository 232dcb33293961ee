"""Every sentence that was promised of reports has its test, and for many the test is known to notice its absence."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.seeds.reports import OVERRULED, PROMISES
from tests.seeds.test_agents import known
from tests.support.counts import soaking
from tests.support.guards import EVERY, Guard, Workshop
from tests.support.report_guards import GUARDS

COUNTS = {"F": 7, "G": 5, "T": 3, "D": 9, "R": 3, "P": 4}
SOME = GUARDS if soaking() else GUARDS[::EVERY]


def test_the_table_is_complete() -> None:
    assert list(PROMISES) == [f"{kind}{at}" for kind, most in COUNTS.items() for at in range(1, most + 1)]
    assert all(promise.sentence and promise.tests for promise in PROMISES.values())
    assert list(OVERRULED) == [f"O{at}" for at in range(1, len(OVERRULED) + 1)]
    assert all(all(it) for it in OVERRULED.values())


def test_every_test_that_it_names_is_there() -> None:
    named = {node for promise in PROMISES.values() for node in promise.tests} | {it[2] for it in OVERRULED.values()}
    assert [node for node in sorted(named) if not known(node)] == []


def test_there_are_enough_guards_and_each_has_its_sentence_and_its_test() -> None:
    assert len(GUARDS) >= 10
    assert len({guard.name for guard in GUARDS}) == len(GUARDS)
    for guard in GUARDS:
        assert guard.promise in PROMISES, guard.name
        assert known(guard.test), guard.test
        assert guard.places == 1, guard.name


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A copy of the server that may be broken."""
    return Workshop(tmp_path_factory.mktemp("workshop"))


@pytest.mark.parametrize("guard", SOME, ids=lambda guard: guard.name)
def test_without_its_guard_a_test_fails(workshop: Workshop, guard: Guard) -> None:
    said = workshop.broken(guard)
    assert said is None, said


def test_with_every_guard_the_copy_runs_and_passes(workshop: Workshop) -> None:
    """Otherwise nothing above means anything."""
    assert Path(workshop.where()).is_relative_to(workshop.folder)
    said = workshop.whole(SOME)
    assert said is None, said
