"""Every sentence that was promised of agents has its test, and for many the test is known to notice its absence."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest
from tests.seeds.agents import OVERRULED, PROMISES
from tests.support.guards import GUARDS, Guard, Workshop
from tests.support.processes import ROOT

EXPECTED = [*(f"P{n}" for n in range(1, 9)), *(str(n) for n in range(1, 59)), *(f"S{n}" for n in range(1, 36))]


@cache
def functions(file: str) -> set[str]:
    """The tests of a file."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {it.name for it in tree.body if isinstance(it, ast.FunctionDef | ast.AsyncFunctionDef)}


def known(node: str) -> bool:
    file, _, name = node.partition("::")
    return (ROOT / file).is_file() and name.partition("[")[0] in functions(file)


def test_the_table_is_complete() -> None:
    assert list(PROMISES) == EXPECTED
    assert all(promise.sentence and promise.tests for promise in PROMISES.values())
    assert list(OVERRULED) == [f"O{at}" for at in range(1, len(OVERRULED) + 1)]
    assert all(all(it) for it in OVERRULED.values())


def test_every_test_that_it_names_is_there() -> None:
    named = {node for promise in PROMISES.values() for node in promise.tests} | {it[2] for it in OVERRULED.values()}
    assert [node for node in sorted(named) if not known(node)] == []


def test_there_are_enough_guards_and_each_has_its_sentence_and_its_test() -> None:
    assert len(GUARDS) >= 20
    assert len({guard.name for guard in GUARDS}) == len(GUARDS)
    for guard in GUARDS:
        assert guard.promise in PROMISES, guard.name
        assert known(guard.test), guard.test
        assert guard.places == 1, guard.name


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A copy of the server that may be broken."""
    return Workshop(tmp_path_factory.mktemp("workshop"))


@pytest.mark.parametrize("guard", Guard.some(), ids=lambda guard: guard.name)
def test_without_its_guard_a_test_fails(workshop: Workshop, guard: Guard) -> None:
    said = workshop.broken(guard)
    assert said is None, said


def test_with_every_guard_the_copy_runs_and_passes(workshop: Workshop) -> None:
    """Otherwise nothing above means anything."""
    assert Path(workshop.where()).is_relative_to(workshop.folder)
    said = workshop.whole(Guard.some())
    assert said is None, said
