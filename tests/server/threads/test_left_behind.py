"""What is left when a process goes in the middle, when an owner goes alone, and when a sweep has been there."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from tests.server.threads.family import Family, family, gathering
from tests.server.threads.house import House, house, words
from tests.support.conformance import Conformance
from tests.support.talk import SECONDS, said
from tests.support.tree_nodes import nodes

from threadloom import housekeeping
from threadloom.agent.collab.validate import Refused
from threadloom.events import Aside
from threadloom.store.errors import StoreError
from threadloom.store.logfile import RolloutLog
from threadloom.store.rollout import Rollouts
from threadloom.threads import say
from threadloom.threads.forks import fork
from threadloom.threads.offspring import ordered
from threadloom.threads.report_text import LONGEST
from threadloom.threads.thread import Thread
from threadloom_protocol.v2.values.genealogy import CallbackConfig

SILENT = CallbackConfig(enabled=False)
HALF_AN_HOUR = 30 * 60 * 1000
KINDS: list[dict[str, Any]] = [{}, {"callback": SILENT}, {"callback": SILENT, "kind": "subSession"}]


@asynccontextmanager
async def killed(kin: Family) -> AsyncIterator[Family]:
    """What the next process finds where this one is killed now."""
    room = kin.room / "next"
    shutil.copytree(kin.room / "home", room / "home", ignore=shutil.ignore_patterns("index*"))
    async with family(room) as after:
        yield after


def unborn(kin: Family, parent: Thread, prompt: str, **order: Any) -> Thread:
    """An agent whose process goes before its first turn."""
    made = kin.manager.start(ordered(parent, kin.order(prompt, **order)))
    made.announce()
    return made


def refused(*batch: Any) -> None:
    """A write on a disk that is full."""
    raise StoreError("No space left on device.")


# ── in the middle ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("order", KINDS)
async def test_a_child_that_was_killed_in_its_first_turn_has_ended(kin: Family, order: dict[str, Any]) -> None:
    parent = kin.root()
    child = kin.child(parent, "hold x", **order)
    await kin.until(lambda: kin.voice.heard[child.id])
    async with killed(kin) as after:
        await after.manager.knowledge.whole()
        assert after.manager.status(child.id) == "interrupted"
        [_, node] = nodes(after.manager, parent.id)
        assert (node.thread_id, node.status) == (child.id, "interrupted")
        with anyio.fail_after(SECONDS):
            waited = await after.manager.branch(parent.id).wait([child.id], SECONDS)
        assert waited.standings[child.id].status == "interrupted"
        await after.manager.upkeep.take_up()
        await after.quiet()
        assert after.manager.status(child.id) == "interrupted"


async def test_a_close_that_has_cut_a_turn_is_told_where_its_process_went_before_its_end(kin: Family) -> None:
    """The turn is over and a command of the child is not: nobody has heard of either yet, and somebody has to."""
    parent = kin.root()
    child = kin.child(parent, "hold x")
    await kin.until(lambda: kin.voice.heard[child.id])
    gate, usual = anyio.Event(), child.terminals.end_all

    async def end_all(turn_id: str | None = None, **how: Any) -> None:
        await (gate.wait() if turn_id is None else usual(turn_id, **how))

    child.terminals.end_all = end_all  # type: ignore[method-assign]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(kin.manager.cascade.close, child.id)
        try:
            await kin.until(lambda: child.state.rest.last_end and child.ending is None)
            async with killed(kin) as after:
                await after.manager.upkeep.take_up()
                await after.until(lambda: after.voice.heard[parent.id])
                await after.quiet()
                [heard] = after.voice.heard[parent.id]
                assert child.id in heard
                assert "cancelled" in heard
                assert after.manager.status(child.id) == "shutdown"
        finally:
            gate.set()


async def test_a_close_that_the_disk_has_refused_is_carried_on_by_the_next_sweep(
    kin: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has begun, and until it is done nothing runs in what is left: neither its queue, nor reports."""
    parent = kin.root()
    kin.child(parent)
    await kin.quiet()
    append = RolloutLog.append

    def full(log: RolloutLog, lines: Sequence[bytes]) -> int:
        if any(b'"thread/closed"' in it for it in lines):
            raise StoreError("No space left on device.")
        return append(log, lines)

    with monkeypatch.context() as disk:
        disk.setattr(RolloutLog, "append", full)
        with pytest.raises(StoreError):
            await kin.manager.cascade.close(parent.id)
    assert (parent.state.rest.closing, parent.state.rest.closed) == (True, False)
    await kin.manager.upkeep.sweep()
    await kin.until(lambda: kin.manager.status(parent.id) == "shutdown")


@pytest.mark.parametrize("order", KINDS)
async def test_what_a_child_was_spawned_for_is_begun_where_its_process_went_before(
    kin: Family, order: dict[str, Any]
) -> None:
    parent = kin.root()
    child = unborn(kin, parent, "what it is for", **order)
    async with killed(kin) as after:
        await after.manager.upkeep.take_up()
        await after.until(lambda: after.manager.status(child.id) == "completed")
        await after.quiet()
        assert after.voice.heard[child.id] == ["what it is for"]


async def test_whoever_loads_the_owner_has_such_a_child_too(kin: Family) -> None:
    parent = kin.root()
    child = unborn(kin, parent, "what it is for", callback=SILENT)
    async with killed(kin) as after:
        await after.manager.knowledge.whole()
        after.manager.get(parent.id)
        await after.until(lambda: after.manager.status(child.id) == "completed")


async def test_what_another_process_runs_is_not_taken_for_dead(kin: Family) -> None:
    parent = kin.root()
    child = kin.child(parent, "hold x")
    await kin.until(lambda: kin.voice.heard[child.id])
    await kin.manager.settled()
    row = kin.manager.row(child.id)
    other = Family(kin.room, kin._tasks)
    try:
        await other.manager.knowledge.whole()
        assert kin.store.holder(row.root) is None, "its own"
        assert other.manager.held(row.root)
        assert other.manager.status(child.id) == "running"
        assert {it.status for it in nodes(other.manager, parent.id)} == {"pendingInit", "running"}
    finally:
        await other.close()


async def test_what_waits_for_an_answer_runs_also_where_it_is_not_loaded(kin: Family) -> None:
    parent = kin.root()
    call = {"callId": "c", "name": "shell", "arguments": "{}"}
    asked = {"id": "r", "method": "m", "params": {}, "call": call, "itemId": "i", "flag": "waitingOnApproval", "at": 1}
    parent.emit(say.active(parent.id), say.turn_started(parent.id, "turn", 1), Aside([{"@": "asked", **asked}]))
    kin.manager.unload(parent)
    await kin.manager.settled()
    [node] = nodes(kin.manager, parent.id)
    assert node.status == kin.manager.status(parent.id) == "running"


async def test_a_turn_of_which_only_the_status_was_written_is_none(kin: Family) -> None:
    thread = kin.root()
    await kin.turn(thread, "hello")
    thread.emit(say.active(thread.id))  # the power goes here
    async with killed(kin) as after:
        await after.manager.knowledge.whole()
        assert after.manager.get(thread.id).state.rest.thread.status.type == "idle"


# ── an owner that goes alone ──────────────────────────────────────────────────────────────────────────────────────────


async def test_who_gets_the_report_of_a_freed_agent_reads_the_rest_of_it(kin: Family) -> None:
    top = kin.root()
    middle = kin.child(top, "hold middle", callback=SILENT)
    long = "x" * (LONGEST + 1)
    child = kin.child(middle, "hold x", on_parent_close="abandon", callback=CallbackConfig())
    stranger = kin.root()
    await kin.manager.settled()
    await kin.manager.cascade.close(middle.id)
    kin.voice.let_go("x")
    await kin.quiet()
    await kin.turn(child, long)
    await kin.quiet()
    [_, last] = kin.reports(top)
    assert "1 bytes cut; read_agent" in last["content"][0]["text"]
    told = last["report"]
    for _ in range(2):
        read = await kin.manager.branch(top.id).read(told["childThreadId"], told["childTurnId"])
        assert read == (told["childTurnId"], long)
        kin.manager.unload(child)
    for verb in ("message", "annotate"):
        with pytest.raises(Refused, match=f"Not permitted to {verb} agents outside your subtree"):
            kin.manager.branch(top.id)._check(child.id, verb)
    with pytest.raises(Refused, match="Not permitted to read agents outside your subtree"):
        await kin.manager.branch(stranger.id).read(child.id)


async def test_a_report_that_nobody_is_there_to_take_is_shown(home: House) -> None:
    async with home.talking() as talk:
        root = (await talk.start())["id"]
        spawned = await talk.ask("agent/spawn", threadId=root, input=said("wait"), onParentClose="abandon")
        child = spawned["thread"]["id"]
        await talk.until("turn/started", threadId=child)
        assert "keptReports" not in (await talk.ask("thread/read", threadId=child))["thread"]
        await talk.ask("thread/close", threadId=root)
        await home.thread(child).interrupt()
        kept = [
            {"childThreadId": child, "childTurnId": home.thread(child).state.rest.last_end, "status": "interrupted"}
        ]
        for _ in range(2):  # loaded or not
            assert (await talk.ask("thread/read", threadId=child))["thread"]["keptReports"] == kept
            [node] = (await talk.ask("thread/tree", threadId=child))["data"]
            assert node["keptReports"] == kept
            home.threads.unload(home.thread(child))
        turns = (await talk.ask("thread/resume", threadId=root))["thread"]["turns"]
        await home.threads.upkeep.sweep()
        home.threads.reports.deliver(home.thread(child))
        if [it["status"] for it in turns] != ["completed"]:  # it may have been told before it was resumed for us
            await talk.until("turn/completed", threadId=root)
        with anyio.fail_after(SECONDS):  # the child hears that its report was taken a moment after
            while "keptReports" in (await talk.ask("thread/read", threadId=child))["thread"]:
                await checkpoint()


async def test_who_watches_a_tree_hears_that_a_kept_report_was_taken(home: House) -> None:
    async with home.talking() as talk, home.talking() as watcher:
        root = (await talk.start())["id"]
        spawned = await talk.ask("agent/spawn", threadId=root, input=said("wait"), onParentClose="abandon")
        child = spawned["thread"]["id"]
        await talk.ask("thread/close", threadId=root)
        await home.thread(child).interrupt()
        seen = await watcher.ask("thread/tree", threadId=child, subscribe=True)
        assert "keptReports" in seen["data"][0]
        await talk.ask("thread/resume", threadId=root)
        home.threads.reports.deliver(home.thread(child))
        with anyio.fail_after(SECONDS):
            while any("keptReports" in it for it in (await watcher.until("thread/tree/changed"))["changed"]):
                pass


async def test_a_tree_says_where_each_of_its_threads_comes_from(kin: Family) -> None:
    source = kin.root()
    await kin.turn(source, "hello")
    await kin.manager.settled()
    parent = fork(kin.manager, source)
    parent.announce()
    child = kin.child(parent, "done", spawn_point=("turn", 3), on_parent_close="abandon")
    await kin.quiet()
    for _ in range(2):  # loaded or not
        top, below = nodes(kin.manager, child.id)
        assert (top.parent_thread_id, top.forked_from_id, top.spawn_config) == (None, source.id, None)
        assert (below.parent_thread_id, below.forked_from_id) == (parent.id, None)
        assert below.spawn_point is not None
        assert (below.spawn_point.turn_id, below.spawn_point.item_index) == ("turn", 3)
        assert below.spawn_config == child.state.rest.thread.spawn_config
        for it in (parent, child):
            kin.manager.unload(it)
        await kin.manager.settled()
    await kin.manager.cascade.close(parent.id)
    [alone] = nodes(kin.manager, child.id)
    assert (alone.depth, alone.parent_thread_id) == (0, parent.id), "it stays, as genealogy"


async def test_a_tree_that_was_set_free_at_the_second_attempt_is_held_for_all_of_it(
    kin: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise another process could take it as soon as its top has left memory, and write beside this one."""
    root = kin.root()
    child = kin.child(root, "hold x", on_parent_close="abandon")
    below = kin.child(child, "hold x")
    await kin.manager.settled()
    with monkeypatch.context() as full:
        full.setattr(child, "emit", refused)
        with pytest.raises(StoreError, match="No space left"):
            await kin.manager.cascade.close(root.id)
    assert {it.after for it in await kin.manager.cascade.close(root.id)} == {"shutdown"}
    await child.interrupt()
    await kin.until(lambda: not child.ending)
    kin.manager.unload(child)
    assert Rollouts(kin.store.home).holder(child.id) is not None
    kin.manager.unload(below)
    assert Rollouts(kin.store.home).holder(child.id) is None


async def test_who_watches_a_tree_hears_what_has_left_it(home: House) -> None:
    async with home.talking() as talk:
        root = (await talk.start())["id"]
        spawned = await talk.ask("agent/spawn", threadId=root, input=said("wait"), onParentClose="abandon")
        child = spawned["thread"]["id"]
        below = home.born(child)
        await talk.ask("thread/tree", threadId=root, subscribe=True)
        await talk.ask("thread/close", threadId=root)
        removed: set[str] = set()
        with anyio.fail_after(SECONDS):
            while removed != {child, below}:
                event = await talk.until("thread/tree/changed")
                assert event["rootThreadId"] == root
                removed |= set(event["removed"])
                assert not removed & {it["threadId"] for it in event["changed"]}


# ── a sweep ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_thread_that_has_work_stays_in_memory(kin: Family) -> None:
    idle, waiting = kin.root(), kin.root()
    waiting.set_callback(gathering(5, window_ms=2 * HALF_AN_HOUR))
    child = kin.child(waiting, "done")
    await kin.until(lambda: waiting.queue.entries and not child.state.rest.due_reports)
    kin.time += HALF_AN_HOUR
    assert set(await kin.manager.upkeep.sweep()) == {idle.id, child.id}
    kin.time += HALF_AN_HOUR
    await kin.manager.upkeep.sweep()
    await kin.quiet()
    assert kin.told(waiting) == [(child.id, "completed")]


async def test_a_child_whose_report_waits_for_somebody_stays_in_memory(
    kin: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = kin.root()
    with monkeypatch.context() as broken:
        broken.setattr(type(parent.queue), "report", lambda self, entry: 1 / 0)
        child = kin.child(parent)
        await kin.until(lambda: child.state.rest.due_reports and not child.ending)
        kin.time += HALF_AN_HOUR
        assert await kin.manager.upkeep.sweep() == [parent.id]
    await kin.manager.upkeep.sweep()
    await kin.quiet()
    assert kin.told(parent) == [(child.id, "completed")]


async def test_a_report_that_nobody_can_take_holds_no_thread_in_memory(kin: Family) -> None:
    top = kin.root()
    child = kin.child(top, "hold x", on_parent_close="abandon")
    await kin.manager.settled()
    await kin.manager.cascade.close(top.id)
    kin.voice.let_go("x")
    await kin.until(lambda: child.state.rest.due_reports and not child.ending)
    kin.time += HALF_AN_HOUR
    assert await kin.manager.upkeep.sweep() == [child.id]
    await kin.manager.upkeep.sweep()
    assert child.id not in kin.manager.loaded, "its tree is nobody's now"


async def test_a_sweep_takes_up_what_is_due_in_a_tree_that_is_ours(kin: Family) -> None:
    parent = kin.root()
    child = kin.child(parent, "hold x")
    kin.voice.let_go("x")
    await kin.quiet()
    child.queue.add(words("by itself"), "c1")
    kin.manager.unload(child)
    await kin.manager.settled()
    await kin.manager.upkeep.sweep()
    await kin.quiet()
    assert kin.voice.heard[child.id] == ["hold x", "by itself"]


async def test_a_timer_of_a_thread_that_has_left_memory_does_nothing(kin: Family) -> None:
    thread = kin.root()
    thread.queue.pause()
    thread.queue.add(words("later"), "c1")
    kin.manager.unload(thread)
    thread.state.rest.queue_paused = None  # as it stood when the timer was set
    thread.pump_later(0)
    for _ in range(10):
        await checkpoint()
    assert thread.running is None
    assert kin.voice.heard[thread.id] == []


async def test_how_long_nobody_has_to_use_a_thread_is_configured(
    tmp_path: Path, conformance: Conformance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(housekeeping, "SWEEP", 0.01)
    async with house(tmp_path, conformance) as home:
        file = home.place.app.configuration.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("thread_unload_delay_secs = 0\n")
        thread = home.born()
        with anyio.fail_after(SECONDS):
            while thread in home.threads.loaded:
                await checkpoint()
