"""What a close leaves to itself, what it carries on after a crash, and what those who draw the tree hear of it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
from anyio.lowlevel import checkpoint
from tests.server.threads.house import House, house
from tests.support.conformance import Conformance
from tests.support.processes import server_home
from tests.support.talk import SECONDS, Talk

from threadloom.events import Aside, Record
from threadloom.threads import say
from threadloom_protocol.v2.values.genealogy import CallbackConfig, OnParentClose, SpawnConfig


def spawned(on_parent_close: OnParentClose = "cancel") -> SpawnConfig:
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
        callback_config=CallbackConfig(enabled=False),
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
        home.thread(first).emit(say.closed(first, root))
        await home.threads.settled()
        assert home.threads.durable.index.due() == [root]
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        await home.threads.upkeep.take_up()
        with anyio.fail_after(SECONDS):
            while home.threads.status(root) != "shutdown":
                await home.threads.observer.change([root]).wait()
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
        await home.threads.cascade.archive(home.born(root))  # by itself, before
        cut(home, "thread/archived", tmp_path / "second")
        await home.threads.cascade.archive(root)
    async with house(tmp_path / "second", conformance) as home:
        await home.threads.knowledge.whole()
        assert {home.threads.row(it).archived for it in everyone} == {False, True}
        assert await states(home, *everyone) == {True}
        assert len({home.threads.rest(it).archived_by for it in everyone}) == 1
        cut(home, "thread/unarchived", tmp_path / "third")
        await home.threads.cascade.unarchive(root)
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


async def test_a_delete_says_in_the_log_of_its_root_that_it_has_begun(tmp_path: Path, conformance: Conformance) -> None:
    async with house(tmp_path, conformance) as home:
        root = home.born()
        home.born(root)
        store, left = home.threads.durable, []

        def remove(thread_id: str, *, purge: bool = False) -> None:
            left.append(b'"deleting"' in log.read_bytes())

        log = Path(str(home.thread(root).state.rest.thread.path))
        store.remove = remove  # type: ignore[method-assign]
        await home.threads.cascade.delete(root)
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
        await home.said(stranger, "say 3 words")
        await other.ask("thread/delete", threadId=child)
        with anyio.fail_after(SECONDS):
            while True:
                event = await talk.until("thread/tree/changed")
                assert event["rootThreadId"] == root
                if child in event["removed"]:
                    break


async def changed(talk: Talk, thread_id: str, fits: Any) -> None:
    """Wait for a node to look so."""
    with anyio.fail_after(SECONDS):
        while True:
            event = await talk.until("thread/tree/changed")
            if any(fits(node) for node in event["changed"] if node["threadId"] == thread_id):
                return
