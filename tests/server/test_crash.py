"""`kill -9` at any moment: whatever a client has seen is there afterwards, and nothing else is in doubt."""

from __future__ import annotations

import random
from pathlib import Path

import anyio
import pytest
from tests.support.counts import count
from tests.support.crash_chaos import Chaos, text
from tests.support.crash_check import check
from tests.support.crash_life import Life, life
from tests.support.crash_logs import check_index, check_logs
from tests.support.crash_wire import CrashWire
from tests.support.crash_witness import Witness

from threadloom_protocol.errors import InvalidRequest

KILLS = 5  # of one home: a crash meets what earlier ones left
SECONDS = 60.0  # for one life; it takes one or two


@pytest.mark.parametrize("seed", range(count(200) // KILLS))
async def test_what_a_client_has_seen_outlives_a_kill(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    witness = Witness()
    home = tmp_path / "threadloom"
    for _ in range(KILLS):
        kind = rng.choice(("websocket", "stdio"))
        with anyio.fail_after(SECONDS):
            async with life(kind, tmp_path) as server, CrashWire(await server.dial(), witness).running() as wire:
                await _look(wire, rng, home, tmp_path / "rebuilt")
                await _live_until_killed(server, wire, rng)
        check_logs(home, witness, torn=True)
    async with life("websocket", tmp_path) as server, CrashWire(await server.dial(), witness).running() as wire:
        await _look(wire, rng, home, tmp_path / "rebuilt")
        await _touch(wire)
        await check(wire, rng)
    check_logs(home, witness, torn=False)


async def _look(wire: CrashWire, rng: random.Random, home: Path, scratch: Path) -> None:
    """After a crash: before anybody resumes anything, and again after some has been."""
    await check(wire, rng)
    if (home / "index.sqlite").exists():
        await check_index(home, scratch)
    resumed = []
    for thread in list(wire.witness.threads.values()):
        if not thread.deleted and not thread.fact("archived") and not thread.fact("closed") and rng.random() < 0.5:
            since = {"sinceSeq": thread.cursor} if rng.random() < 0.5 else {}
            try:
                await wire.ask("thread/resume", threadId=thread.id, **since)
                resumed.append(thread.id)
            except InvalidRequest as refusal:  # an archive that was cut short has been carried on since the look
                if "is archived" not in refusal.message:
                    raise
                thread.note(thread.top, archived=True)
    await check(wire, rng, resumed)


async def _live_until_killed(server: Life, wire: CrashWire, rng: random.Random) -> None:
    """Act until so many messages came, and no longer than a moment after."""
    left = round(2 ** rng.uniform(rng.choice((0, 5, 8)), 10))
    moment = rng.choice((0.0, rng.uniform(0, 0.005)))

    def count_down() -> None:
        nonlocal left
        left -= 1
        if left == 0 and moment:
            deadline.deadline = anyio.current_time() + moment
        elif left == 0:
            server.kill()

    with anyio.CancelScope() as deadline:
        wire.on_message = count_down
        await Chaos(wire, rng).run()
    server.kill()
    await wire.lost.wait()


async def _touch(wire: CrashWire) -> None:
    """Let every thread that can be written be written."""
    for thread in list(wire.witness.threads.values()):
        if not thread.deleted and not thread.fact("archived"):
            await wire.ask("thread/resume", threadId=thread.id)
            await wire.ask("turn/start", threadId=thread.id, input=text("say 3 words"))
            await wire.ask("turn/interrupt", threadId=thread.id, turnId="")
