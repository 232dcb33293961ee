"""Damaged logs: every record that is whole is served, the rest is told, and nothing keeps a thread from going on."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import orjson
import pytest
from tests.server.threads.house import house
from tests.server.threads.studio import Studio, studio
from tests.support.conformance import Conformance
from tests.support.counts import count
from tests.support.crash_logs import check_index
from tests.support.processes import server_home
from tests.support.talk import text_of

from threadloom.store import history, logfile, recovery
from threadloom.store.rollout import Rollouts
from threadloom.store.rows import Line
from threadloom.threads.replay import Replayed, fold
from threadloom.threads.sessions import Sessions

OFTEN = 25  # one damage in so many is seen through to a turn that goes on


class Told(NamedTuple):
    """A home, and a thread in it whose log is damaged."""

    home: Path
    thread_id: str
    log: Path
    lines: list[Line]
    whole: bytes


@pytest.fixture
async def told(tmp_path: Path) -> Told:
    """A thread with a past: turns, a name, a note, a saved point, a fork."""
    async with studio(tmp_path / "first") as loom:
        thread = loom.born()
        for words in ("one", "two", "three"):
            await loom.turn(thread, words)
        thread.set_note("a note")
        await Sessions(loom.manager).save(thread.id, "core")
        await loom.turn(thread, "four")
        thread.set_name("The last word")
        await loom.manager.settled()
        path = Path(str(thread.state.rest.thread.path))
        log = loom.store.read(thread.id)
        lines = list(log.scan())
        log.close()
        home = loom.room / "home"
    whole = await anyio.Path(path).read_bytes()
    shutil.move(home, tmp_path / "kept")  # it is put back, damaged, where it was: the index knows its place
    return Told(tmp_path / "kept", thread.id, path.relative_to(home), lines, whole)


class Reports:
    """What is told of damage."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.told: list[str] = []
        for module in (logfile, recovery):
            for level in ("warning", "error"):
                monkeypatch.setattr(module._log, level, lambda words, **_: self.told.append(words))

    def clear(self) -> None:
        """Nothing was told."""
        self.told.clear()
        logfile._told.clear()

    def has(self, word: str) -> bool:
        """Whether something like that was told."""
        return any(word in it for it in self.told)


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> Reports:
    return Reports(monkeypatch)


async def served(
    told: Told, data: bytes, room: Path, reports: Reports, *, through: bool, anew: bool = False, torn: bool = False
) -> list[Line]:
    """What is read of a log with these bytes, with the index that was there or one made `anew`."""
    home = room / "home"
    shutil.copytree(told.home, home, ignore=shutil.ignore_patterns("index*" if anew else ""))
    (home / told.log).write_bytes(data)
    reports.clear()
    store = Rollouts(home)
    try:
        await store.recover(fold)
        read = list(store.after(told.thread_id, 0))
        met = store.read(told.thread_id)
        list(met.scan())
        assert bool(met.damaged) == reports.has("damaged"), "told as soon as it is met"
        log = store.open(told.thread_id)
        assert reports.has("torn") == torn, "a torn end is told by whoever cuts it"
        Replayed(log, store.index.get(told.thread_id))
        assert log.seq >= max((it.seq for it in read), default=0)
        log.close()
    finally:
        store.close()
    await check_index(home, room / "rebuilt")
    if through:
        await goes_on(room, told.thread_id)
    shutil.rmtree(room)
    return read


async def goes_on(room: Path, thread_id: str) -> None:
    async with studio(room) as loom:
        await loom.manager.knowledge.whole()
        assert await loom.turn(loom.manager.get(thread_id), "go on") == "completed"


def said(line: Line) -> Any:
    return line.seq, line.method, orjson.dumps([line.params, line.model])


async def test_a_log_cut_at_any_byte_of_its_last_records(told: Told, tmp_path: Path, reports: Reports) -> None:
    first = [it for it in told.lines if it.seq][-3].offset
    places = range(first, len(told.whole))
    chance = random.Random(1)
    for nth, at in enumerate(sorted(chance.sample(places, min(len(places), count(len(places)))))):
        data = told.whole[:at]
        torn = not data.endswith(b"\n")
        read = await served(told, data, tmp_path / "first", reports, through=nth % OFTEN == 0, torn=torn)
        whole = [it for it in told.lines if it.offset + it.size <= at]
        assert [said(it) for it in read] == [said(it) for it in whole]


async def test_a_log_with_a_bit_that_flipped_anywhere(told: Told, tmp_path: Path, reports: Reports) -> None:
    chance = random.Random(2)
    for nth in range(count(2000)):
        at = chance.randrange(len(told.whole))
        if nth % 20 == 0:  # what parts two lines, or ends the last
            at = (hit := chance.choice(told.lines) if nth else told.lines[-1]).offset + hit.size - 1
        data = flipped(told.whole, at, chance.randrange(8))
        read = await served(told, data, tmp_path / "first", reports, through=nth % OFTEN == 0, anew=nth % 2 == 1)
        touched = next((it for it in told.lines if it.offset <= at < it.offset + it.size), None)
        parting = touched is not None and at == touched.offset + touched.size - 1
        intact = [said(it) for it in told.lines if it is not touched or parting]
        assert [said(it) for it in read] == intact, f"byte {at}"
        assert reports.has("damaged"), f"byte {at}"


def flipped(whole: bytes, at: int, bit: int) -> bytes:
    """A log with one bit that is another."""
    return whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :]


async def test_a_log_with_a_bit_of_its_header_that_flipped(told: Told, tmp_path: Path, reports: Reports) -> None:
    end = told.lines[0].offset
    chance = random.Random(3)
    for nth, at in enumerate([end - 1, *chance.sample(range(end), count(300))]):
        data = flipped(told.whole, at, chance.randrange(8))
        read = await served(told, data, tmp_path / "first", reports, through=nth % OFTEN == 0, anew=nth % 2 == 0)
        assert [said(it) for it in read] == [said(it) for it in told.lines], f"byte {at}"
        assert reports.has("the header of a log is damaged"), f"byte {at}"


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("started", [True, False])
async def test_a_log_without_a_header_is_told_and_goes_on_from_what_else_is_known(
    told: Told, tmp_path: Path, reports: Reports, *, index: bool, started: bool
) -> None:
    home = tmp_path / "first" / "home"
    shutil.copytree(told.home, home)
    lost = told.lines[0 if started else 2].offset - 1
    data = b"?" * lost + told.whole[lost:]
    (home / told.log).write_bytes(data)
    if not index:
        (home / "index.sqlite").unlink()
    reports.clear()
    async with studio(home.parent) as loom:
        assert isinstance(loom, Studio)
        await loom.manager.knowledge.whole()
        if index or started:
            thread = loom.manager.get(told.thread_id)
            assert thread.state.rest.thread.name == "The last word"
            assert await loom.turn(thread, "go on") == "completed"
            assert Sessions(loom.manager).find("core").thread_id == told.thread_id
            assert reports.has("the header of a log is damaged")
        else:
            assert reports.has("a log cannot be read")
            assert loom.store.index.get(told.thread_id) is None
        assert await loom.turn(loom.born(), "still here") == "completed"
    assert (await anyio.Path(home / told.log).read_bytes()).startswith(data), "nothing is thrown away"


async def test_a_thread_whose_settings_are_lost_may_do_nothing_that_nobody_has_allowed(
    told: Told, tmp_path: Path
) -> None:
    home = tmp_path / "first" / "home"
    shutil.copytree(told.home, home)
    (home / told.log).write_bytes(b"?" * 9 + told.whole[9:])
    (home / "index.sqlite").unlink()
    async with studio(home.parent) as loom:
        await loom.manager.knowledge.whole()
        settings = loom.manager.get(told.thread_id).state.rest.settings
    assert (settings.approval_policy, settings.sandbox_policy.type) == ("untrusted", "readOnly")


LOST = pytest.mark.parametrize(
    "damage", [Path.unlink, lambda log: log.write_bytes(b"?" * 99)], ids=["gone", "unreadable"]
)


@LOST
@pytest.mark.parametrize("index", [True, False])
async def test_a_fork_goes_on_though_the_log_that_it_stands_on_is_lost(
    tmp_path: Path,
    conformance: Conformance,
    damage: Callable[[Path], object],
    monkeypatch: pytest.MonkeyPatch,
    *,
    index: bool,
) -> None:
    told: list[str] = []
    warning = history._log.warning
    monkeypatch.setattr(history._log, "warning", lambda words, **more: told.append(words) or warning(words, **more))
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        root = (await talk.start())["id"]
        await talk.turn(root, "echo one")
        late = (await talk.ask("thread/fork", threadId=root))["thread"]["id"]
        await talk.turn(late, "echo of the fork")
        turn_id = await talk.begin(root, "echo Half a sentence.\nwait")
        while "sentence." not in (await talk.until("item/agentMessage/delta"))["delta"]:
            pass
        amid = (await talk.ask("thread/fork", threadId=root))["thread"]["id"]
        await talk.ask("turn/interrupt", threadId=root, turnId=turn_id)
        await talk.until("turn/completed", threadId=root)
        await talk.turn(amid, "echo of the fork")
    [log] = server_home(tmp_path).rglob(f"*{root}.jsonl")
    damage(log)
    if not index:
        (server_home(tmp_path) / "index.sqlite").unlink()
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        for it in (late, amid):
            resumed = (await talk.ask("thread/resume", threadId=it))["thread"]
            assert text_of(resumed["turns"][-1]) == "of the fork"
            page = (await talk.ask("thread/items/list", threadId=it, sortDirection="desc"))["data"]
            assert page[0]["item"]["text"] == "of the fork"
            assert (await talk.turn(it, "echo on"))["status"] == "completed"
            again = (await talk.ask("thread/fork", threadId=it))["thread"]["id"]
            for made in (it, again):
                await talk.ask("thread/delete", threadId=made)
    assert told.count("a log is lost that others refer to") == index


@LOST
async def test_an_agent_goes_on_though_the_log_of_its_owner_is_lost(
    tmp_path: Path, conformance: Conformance, damage: Callable[[Path], object]
) -> None:
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        root = (await talk.start())["id"]
        await talk.turn(root, "spawn\n  spawn echo From below.\n  wait for agents\nwait for agents")
        started = [it["params"]["thread"] for it in talk.heard("thread/started")]
    owners = {it["parentThreadId"]: it["id"] for it in started}
    [log] = server_home(tmp_path).rglob(f"*{root}.jsonl")
    damage(log)
    (server_home(tmp_path) / "index.sqlite").unlink()
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        for agent in (child := owners[root], owners[child]):
            await talk.ask("thread/resume", threadId=agent)
            assert (await talk.turn(agent, "echo on"))["status"] == "completed"
        await talk.refused("thread/resume", threadId=root)
        for method in ("thread/archive", "thread/unarchive", "thread/close", "thread/delete"):
            await talk.ask(method, threadId=child)
        await talk.refused("thread/read", threadId=owners[child])


@LOST
@pytest.mark.parametrize("method", ["thread/close", "thread/archive", "thread/delete"])
async def test_a_tree_ends_though_the_log_of_an_agent_is_lost(
    tmp_path: Path, conformance: Conformance, damage: Callable[[Path], object], method: str
) -> None:
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        root = (await talk.start())["id"]
        await talk.turn(root, "spawn echo From below.\nand spawn echo Beside.\nwait for agents")
        started = [it["params"]["thread"] for it in talk.heard("thread/started")]
    lost, beside = (it["id"] for it in started if it["parentThreadId"] == root)
    [log] = server_home(tmp_path).rglob(f"*{lost}.jsonl")
    damage(log)
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        await talk.ask(method, threadId=root)
        listed = (await talk.ask("thread/list", sourceKinds=["subAgent"]))["data"]
        assert [it["id"] for it in listed if it["id"] != lost] == [beside] * (method == "thread/close")
        left = list(tmp_path.rglob(f"*{lost}*.jsonl"))  # noqa: ASYNC240 (a moment, in a test)
        assert left == [log] * (log.exists() and method != "thread/delete")
