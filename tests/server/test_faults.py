"""A fault at any write: the power goes, the disk is full, the home is read-only. Nothing that was seen is lost."""

from __future__ import annotations

import errno
import itertools
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.support.counts import count, soaking
from tests.support.crash_chaos import text
from tests.support.crash_check import KINDS, check
from tests.support.crash_cuts import JOURNAL, recall
from tests.support.crash_disk import Failing, installed
from tests.support.crash_life import life
from tests.support.crash_logs import check_index, check_logs
from tests.support.crash_story import Story, served
from tests.support.crash_wire import CrashWire
from tests.support.crash_witness import Witness
from tests.support.processes import environment

from threadloom_protocol.errors import InternalError

STEPS = 130  # a few less than the story has: how many changes of the index share a step is a matter of time
CUTS = 350  # about as many as there are: before and after each step, and in the middle of writes
SECONDS = 600.0

CLEAR = re.compile(r"the disk is full|Input/output error|The index of threads cannot be used|Read-only file system")


async def _look(home: Path, witness: Witness, scratch: Path, *, torn: bool) -> None:
    """The home of a server that has ended, seen by the next one: at first sight, and when everything was resumed."""
    rng = random.Random(1)
    check_logs(home, witness, torn=torn)
    async with served(home, witness) as wire:
        await check(wire, rng)
        await check_index(home, scratch)
        await _resume(wire)
        await check(wire, rng)
    check_logs(home, witness, torn=False)


async def _resume(wire: CrashWire) -> None:
    """Resume what can be, and go on with it."""
    for thread in list(wire.witness.threads.values()):
        if not thread.deleted and not thread.fact("archived"):
            await wire.ask("thread/resume", threadId=thread.id)
            await wire.ask("thread/note/set", threadId=thread.id, note="afterwards")
            turn = await wire.ask("turn/start", threadId=thread.id, input=text("say 3 words"))
            await _ended(wire, thread.id, turn["turn"]["id"])


async def _ended(wire: CrashWire, thread_id: str, turn_id: str, how: str = "completed") -> None:
    """Wait for a turn to end, well as a rule."""
    status = wire.witness.thread(thread_id).status
    news = anyio.Event()
    wire.on_message = lambda: news.set()
    with anyio.fail_after(10):
        while turn_id not in status:
            news = anyio.Event()
            await news.wait()
    assert status[turn_id] == how


def _journals(folder: Path) -> Iterator[Path]:
    """What was seen before each cut."""
    return folder.glob(f"*/{JOURNAL}")


async def test_the_power_may_go_at_any_write(tmp_path: Path) -> None:
    cuts = sys.maxsize if soaking() else count(CUTS)  # all there are
    command = [sys.executable, "-m", "tests.support.crash_cuts", str(tmp_path), str(cuts), "1"]
    with anyio.fail_after(SECONDS):
        done = await anyio.run_process(command, env=environment(tmp_path), check=False, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout.decode()
    folders = [it.parent for it in sorted(_journals(tmp_path))]
    made, every = map(int, done.stdout.split()[-2:])
    assert len(folders) == min(cuts, every) + 1  # with the one in which nothing happens
    assert made > min(cuts, every) * 0.9  # the last steps are not always there
    for folder in folders:
        try:
            await _look(folder / "home", recall(folder / JOURNAL), folder / "rebuilt", torn=True)
        except BaseException as fault:
            fault.add_note(f"the power went at {folder.name}")
            raise


@pytest.mark.parametrize(
    ("times", "number"), [(1, errno.ENOSPC), (1, errno.EIO), (12, errno.ENOSPC), (None, errno.ENOSPC)]
)
async def test_what_storage_refuses_is_refused_clearly_and_works_later(
    times: int | None, number: int, tmp_path: Path
) -> None:
    some = sorted(random.Random(f"{times} {number}").sample(range(1, STEPS + 1), 5))
    for step in itertools.count(1) if soaking() else some:
        home, witness = tmp_path / f"home-{step}", Witness()
        disk = Failing(step, times, number)
        try:
            with installed(disk):
                async with served(home, witness) as wire:
                    await Story(wire).tell()
                    await _reads(wire)
                    disk.mend()
                    await _works_again(wire)
            if not disk.refused:  # the story was over by then
                assert step > STEPS
                break
            await _look(home, witness, tmp_path / "rebuilt", torn=True)
        except BaseException as fault:
            fault.add_note(f"the disk failed {times} times from step {step} on")
            raise
        for method, error in witness.refusals:
            if error["code"] == -32603:
                assert CLEAR.search(error["message"]), f"{method}: {error}"


async def _reads(wire: CrashWire) -> None:
    """Whatever cannot be written, what is there can be read."""
    for thread in (await wire.look("thread/list"))["data"]:
        await wire.look("thread/read", threadId=thread["id"], includeTurns=True)


async def _works_again(wire: CrashWire) -> None:
    """There is space again: new threads, and those that were cut short, work."""
    await wire.ask("thread/start")
    for thread in (await wire.look("thread/list", sourceKinds=KINDS))["data"]:
        await wire.ask("turn/interrupt", threadId=thread["id"], turnId="")
    await check(wire, random.Random(1))
    await _resume(wire)


# ── real disks ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _mount(*words: str) -> None:
    done = subprocess.run(["mount", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")


@contextmanager
def mounted(place: Path, size: str) -> Iterator[None]:
    """A small disk of its own."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a file system")
    place.mkdir()
    _mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place))
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def _fill(place: Path) -> Path:
    """Leave no block free."""
    filler = place / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    return filler


async def _refused(wire: CrashWire, words: str, method: str, **params: Any) -> None:
    with pytest.raises(InternalError, match=words):
        await wire.ask(method, **params)


async def test_a_full_disk_is_said_clearly_and_works_once_there_is_space(tmp_path: Path) -> None:
    witness, home = Witness(), tmp_path / "threadloom"
    with mounted(home, "2m"):
        async with life("websocket", tmp_path) as server, CrashWire(await server.dial(), witness).running() as wire:
            thread = (await wire.ask("thread/start"))["thread"]["id"]
            first = (await wire.ask("turn/start", threadId=thread, input=text("say 20 words")))["turn"]["id"]
            await _ended(wire, thread, first)
            streaming = text("slow 1 ms\nsay 1000000 words")
            second = (await wire.ask("turn/start", threadId=thread, input=streaming))["turn"]["id"]
            filler = _fill(home)
            await _stalled(wire, thread)
            await _refused(wire, "disk is full", "thread/note/set", threadId=thread, note="x" * 499)
            await _refused(wire, "disk is full", "thread/start")
            await _refused(wire, "disk is full", "turn/start", threadId=thread, input=text("say 20 words"))
            assert [it["id"] for it in (await wire.look("thread/list"))["data"]] == [thread]
            read = (await wire.look("thread/read", threadId=thread, includeTurns=True))["thread"]
            assert [it["id"] for it in read["turns"]] == [first, second]
            assert (await wire.look("thread/loaded/list"))["data"] == [thread]
            filler.unlink()
            await _ended(wire, thread, second, "failed")  # with no help from anybody
            [said] = [params for method, params in witness.thread(thread).events.values() if method == "error"]
            assert "the disk is full" in said["error"]["message"]
            await wire.ask("thread/start")
            await check(wire, random.Random(1))
            await _resume(wire)
        await _look(home, witness, tmp_path / "rebuilt", torn=True)


async def _stalled(wire: CrashWire, thread_id: str) -> None:
    """Until a turn that streams has met the end of the disk."""
    with anyio.fail_after(10):
        while not wire.lost.is_set():
            turns = (await wire.look("thread/read", threadId=thread_id, includeTurns=True))["thread"]["turns"]
            if turns[-1]["status"] != "inProgress":
                return


async def test_a_read_only_home_can_be_read_and_says_why_it_cannot_be_written(tmp_path: Path) -> None:
    witness, home = Witness(), tmp_path / "threadloom"
    with mounted(home, "16m"):
        async with life("websocket", tmp_path) as server, CrashWire(await server.dial(), witness).running() as wire:
            await Story(wire).tell()
            thread = (await wire.ask("thread/start"))["thread"]["id"]
            await wire.ask("turn/start", threadId=thread, input=text("say 3 words\nwait"))
        _mount("-o", "remount,ro", str(home))
        async with life("websocket", tmp_path) as server, CrashWire(await server.dial(), witness).running() as wire:
            await check(wire, random.Random(1))
            await _refused(wire, "Read-only file system", "thread/start")
            await _refused(wire, "Read-only file system", "thread/fork", threadId=thread)
            for method, params in (
                ("thread/resume", {}),
                ("thread/note/set", {"note": "more"}),
                ("turn/start", {"input": text("say 3 words")}),
                ("thread/close", {}),
            ):
                await _refused(wire, "Read-only file system", method, threadId=thread, **params)
            await check(wire, random.Random(1))
            _mount("-o", "remount,rw", str(home))
            await wire.ask("thread/start")
            await _resume(wire)
            await check(wire, random.Random(1))
        await _look(home, witness, tmp_path / "rebuilt", torn=True)
