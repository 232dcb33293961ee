"""What a close leaves to itself, what it carries on after a crash, and what those who draw the tree hear of it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from tests.server.threads.house import House, house
from tests.support.conformance import Conformance
from tests.support.processes import server_home
from tests.support.talk import SECONDS, Refusal, Talk

from threadloom.events import Aside, Record
from threadloom.store.errors import StoreError
from threadloom.store.logfile import RolloutLog
from threadloom.store.rollout import Rollouts
from threadloom.threads import say
from threadloom.threads.forks import fork
from threadloom.threads.replay import fold
from threadloom.threads.thread import Thread
from threadloom_protocol.v2.values.genealogy import CallbackConfig, OnParentClose, SpawnConfig


def spawned(on_parent_close: OnParentClose = "cancel", *, enabled: bool = False) -> SpawnConfig:
    return SpawnConfig(
        kind="agent",
        agent_type=None,
        agent_name=None,
        model=None,
        reasoning_effort=None,
        working_directory="/",
        read_only=False,
        allow_list=None,
        deny_list=[],
        on_parent_close=on_parent_close,
        callback_config=CallbackConfig(enabled=enabled),
    )


class Abandoning:
    """A root with a child that goes with it and one that does not, which has a child of its own."""

    def __init__(self, home: House, root: str) -> None:
        self.root = root
        self.bound = home.born(root, spawn_config=spawned())
        self.free = home.born(root, spawn_config=spawned("abandon"))
        self.below = home.born(self.free, spawn_config=spawned())


async def read(talk: Talk, thread_id: str) -> dict[str, Any]:
    thread: dict[str, Any] = (await talk.ask("thread/read", threadId=thread_id))["thread"]
    return thread


async def test_what_is_to_outlive_its_owner_is_a_tree_of_its_own_after_the_close(
    tmp_path: Path, conformance: Conformance
) -> None:
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        tree = Abandoning(home, (await talk.start())["id"])
        running = home.speak(tree.free, "wait")
        dry = (await talk.ask("thread/close", threadId=tree.root, dryRun=True))["report"]
        report = (await talk.ask("thread/close", threadId=tree.root))["report"]
        assert [it["threadId"] for it in report] == [it["threadId"] for it in dry] == [tree.bound, tree.root]
        assert not running.done.is_set()
        for thread_id in (tree.free, tree.below):
            assert (await read(talk, thread_id))["sessionId"] == tree.free
        assert (await read(talk, tree.free))["parentThreadId"] == tree.root  # it still comes from there
        seen = await talk.ask("thread/tree", threadId=tree.below)
        assert seen["rootThreadId"] == tree.free
        assert [(it["threadId"], it["depth"]) for it in seen["data"]] == [(tree.free, 0), (tree.below, 1)]
        assert list(tmp_path.rglob(f"locks/{tree.free}"))  # noqa: ASYNC240 (a moment, in a test)
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        await talk.ask("thread/resume", threadId=tree.free)
        await home.said(tree.below, "say 3 words")
        seen = await talk.ask("thread/tree", threadId=tree.root)
        assert [it["threadId"] for it in seen["data"]] == [tree.root, tree.bound]


async def test_archiving_and_deleting_leave_it_alone_too(tmp_path: Path, conformance: Conformance) -> None:
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        for method in ("thread/archive", "thread/delete"):
            tree = Abandoning(home, (await talk.start())["id"])
            await talk.ask(method, threadId=tree.root)
            assert (await read(talk, tree.free))["sessionId"] == tree.free
            await home.said(tree.below, "say 3 words")


@pytest.mark.parametrize("method", ["thread/close", "thread/archive", "thread/delete"])
async def test_a_log_that_is_gone_of_what_would_outlive_it_keeps_nothing_from_ending(
    tmp_path: Path, conformance: Conformance, method: str
) -> None:
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        tree = Abandoning(home, (await talk.start())["id"])
        await home.threads.knowledge.whole()  # from the next start on, nobody would list it
        running = home.speak(tree.bound, "wait")
        for it in map(home.thread, (tree.below, tree.free)):
            home.threads.unload(it)
            Path(str(it.state.rest.thread.path)).unlink()  # noqa: ASYNC240 (a moment, in a test)
        await home.threads.settled()
        await talk.ask(method, threadId=tree.root)
        assert running.done.is_set()
        assert home.threads.loaded == {}


async def test_an_interrupt_of_all_ends_the_turns_of_what_would_outlive_a_close_too(
    tmp_path: Path, conformance: Conformance
) -> None:
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        tree = Abandoning(home, (await talk.start())["id"])
        everyone = (tree.root, tree.bound, tree.free, tree.below)
        running = [home.speak(it, "wait") for it in everyone]
        await talk.ask("turn/interrupt", threadId=tree.root, turnId="", cascade=True)
        assert all(it.done.is_set() for it in running)
        assert {home.threads.status(it) for it in everyone} == {"interrupted"}


async def test_a_close_that_a_crash_has_cut_short_is_carried_on(tmp_path: Path, conformance: Conformance) -> None:
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        root = (await talk.start())["id"]
        first, second = home.born(root), home.born(root)
        # As far as a close had come when its server was killed.
        home.thread(root).emit(Aside([{"@": "closing"}]))
        home.thread(first).emit(say.closed(first, root, root))
        await home.threads.settled()
        assert home.threads.durable.index.due() == [root]
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        await home.threads.upkeep.take_up()
        with anyio.fail_after(SECONDS):
            while home.threads.status(root) != "shutdown":
                with home.threads.observer.changing([root]) as changed:
                    await changed.wait()
        assert {home.threads.status(it) for it in (first, second, root)} == {"shutdown"}
        await home.threads.settled()
        assert home.threads.durable.index.due() == []


def cut(home: House, method: str, into: Path) -> None:
    """Keep what the disk holds as soon as something has happened to the first thread: a killed server leaves that."""
    publish = home.threads.hub.publish

    def published(records: Sequence[Record]) -> None:
        publish(records)
        if records[0].notification.method == method and not into.exists():
            shutil.copytree(home.place.home, server_home(into))

    home.threads.hub.publish = published  # type: ignore[method-assign]


async def states(home: House, *ids: str) -> set[bool]:
    """Whether threads are archived, once nothing is left to do."""
    await home.threads.upkeep.take_up()
    with anyio.fail_after(SECONDS):
        while home.threads.durable.index.due():
            await checkpoint()
            await home.threads.settled()
    return {home.threads.row(it).archived for it in ids}


async def test_an_archive_that_a_crash_has_cut_short_is_carried_on_and_undone_as_one(
    tmp_path: Path, conformance: Conformance
) -> None:
    async with house(tmp_path / "first", conformance) as home:
        root = home.born()
        everyone = root, home.born(root), home.born(root)
        await home.threads.moves.archive(home.born(root))  # by itself, before
        cut(home, "thread/archived", tmp_path / "second")
        await home.threads.moves.archive(root)
    async with house(tmp_path / "second", conformance) as home:
        await home.threads.knowledge.whole()
        assert {home.threads.row(it).archived for it in everyone} == {False, True}
        assert await states(home, *everyone) == {True}
        assert len({home.threads.rest(it).archived_by for it in everyone}) == 1
        cut(home, "thread/unarchived", tmp_path / "third")
        await home.threads.moves.unarchive(root)
    async with house(tmp_path / "third", conformance) as home:
        assert await states(home, *everyone) == {False}
        archived = [it for it in home.threads.lineage.descendants(root) if home.threads.row(it).archived]
        assert len(archived) == 1  # what that operation had not taken


async def test_a_delete_that_a_crash_has_cut_short_is_carried_on(tmp_path: Path, conformance: Conformance) -> None:
    async with house(tmp_path, conformance) as home:
        root = home.born()
        first, second = home.born(root), home.born(root)
        # As far as a delete had come when its server was killed.
        home.thread(root).emit(Aside([{"@": "deleting", "how": "keep"}]))
        home.threads.unload(home.thread(first))
        home.threads.durable.remove(first)
        await home.threads.settled()
    async with house(tmp_path, conformance) as home:
        await home.threads.upkeep.take_up()
        with anyio.fail_after(SECONDS):
            while home.threads.exists(root):
                await checkpoint()
        await home.threads.settled()
        assert [home.threads.exists(it) for it in (root, first, second)] == [False] * 3
        assert list(tmp_path.rglob("*.jsonl")) == []  # noqa: ASYNC240 (a moment, in a test)


async def test_a_delete_is_not_carried_on_before_every_fork_is_known(
    tmp_path: Path, conformance: Conformance, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(tmp_path, conformance) as home:
        root = home.born()
        fork(home.threads, home.thread(root))
        home.thread(root).emit(Aside([{"@": "deleting", "how": "keep"}]))
        await home.threads.settled()
    for it in list(home.place.home.rglob("index.sqlite*")):
        it.unlink()
    gate, usual = anyio.Event(), Rollouts.recover

    async def recover(store: Rollouts, *given: Any) -> None:
        await gate.wait()
        await usual(store, *given)

    monkeypatch.setattr(Rollouts, "recover", recover)
    async with house(tmp_path, conformance) as home:
        await home.threads.durable.bring_up(root, fold)
        home.thread(root)
        await anyio.wait_all_tasks_blocked()
        await home.threads.settled()
        await anyio.wait_all_tasks_blocked()
        assert home.threads.exists(root)
        gate.set()
        with anyio.fail_after(SECONDS):
            while home.threads.exists(root):
                await checkpoint()
        await home.threads.settled()
        assert len(list(tmp_path.rglob("*.jsonl.kept"))) == 1  # noqa: ASYNC240 (a moment, in a test)


@pytest.mark.parametrize(
    ("method", "mark"),
    [("thread/close", "closing"), ("thread/archive", "archiving"), ("thread/delete", "deleting")],
)
async def test_whatever_sets_others_free_has_noted_before_that_it_has_begun(
    method: str, mark: str, tmp_path: Path, conformance: Conformance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their trees are in many logs: a crash between two of them is mended only where it is carried on."""
    noted: list[str] = []

    def emit(thread: Thread, *drafts: Any) -> None:
        noted.extend(it["@"] for draft in drafts if isinstance(draft, Aside) for it in draft.model)
        usual(thread, *drafts)

    usual = Thread.emit
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        root = (await talk.start())["id"]
        free = home.born(root, spawn_config=spawned("abandon"))
        home.born(free)
        monkeypatch.setattr(Thread, "emit", emit)
        await talk.ask(method, threadId=root)
        assert mark in noted
        assert noted.index(mark) < noted.index("freed")


async def test_a_delete_says_in_the_log_of_its_root_that_it_has_begun(tmp_path: Path, conformance: Conformance) -> None:
    async with house(tmp_path, conformance) as home:
        root = home.born()
        home.born(root)
        store, left = home.threads.durable, []

        def remove(thread_id: str, *, purge: bool = False) -> None:
            left.append(b'"deleting"' in log.read_bytes())

        log = Path(str(home.thread(root).state.rest.thread.path))
        store.remove = remove  # type: ignore[method-assign]
        await home.threads.moves.delete(root)
        assert left == [True, True]


async def test_who_watches_a_tree_hears_what_changes_in_it(tmp_path: Path, conformance: Conformance) -> None:
    async with house(tmp_path, conformance) as home, home.talking() as talk, home.talking() as other:
        root = (await other.start())["id"]
        stranger = (await other.start())["id"]
        await talk.ask("thread/tree", threadId=root, subscribe=True)
        child = home.born(root, name="child")
        await changed(talk, child, lambda node: node["name"] == "child" and node["depth"] == 1)
        await talk.ask("thread/note/set", threadId=child, note="looks around")
        await changed(talk, child, lambda node: node["note"] == "looks around")
        running = home.speak(child, "wait")
        await changed(talk, child, lambda node: node["status"] == "running" and node["activity"] == "works")
        await home.thread(child).interrupt()
        await running.done.wait()
        await changed(talk, child, lambda node: node["status"] == "interrupted" and node["activity"] is None)
        await talk.ask("thread/settings/update", threadId=child, model="another")
        await changed(talk, child, lambda node: node["model"] == "another")
        await home.said(stranger, "say 3 words")
        await other.ask("thread/delete", threadId=child)
        with anyio.fail_after(SECONDS):
            while True:
                event = await talk.until("thread/tree/changed")
                assert event["rootThreadId"] == root
                if child in event["removed"]:
                    break


async def test_who_watched_a_tree_hears_no_more_of_it_after_the_word_for_that_be_it_loaded_or_not(
    tmp_path: Path, conformance: Conformance
) -> None:
    async with house(tmp_path, conformance) as home, home.talking() as talk, home.talking() as other:
        root = home.born()
        await talk.ask("thread/tree", threadId=root, subscribe=True)
        home.threads.unload(home.thread(root))
        assert await talk.ask("thread/unsubscribe", threadId=root) == {"status": "notLoaded"}
        await other.ask("thread/tree", threadId=root, subscribe=True)
        await other.ask("thread/note/set", threadId=root, note="seen")
        await changed(other, root, lambda node: node["note"] == "seen")
        await talk.ask("thread/loaded/list")
        assert talk.heard("thread/tree/changed") == []


async def test_an_index_that_cannot_be_read_ends_nobody_who_watches_a_tree(
    tmp_path: Path, conformance: Conformance, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        root = (await talk.start())["id"]
        await talk.ask("thread/tree", threadId=root, subscribe=True)
        asked = anyio.Event()

        def broken(thread_id: str) -> Any:
            asked.set()
            raise StoreError("The index cannot be read.")

        with monkeypatch.context() as damaged:
            damaged.setattr(home.threads.trees, "node", broken)
            await talk.ask("thread/note/set", threadId=root, note="first")
            with anyio.fail_after(SECONDS):
                await asked.wait()
        await talk.ask("thread/note/set", threadId=root, note="second")
        await changed(talk, root, lambda node: node["note"] == "second")


async def changed(talk: Talk, thread_id: str, fits: Any) -> None:
    """Wait for a node to look so."""
    with anyio.fail_after(SECONDS):
        while True:
            event = await talk.until("thread/tree/changed")
            if any(fits(node) for node in event["changed"] if node["threadId"] == thread_id):
                return


def refused(*arguments: Any) -> None:
    """A write on a disk that is full."""
    raise StoreError("No space left on device.")


async def listed(talk: Talk) -> list[str]:
    kinds = ["vscode", "subAgentThreadSpawn"]
    return sorted(it["id"] for it in (await talk.ask("thread/list", sourceKinds=kinds))["data"])


async def test_what_is_at_work_is_deleted_on_a_full_disk_too(
    tmp_path: Path, conformance: Conformance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its end cannot be told to its owner then; who deletes wants the space."""
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        root = (await talk.start())["id"]
        child = home.born(root, spawn_config=spawned(enabled=True))
        home.speak(root, "echo hello")
        home.speak(child, "wait")
        await talk.until("turn/completed", threadId=root)
        with monkeypatch.context() as full:
            full.setattr(RolloutLog, "append", refused)
            await talk.ask("thread/delete", threadId=child)
        assert home.threads.lineage.children(root) == []
        assert await listed(talk) == [root]


async def test_a_delete_that_is_refused_half_way_leaves_all_of_it_in_the_lists(
    tmp_path: Path, conformance: Conformance, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        tree = Abandoning(home, (await talk.start())["id"])
        for it in (tree.root, tree.bound, tree.free, tree.below):
            await home.said(it, "echo hello")
        before = await listed(talk)
        with monkeypatch.context() as full:
            full.setattr(home.threads, "set_free", refused)
            with pytest.raises(Refusal, match="No space left"):
                await talk.ask("thread/delete", threadId=tree.root)
        assert await listed(talk) == before
        await talk.ask("thread/delete", threadId=tree.root)
        assert await listed(talk) == sorted([tree.free, tree.below])
