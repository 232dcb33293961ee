"""`kill -9` while questions are open: each is asked again under its id, and nothing that was accepted runs twice."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.support.approving import Ledger, asking, commands
from tests.support.conformance import Conformance
from tests.support.counts import count
from tests.support.crash_life import Life, life
from tests.support.flow import Flow
from tests.support.processes import THREADLOOM
from tests.support.talk import SECONDS, Message, Talk
from tests.support.tap import Tap
from tests.support.wire import Wire

UNKNOWN = "outcome unknown, the server stopped"
THREADS, CALLS = 5, 4  # questions of a home: several threads, several in each turn
DECISIONS = ("accept", "acceptForSession", "decline")


@asynccontextmanager
async def serving(home: Path) -> AsyncIterator[Life]:
    """One life of the server as it is."""
    async with life("websocket", home, THREADLOOM) as server:
        yield server


@asynccontextmanager
async def client(server: Life, conformance: Conformance) -> AsyncIterator[Talk]:
    """A client of it, whose messages are checked."""
    transport = Tap(await server.dial(), Flow(conformance))
    wire = Wire(transport, "thread/loaded/list")
    try:
        await wire.initialize(experimentalApi=True)
        yield Talk(wire)
    finally:
        await transport.aclose()


async def killed(server: Life) -> None:
    """Let it end at once, and wait until it has."""
    server.kill()
    with anyio.fail_after(SECONDS):
        await server.process.wait()


async def written(ledger: Ledger, *words: str) -> None:
    """Wait until commands have left their words."""
    with anyio.fail_after(SECONDS):
        while not set(words) <= set(ledger.words):  # noqa: ASYNC110 (a file rings no bell)
            await anyio.sleep(0.005)


async def fill(talk: Talk, ledger: Ledger) -> dict[str, dict[str, str]]:
    """Threads with open questions: thread → question → the word that its command would write."""
    found: dict[str, dict[str, str]] = {}
    for number in range(THREADS):
        thread_id = await asking(talk)
        words = [f"t{number}c{at}" for at in range(CALLS)]
        await talk.begin(thread_id, ledger.calls(*words))
        asked = [await talk.question(threadId=thread_id) for _ in words]
        found[thread_id] = {
            it["id"]: word for it in asked for word in words if f"echo {word} " in it["params"]["command"]
        }
        assert len(found[thread_id]) == CALLS
    return found


async def resumed(talk: Talk, thread_id: str) -> tuple[Message, list[Message]]:
    """Resume a thread; its turn as it stands, and what is asked, in the order in which it came."""
    turn = (await talk.ask("thread/resume", threadId=thread_id))["thread"]["turns"][-1]
    await talk.ask("thread/loaded/list", limit=1)
    return turn, [it for it in talk.log if "id" in it and it.get("params", {}).get("threadId") == thread_id]


def outcomes(turn: Message) -> dict[str, Message]:
    """The commands of a turn, by the id of their items."""
    return {it["id"]: it for it in turn["items"] if it["type"] == "commandExecution"}


@pytest.mark.parametrize("seed", range(count(200) // 20))
async def test_a_second_client_answers_what_was_open_and_each_command_runs_once(
    seed: int, tmp_path: Path, conformance: Conformance
) -> None:
    ledger = Ledger(tmp_path)
    async with serving(tmp_path) as server, client(server, conformance) as talk:
        known = await fill(talk, ledger)
        await killed(server)
    assert ledger.words == []
    async with serving(tmp_path) as server, client(server, conformance) as talk:
        asked: list[Message] = []
        for thread_id, questions in known.items():
            turn, again = await resumed(talk, thread_id)
            assert turn["status"] == "inProgress"
            assert {it["id"] for it in again} == questions.keys()
            asked += again
        random.Random(seed).shuffle(asked)
        assert len(asked) == THREADS * CALLS
        for question in asked:
            await talk.decide(question, "accept")
        for _ in known:
            assert (await talk.until("turn/completed"))["turn"]["status"] == "completed"
        assert {it["status"] for it in commands(talk.log)} == {"completed"}
    assert ledger.words == sorted(word for words in known.values() for word in words.values())


@pytest.mark.parametrize("seed", range(count(200) // 20))
async def test_nothing_runs_twice_however_often_the_server_is_killed(
    seed: int, tmp_path: Path, conformance: Conformance
) -> None:
    """Each life some questions are answered, and the server is killed at any moment after."""
    rng = random.Random(seed)
    ledger = Ledger(tmp_path)
    answered: dict[str, str] = {}  # question → the last decision that was sent
    async with serving(tmp_path) as server, client(server, conformance) as talk:
        known = await fill(talk, ledger)
        await killed(server)
    words = {request_id: word for questions in known.values() for request_id, word in questions.items()}
    for _ in range(4):
        async with serving(tmp_path) as server, client(server, conformance) as talk:
            asked = []
            for thread_id in known:
                turn, again = await resumed(talk, thread_id)
                asked += again
                assert {it["id"] for it in again} <= known[thread_id].keys()
                assert (turn["status"] == "inProgress") is bool(again)
            # A question that was answered may be open still, where the server was killed before it heard of it.
            for question in rng.sample(asked, min(len(asked), 5)):
                answered[question["id"]] = rng.choice(DECISIONS)
                await talk.decide(question, answered[question["id"]])
            with anyio.move_on_after(rng.choice((0.0, 0.001, 0.01, 0.05, 0.2))):
                while True:
                    await talk.wire.transport.receive()
            await killed(server)
        assert len(ledger.words) == len(set(ledger.words))
    async with serving(tmp_path) as server, client(server, conformance) as talk:
        for thread_id, questions in known.items():
            turn, again = await resumed(talk, thread_id)
            left = {it["id"] for it in again}
            for request_id in left:
                await talk.decide({"id": request_id}, "decline")
            if left:
                await talk.until("turn/completed", threadId=thread_id)
            read = await talk.ask("thread/read", threadId=thread_id, includeTurns=True)
            items = outcomes(read["thread"]["turns"][-1])
            assert len(items) == CALLS
            for request_id, word in questions.items():
                [item] = [it for it in items.values() if f"echo {word} " in it["command"]]
                ran = word in ledger.words
                decision = answered.get(request_id, "decline")
                assert item["status"] in ("completed", "declined", "failed")
                if item["status"] == "completed":
                    assert ran
                if item["status"] == "declined" or decision == "decline":
                    assert not ran
                if item["status"] == "failed":
                    assert item["aggregatedOutput"].endswith(UNKNOWN)
                    assert decision != "decline"
                if request_id in left:
                    assert item["status"] == "declined"
    assert len(ledger.words) == len(set(ledger.words))
    assert set(ledger.words) <= {words[it] for it, decision in answered.items() if decision != "decline"}


async def test_a_command_under_way_is_lost_and_not_run_again(tmp_path: Path, conformance: Conformance) -> None:
    ledger = Ledger(tmp_path)
    async with serving(tmp_path) as server, client(server, conformance) as talk:
        thread_id = await asking(talk)
        await talk.begin(thread_id, ledger.call("one", after="sleep 1000"))
        question = await talk.question()
        await talk.decide(question, "accept")
        await written(ledger, "one")
        await killed(server)
    for look in range(2):  # as it is read, and as it is written when the thread is loaded
        async with serving(tmp_path) as server, client(server, conformance) as talk:
            method: Any = ("thread/read", {"includeTurns": True}) if not look else ("thread/resume", {})
            [turn] = (await talk.ask(method[0], threadId=thread_id, **method[1]))["thread"]["turns"]
            assert turn["status"] == "interrupted"
            [item] = outcomes(turn).values()
            assert (item["status"], item["aggregatedOutput"], item["exitCode"]) == ("failed", UNKNOWN, None)
            await talk.decide(question, "accept")
            assert (await talk.until("serverRequest/rejected"))["reason"] in ("unknown", "alreadyResolved")
            assert (await talk.turn(thread_id, "echo go on"))["status"] == "completed" if look else True
            await killed(server)
        assert ledger.words == ["one"]


async def test_what_is_still_open_goes_on_where_another_command_was_lost(
    tmp_path: Path, conformance: Conformance
) -> None:
    ledger = Ledger(tmp_path)
    calls = "\nand ".join(
        ledger.call(word, after=after) for word, after in (("one", "sleep 1000"), ("two", ""), ("three", ""))
    )
    async with serving(tmp_path) as server, client(server, conformance) as talk:
        thread_id = await asking(talk)
        turn_id = await talk.begin(thread_id, f"{calls}\necho all said")
        first, second, third = [await talk.question() for _ in range(3)]
        await talk.decide(first, "accept")
        await written(ledger, "one")
        await killed(server)
    for _ in range(3):  # it waits on, life after life
        async with serving(tmp_path) as server, client(server, conformance) as talk:
            turn, again = await resumed(talk, thread_id)
            assert (turn["id"], turn["status"]) == (turn_id, "inProgress")
            assert again == [second, third]
            items = outcomes(turn)
            lost = items.pop(first["params"]["itemId"])
            assert (lost["status"], lost["aggregatedOutput"]) == ("failed", UNKNOWN)
            assert {it["status"] for it in items.values()} == {"inProgress"}
            await killed(server)
    async with serving(tmp_path) as server, client(server, conformance) as talk:
        await resumed(talk, thread_id)
        await talk.decide(second, "accept")
        await talk.decide(third, "decline")
        done = (await talk.until("turn/completed"))["turn"]
        assert (done["id"], done["status"]) == (turn_id, "completed")
        assert done["items"][-1]["text"].startswith("all said")
    assert ledger.words == ["one", "two"]


async def test_a_question_to_the_person_waits_on_life_after_life(tmp_path: Path, conformance: Conformance) -> None:
    async with serving(tmp_path) as server, client(server, conformance) as talk:
        thread_id = await asking(talk)
        turn_id = await talk.begin(thread_id, "ask Which colour? red | green")
        question = await talk.question()
        await killed(server)
    for _ in range(2):
        async with serving(tmp_path) as server, client(server, conformance) as talk:
            turn, again = await resumed(talk, thread_id)
            assert (turn["id"], turn["status"], again) == (turn_id, "inProgress", [question])
            await killed(server)
    async with serving(tmp_path) as server, client(server, conformance) as talk:
        await resumed(talk, thread_id)
        for colour in ("green", "red"):
            await talk.reply(question, {"answers": {"answer": {"answers": [colour]}}})
        done = (await talk.until("turn/completed"))["turn"]
        assert (done["id"], done["status"]) == (turn_id, "completed")
        assert done["items"][-1]["text"].endswith('{"answers":{"answer":{"answers":["green"]}}}')
        assert [it["params"]["reason"] for it in talk.heard("serverRequest/rejected")] == ["alreadyResolved"]


async def test_of_two_answers_at_once_one_wins_and_the_other_hears_of_it(
    tmp_path: Path, conformance: Conformance
) -> None:
    rng = random.Random(1)
    ledger = Ledger(tmp_path)
    runs: list[str] = []
    async with (
        serving(tmp_path) as server,
        client(server, conformance) as one,
        client(server, conformance) as other,
    ):
        thread_id = await asking(one)
        await other.ask("thread/resume", threadId=thread_id)
        for number in range(count(500)):
            await one.begin(thread_id, ledger.call(f"w{number}"))
            decisions = [rng.choice(("accept", "decline")), rng.choice(("accept", "decline"))]
            asked = [await one.question(), await other.question()]
            assert asked[0] == asked[1]
            both = list(zip((one, other), asked, decisions, strict=True))
            rng.shuffle(both)
            async with anyio.create_task_group() as tasks:
                for talk, question, decision in both:
                    tasks.start_soon(talk.decide, question, decision)
            for talk in (one, other):
                await talk.until("turn/completed", threadId=thread_id)
                await talk.ask("thread/loaded/list", limit=1)
            rejected = [talk.heard("serverRequest/rejected") for talk in (one, other)]
            assert sorted(map(len, rejected)) == [0, 1]
            assert all(it["params"]["reason"] == "alreadyResolved" for told in rejected for it in told)
            winner = decisions[rejected.index([])]
            [item] = commands(one.log)
            assert [item] == commands(other.log)
            assert item["status"] == ("completed" if winner == "accept" else "declined")
            runs += [f"w{number}"] * (winner == "accept")
            one.forget()
            other.forget()
    assert ledger.words == sorted(runs)
