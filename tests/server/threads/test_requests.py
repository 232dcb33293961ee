"""Questions of threads: who is asked for a child, how long one waits, and moments that no client can aim at."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from tests.server.threads.disk import Disk
from tests.server.threads.house import House, house
from tests.support.approving import ASKING, Ledger, commands
from tests.support.conformance import Conformance
from tests.support.talk import SECONDS, Talk

from threadloom.agent.tools.command import item as command_item
from threadloom.store.errors import StoreError
from threadloom.store.logfile import RolloutLog
from threadloom.threads import outliving
from threadloom.threads.birth import Birth
from threadloom.threads.context.rules import PATIENCE
from threadloom.threads.requests import Requests
from threadloom_protocol.jsonrpc import Response
from threadloom_protocol.v2.thread import ThreadStartParams

REQUEST = "item/commandExecution/requestApproval"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path)


def born(home: House, owner: str | None = None, **birth: Any) -> str:
    """A thread whose commands are asked about."""
    settings = home.threads.defaults.settings(ThreadStartParams.model_validate(ASKING))
    thread = home.threads.start(Birth(settings=settings, owner=owner, **birth))
    thread.announce()
    return thread.id


def questions(talk: Talk) -> list[str]:
    return [it["id"] for it in talk.log if it.get("method") == REQUEST]


async def in_step(*talks: Talk) -> None:
    for talk in talks:
        await talk.ask("thread/loaded/list", limit=1)


async def until_asked(home: House, thread_id: str, number: int = 1) -> list[str]:
    """Wait for a thread to have asked; the ids of its questions."""
    with anyio.fail_after(SECONDS):
        while len(home.thread(thread_id).requests.open) < number:
            await anyio.lowlevel.checkpoint()
    return list(home.thread(thread_id).requests.open)


async def test_a_turn_that_somebody_has_ended_is_not_taken_up_again(home: House, ledger: Ledger) -> None:
    """The server stops before that one is over: whoever has said no to all of it is not asked once more."""
    thread = home.thread(born(home))
    running = home.speak(thread.id, ledger.call("one"))
    await until_asked(home, thread.id)
    gate, usual = anyio.Event(), thread.terminals.end_all

    async def end_all(turn_id: str | None = None, **how: Any) -> None:
        await gate.wait()
        await usual(turn_id, **how)

    thread.terminals.end_all = end_all  # type: ignore[method-assign]
    running.stop(by_user=True)
    outliving.suspend(thread)
    gate.set()
    with anyio.fail_after(SECONDS):
        await running.done.wait()
    assert home.threads.status(thread.id) == "interrupted"


# ── the tree ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("covers", [True, False])
async def test_whoever_follows_the_root_is_asked_for_what_it_owns(home: House, ledger: Ledger, covers: bool) -> None:
    root = born(home)
    child = born(home, root)
    grandchild = born(home, child)
    async with home.talking() as talk, home.talking() as stranger:
        await talk.ask("thread/resume", threadId=root, **({} if covers else {"descendants": False}))
        await in_step(stranger)
        home.speak(grandchild, ledger.call("one"))
        question = await talk.question()
        assert question["params"]["threadId"] == grandchild
        assert question["params"]["origin"] == [grandchild, child, root]
        await talk.decide(question, "accept")
        resolved = await talk.until("serverRequest/resolved")
        assert (resolved["threadId"], resolved["requestId"]) == (grandchild, question["id"])
        with anyio.fail_after(SECONDS):
            while home.thread(grandchild).state.rest.last_turn is None:
                await anyio.lowlevel.checkpoint()
        await in_step(talk, stranger)
        assert len(talk.heard("serverRequest/resolved")) == 1
        assert questions(stranger) + stranger.heard("serverRequest/resolved") == []
    assert ledger.words == ["one"]


@pytest.mark.parametrize("covers", [True, False])
async def test_whoever_comes_to_the_root_later_is_asked_too(home: House, ledger: Ledger, covers: bool) -> None:
    root = born(home)
    child = born(home, root)
    home.speak(child, ledger.call("one"))
    [request_id] = await until_asked(home, child)
    async with home.talking() as talk:
        for _ in range(2):
            await talk.ask("thread/resume", threadId=root, **({} if covers else {"descendants": False}))
            assert (await talk.question())["id"] == request_id
        await talk.ask("thread/unsubscribe", threadId=root)
        assert home.threads.hub.questions.gave_up(talk, request_id) is False  # type: ignore[arg-type]
    async with home.talking() as talk:
        await talk.ask("thread/resume", threadId=child)
        await talk.decide(await talk.question(), "accept")
        await talk.until("turn/completed")
        await in_step(talk)
        assert questions(talk) == [request_id]
    assert ledger.words == ["one"]


async def test_what_a_thread_accepts_for_good_its_children_do_not(home: House, ledger: Ledger) -> None:
    root = born(home)
    async with home.talking() as talk:
        await talk.ask("thread/resume", threadId=root)
        await talk.begin(root, ledger.call("one"))
        await talk.decide(await talk.question(), "acceptForSession")
        await talk.until("turn/completed")
        child = born(home, root)
        await talk.begin(child, ledger.call("one"))
        await talk.decide(await talk.question(threadId=child), "decline")
        await talk.until("turn/completed")
    assert ledger.words == ["one"]


async def test_after_a_restart_the_root_brings_the_questions_of_what_it_owns(
    tmp_path: Path, ledger: Ledger, conformance: Conformance
) -> None:
    async with house(tmp_path, conformance) as home:
        root = born(home)
        child, quiet = born(home, root), born(home, root)
        grandchild = born(home, quiet)
        for it, word in ((child, "one"), (grandchild, "two")):
            home.speak(it, ledger.call(word))
        asked = {*await until_asked(home, child), *await until_asked(home, grandchild)}
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        await talk.ask("thread/resume", threadId=root)
        again = [await talk.question(), await talk.question()]
        assert {it["id"] for it in again} == asked
        loaded = (await talk.ask("thread/loaded/list"))["data"]
        assert sorted(loaded) == sorted((root, child, grandchild))
        assert home.threads.status(quiet) == "pendingInit"
        assert home.threads.status(child) == "running"
        for question in again:
            await talk.decide(question, "accept")
        for _ in again:
            await talk.until("turn/completed")
    assert ledger.words == ["one", "two"]


async def test_closing_the_root_resolves_what_its_children_have_asked(home: House, ledger: Ledger) -> None:
    root = born(home)
    child = born(home, root)
    async with home.talking() as talk:
        await talk.ask("thread/resume", threadId=root)
        home.speak(child, ledger.call("one"))
        question = await talk.question()
        await talk.ask("thread/close", threadId=root)
        await in_step(talk)
        assert [it["params"]["requestId"] for it in talk.heard("serverRequest/resolved")] == [question["id"]]
        assert [it["status"] for it in commands(talk.log)] == ["declined"]
        await talk.decide(question, "accept")
        assert (await talk.until("serverRequest/rejected"))["reason"] == "alreadyResolved"
    assert ledger.words == []


# ── patience ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_question_waits_for_a_day() -> None:
    assert PATIENCE == 24 * 60 * 60


async def test_what_nobody_answers_in_time_is_declined(home: House, ledger: Ledger) -> None:
    thread_id = born(home)
    thread = home.thread(thread_id)
    thread.requests = Requests(thread, lambda: 0.05)
    async with home.talking() as talk:
        await talk.ask("thread/resume", threadId=thread_id)
        await talk.begin(thread_id, ledger.call("one"))
        question = await talk.question()
        assert (await talk.until("serverRequest/resolved"))["requestId"] == question["id"]
        assert (await talk.until("turn/completed"))["turn"]["status"] == "completed"
        assert [it["status"] for it in commands(talk.log)] == ["declined"]
        await talk.decide(question, "accept")
        assert (await talk.until("serverRequest/rejected"))["reason"] == "alreadyResolved"
    assert ledger.words == []


async def test_the_time_that_a_command_waits_for_a_word_is_not_its_own(
    home: House, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread_id = born(home)
    async with home.talking() as talk:
        await talk.ask("thread/resume", threadId=thread_id)
        await talk.begin(thread_id, ledger.call("one"))
        question = await talk.question()
        real = time.monotonic
        monkeypatch.setattr(
            command_item, "time", SimpleNamespace(monotonic=lambda: real() + 3600, time_ns=time.time_ns)
        )
        await talk.decide(question, "accept")
        await talk.until("turn/completed")
        [item] = commands(talk.log)
        assert item["durationMs"] < 3600 * 1000


@pytest.mark.parametrize("configured", [None, 7200])
@pytest.mark.parametrize(("late", "answered"), [(-60, True), (60, False)])
async def test_time_goes_on_while_the_server_is_away(
    configured: int | None, late: float, answered: bool, tmp_path: Path, ledger: Ledger, conformance: Conformance
) -> None:
    passed = (configured or PATIENCE) + late
    async with house(tmp_path, conformance) as home:
        thread_id = born(home, config={"approval_timeout_secs": configured} if configured else {})
        home.speak(thread_id, ledger.call("one"))
        await until_asked(home, thread_id)
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        real = home.threads._ground.clock
        home.threads._ground.clock = lambda: real() + round(passed * 1000)
        await talk.ask("thread/resume", threadId=thread_id)
        if answered:
            await talk.decide(await talk.question(), "accept")
        assert (await talk.until("turn/completed"))["turn"]["status"] == "completed"
        assert [it["status"] for it in commands(talk.log)] == ["completed" if answered else "declined"]
    assert ledger.words == ["one"] * answered


# ── moments ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_answer_may_come_before_its_call_has_been_taken_up_again(
    tmp_path: Path, ledger: Ledger, conformance: Conformance
) -> None:
    async with house(tmp_path, conformance) as home:
        thread_id = born(home)
        home.speak(thread_id, ledger.calls("one", "two"))
        first, second = await until_asked(home, thread_id, 2)
    async with house(tmp_path, conformance) as home, home.talking() as talk:
        await talk.ask("thread/read", threadId=thread_id)
        [connection] = home.place.app._connections
        home.threads.get(thread_id)  # nothing has run yet but this
        for request_id, decision in ((first, "accept"), (second, "decline")):
            response = Response(request_id, {"decision": decision}, None)
            home.threads.answers.take(connection, response)
        await talk.ask("thread/resume", threadId=thread_id, sinceSeq=0)
        assert (await talk.until("turn/completed"))["turn"]["status"] == "completed"
        assert questions(talk) == []
        assert sorted(it["status"] for it in commands(talk.log)) == ["completed", "declined"]
        started = [it for it in talk.heard("item/started") if it["params"]["item"]["type"] == "commandExecution"]
        assert len(started) == 2
    assert ledger.words == ["one"]


async def test_nothing_comes_of_an_answer_before_it_is_on_the_disk(home: House, ledger: Ledger, disk: Disk) -> None:
    async with home.talking() as one, home.talking() as other:
        thread_id = born(home)
        for talk in (one, other):
            await talk.ask("thread/resume", threadId=thread_id)
        await one.begin(thread_id, ledger.call("one"))
        question = await one.question()
        async with disk.busy():
            await one.decide(question, "accept")
            with anyio.fail_after(SECONDS):
                await disk.reached.wait()
            await other.decide(question, "decline")
            assert (await other.until("serverRequest/rejected"))["reason"] == "alreadyResolved"
            await in_step(one)
            assert (one.heard("serverRequest/resolved"), ledger.words) == ([], [])
            async with home.talking() as late:  # it hears of the end like everyone else, and is not asked
                await late.ask("thread/resume", threadId=thread_id)
                await in_step(late)
                assert questions(late) == []
                disk.open.set()
                await late.until("turn/completed")
                assert [it["status"] for it in commands(late.log)] == ["completed"]
        await one.until("turn/completed")
    assert ledger.words == ["one"]


@pytest.mark.parametrize(("decision", "status"), [("accept", "failed"), ("decline", "declined")])
async def test_an_interrupt_while_an_answer_is_written_runs_nothing(
    home: House, ledger: Ledger, disk: Disk, decision: str, status: str
) -> None:
    async with home.talking() as talk:
        thread_id = born(home)
        await talk.ask("thread/resume", threadId=thread_id)
        turn_id = await talk.begin(thread_id, ledger.calls("one", "two"))
        first, second = await talk.question(), await talk.question()
        async with disk.busy():
            await talk.decide(first, decision)
            with anyio.fail_after(SECONDS):
                await disk.reached.wait()
            await talk.send("turn/interrupt", {"threadId": thread_id, "turnId": turn_id})
            await in_step(talk)
        assert (await talk.until("turn/completed"))["turn"]["status"] == "interrupted"
        assert {it["id"]: it["status"] for it in commands(talk.log)} == {
            first["params"]["itemId"]: status,
            second["params"]["itemId"]: "declined",
        }
        assert len(talk.heard("serverRequest/resolved")) == 2
        assert home.threads.hub.questions.askers == []
    assert ledger.words == []


async def test_a_question_that_nobody_has_seen_yet_is_not_put_once_it_is_over(home: House, ledger: Ledger) -> None:
    async with home.talking() as talk:
        thread_id = born(home)
        await talk.ask("thread/resume", threadId=thread_id)
        thread = home.thread(thread_id)
        running = home.speak(thread_id, ledger.call("one"))
        show = thread.quietly()  # as while the answer to another question is written
        await until_asked(home, thread_id)
        running.scope.cancel()
        with anyio.fail_after(SECONDS):
            await running.done.wait()
        show()
        assert (await talk.until("turn/completed"))["turn"]["status"] == "interrupted"
        await in_step(talk)
        assert questions(talk) == []
        assert home.threads.hub.questions.askers == []
    assert ledger.words == []


async def test_who_left_the_thread_while_behind_is_not_asked(home: House, ledger: Ledger) -> None:
    thread_id = born(home)
    home.speak(thread_id, ledger.call("one"))
    await until_asked(home, thread_id)
    async with home.talking() as talk:
        await talk.ask("thread/read", threadId=thread_id)
        [connection] = home.place.app._connections
        hub, head = home.threads.hub, home.thread(thread_id).shown
        hub.subscribe(connection, thread_id, 0, head=head)
        hub.unsubscribe(connection, thread_id)
        hub.pump(connection)
        await in_step(talk)
        assert talk.heard(thread=thread_id) == []


@pytest.mark.parametrize("refuses", ["output", "end"])
async def test_a_disk_that_is_full_while_a_command_runs_takes_no_server_along(
    home: House, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: str
) -> None:
    gate = tmp_path / "gate"
    prints = "echo a lot; " if refuses == "output" else ""
    async with home.talking() as talk:
        thread_id, other = born(home), born(home)
        await talk.ask("thread/resume", threadId=thread_id)
        wait = f"until test -e {gate}; do sleep 0.02; done; {prints}true"
        await talk.begin(thread_id, ledger.call("one", after=wait))
        await talk.decide(await talk.question(), "accept")
        with anyio.fail_after(SECONDS):
            while not home.thread(thread_id).terminals.running():
                await anyio.lowlevel.checkpoint()
        real = RolloutLog.append

        def append(log: RolloutLog, lines: Any) -> int:
            raise StoreError("the disk is full")

        monkeypatch.setattr(RolloutLog, "append", append)
        gate.touch()
        with anyio.fail_after(SECONDS):
            while home.thread(thread_id).running is not None:
                await anyio.lowlevel.checkpoint()
        monkeypatch.setattr(RolloutLog, "append", real)
        assert (await talk.until("turn/completed"))["turn"]["status"] == "failed"
        await talk.ask("thread/resume", threadId=other)
        assert (await talk.turn(other, "echo still here"))["status"] == "completed"
        assert home.thread(thread_id).terminals.running() == []
