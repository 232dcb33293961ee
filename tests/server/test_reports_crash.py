"""Exactly once: whatever write is the last before a crash, every child reports once, in the order of ending.

And no false life: whenever a process is killed, the next finds nobody who claims to run, and everything that waited.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import orjson
import pytest
from tests.server.threads.family import Family, family
from tests.support.counts import count, soaking
from tests.support.crash_lives import KEPT, everyone, look
from tests.support.crash_reports import ENDING, FORKED
from tests.support.processes import environment

SECONDS = 900.0
CHILDREN = 1000  # that tell of themselves though the power goes


@pytest.mark.parametrize("how", ["cut", "refuse"])
async def test_a_fault_at_any_write_loses_no_report_and_doubles_none(how: str, tmp_path: Path) -> None:
    children = reported = walks = 0
    while not walks or (how == "cut" and soaking() and children < CHILDREN):
        for folder in await _homes(tmp_path / str(walks), how, seed=walks):
            try:
                told = await _recovered(folder)
            except BaseException as fault:
                fault.add_note(f"the fault was {folder.name}")
                raise
            children, reported = children + told.children, reported + told.reports
        walks += 1
    assert reported == children > 0


async def _homes(folder: Path, how: str, seed: int) -> list[Path]:
    """What each fault has left; nothing of the story that was told without one is missing."""
    folder.mkdir()  # noqa: ASYNC240 (a test)
    command = [sys.executable, "-m", "tests.support.crash_reports", str(folder), how, str(seed)]
    env = environment(folder) | {"THREADLOOM_SOAK": str(int(soaking()))}
    with anyio.fail_after(SECONDS):
        done = await anyio.run_process(command, env=env, check=False, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout.decode()
    found = sorted(it for it in folder.iterdir() if (it / "home").is_dir())  # noqa: ASYNC240 (a test)
    assert len(found) > count(0), "a fault each, and none"
    return found


KILLS = 25  # of one home


@pytest.mark.parametrize("seed", range(count(500) // KILLS))
async def test_after_any_kill_nobody_claims_to_run_and_all_that_waited_is_there_once(seed: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.support.crash_lives", str(tmp_path / "lives"), str(KILLS), str(seed)]
    with anyio.fail_after(SECONDS):
        done = await anyio.run_process(command, env=environment(tmp_path), check=False, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout.decode()
    async with family(tmp_path / "lives") as kin:
        await look(kin)
        waiting = {it: kin.manager.rest(it) for it in everyone(kin)}
        kept = [line.split() for line in (tmp_path / "lives" / KEPT).read_text().splitlines()]
        assert kept
        for thread, name in kept:
            rest = waiting[thread]
            waits = [it.client_user_message_id for it in [*rest.queue, *rest.claimed]].count(name)
            assert waits + _said(kin, thread).count(name) == 1, f"{name} of {thread}"
        for it in waiting:
            reports = [mark["id"] for child in kin.manager.lineage.children(it) for mark in kin.marks(child, "report")]
            rest = kin.manager.rest(it)
            told = [f"{at['report']['childThreadId']}:{at['report']['childTurnId']}" for at in kin.reports(it)]
            told += [at.id for at in [*rest.queue, *rest.claimed] if at.kind == "report"]
            assert len(told) == len(set(told)), "nothing is told twice"
            due = {at.id for child in kin.manager.lineage.children(it) for at in kin.manager.rest(child).due_reports}
            assert {*told, *due} == set(reports), "and nothing is lost"


def _said(kin: Family, thread: str) -> list[str]:
    """The ids that clients gave to the messages of a thread."""
    done = [it["params"]["item"] for it in kin.lines(thread) if it.get("method") == "item/completed"]
    return [it["clientId"] for it in done if it["type"] == "userMessage" and it.get("clientId")]


class Told(NamedTuple):
    """How many children there are, and how many reports on them."""

    children: int
    reports: int


async def _recovered(folder: Path) -> Told:
    """Take up what is there, let it come to its end, and count."""
    before = _ended(folder)
    async with family(folder) as kin:
        for gate in (FORKED, *map(str, ENDING)):
            kin.voice.let_go(gate)
        await kin.manager.upkeep.take_up()
        await kin.quiet()
        for root in _roots(kin):
            if kin.manager.row(root).archived:
                await kin.manager.moves.unarchive(root)
            parent = kin.manager.get(root)
            parent.queue.resume()
            parent.queue.pump()
        await kin.quiet()
        await kin.again()  # once more, so that nothing comes twice
        await kin.quiet()
        counted = [_counted(kin, root, before) for root in _roots(kin)]
        return Told(sum(it.children for it in counted), sum(it.reports for it in counted))


def _counted(kin: Family, root: str, before: dict[str, int]) -> Told:
    children = kin.manager.lineage.children(root)
    told = [f"{it['childThreadId']}:{it['childTurnId']}" for it in (it["report"] for it in kin.reports(root))]
    reports = [mark["id"] for child in children for mark in kin.marks(child, "report")]
    assert sorted(told) == sorted(reports), "every end of a turn, once"
    who = [it.partition(":")[0] for it in told]
    assert sorted(who) == sorted(children), "every child that was born, once"
    assert [it for it in _claims(kin, root) if it not in told] == [], "and nothing was taken that was not told"
    ended = [before[it] for it in who if it in before]
    assert ended == sorted(ended), "in the order of ending"
    assert kin.manager.rest(root).queue == kin.manager.rest(root).claimed == []
    for it in [root, *children]:
        assert kin.manager.status(it) not in ("running", "pendingInit"), "nobody claims to run"
    return Told(len(children), len(told))


def _claims(kin: Family, root: str) -> list[str]:
    return [it for mark in kin.marks(root, "consumes") for it in mark["ids"]]


def _roots(kin: Family) -> list[str]:
    """The threads that own children."""
    found = {it.stem[-36:]: None for it in sorted((kin.room / "home" / "sessions").rglob("*.jsonl"))}
    return [
        it
        for it in found
        if kin.manager.exists(it) and kin.manager.lineage.parent(it) is None and kin.manager.lineage.children(it)
    ]


def _ended(folder: Path) -> dict[str, int]:
    """The children whose turn had ended when the story did, and when that was."""
    found = {}
    for log in (folder / "home" / "sessions").rglob("*.jsonl"):
        lines = _lines(log)
        ends = [int(it["at"]) for it in lines if it.get("method") == "turn/completed"]
        if ends and lines[0].get("owner"):
            found[str(lines[0]["threadId"])] = ends[0]
    return found


def _lines(log: Path) -> list[dict[str, Any]]:
    lines = log.read_bytes().split(b"\n")[:-1]  # the last one is torn, or nothing
    return [orjson.loads(it) for it in lines]
