"""Every patch of the table: the good ones do what Codex makes of them, the broken ones do nothing at all."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.server.exec.patch_table import BROKEN, GOOD, Broken, Good
from tests.server.exec.patching import contents, lay, patch, prints, raw
from tests.support.codex import codex_binary

from threadloom.exec.patch import PatchError

TIMEOUT = 30  # seconds; Codex takes a tenth of one


def test_the_table_is_long_and_says_each_thing_once() -> None:
    names = [case.name for case in [*GOOD, *BROKEN]]
    assert len(names) >= 40
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.name)
def test_a_good_patch_works(case: Good, tmp_path: Path) -> None:
    lay(tmp_path, case.files)
    assert patch(tmp_path, case.text) == []
    assert contents(tmp_path) == raw(case.after)


@pytest.mark.parametrize("case", [case for case in GOOD if case.codex], ids=lambda case: case.name)
def test_codex_makes_the_same_of_it(case: Good, tmp_path: Path) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    home.mkdir()
    lay(work, case.files)
    words = [str(codex_binary()), "--codex-run-as-apply-patch", case.text]
    environment = os.environ | {"HOME": str(home), "CODEX_HOME": str(home)}
    subprocess.run(words, cwd=work, env=environment, check=True, capture_output=True, timeout=TIMEOUT)
    assert contents(work) == raw(case.after)


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_a_broken_patch_says_why_and_changes_nothing(case: Broken, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    lay(work, case.files)
    before = prints(tmp_path)
    with pytest.raises(PatchError) as caught:
        patch(work, case.text)
    assert prints(tmp_path) == before
    for words in case.says:
        assert words in str(caught.value)
