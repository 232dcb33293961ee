"""Logs on the disk: who waits hears how it went, and what can be shared is done once."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from threadloom.store import syncing
from threadloom.store.base import StoreError
from threadloom.store.syncing import Syncer, _Job
from threadloom.store.worker import Waiter


def job(path: Path, *, folder: bool) -> _Job:
    return _Job(str(path), folder, Waiter.here())


async def heard(jobs: list[_Job]) -> list[str]:
    """How it went for each: nothing is good."""
    words = []
    with anyio.fail_after(20):
        for it in jobs:
            try:
                await it.waiter.future
                words.append("")
            except StoreError as fault:
                words.append(str(fault))
    return words


async def test_many_new_files_share_their_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders: list[Path] = []
    monkeypatch.setattr(syncing, "sync_folder", folders.append)
    day = tmp_path / "2026" / "11" / "16"
    day.mkdir(parents=True)
    jobs = []
    for at in range(20):
        (path := day / f"{at}.jsonl").write_text("{}\n")
        jobs.append(job(path, folder=True))
    syncer = Syncer()
    syncer._work(jobs)
    assert await heard(jobs) == [""] * 20
    assert folders.count(day) == 1
    assert folders == [day, day.parent, day.parent.parent, tmp_path]


async def test_a_folder_that_fails_is_told_to_those_whose_files_are_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(folder: Path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(syncing, "sync_folder", refuse)
    jobs = []
    for name, new in (("new", True), ("old", False)):
        (tmp_path / name).write_text("{}\n")
        jobs.append(job(tmp_path / name, folder=new))
    Syncer()._work(jobs)
    told, nothing = await heard(jobs)
    assert "Input/output error" in told
    assert nothing == ""


async def test_a_file_that_is_gone_needs_nothing(tmp_path: Path) -> None:
    jobs = [job(tmp_path / "gone" / "file", folder=True)]
    Syncer()._work(jobs)
    assert await heard(jobs) == [""]
