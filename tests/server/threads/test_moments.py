"""Moments that no client can aim at: an end that is being written, a start that is being answered, a thread let go."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest
from tests.server.threads.disk import Disk
from tests.server.threads.house import House, Stubborn, words
from tests.support.sockets import until
from tests.support.talk import SECONDS, Message, Talk, said, story, streamed, text_of

from threadloom.agent.base import Batch, TurnInput
from threadloom.agent.loop import Loop
from threadloom.agent.models.base import Catalog
from threadloom.store.memory import MemoryStore
from threadloom.store.rollout import Rollouts
from threadloom.threads import hub as hub_module
from threadloom.threads.birth import Birth
from threadloom.threads.defaults import Defaults, plain
from threadloom.threads.manager import Manager
from threadloom.threads.upkeep import IDLE
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2.thread import ThreadStartParams


async def ending(home: House, talk: Talk, disk: Disk, thread_id: str) -> str:
    """A turn that has ended, but whose end is not on the disk yet."""
    turn_id = await talk.begin(thread_id, "echo The end.")
    with anyio.fail_after(SECONDS):
        await disk.reached.wait()
    await talk.until("thread/tokenUsage/updated", threadId=thread_id)
    assert home.thread(thread_id).running is None
    return turn_id


# ── an end that is being written ──────────────────────────────────────────────────────────────────────────────────────


async def test_nobody_hears_of_an_end_before_it_is_on_the_disk(home: House, disk: Disk) -> None:
    async with home.talking() as talk:
        thread_id = (await talk.start())["id"]
        async with disk.busy():
            await ending(home, talk, disk, thread_id)
            await talk.ask("thread/loaded/list")
            assert talk.heard("turn/completed") == []
        assert (await talk.until("turn/completed"))["turn"]["status"] == "completed"


@pytest.mark.parametrize("since", [None, 0, 3])
async def test_one_who_comes_while_an_end_is_written_hears_it_once(home: House, disk: Disk, since: int | None) -> None:
    async with home.talking() as one, home.talking() as other:
        thread_id = (await one.start())["id"]
        async with disk.busy():
            await ending(home, one, disk, thread_id)
            await other.ask("thread/loaded/list")
            before = len(other.log)
            resumed = await other.ask("thread/resume", threadId=thread_id, sinceSeq=since)
        await one.until("turn/completed")
        await one.turn(thread_id, "echo Next.")
        await other.until("turn/completed", turn=one.heard("turn/completed")[-1]["params"]["turn"])
        heard = [it for it in other.heard(since=before) if "seq" in it["params"]]
        first = resumed["seq"] if since is None else since
        head = one.heard(thread=thread_id)[-1]["params"]["seq"]
        assert [it["params"]["seq"] for it in heard] == list(range(first + 1, head + 1))
        if since is None:  # the snapshot has the end already
            assert [it["status"] for it in resumed["thread"]["turns"]] == ["completed"]


async def test_what_is_said_while_an_end_is_written_begins_a_new_turn(home: House, disk: Disk) -> None:
    async with home.talking() as talk:
        thread_id = (await talk.start())["id"]
        async with disk.busy():
            turn_id = await ending(home, talk, disk, thread_id)
            steer = {"threadId": thread_id, "expectedTurnId": turn_id, "input": said("echo Late.")}
            assert (await talk.refused("turn/steer", **steer)).message == "no active turn to steer"
            start = await talk.send("turn/start", {"threadId": thread_id, "input": said("echo Heard.")})
            await talk.ask("thread/loaded/list")
        second = (await talk.answer(start))["turn"]["id"]
        assert second != turn_id
        while (ended := await talk.until("turn/completed"))["turn"]["id"] != second:
            pass
        assert text_of(ended["turn"]) == "Heard."
        # Nothing of the second turn was told, its answer included, before the first had ended.
        told = [it.get("method") or it["id"] for it in talk.log]
        assert told.index("turn/completed") < told.index(start)


async def test_a_turn_begun_from_within_while_an_end_is_written_is_shown_after_it(home: House, disk: Disk) -> None:
    async with home.talking() as talk:
        thread_id = (await talk.start())["id"]
        async with disk.busy():
            first = await ending(home, talk, disk, thread_id)
            second = home.speak(thread_id, "echo Second.").id
        turns = [it["params"]["turn"]["id"] for it in (await both_ends(talk))]
        assert turns == [first, second]
        heard = [it["params"]["seq"] for it in talk.heard(thread=thread_id)]
        assert heard == list(range(1, len(heard) + 1))


async def both_ends(talk: Talk) -> list[Message]:
    await talk.until("turn/completed")
    await talk.until("turn/completed")
    return talk.heard("turn/completed")


async def test_an_interrupt_while_an_end_is_written_waits_for_it(home: House, disk: Disk) -> None:
    async with home.talking() as talk:
        thread_id = (await talk.start())["id"]
        async with disk.busy():
            turn_id = await ending(home, talk, disk, thread_id)
            stop = await talk.send("turn/interrupt", {"threadId": thread_id, "turnId": turn_id})
            await talk.ask("thread/loaded/list")
            assert stop not in {it.get("id") for it in talk.log}
        assert await talk.answer(stop) == {}
        assert talk.heard("turn/completed")[-1]["params"]["turn"]["status"] == "completed"


async def test_a_close_while_an_end_is_written_waits_for_it(home: House, disk: Disk) -> None:
    async with home.talking() as talk:
        thread_id = (await talk.start())["id"]
        async with disk.busy():
            await ending(home, talk, disk, thread_id)
            close = await talk.send("thread/close", {"threadId": thread_id})
            await talk.ask("thread/loaded/list")
        [report] = (await talk.answer(close))["report"]
        assert (report["before"], report["after"], report["how"]) == ("completed", "shutdown", "cooperative")
        told = story(talk.heard(thread=thread_id))
        assert told[-3:] == ["thread/status/changed idle", "turn/completed", "thread/closed"]


async def test_a_thread_whose_end_is_being_written_is_not_unloaded(home: House, disk: Disk) -> None:
    thread_id = home.born()
    home.threads.clock = lambda: 1 << 60
    async with disk.busy():
        running = home.speak(thread_id, "echo x")
        with anyio.fail_after(SECONDS):
            await disk.reached.wait()
        assert await home.threads.upkeep.sweep() == []
    with anyio.fail_after(SECONDS):
        await running.done.wait()
    assert await home.threads.upkeep.sweep() == [thread_id]


async def test_a_start_behind_an_interrupt_of_somebody_else_begins_a_new_turn(home: House, disk: Disk) -> None:
    async with home.talking() as one, home.talking() as other:
        thread_id = (await one.start())["id"]
        turn_id = await one.begin(thread_id, "wait")
        async with disk.busy():
            stop = await one.send("turn/interrupt", {"threadId": thread_id, "turnId": turn_id})
            with anyio.fail_after(SECONDS):
                await disk.reached.wait()
            start = await other.send("turn/start", {"threadId": thread_id, "input": said("echo Mine.")})
            await other.ask("thread/loaded/list")
        assert await one.answer(stop) == {}
        assert (await other.answer(start))["turn"]["id"] != turn_id
        statuses = [it["params"]["turn"]["status"] for it in await both_ends(one)]
        assert statuses == ["interrupted", "completed"]


async def test_a_start_while_a_turn_is_made_to_stop_waits_for_its_end(home: House) -> None:
    agent = Stubborn()
    async with home.talking() as one, home.talking() as other:
        thread_id = (await one.start())["id"]
        real, home.threads._ground.agent = home.threads._ground.agent, agent
        first = home.speak(thread_id, "go")
        await one.until("turn/started")
        stop = await one.send("turn/interrupt", {"threadId": thread_id, "turnId": first.id})
        await until(lambda: first.scope.cancel_called)
        home.threads._ground.agent = real
        start = await other.send("turn/start", {"threadId": thread_id, "input": said("echo Mine.")})
        await other.ask("thread/loaded/list")
        agent.let_go.set()
        assert await one.answer(stop) == {}
        assert (await other.answer(start))["turn"]["id"] != first.id
        assert [text_of(it["params"]["turn"]) for it in await both_ends(one)] == ["", "Mine."]


# ── a start that is being answered ────────────────────────────────────────────────────────────────────────────────────


async def test_a_turn_that_is_stopped_before_it_runs_holds_nothing_back(home: House) -> None:
    """Its events are held until its start is answered: however it ends, they are let go."""
    thread_id = home.born()
    thread = home.thread(thread_id)
    for shown_first in (True, False):
        running = thread.start_turn(words("wait"))
        if shown_first:
            running.show()
        running.scope.cancel()
        with anyio.fail_after(SECONDS):
            await running.done.wait()
        assert thread.shown == thread.seq
    assert thread._holds == 0


async def test_a_turn_that_joins_one_about_to_end_is_not_lost(home: House) -> None:
    thread = home.thread(home.born())
    running = home.speak(thread.id, "wait")
    running.scope.cancel()
    with pytest.raises(InvalidRequest, match="no active turn to steer"):
        thread.start_turn(words("echo Lost?"))
    with anyio.fail_after(SECONDS):
        await thread.ended()
    assert thread.running is None


async def test_a_client_that_left_before_its_answer_follows_nothing(home: House) -> None:
    async with home.talking() as watcher:
        async with home.talking() as talk:
            await talk.send("thread/start", {})
        thread_id = (await watcher.until("thread/started"))["thread"]["id"]
        await until(lambda: len(home.place.app._connections) == 1)
        assert not home.threads.hub.followed(thread_id)
        home.threads.clock = lambda: 1 << 60
        assert await home.threads.upkeep.sweep() == [thread_id]


# ── a thread let go ───────────────────────────────────────────────────────────────────────────────────────────────────


class Clock:
    """Time that passes when the test says so."""

    def __init__(self) -> None:
        self.now = 1_800_000_000_000

    def __call__(self) -> int:
        return self.now

    def pass_seconds(self, seconds: float) -> None:
        self.now += int(seconds * 1000)


async def test_a_thread_that_nobody_uses_leaves_memory_after_a_while(tmp_path: Path) -> None:
    clock = Clock()
    models = Catalog()
    async with anyio.create_task_group() as tasks:
        store = Rollouts(tmp_path)
        defaults = Defaults(lambda cwd, overrides: plain())
        manager = Manager(store, MemoryStore(store), Loop(models.model), tasks, defaults, clock=clock)
        settings = defaults.settings(ThreadStartParams())
        idle, busy = [manager.start(Birth(settings=settings)) for _ in range(2)]
        for thread in (idle, busy):
            thread.announce()
        busy.start_turn(words("wait")).show()
        clock.pass_seconds(IDLE - 1)
        assert await manager.upkeep.sweep() == []
        clock.pass_seconds(1)
        assert await manager.upkeep.sweep() == [idle.id]  # never one with work in it
        assert list(manager.loaded) == [busy.id]
        await busy.interrupt()
        clock.pass_seconds(IDLE - 1)
        assert await manager.upkeep.sweep() == []
        clock.pass_seconds(1)
        assert await manager.upkeep.sweep() == [busy.id]
        await manager.stop()
        manager.close()


async def test_an_unloaded_thread_says_so_and_can_be_taken_up_again(home: House) -> None:
    async with home.talking() as talk, home.talking() as watcher:
        thread_id = (await talk.start())["id"]
        await talk.turn(thread_id, "echo Before.")
        home.threads.clock = lambda: 1 << 60  # late enough for anything
        assert await home.threads.upkeep.sweep() == []  # somebody follows it
        await talk.ask("thread/unsubscribe", threadId=thread_id)
        assert await home.threads.upkeep.sweep() == [thread_id]
        told = await watcher.until("thread/closed")
        assert (told["threadId"], told["reason"], "by" in told) == (thread_id, "unloaded", False)
        assert (await talk.ask("thread/loaded/list"))["data"] == []
        read = (await talk.ask("thread/read", threadId=thread_id))["thread"]
        assert read["status"] == {"type": "notLoaded"}
        assert await talk.ask("thread/unsubscribe", threadId=thread_id) == {"status": "notLoaded"}
        resumed = await talk.ask("thread/resume", threadId=thread_id)
        assert resumed["thread"]["status"] == {"type": "idle"}
        assert [text_of(it) for it in resumed["thread"]["turns"]] == ["Before."]
        assert text_of(await talk.turn(thread_id, "echo After.")) == "After."
        assert (await talk.ask("thread/loaded/list"))["data"] == [thread_id]


async def test_where_the_index_lags_the_log_says_how_far_a_thread_came(
    home: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = home.thread(home.born())
    await home.threads.settled()
    monkeypatch.setattr(thread.store.index, "put", lambda *rows: None)
    thread.set_name("Not in the index")
    home.threads.unload(thread)
    late, head = home.threads.logs.behind(thread.id, 0, 100, merge=False)
    assert (head, [it.seq for it in late]) == (2, [1, 2])


LONG = "pieces of 40 words\nsay 100000 words"  # more than a transport and an outbox take


async def test_a_subscriber_that_lags_gets_the_end_of_a_thread_that_left_memory(home: House) -> None:
    """It is served from the log, loaded or not."""
    async with home.talking() as talk, home.stalling() as slow:
        thread_id = (await talk.start())["id"]
        await slow.ask("thread/resume", threadId=thread_id)
        await talk.turn(thread_id, LONG)
        await talk.ask("thread/close", threadId=thread_id)
        assert home.threads.loaded == {}
        await slow.until("thread/closed", threadId=thread_id)
        whole = (await talk.ask("thread/read", threadId=thread_id, includeTurns=True))["thread"]
        heard = slow.heard(thread=thread_id)
        assert streamed(heard) == text_of(whole["turns"][0])
        assert any("fromSeq" in it["params"] for it in heard)
        covered = [
            seq
            for it in heard
            for seq in range(it["params"].get("fromSeq", it["params"]["seq"]), it["params"]["seq"] + 1)
        ]
        assert covered == list(range(1, len(covered) + 1))


async def test_a_subscriber_that_lags_hears_that_a_thread_was_archived_or_deleted(home: House) -> None:
    async with home.talking() as talk, home.stalling() as slow:
        for method, told in (("thread/archive", "thread/archived"), ("thread/delete", "thread/deleted")):
            thread_id = (await talk.start())["id"]
            await slow.ask("thread/resume", threadId=thread_id)
            await talk.turn(thread_id, LONG)
            await talk.ask(method, threadId=thread_id)
            await slow.until(told, threadId=thread_id)
            assert not home.threads.hub.followed(thread_id)


# ── too much to catch up with ─────────────────────────────────────────────────────────────────────────────────────────


async def test_a_cursor_too_far_back_gets_a_snapshot_and_goes_on_from_there(
    home: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "MAX_BEHIND", 50)
    async with home.talking() as one, home.talking() as other:
        thread_id = (await one.start())["id"]
        await one.turn(thread_id, "say 300 words")
        head = one.heard(thread=thread_id)[-1]["params"]["seq"]
        await other.ask("thread/loaded/list")
        before = len(other.log)
        resumed = await other.ask("thread/resume", threadId=thread_id, sinceSeq=head - 51)
        assert (resumed["truncated"], resumed["seq"]) == (True, head)
        assert len(text_of(resumed["thread"]["turns"][0]).split()) == 300
        await one.turn(thread_id, "echo On.")
        await other.until("turn/completed")
        seqs = [it["params"]["seq"] for it in other.heard(since=before) if "seq" in it["params"]]
        assert seqs == list(range(head + 1, head + 1 + len(seqs)))
        within = await other.ask("thread/resume", threadId=thread_id, sinceSeq=seqs[-1] - 50)
        assert within["truncated"] is False


async def test_a_subscriber_too_far_behind_is_told_the_exact_gap(home: House, monkeypatch: pytest.MonkeyPatch) -> None:
    async with home.talking() as one, home.stalling() as slow:
        thread_id = (await one.start())["id"]
        await slow.ask("thread/resume", threadId=thread_id)
        await one.turn(thread_id, LONG)
        monkeypatch.setattr(hub_module, "MAX_BEHIND", 100)
        gap = await slow.until("thread/gap", threadId=thread_id)
        heard = [it for it in slow.heard(thread=thread_id) if "seq" in it["params"]]
        assert gap["fromSeq"] == heard[-1]["params"]["seq"] + 1
        assert [it["params"]["seq"] for it in heard] == list(range(1, gap["fromSeq"]))
        assert gap["toSeq"] == one.heard(thread=thread_id)[-1]["params"]["seq"]
        # With that, the client knows what to ask for; here it is a snapshot.
        resumed = await slow.ask("thread/resume", threadId=thread_id, sinceSeq=gap["fromSeq"] - 1)
        assert resumed["truncated"] is True
        assert len(text_of(resumed["thread"]["turns"][0]).split()) == 100_000
        # And from there on it hears everything.
        await one.turn(thread_id, "echo On.")
        ended = await slow.until("turn/completed")
        assert text_of(ended["turn"]) == "On."


class Prompt:
    """An agent that has nothing to say, and says when it was asked."""

    def __init__(self) -> None:
        self.asked = anyio.Event()

    async def run(self, turn: TurnInput) -> AsyncGenerator[Batch, None]:
        """Nothing."""
        self.asked.set()
        return
        yield


async def test_the_model_is_asked_while_the_asker_is_answered_and_no_turn_ends_before(home: House) -> None:
    home.threads._ground.agent = agent = Prompt()  # type: ignore[assignment]
    running = home.thread(home.born()).start_turn(words("Hello"))
    with anyio.fail_after(SECONDS):
        await agent.asked.wait()
        await anyio.wait_all_tasks_blocked()
        assert not running.done.is_set()
        running.show()
        await running.done.wait()
