"""Imports that are spared at a start are there for whoever needs them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from threadloom.cli.lean import import_without


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to import from; what it held is forgotten afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("heavy_one", "light_one"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "heavy_one.py").write_text("weight = 100\n")
    return tmp_path


def test_one_that_only_has_it_comes_without(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shelf / "light_one.py").write_text("import heavy_one\nname = 'light'\n")
    import_without("heavy_one", "light_one")
    assert sys.modules["light_one"].name == "light"
    assert "heavy_one" not in sys.modules
    monkeypatch.setitem(sys.modules, "light_one", sys.modules["light_one"])  # taken out again at the end
    import heavy_one  # type: ignore[import-not-found]

    assert heavy_one.weight == 100
    monkeypatch.setitem(sys.modules, "heavy_one", heavy_one)


def test_one_that_uses_it_is_left_to_the_usual_way(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shelf / "light_one.py").write_text("import heavy_one\nweight = heavy_one.weight + 1\n")
    import_without("heavy_one", "light_one")
    assert "light_one" not in sys.modules
    assert "heavy_one" not in sys.modules
    import light_one  # type: ignore[import-not-found]

    assert light_one.weight == 101
    for name in ("heavy_one", "light_one"):
        monkeypatch.setitem(sys.modules, name, sys.modules[name])


def test_one_that_is_there_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    there = ModuleType("heavy_one")
    monkeypatch.setitem(sys.modules, "heavy_one", there)
    import_without("heavy_one", "no_such_module")
    assert sys.modules["heavy_one"] is there
