"""Two things at once in a tree, each held at its worst moment by a gate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest
from anyio.lowlevel import checkpoint
from tests.server.threads.house import House, Stubborn
from tests.support.talk import SECONDS, Refusal, Talk, text_of

from threadloom.agent.base import Batch, TurnInput
from threadloom.agent.collab.base import SpawnOrder
from threadloom_protocol.errors import InvalidRequest


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


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("far", ["sealed", "closed"])
async def test_a_close_that_begins_while_a_thread_is_resumed_leaves_nothing_live_under_the_dead(
    home: House, monkeypatch: pytest.MonkeyPatch, closed: bool, far: str
) -> None:
    """The resume waits for the lists when somebody closes the root; that one comes as far as it can meanwhile."""
    async with home.talking() as talk, home.talking() as other:
        root = (await talk.start())["id"]
        child = spawn(home, root, "echo done")
        await talk.until("turn/completed", threadId=child)
        if closed:
            await talk.ask("thread/close", threadId=child)
        settled, closing = home.threads.settled, list[Any]()

        async def meanwhile(thread_id: str | None = None) -> None:
            await settled(thread_id)
            if not closing:
                closing.append(await other.send("thread/close", {"threadId": root}))
                if far == "closed":
                    await other.until("thread/closed", threadId=root)
                with anyio.fail_after(SECONDS):
                    while root in home.threads.loaded and not home.thread(root).sealed:
                        await checkpoint()

        monkeypatch.setattr(home.threads, "settled", meanwhile)
        resumed = await talk.ask("thread/resume", threadId=child)
        await other.answer(closing[0])
        assert home.threads.status(child) == "completed"
        assert home.threads.status(root) != "shutdown"
        assert resumed["seq"] == home.thread(child).seq, "the snapshot is of the thread that is in memory now"


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


async def asking(home: House, talk: Talk, folder: Path) -> tuple[str, str, Any]:
    """A root at work, and a child that wants to start an agent elsewhere: its question is put in the root's turn."""
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    root = (await talk.start(cwd=str(folder)))["id"]
    await talk.begin(root, "wait")
    child = spawn(home, root, call("spawn_agent", message="wait", working_directory=str(elsewhere)))
    question = await talk.question()
    assert (question["params"]["threadId"], question["params"]["origin"]) == (root, [child, root])
    return root, child, question


@pytest.mark.parametrize("how", ["interrupt", "close"])
async def test_a_question_in_the_owners_turn_is_taken_back_when_the_agent_ends_that_asks(
    home: House, tmp_path: Path, how: str
) -> None:
    """Otherwise the user is asked for somebody who is gone, and the owner waits for an approval that nobody needs."""
    async with home.talking() as talk:
        root, child, question = await asking(home, talk, tmp_path)
        if how == "close":
            await talk.ask("thread/close", threadId=child)
        else:
            await home.thread(child).interrupt(by_user=True)
        assert (await talk.until("serverRequest/resolved", threadId=root))["requestId"] == question["id"]
        item = (await talk.until("item/completed", threadId=root))["item"]
        assert (item["type"], item["status"]) == ("commandExecution", "declined")
        status = (await talk.ask("thread/read", threadId=root))["thread"]["status"]
        assert status == {"type": "active", "activeFlags": []}


@pytest.mark.parametrize("decision", ["accept", "decline"])
async def test_a_question_in_the_owners_turn_is_put_again_in_the_agents_own_when_that_ends(
    home: House, tmp_path: Path, decision: str
) -> None:
    """The user has said neither yes nor no, so nobody may say it in the user's place."""
    async with home.talking() as talk:
        root, child, _ = await asking(home, talk, tmp_path)
        await home.thread(root).interrupt(by_user=True)
        again = await talk.question(threadId=child)
        assert again["params"]["origin"] == [child, root]
        await talk.decide(again, decision)
        ended = await talk.until("turn/completed", threadId=child)
        assert ended["turn"]["status"] == "completed"
        assert len(home.threads.lineage.children(child)) == (decision == "accept")


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
        assert home.threads.moves._orders == {}


class Gated:
    """An agent whose turns each last, whatever they are told, until the gate of their thread is open."""

    def __init__(self) -> None:
        self.gates: defaultdict[str, anyio.Event] = defaultdict(anyio.Event)

    async def run(self, turn: TurnInput) -> AsyncGenerator[Batch, None]:
        """Nothing, until it is let go."""
        with anyio.CancelScope(shield=True):
            await self.gates[turn.thread_id].wait()
        return
        yield


@pytest.mark.parametrize("how", ["archive", "delete"])
async def test_what_is_closed_while_it_is_put_away_leaves_memory_once(home: House, how: str) -> None:
    """The close of a part is over long before the rest can go; somebody writes in that part meanwhile."""
    async with home.talking() as talk, home.talking() as other:
        gated = home.threads._ground.agent = Gated()  # type: ignore[assignment]
        root = (await talk.start())["id"]
        quick, late = spawn(home, root, "anything"), spawn(home, root, "anything")
        for it in (quick, late):
            await talk.until("turn/started", threadId=it)
        closing = await talk.send("thread/close", {"threadId": quick})
        going = await other.send(f"thread/{how}", {"threadId": root})
        with anyio.fail_after(SECONDS):
            while not home.thread(late).sealed:
                await checkpoint()
        gated.gates[quick].set()
        assert [it["how"] for it in (await talk.answer(closing))["report"]] == ["cooperative"]
        await talk.ask("thread/note/set", threadId=quick, note="between the two")
        gated.gates[late].set()
        await other.answer(going)
        gone = {(await talk.until(f"thread/{how}d"))["threadId"] for _ in range(3)}
        assert gone == {quick, late, root}
        told = [it["params"]["seq"] for it in talk.log if it.get("params", {}).get("threadId") == quick]
        assert told == sorted(set(told)), "no seq was given out twice"
        assert home.threads.loaded == {}


async def test_an_interrupt_of_all_ends_the_top_before_it_can_go_on_with_the_end_of_another(home: House) -> None:
    """One that waits for a child would hear that it was interrupted, and could start another in its place."""
    async with home.talking() as talk:
        gated = home.threads._ground.agent = Gated()  # type: ignore[assignment]
        root = (await talk.start())["id"]
        child = spawn(home, root, "anything")
        turns = [home.speak(root, "anything"), home.thread(child).running]
        asked = await talk.send("turn/interrupt", {"threadId": root, "turnId": "", "cascade": True})
        with anyio.fail_after(SECONDS):
            while not any(it is not None and it.scope.cancel_called for it in turns):
                await checkpoint()
        reached = [it is not None and it.scope.cancel_called for it in turns]
        for it in (root, child):
            gated.gates[it].set()
        await talk.answer(asked)
        assert reached == [True, True]


async def test_what_has_left_memory_records_nothing(home: House) -> None:
    """Whoever has held on to it may not write behind the back of the one that took its place."""
    old = home.thread(home.born())
    home.threads.unload(old)
    home.thread(old.id).set_note("written by the next")
    with pytest.raises(InvalidRequest, match=f"thread {old.id} has left memory meanwhile; ask again"):
        old.set_note("written too late")
    assert home.thread(old.id).state.rest.thread.note == "written by the next"
