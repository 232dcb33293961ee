"""Every sentence that was promised of reports has its test, and many a test is known to notice when it is broken."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.seeds.reports import OVERRULED, PROMISES
from tests.seeds.table import Table
from tests.support.report_guards import GUARDS
from tests.support.workshop import Guard, Workshop, some

COUNTS = {"F": 7, "G": 5, "T": 3, "D": 9, "R": 3, "P": 4}
NAMES = [f"{kind}{at}" for kind, most in COUNTS.items() for at in range(1, most + 1)]
TABLE = Table(PROMISES, OVERRULED, GUARDS)


def test_the_table_is_complete() -> None:
    TABLE.check_complete(NAMES)


def test_every_test_that_it_names_is_there() -> None:
    TABLE.check_tests()


def test_there_are_enough_guards_and_each_has_its_sentence_and_its_test() -> None:
    TABLE.check_guards(least=10)


@pytest.mark.parametrize("guard", some(GUARDS), ids=lambda guard: guard.name)
def test_without_its_guard_a_test_fails(workshop: Workshop, guard: Guard) -> None:
    said = workshop.broken(guard)
    assert said is None, said


def test_with_every_guard_the_copy_runs_and_passes(workshop: Workshop) -> None:
    """Otherwise nothing above means anything."""
    assert Path(workshop.where()).is_relative_to(workshop.folder)
    said = workshop.whole(some(GUARDS))
    assert said is None, said
