"""Trees: closed, archived, deleted and seen as a whole; sealed from the top, closed from the bottom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.server.threads.house import House, Stubborn, words
from tests.support.talk import SECONDS, Message, Refusal, Talk, said, story, text_of

from threadloom.store.errors import StoreError
from threadloom.store.logfile import RolloutLog
from threadloom.threads.birth import Birth
from threadloom.threads.thread import Thread
from threadloom_protocol.errors import InvalidRequest


class Family:
    """A root with two children, the first of which has two of its own."""

    def __init__(self, home: House, root: str) -> None:
        self.root = root
        self.first = home.born(root, name="first")
        self.deep = home.born(self.first, name="deep")
        self.deeper = home.born(self.first, name="deeper")
        self.second = home.born(root, name="second")

    @property
    def order(self) -> list[str]:
        """Children before their parents, older ones first."""
        return [self.deep, self.deeper, self.first, self.second, self.root]

    @property
    def everyone(self) -> set[str]:
        return set(self.order)


async def family(home: House, talk: Talk) -> Family:
    return Family(home, (await talk.start())["id"])


def column(report: list[Message], name: str) -> list[Any]:
    return [it[name] for it in report]


# ── close ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_closing_a_thread_closes_what_it_owns_children_first(home: House) -> None:
    async with home.talking() as talk:
        tree = await family(home, talk)
        for thread_id in (tree.root, tree.deep, tree.second):
            home.speak(thread_id, "wait")
        dry = (await talk.ask("thread/close", threadId=tree.root, dryRun=True))["report"]
        assert column(dry, "threadId") == tree.order
        assert column(dry, "before") == column(dry, "after")
        assert set(column(dry, "how") + column(dry, "ms")) == {None}
        report = (await talk.ask("thread/close", threadId=tree.root))["report"]
        assert column(report, "threadId") == tree.order
        assert column(report, "before") == ["running", "pendingInit", "pendingInit", "running", "running"]
        assert column(report, "before") == column(dry, "before")
        assert set(column(report, "after")) == {"shutdown"}
        assert set(column(report, "how")) == {"cooperative"}
        assert column(report, "ms") == sorted(column(report, "ms"))
        closed = [it["params"] for it in talk.heard("thread/closed")]
        assert [it["threadId"] for it in closed] == tree.order
        assert {(it["reason"], it["by"]) for it in closed} == {("closed", tree.root)}
        # Every turn had ended before the first thread was reported closed.
        ended = talk.heard("turn/completed")
        assert {it["params"]["turn"]["status"] for it in ended} == {"interrupted"}
        assert len(ended) == 3
        again = (await talk.ask("thread/close", threadId=tree.root))["report"]
        assert column(again, "threadId") == tree.order
        assert set(column(again, "how")) == {"already"}
        assert (await talk.ask("thread/loaded/list"))["data"] == []


async def test_a_close_from_the_middle_leaves_the_rest(home: House) -> None:
    async with home.talking() as talk:
        tree = await family(home, talk)
        report = (await talk.ask("thread/close", threadId=tree.first))["report"]
        assert column(report, "threadId") == [tree.deep, tree.deeper, tree.first]
        whole = (await talk.ask("thread/close", threadId=tree.root))["report"]
        assert column(whole, "threadId") == tree.order
        assert column(whole, "how") == ["already"] * 3 + ["cooperative"] * 2


async def test_closes_at_the_same_time_join(home: House) -> None:
    agent = Stubborn()
    home.threads._ground.agent = agent
    async with home.talking() as one, home.talking() as other:
        tree = await family(home, one)
        running = home.speak(tree.deep, "go")
        await one.until("turn/started", threadId=tree.deep)
        first = await one.send("thread/close", {"threadId": tree.root})
        with anyio.fail_after(SECONDS):
            while not running.scope.cancel_called:
                await anyio.lowlevel.checkpoint()
            second = await other.send("thread/close", {"threadId": tree.root})
            await anyio.wait_all_tasks_blocked()
        assert not running.done.is_set()  # both wait for it
        agent.let_go.set()
        report = (await one.answer(first))["report"]
        assert (await other.answer(second))["report"] == report
        assert column(report, "threadId") == tree.order
        closed = [it["params"]["threadId"] for it in one.heard("thread/closed")]
        assert closed == tree.order  # once each


async def test_closes_of_a_tree_and_of_a_part_of_it_do_not_get_in_each_others_way(home: House) -> None:
    async with home.talking() as one, home.talking() as other:
        tree = await family(home, one)
        for thread_id in tree.order:
            home.speak(thread_id, "wait")
        part = await other.send("thread/close", {"threadId": tree.first})
        whole = await one.send("thread/close", {"threadId": tree.root})
        deepest = await other.send("thread/close", {"threadId": tree.deep})
        reports = [(await one.answer(whole))["report"], *[(await other.answer(it))["report"] for it in (part, deepest)]]
        assert [column(it, "threadId") for it in reports] == [tree.order, tree.order[:3], tree.order[:1]]
        assert {state for it in reports for state in column(it, "after")} == {"shutdown"}
        closed = [it["params"]["threadId"] for it in one.heard("thread/closed")]
        assert sorted(closed) == sorted(tree.everyone)  # once each


async def test_nothing_is_born_into_a_tree_that_closes(home: House) -> None:
    agent = Stubborn()
    home.threads._ground.agent = agent
    async with home.talking() as talk:
        tree = await family(home, talk)
        running = home.speak(tree.deep, "go")
        await talk.until("turn/started", threadId=tree.deep)
        closing = await talk.send("thread/close", {"threadId": tree.root})
        with anyio.fail_after(SECONDS):
            while not running.scope.cancel_called:
                await anyio.lowlevel.checkpoint()
        for owner in (tree.root, tree.first, tree.deep):
            with pytest.raises(InvalidRequest, match="is closing"):
                home.threads.start(Birth(settings=home.settings, owner=owner))
            with pytest.raises(InvalidRequest, match="is closing"):
                home.thread(owner).start_turn(words("Hello"))
        agent.let_go.set()
        report = (await talk.answer(closing))["report"]
        assert column(report, "threadId") == tree.order


async def test_a_child_born_a_moment_before_the_close_is_part_of_it(home: House) -> None:
    """The index has not heard of it yet, and that must not matter."""
    async with home.talking() as talk:
        root = (await talk.start())["id"]
        for _ in range(20):
            child = home.born(root)
            assert home.threads.cascade.order(root)[-2:] == [child, root]
        assert column((await talk.ask("thread/close", threadId=root))["report"], "after") == ["shutdown"] * 21


async def test_a_turn_that_does_not_stop_is_reported_and_its_owners_wait_no_longer(home: House) -> None:
    agent = Stubborn()
    home.threads._ground.agent = agent
    async with home.talking() as talk:
        tree = await family(home, talk)
        home.speak(tree.deep, "go")
        await talk.until("turn/started", threadId=tree.deep)
        report = (await talk.ask("thread/close", threadId=tree.root, grace=0))["report"]
        assert column(report, "threadId") == tree.order
        assert column(report, "how")[0] == "unverified"
        assert column(report, "after")[0] == "running"
        assert report[0]["ms"] >= 1000
        agent.let_go.set()


async def test_a_turn_that_needs_a_moment_longer_is_forced(home: House) -> None:
    agent = Stubborn()
    home.threads._ground.agent = agent
    async with home.talking() as talk:
        root = (await talk.start())["id"]
        home.speak(root, "go")
        await talk.until("turn/started", threadId=root)
        closing = await talk.send("thread/close", {"threadId": root, "grace": 0})
        thread = home.thread(root)
        with anyio.fail_after(SECONDS):
            while not thread.sealed:
                await anyio.lowlevel.checkpoint()
            await anyio.wait_all_tasks_blocked()
        agent.let_go.set()
        [report] = (await talk.answer(closing))["report"]
        assert (report["how"], report["after"]) == ("forced", "shutdown")


async def test_a_client_that_leaves_does_not_stop_a_close(home: House) -> None:
    async with home.talking() as watcher:
        async with home.talking() as talk:
            tree = await family(home, talk)
            home.speak(tree.deep, "wait")
            await talk.send("thread/close", {"threadId": tree.root})
            await watcher.until("thread/started")
        while {it["params"]["threadId"] for it in watcher.heard("thread/closed")} != tree.everyone:
            await watcher.read()


async def test_closed_threads_take_no_work_until_they_are_resumed(home: House) -> None:
    async with home.talking() as talk:
        tree = await family(home, talk)
        await talk.ask("thread/close", threadId=tree.root)
        with pytest.raises(InvalidRequest, match="is closed; resume it first"):
            home.threads.start(Birth(settings=home.settings, owner=tree.first))
        refusal = await talk.refused("turn/start", threadId=tree.deep, input=said("Hello"))
        assert "is closed; resume it first" in refusal.message


async def test_a_resume_takes_up_exactly_what_the_close_took(home: House) -> None:
    async with home.talking() as talk:
        tree = await family(home, talk)

        async def states() -> dict[str, str]:
            return {it["threadId"]: it["status"] for it in (await talk.ask("thread/tree", threadId=tree.root))["data"]}

        await talk.ask("thread/close", threadId=tree.deep)
        await talk.ask("thread/close", threadId=tree.root)
        assert set((await states()).values()) == {"shutdown"}
        await talk.ask("thread/resume", threadId=tree.root)
        open_again = dict.fromkeys(tree.order, "pendingInit")
        assert await states() == open_again | {tree.deep: "shutdown"}
        await talk.ask("thread/close", threadId=tree.first)
        await talk.ask("thread/resume", threadId=tree.root)
        assert await states() == open_again | {tree.deep: "shutdown"} | dict.fromkeys(
            (tree.first, tree.deeper), "shutdown"
        )


async def test_a_child_is_taken_up_with_its_owners_and_without_its_siblings(home: House) -> None:
    """Nothing that is shut down owns anything that is not."""
    async with home.talking() as talk:
        tree = await family(home, talk)
        await talk.ask("thread/close", threadId=tree.root)
        await talk.ask("thread/resume", threadId=tree.deep)
        seen = (await talk.ask("thread/tree", threadId=tree.root))["data"]
        live = {it["threadId"] for it in seen if it["status"] != "shutdown"}
        assert live == {tree.root, tree.first, tree.deep}
        assert text_of(await talk.turn(tree.deep, "echo Alive.")) == "Alive."
        await talk.ask("thread/resume", threadId=tree.root)  # the rest of what that close took
        seen = (await talk.ask("thread/tree", threadId=tree.root))["data"]
        assert "shutdown" not in {it["status"] for it in seen}


async def test_what_an_earlier_close_took_is_not_taken_up_after_a_later_one(home: House) -> None:
    async with home.talking() as talk:
        tree = await family(home, talk)
        await talk.ask("thread/close", threadId=tree.first)
        await talk.ask("thread/resume", threadId=tree.deep)  # with its owner, and without its sibling
        for closed in (tree.root, tree.first):  # from further up, and called on its owner
            await talk.ask("thread/close", threadId=closed)
            await talk.ask("thread/resume", threadId=tree.first)
            assert home.threads.status(tree.deep) != "shutdown"
            assert home.threads.status(tree.deeper) == "shutdown", f"it went before {closed} did"


async def test_what_another_close_has_shut_down_since_keeps_what_it_owns(home: House) -> None:
    async with home.talking() as talk:
        tree = await family(home, talk)
        await talk.ask("thread/close", threadId=tree.root)
        await talk.ask("thread/resume", threadId=tree.deep)  # and its owners: its sibling stays as that close left it
        await talk.ask("thread/close", threadId=tree.first)
        await talk.ask("thread/resume", threadId=tree.root)
        seen = (await talk.ask("thread/tree", threadId=tree.root))["data"]
        assert {it["threadId"] for it in seen if it["status"] != "shutdown"} == {tree.root, tree.second}


# ── interrupt ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_interrupt_leaves_children_alone_unless_told_otherwise(home: House) -> None:
    async with home.talking() as talk:
        tree = await family(home, talk)
        for thread_id in tree.order:
            home.speak(thread_id, "wait")
        await talk.ask("turn/interrupt", threadId=tree.root, turnId="")
        assert [it["params"]["threadId"] for it in talk.heard("turn/completed")] == [tree.root]
        await talk.ask("turn/interrupt", threadId=tree.first, turnId="", cascade=True)
        ended = [it["params"]["threadId"] for it in talk.heard("turn/completed")]
        assert ended[0] == tree.root
        assert set(ended[1:]) == {tree.deep, tree.deeper, tree.first}
        assert home.thread(tree.second).running is not None


async def test_an_interrupt_of_all_ends_them_on_a_full_disk_too(home: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """That the queues wait cannot be written then; what runs must not run on for that."""

    def refused(*arguments: Any) -> None:
        raise StoreError("No space left on device.")

    async with home.talking() as talk:
        tree = await family(home, talk)
        turns = [home.speak(it, "wait") for it in (tree.root, tree.first, tree.deep)]
        with monkeypatch.context() as full:
            full.setattr(RolloutLog, "append", refused)
            await talk.ask("turn/interrupt", threadId=tree.root, turnId="", cascade=True)
            assert all(it.done.is_set() for it in turns)


# ── archive, unarchive, delete ────────────────────────────────────────────────────────────────────────────────────────


async def test_an_archive_takes_the_subtree_and_unarchive_brings_back_what_it_took(home: House) -> None:
    async with home.talking() as talk:
        tree = await family(home, talk)
        home.speak(tree.deep, "wait")
        await talk.ask("thread/archive", threadId=tree.deeper)  # by itself, before
        await talk.ask("thread/archive", threadId=tree.root)
        archived = [it["params"]["threadId"] for it in talk.heard("thread/archived")]
        assert archived == [tree.deeper, tree.deep, tree.first, tree.second, tree.root]
        assert (await talk.ask("thread/loaded/list"))["data"] == []
        kinds = {"ancestorThreadId": tree.root}
        assert (await talk.ask("thread/list", kinds))["data"] == []
        listed = (await talk.ask("thread/list", kinds, archived=True))["data"]
        assert {it["id"] for it in listed} == tree.everyone - {tree.root}
        await talk.ask("thread/unarchive", threadId=tree.root)
        back = [it["params"]["threadId"] for it in talk.heard("thread/unarchived")]
        assert back == [tree.root, tree.second, tree.first, tree.deep]
        listed = (await talk.ask("thread/list", kinds, archived=True))["data"]
        assert [it["id"] for it in listed] == [tree.deeper]


def lose(thread: Thread, home: House) -> None:
    """Somebody removes a log by hand."""
    home.threads.unload(thread)
    Path(thread.state.rest.thread.path or "").unlink()


@pytest.mark.parametrize("verb", ["close", "archive", "delete"])
async def test_one_log_that_is_gone_keeps_nothing_else_from_ending(home: House, verb: str) -> None:
    async with home.talking() as talk:
        tree = await family(home, talk)
        running = home.speak(tree.second, "wait")
        await home.threads.knowledge.whole()  # from the next start on, nobody would list it
        lose(home.thread(tree.deep), home)
        await home.threads.settled()
        if verb != "delete":
            with pytest.raises(Refusal, match=tree.deep):
                await talk.ask(f"thread/{verb}", threadId=tree.deep)
        answer = await talk.ask(f"thread/{verb}", threadId=tree.root)
        assert running.done.is_set()
        told = {"close": "closed"}.get(verb, f"{verb}d")
        ended = [it["params"]["threadId"] for it in talk.heard(f"thread/{told}")]
        if verb == "delete":  # it is in no list any more
            assert ended == tree.order
            assert not home.threads.exists(tree.deep)
        else:
            assert ended == tree.order[1:]
        if verb == "close":
            first = answer["report"][0]
            assert (first["threadId"], first["after"], first["how"]) == (tree.deep, first["before"], "already")


@pytest.mark.parametrize("left", [None, b"", b"\0" * 5000])
async def test_what_cannot_be_read_any_more_can_still_be_deleted_with_all_it_owns(
    home: House, left: bytes | None
) -> None:
    async with home.talking() as talk:
        tree = await family(home, talk)
        await home.threads.knowledge.whole()
        lost = Path(home.thread(tree.first).state.rest.thread.path or "")
        lose(home.thread(tree.first), home)
        if left is not None:
            await anyio.Path(lost).write_bytes(left)
        await home.threads.settled()
        with pytest.raises(Refusal, match=tree.first):
            await talk.ask("thread/resume", threadId=tree.first)
        await talk.ask("thread/delete", threadId=tree.first)
        assert [it["params"]["threadId"] for it in talk.heard("thread/deleted")] == tree.order[: len(tree.order) - 2]
        assert not await anyio.Path(lost).exists()
        listed = (await talk.ask("thread/list", ancestorThreadId=tree.root))["data"]
        assert {it["id"] for it in listed} == {tree.second}


async def test_whoever_followed_an_archived_thread_follows_it_no_longer(home: House) -> None:
    async with home.talking() as one, home.talking() as other:
        tree = await family(home, one)
        await one.ask("thread/archive", threadId=tree.root)
        await other.ask("thread/unarchive", threadId=tree.root)
        await other.ask("thread/resume", threadId=tree.root)
        before = len(one.log)
        await other.turn(tree.root, "echo Not for you.")
        await home.said(tree.deep, "echo Nor this.")
        await one.ask("thread/loaded/list")
        assert set(story(one.heard(since=before))) <= {"thread/status/changed active", "thread/status/changed idle"} | {
            "thread/archived",
            "thread/unarchived",
        }


async def test_a_delete_takes_the_subtree_and_leaves_forks(home: House) -> None:
    async with home.talking() as talk:
        tree = await family(home, talk)
        await home.said(tree.deep, "echo Kept.")
        fork = (await talk.ask("thread/fork", threadId=tree.deep))["thread"]
        home.speak(tree.second, "wait")
        paths = [home.thread(it).state.rest.thread.path for it in tree.order]
        await talk.ask("thread/delete", threadId=tree.root)
        assert [it["params"]["threadId"] for it in talk.heard("thread/deleted")] == tree.order
        for thread_id in tree.order:
            assert (await talk.refused("thread/read", threadId=thread_id)).code == -32600
        left = [path for path in paths if path and _exists(path)]
        assert left == []
        read = await talk.ask("thread/read", threadId=fork["id"], includeTurns=True)
        assert text_of(read["thread"]["turns"][0]) == "Kept."


def _exists(path: str) -> bool:
    return Path(path).exists()


# ── looking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_tree_is_seen_whole_from_any_thread_of_it(home: House) -> None:
    async with home.talking() as talk:
        tree = await family(home, talk)
        await home.said(tree.deep, "echo Done.")
        await home.said(tree.deeper, "fail")
        home.speak(tree.second, "wait")
        await talk.ask("thread/note/set", threadId=tree.second, note="busy")
        seen = await talk.ask("thread/tree", threadId=tree.deeper)
        assert seen == await talk.ask("thread/tree", threadId=tree.root)
        assert seen["rootThreadId"] == tree.root
        shape = [(it["threadId"], it["parentThreadId"], it["depth"], it["status"]) for it in seen["data"]]
        assert shape == [
            (tree.root, None, 0, "pendingInit"),
            (tree.first, tree.root, 1, "pendingInit"),
            (tree.deep, tree.first, 2, "completed"),
            (tree.deeper, tree.first, 2, "errored"),
            (tree.second, tree.root, 1, "running"),
        ]
        assert [it["name"] for it in seen["data"]] == [None, "first", "deep", "deeper", "second"]
        assert seen["data"][4]["note"] == "busy"
        [used] = talk.heard("thread/tokenUsage/updated", thread=tree.deep)
        assert seen["data"][2]["totalTokens"] == used["params"]["tokenUsage"]["total"]["totalTokens"] > 3
        await talk.ask("thread/close", threadId=tree.first)
        states = [it["status"] for it in (await talk.ask("thread/tree", threadId=tree.root))["data"]]
        assert states == ["pendingInit", "shutdown", "shutdown", "shutdown", "running"]


async def test_children_say_where_they_come_from(home: House) -> None:
    async with home.talking() as talk:
        tree = await family(home, talk)
        deep = (await talk.ask("thread/read", threadId=tree.deep))["thread"]
        assert (deep["parentThreadId"], deep["sessionId"], deep["forkedFromId"]) == (tree.first, tree.root, None)
        spawn = {"parent_thread_id": tree.first, "depth": 2, "agent_path": None, "agent_nickname": None}
        assert deep["source"] == {"subAgent": {"thread_spawn": spawn | {"agent_role": None}}}
        children = await talk.ask("thread/list", parentThreadId=tree.root)
        assert [it["id"] for it in children["data"]] == [tree.second, tree.first]
        everyone = await talk.ask("thread/list", ancestorThreadId=tree.root, sortDirection="asc")
        assert [it["id"] for it in everyone["data"]] == [tree.first, tree.deep, tree.deeper, tree.second]
        # A list that asks for nothing shows what people started, once they have.
        await talk.turn(tree.root, "echo Here.")
        assert [it["id"] for it in (await talk.ask("thread/list"))["data"]] == [tree.root]
        for kinds in (["subAgent"], ["subAgentThreadSpawn"]):
            assert len((await talk.ask("thread/list", sourceKinds=kinds))["data"]) == 4
        assert (await talk.ask("thread/list", sourceKinds=["subAgentOther"]))["data"] == []


async def test_children_of_an_ephemeral_thread_are_ephemeral(home: House) -> None:
    async with home.talking() as talk:
        root = (await talk.start(ephemeral=True))["id"]
        child = home.born(root)
        await home.said(child, "echo Here.")
        read = (await talk.ask("thread/read", threadId=child, includeTurns=True))["thread"]
        assert (read["ephemeral"], read["path"], text_of(read["turns"][0])) == (True, None, "Here.")
        assert len((await talk.ask("thread/tree", threadId=child))["data"]) == 2
        assert (await talk.refused("thread/archive", threadId=child)).code == -32600
        report = (await talk.ask("thread/close", threadId=root))["report"]
        assert column(report, "threadId") == [child, root]
        assert (await talk.ask("thread/list", ancestorThreadId=root))["data"] == []
