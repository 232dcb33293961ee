"""Two things at once in a tree, each held at its worst moment by a gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest
from anyio.lowlevel import checkpoint
from tests.server.threads.house import House, Stubborn
from tests.support.talk import SECONDS, Refusal, Talk, text_of

from threadloom.agent.collab.base import SpawnOrder


def spawn(home: House, parent: str, prompt: str) -> str:
    held = home.thread(parent).state.rest.settings
    order = SpawnOrder(
        content=[{"type": "text", "text": prompt}],
        model=held.model,
        model_provider=held.model_provider,
        reasoning_effort=None,
        sandbox=held.sandbox_policy,
        cwd=held.cwd,
    )
    return home.threads.branch(parent).spawn(order)


def call(tool: str, **arguments: Any) -> str:
    return f"call {tool} {orjson.dumps(arguments).decode()}"


async def until_open(home: House, thread_id: str) -> None:
    """Until an item of its turn is under way."""
    with anyio.fail_after(SECONDS):
        while (opened := home.thread(thread_id).state.turn) is None or not opened.open_items():
            await checkpoint()


async def test_a_child_that_ends_while_its_parent_closes_ends_once(home: House) -> None:
    async with home.talking() as talk:
        root = (await talk.start())["id"]
        stubborn = home.threads._ground.agent = Stubborn()  # type: ignore[assignment]
        child = spawn(home, root, "anything")
        await talk.until("turn/started", threadId=child)
        closing = await talk.send("thread/close", {"threadId": root})
        with anyio.fail_after(SECONDS):
            while not home.thread(child).sealed:
                await checkpoint()
        stubborn.let_go.set()  # it ends by itself, in the middle of the close
        report = (await talk.answer(closing))["report"]
        assert [(it["threadId"], it["after"]) for it in report] == [(child, "shutdown"), (root, "shutdown")]
        assert len([it for it in talk.heard("turn/completed") if it["params"]["threadId"] == child]) == 1
        assert [it["params"]["threadId"] for it in talk.heard("thread/closed")] == [child, root]


async def waiting(home: House, talk: Talk) -> tuple[str, str, str]:
    """A root that waits for a child which does not end."""
    root = (await talk.start())["id"]
    child = spawn(home, root, "wait")
    turn = await talk.begin(root, call("wait", ids=[child], timeout_ms=60_000))
    await until_open(home, root)
    return root, child, turn


async def test_who_speaks_while_an_agent_waits_is_heard_at_once(home: House) -> None:
    async with home.talking() as talk:
        root, child, turn = await waiting(home, talk)
        await talk.ask("turn/steer", threadId=root, expectedTurnId=turn, input=[{"type": "text", "text": "echo heard"}])
        ended = await talk.until("turn/completed", threadId=root)
        assert ended["turn"]["status"] == "completed"
        outputs = [it for it in home.thread(root).history() if it.get("type") == "function_call_output"]
        assert orjson.loads(outputs[-1]["output"]) == {"status": {}, "timed_out": False, "steered": True}
        assert text_of(ended["turn"]).startswith("heard")
        assert home.threads.status(child) == "running"


async def test_who_interrupts_a_wait_ends_nothing_else(home: House) -> None:
    async with home.talking() as talk:
        root, child, turn = await waiting(home, talk)
        await talk.ask("turn/interrupt", threadId=root, turnId=turn)
        assert home.threads.status(root) == "interrupted"
        assert home.threads.status(child) == "running"


async def test_a_resume_in_the_middle_of_a_close_comes_after_it(home: House) -> None:
    """What was asked for last holds: all is closed, then the child is taken up, and with it its owner."""
    async with home.talking() as talk:
        root = (await talk.start())["id"]
        stubborn = home.threads._ground.agent = Stubborn()  # type: ignore[assignment]
        child = spawn(home, root, "anything")
        home.born(root)
        await talk.until("turn/started", threadId=child)
        closing = await talk.send("thread/close", {"threadId": root})
        with anyio.fail_after(SECONDS):
            while not home.thread(child).sealed:
                await checkpoint()
        sibling = home.threads.lineage.children(root)[-1]
        resuming = await talk.send("thread/resume", {"threadId": child})
        with anyio.fail_after(SECONDS):
            await anyio.wait_all_tasks_blocked()
        assert home.threads.status(child) == "running"  # neither has come further
        stubborn.let_go.set()
        assert {it["after"] for it in (await talk.answer(closing))["report"]} == {"shutdown"}
        await talk.answer(resuming)
        assert [it["params"]["threadId"] for it in talk.heard("thread/closed")] == [child, sibling, root]
        statuses = [home.threads.status(it) for it in (root, child, sibling)]
        assert statuses == ["pendingInit", "completed", "shutdown"]


async def test_a_question_of_a_child_that_closes_is_taken_back_and_nothing_runs(home: House, tmp_path: Path) -> None:
    async with home.talking() as talk:
        root = (await talk.start(cwd=str(tmp_path), approvalPolicy="untrusted"))["id"]
        child = spawn(home, root, call("shell", command=["touch", str(tmp_path / "made")]))
        question = await talk.question()
        assert question["params"]["origin"] == [child, root]
        report = (await talk.ask("thread/close", threadId=root))["report"]
        assert {it["how"] for it in report} == {"cooperative"}
        resolved = await talk.until("serverRequest/resolved")
        assert resolved["requestId"] == question["id"]
        item = next(
            it["params"]["item"]
            for it in talk.heard("item/completed")
            if it["params"]["item"]["type"] == "commandExecution"
        )
        assert item["status"] == "declined"
        assert not (tmp_path / "made").exists()


async def test_a_close_while_a_birth_waits_for_its_approval_lets_nothing_be_born(home: House, tmp_path: Path) -> None:
    async with home.talking() as talk:
        root = (await talk.start(cwd=str(tmp_path)))["id"]
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        await talk.begin(root, call("spawn_agent", message="wait", working_directory=str(elsewhere)))
        question = await talk.question()
        assert question["params"]["command"] == f"spawn_agent --working-directory {elsewhere}"
        report = (await talk.ask("thread/close", threadId=root))["report"]
        assert [it["threadId"] for it in report] == [root]
        await talk.reply(question, {"decision": "accept"})
        assert (await talk.until("serverRequest/rejected"))["reason"] == "alreadyResolved"
        assert home.threads.lineage.descendants(root) == []


@pytest.mark.parametrize("first", ["archive", "delete"])
@pytest.mark.parametrize("second", ["archive", "delete"])
async def test_what_is_put_away_twice_at_once_goes_one_after_the_other(home: House, first: str, second: str) -> None:
    """The first is held while it ends the work; the second, of a part of the same tree, comes meanwhile."""
    async with home.talking() as talk, home.talking() as other:
        root = (await talk.start())["id"]
        stubborn = home.threads._ground.agent = Stubborn()  # type: ignore[assignment]
        child = spawn(home, root, "anything")
        await talk.until("turn/started", threadId=child)
        one = await talk.send(f"thread/{first}", {"threadId": root})
        with anyio.fail_after(SECONDS):
            while not home.thread(child).sealed:
                await checkpoint()
        two = await other.send(f"thread/{second}", {"threadId": child})
        await other.ask("thread/loaded/list")
        assert not any(it.get("id") == two for it in other.log)  # it waits
        stubborn.let_go.set()
        await talk.answer(one)
        if first == "delete":
            with pytest.raises(Refusal, match="thread not found"):
                await other.answer(two)
        else:
            await other.answer(two)
        told = [it for it in talk.log if it.get("method") in ("thread/archived", "thread/deleted")]
        places = [(it["params"]["threadId"], it["params"]["seq"]) for it in told]
        assert len(set(places)) == len(places), "no seq was given out twice"
        assert home.threads.cascade._orders == {}
