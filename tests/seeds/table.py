"""A table of what was promised, sentence by sentence, with the tests behind each, and the guards that keep them."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from tests.support.processes import ROOT
from tests.support.workshop import Guard


class Promise(NamedTuple):
    """A sentence, and the tests behind it: `file::function`."""

    sentence: str
    tests: tuple[str, ...]


def said(sentence: str, *tests: str) -> Promise:
    """A row."""
    return Promise(sentence, tests)


class Table(NamedTuple):
    """What was promised, what the product decided otherwise (sentence, reason, test), and what keeps the promises."""

    promises: Mapping[str, Promise]
    overruled: Mapping[str, tuple[str, str, str]]
    guards: Sequence[Guard]

    def check_complete(self, names: Sequence[str]) -> None:
        """Every sentence is there, with a test; so is every reason."""
        assert list(self.promises) == names
        assert all(promise.sentence and promise.tests for promise in self.promises.values())
        assert list(self.overruled) == [f"O{at}" for at in range(1, len(self.overruled) + 1)]
        assert all(all(it) for it in self.overruled.values())

    def check_tests(self) -> None:
        """Every test that it names is there."""
        named = {node for promise in self.promises.values() for node in promise.tests}
        named |= {test for _, _, test in self.overruled.values()}
        assert [node for node in sorted(named) if not known(node)] == []

    def check_guards(self, least: int) -> None:
        """There are enough of them, and each has its sentence, its test and its place in the code."""
        assert len(self.guards) >= least
        assert len({guard.name for guard in self.guards}) == len(self.guards)
        for guard in self.guards:
            assert guard.promise in self.promises, guard.name
            assert known(guard.test), guard.test
            assert guard.places == 1, guard.name


def known(node: str) -> bool:
    """Whether there is such a test."""
    file, _, name = node.partition("::")
    return (ROOT / file).is_file() and name.partition("[")[0] in _functions(file)


@cache
def _functions(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {it.name for it in tree.body if isinstance(it, ast.FunctionDef | ast.AsyncFunctionDef)}
