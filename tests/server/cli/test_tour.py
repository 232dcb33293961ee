"""The tour of the README is what its commands print."""

from __future__ import annotations

from pathlib import Path

from tests.support.tour import README, toured, written


def test_the_tour_in_the_readme_is_what_the_commands_print(tmp_path: Path) -> None:
    fresh = toured(tmp_path)
    assert written(README.read_text(encoding="utf-8")) == fresh, "python -m tests.support.tour --write"
