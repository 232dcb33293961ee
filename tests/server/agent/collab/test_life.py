"""`send_input`, `wait`, `resume_agent`, `close_agent`: what agents do to each other while they live."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest
from anyio.lowlevel import checkpoint
from tests.server.agent.collab.troupe import NOBODY, Troupe
from tests.server.threads.house import Stubborn, words
from tests.support.clocks import FakeClock
from tests.support.talk import SECONDS

from threadloom.agent.base import ToolResult
from threadloom.agent.collab.specs import CLOSE_AGENT, RESUME_AGENT, SEND_INPUT, WAIT
from threadloom.agent.collab.validate import wait_timeout, waited_for
from threadloom.agent.sampling import ToolCall
from threadloom.agent.tools.base import answered
from threadloom.threads.birth import Birth
from threadloom.threads.inputs import MAX_TEXT
from threadloom.threads.stopping import GRACE, LAST
from threadloom.threads.thread import Thread
from threadloom_protocol.errors import InvalidRequest


def said(troupe: Troupe, agent: str) -> list[str]:
    """What an agent was told, in order."""
    items = [it["item"] for it in troupe.lines(agent, "item/completed")]
    return [part["text"] for it in items if it["type"] == "userMessage" for part in it["content"]]


def turns(troupe: Troupe, agent: str) -> list[str]:
    """How its turns ended."""
    return [it["turn"]["status"] for it in troupe.lines(agent, "turn/completed")]


class Waiting:
    """A wait under way."""

    def __init__(self, troupe: Troupe, thread_id: str, **arguments: Any) -> None:
        self._troupe = troupe
        self._id = thread_id
        self._arguments = arguments
        self.scope = anyio.CancelScope()
        self.result: ToolResult | None = None

    async def run(self) -> None:
        with self.scope:
            self.result = await self._troupe.call(self._id, "wait", **self._arguments)

    @property
    def answer(self) -> Any:
        assert self.result is not None
        assert self.result.ok
        return orjson.loads(self.result.output)


# ── send_input ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_send_input_takes_what_it_says() -> None:
    assert set(SEND_INPUT["parameters"]["properties"]) == {"id", "message", "items", "interrupt"}
    assert SEND_INPUT["parameters"]["required"] == ["id"]


async def test_what_is_sent_is_in_the_agents_log_before_the_answer(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root, "echo One.")
    await troupe.at_rest(agent)
    answer = await troupe.ask(root, "send_input", id=agent, message="echo Two.")
    assert list(answer) == ["submission_id"]
    stored = [it["item"]["id"] for it in troupe.lines(agent, "item/completed")]
    assert answer["submission_id"] in stored
    assert said(troupe, agent) == ["echo One.", "echo Two."]


async def test_it_begins_a_turn_where_the_agent_is_at_rest_and_joins_one_where_it_is_not(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root, "wait")
    thread = troupe.home.thread(agent)
    turn = thread.running
    first = await troupe.ask(root, "send_input", id=agent, message="wait")
    assert thread.running is turn
    await troupe.ask(root, "send_input", id=agent, message="echo Done.")
    await troupe.at_rest(agent)
    assert (turns(troupe, agent), len(said(troupe, agent))) == (["completed"], 3)
    second = await troupe.ask(root, "send_input", id=agent, items=[{"type": "text", "text": "echo Again."}])
    await troupe.at_rest(agent)
    assert turns(troupe, agent) == ["completed"] * 2
    assert first != second
    sent = [it for it in troupe.items(root) if it["tool"] == "sendInput"]
    assert [it["prompt"] for it in sent] == ["wait", "echo Done.", "echo Again."]
    assert {(it["status"], *it["receiverThreadIds"], it["agentsStates"][agent]["status"]) for it in sent} == {
        ("completed", agent, "running")
    }


async def test_an_interrupt_ends_what_it_is_doing_first(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root, "echo Half.\nwait")
    await troupe.ask(root, "send_input", id=agent, message="echo New.", interrupt=True)
    await troupe.at_rest(agent)
    assert turns(troupe, agent) == ["interrupted", "completed"]
    assert (await troupe.ask(root, "wait", ids=[agent]))["status"] == {agent: {"completed": "New."}}


async def test_what_is_refused_interrupts_nothing(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root)
    running = troupe.home.thread(agent).running
    text = await troupe.refused(root, "send_input", id=agent, message="x" * (MAX_TEXT + 1), interrupt=True)
    assert text.startswith("Input exceeds the maximum length")
    assert troupe.home.thread(agent).running is running
    assert running is not None
    assert not running.scope.cancel_called


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"message": "m", "items": [{"type": "text", "text": "i"}]}, "Give either `message` or `items`, not both."),
        ({}, "Give one of `message` and `items`."),
        ({"message": "\n"}, "`message` must not be empty."),
    ],
)
async def test_something_has_to_be_sent(troupe: Troupe, given: Any, text: str) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root)
    assert await troupe.refused(root, "send_input", id=agent, **given) == text
    assert said(troupe, agent) == ["wait"]


async def test_a_closed_agent_hears_nothing(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root)
    await troupe.close(agent)
    text = await troupe.refused(root, "send_input", id=agent, message="m")
    assert text == f"thread {agent} is closed; resume it first"


async def test_nobody_interrupts_themselves(troupe: Troupe) -> None:
    root = troupe.lead()
    text = await troupe.refused(root, "send_input", id=root, message="m", interrupt=True)
    assert text == "You cannot interrupt yourself."
    assert troupe.home.thread(root).running is not None


# ── wait ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_wait_takes_what_it_says() -> None:
    assert set(WAIT["parameters"]["properties"]) == {"ids", "timeout_ms"}
    assert WAIT["parameters"]["required"] == ["ids"]
    for number in ("10000", "1800000", "300000"):
        assert number in WAIT["parameters"]["properties"]["timeout_ms"]["description"]


@pytest.mark.parametrize(
    ("asked", "ms"),
    [(None, 300_000), (-1, 10_000), (0, 10_000), (9_999, 10_000), (10_001, 10_001), (1_800_001, 1_800_000)],
)
async def test_its_time_is_kept_within_bounds(
    troupe: Troupe, monkeypatch: pytest.MonkeyPatch, asked: int | None, ms: int
) -> None:
    from threadloom.agent.collab.base import Waited
    from threadloom.threads.branch import Branch

    seen: list[float] = []

    async def wait(self: Any, ids: Any, seconds: float, steering: Any = None) -> Waited:
        seen.append(seconds)
        return Waited({}, timed_out=True)

    monkeypatch.setattr(Branch, "wait", wait)
    root = troupe.lead()
    given = {} if asked is None else {"timeout_ms": asked}
    assert await troupe.ask(root, "wait", ids=[NOBODY], **given) == {"status": {}, "timed_out": True}
    assert seen == [ms / 1000]
    assert wait_timeout(asked) == ms


async def test_somebody_has_to_be_named(troupe: Troupe) -> None:
    root = troupe.lead()
    assert await troupe.refused(root, "wait", ids=[]) == "`ids` must not be empty."
    assert "do not fit" in await troupe.refused(root, "wait")
    assert waited_for(["b", "a", "b"]) == ["b", "a"]
    assert await troupe.refused(root, "wait", ids=[root]) == "You cannot wait for yourself."


async def test_the_first_at_rest_is_always_in_it(troupe: Troupe) -> None:
    root = troupe.lead()
    slow, fast = await troupe.spawn(root), await troupe.spawn(root, "echo Done.")
    answer = await troupe.ask(root, "wait", ids=[slow, fast])
    assert answer == {"status": {fast: {"completed": "Done."}}, "timed_out": False}
    [item] = [it for it in troupe.items(root) if it["tool"] == "wait"]
    assert (item["status"], item["receiverThreadIds"]) == ("completed", [fast])
    assert item["agentsStates"] == {fast: {"status": "completed", "message": "Done."}}


async def test_those_at_rest_already_count_and_more_may_come_with_them(troupe: Troupe) -> None:
    root = troupe.lead()
    one, other = await troupe.spawn(root, "echo One."), await troupe.spawn(root, "echo Other.")
    await troupe.at_rest(one, other)
    answer = await troupe.ask(root, "wait", ids=[one, other])
    assert answer["status"] == {one: {"completed": "One."}, other: {"completed": "Other."}}


async def test_every_way_to_be_at_rest(troupe: Troupe) -> None:
    root = troupe.lead()
    failed = await troupe.spawn(root, "fail The loom broke.")
    silent = await troupe.spawn(root, "call update_plan {}")
    stopped, closed = await troupe.spawn(root), await troupe.spawn(root)
    await troupe.home.thread(stopped).interrupt()
    await troupe.close(closed)
    await troupe.at_rest(failed, silent)
    everyone = [failed, stopped, closed, NOBODY]
    assert (await troupe.ask(root, "wait", ids=everyone))["status"] == {
        failed: {"errored": "The loom broke."},
        stopped: "interrupted",
        closed: "shutdown",
        NOBODY: "not_found",
    }
    [item] = [it for it in troupe.items(root) if it["tool"] == "wait"]
    assert item["status"] == "failed"  # one of them did
    assert {name: it["status"] for name, it in item["agentsStates"].items()} == {
        failed: "errored",
        stopped: "interrupted",
        closed: "shutdown",
        NOBODY: "notFound",
    }


async def test_an_agent_of_another_tree_is_nobody(troupe: Troupe) -> None:
    root, stranger = troupe.lead(), troupe.lead()
    secret = await troupe.spawn(stranger, "echo Secret.")
    await troupe.at_rest(secret)
    assert (await troupe.ask(root, "wait", ids=[secret]))["status"] == {secret: "not_found"}


async def test_time_that_runs_out_is_told(troupe: Troupe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("threadloom.agent.collab.validate.WAIT_LEAST", 1)
    root = troupe.lead()
    agent = await troupe.spawn(root)
    assert await troupe.ask(root, "wait", ids=[agent], timeout_ms=1) == {"status": {}, "timed_out": True}
    [item] = [it for it in troupe.items(root) if it["tool"] == "wait"]
    assert (item["status"], item["receiverThreadIds"], item["agentsStates"]) == ("completed", [agent], {})
    assert troupe.home.thread(agent).running is not None


async def test_no_wait_leaves_anything_behind(troupe: Troupe, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that works for days is waited for thousands of times, and nobody may ever exist that one waits for."""
    monkeypatch.setattr("threadloom.agent.collab.validate.WAIT_LEAST", 1)
    root = troupe.lead()
    slow, other = await troupe.spawn(root), await troupe.spawn(root)
    await troupe.ask(root, "wait", ids=[slow, other], timeout_ms=1)
    await troupe.ask(root, "wait", ids=[slow, NOBODY])
    waiting = Waiting(troupe, root, ids=[slow, other])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(waiting.run)
        with anyio.fail_after(SECONDS):
            while not troupe.home.threads.observer._waits:
                await checkpoint()
        await troupe.home.thread(other).interrupt()
    assert troupe.home.threads.observer._waits == {}


async def test_a_word_of_the_user_ends_it(troupe: Troupe) -> None:
    root = troupe.lead()
    thread = troupe.home.thread(root)
    thread.steer(words("spawn wait\nwait for agents"))
    with anyio.fail_after(SECONDS):
        while not any(it["tool"] == "wait" for it in troupe.items(root, "started")):
            await checkpoint()
    thread.steer(words("echo Stop."))
    await troupe.at_rest(root)
    outputs = [it["output"] for it in thread.history() if it.get("type") == "function_call_output"]
    assert orjson.loads(outputs[-1]) == {"status": {}, "timed_out": False, "steered": True}
    [agent] = troupe.home.threads.lineage.children(root)
    assert troupe.home.thread(agent).running is not None
    [item] = [it for it in troupe.items(root) if it["tool"] == "wait"]
    assert (item["status"], item["agentsStates"]) == ("completed", {})


async def test_one_that_leaves_the_tree_is_not_waited_for_any_longer(troupe: Troupe) -> None:
    """It goes on without its owner, as a tree of its own: whoever waited for it would do so until its time is over."""
    root = troupe.lead()
    child = await troupe.spawn(root)
    free = await troupe.spawn(child, on_parent_close="abandon")
    waiting = Waiting(troupe, root, ids=[free])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(waiting.run)
        with anyio.fail_after(SECONDS):
            while free not in troupe.home.threads.observer._waits:
                await checkpoint()
        await troupe.close(child)
    assert waiting.answer == {"status": {free: "not_found"}, "timed_out": False}
    assert troupe.home.thread(free).running is not None


async def test_it_only_observes(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root)
    waiting = Waiting(troupe, root, ids=[agent])
    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(waiting.run)
            while not any(it["tool"] == "wait" for it in troupe.items(root, "started")):
                await checkpoint()
            waiting.scope.cancel()
    assert waiting.result is None
    assert troupe.home.thread(agent).running is not None
    await troupe.ask(root, "send_input", id=agent, message="echo Alive.")
    assert (await troupe.ask(root, "wait", ids=[agent]))["status"] == {agent: {"completed": "Alive."}}


async def test_an_interrupt_of_the_waiting_one_ends_the_wait_and_nothing_else(troupe: Troupe) -> None:
    root = troupe.lead()
    child = await troupe.spawn(root, "spawn wait\nwait for agents")
    with anyio.fail_after(SECONDS):
        while not any(it["tool"] == "wait" for it in troupe.items(child, "started")):
            await checkpoint()
    [deep] = troupe.home.threads.lineage.children(child)
    await troupe.home.thread(child).interrupt()
    [waited] = [it for it in troupe.items(child) if it["tool"] == "wait"]
    assert waited["status"] == "interrupted"
    assert troupe.home.thread(deep).running is not None


# ── resume_agent ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_closed_agent_is_taken_up_with_what_its_close_took(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root, "echo Mine.")
    await troupe.at_rest(agent)
    troupe.busy(agent)
    kept, before = await troupe.spawn(agent), await troupe.spawn(agent)
    await troupe.close(before)
    await troupe.ask(root, "close_agent", id=agent)
    assert await troupe.ask(root, "resume_agent", id=agent) == {"status": "interrupted"}
    assert [troupe.home.threads.status(it) for it in (agent, kept, before)] == ["interrupted"] * 2 + ["shutdown"]
    [item] = [it for it in troupe.items(root) if it["tool"] == "resumeAgent"]
    assert item["agentsStates"] == {agent: {"status": "interrupted", "message": None}}
    await troupe.ask(root, "send_input", id=agent, message="echo Back.")
    assert (await troupe.ask(root, "wait", ids=[agent]))["status"] == {agent: {"completed": "Back."}}


async def test_nothing_happens_to_one_that_is_open(troupe: Troupe) -> None:
    root = troupe.lead()
    agent, other = await troupe.spawn(root), await troupe.spawn(root, "echo Done.")
    await troupe.at_rest(other)
    before = [troupe.home.thread(it).seq for it in (agent, other)]
    assert await troupe.ask(root, "resume_agent", id=agent) == {"status": "running"}
    assert await troupe.ask(root, "resume_agent", id=other) == {"status": {"completed": "Done."}}
    assert [troupe.home.thread(it).seq for it in (agent, other)] == before


async def test_limits_hold_for_a_resume(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root)
    await troupe.close(agent)
    for _ in range(12):
        await troupe.spawn(root)
    text = await troupe.refused(root, "resume_agent", id=agent)
    assert text.startswith("The limit of 12 agents that run in one tree (max_threads) is reached.")
    assert troupe.home.threads.status(agent) == "shutdown"


async def test_a_resume_may_not_go_deeper_than_the_limit(troupe: Troupe) -> None:
    root = troupe.lead()
    child = await troupe.spawn(root)
    deep = await troupe.spawn(child)
    await troupe.close(deep)
    troupe.home.threads._limits = lambda *of: _Shallow()  # type: ignore[assignment]
    assert await troupe.refused(root, "resume_agent", id=deep) == (
        f"The limit of 1 for the depth of agents (max_depth) is reached: {child} is at depth 1, "
        "and cannot own agents that run."
    )
    assert troupe.home.threads.status(deep) == "shutdown"


class _Shallow:
    max_depth = 1
    max_threads = 12


@pytest.mark.parametrize("closed", [True, False])
async def test_one_that_was_put_away_is_not_taken_up(troupe: Troupe, closed: bool) -> None:
    """It would be open, and take no input all the same."""
    root = troupe.lead()
    agent = await troupe.spawn(root, "echo Done.")
    await troupe.at_rest(agent)
    if closed:
        await troupe.close(agent)
    await troupe.home.threads.moves.archive(agent)
    text = f"thread {agent} is archived; unarchive it first"
    for tool, more in (("resume_agent", {}), ("send_input", {"message": "m"})):
        assert await troupe.refused(root, tool, id=agent, **more) == text
    assert troupe.home.threads.status(agent) == ("shutdown" if closed else "completed")


async def test_nobody_is_taken_up_who_never_was(troupe: Troupe) -> None:
    root = troupe.lead()
    assert await troupe.refused(root, "resume_agent", id=NOBODY) == f"There is no agent {NOBODY}."
    assert RESUME_AGENT["parameters"]["required"] == ["id"]


# ── close_agent ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_close_takes_the_whole_subtree_children_first(troupe: Troupe) -> None:
    kin = await troupe.kin()
    answer = await troupe.ask(kin.root, "close_agent", id=kin.child)
    assert answer["previous_status"] == "running"
    assert [(it["thread_id"], it["before"], it["after"], it["how"]) for it in answer["closed"]] == [
        (kin.grandchild, "running", "shutdown", "cooperative"),
        (kin.child, "running", "shutdown", "cooperative"),
    ]
    assert all(isinstance(it["ms"], int) for it in answer["closed"])
    assert set(troupe.home.threads.loaded) == {kin.root, kin.sibling, kin.cousin, kin.stranger}
    [item] = [it for it in troupe.items(kin.root) if it["tool"] == "closeAgent"]
    assert (item["status"], item["receiverThreadIds"]) == ("completed", [kin.child])
    assert item["agentsStates"] == {kin.child: {"status": "running", "message": None}}  # as it stood, as Codex has it


async def test_what_is_not_seen_to_end_keeps_what_it_has_to_report(troupe: Troupe) -> None:
    """The answer says nothing of the turn before, so that is still to be told; nor of the end, which is yet to come."""
    clock = troupe.home.threads.cascade.clock = FakeClock()
    root = troupe.lead()
    agent = await troupe.spawn(root, "echo One.", callback={"enabled": True})
    queue = troupe.home.thread(root).queue
    with anyio.fail_after(SECONDS):
        while not queue.entries:
            await checkpoint()
    stubborn = troupe.home.threads._ground.agent = Stubborn()  # type: ignore[assignment]
    thread, results = troupe.home.thread(agent), list[ToolResult]()
    troupe.home.speak(agent, "go")

    async def close() -> None:
        results.append(await troupe.call(root, "close_agent", id=agent))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(close)
        with anyio.fail_after(SECONDS):
            while not thread.sealed:
                await checkpoint()
            await anyio.wait_all_tasks_blocked()
        clock.move(GRACE + LAST)
    stubborn.let_go.set()
    [result] = results
    assert orjson.loads(result.output)["closed"][0]["how"] == "unverified"
    assert list(result.consumes) == []


async def test_closing_twice_is_a_success(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root, "echo Done.")
    await troupe.at_rest(agent)
    assert (await troupe.ask(root, "close_agent", id=agent))["previous_status"] == {"completed": "Done."}
    again = await troupe.ask(root, "close_agent", id=agent)
    assert again["previous_status"] == "shutdown"
    assert [(it["thread_id"], it["how"]) for it in again["closed"]] == [(agent, "already")]


async def test_one_that_closes_itself_has_its_answer_stored_first(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root, "wait")
    below = await troupe.spawn(agent)
    thread = troupe.home.thread(agent)
    await troupe.ask(root, "send_input", id=agent, message=f'call close_agent {{"id": "{agent}"}}')
    with anyio.fail_after(SECONDS):
        while troupe.home.threads.loaded.get(agent) is thread:
            await checkpoint()
    assert [troupe.home.threads.status(it) for it in (agent, below)] == ["shutdown"] * 2
    [item] = [it for it in troupe.items(agent) if it["tool"] == "closeAgent"]
    assert item["status"] == "completed"
    [output] = [it for it in troupe.home.thread(agent).history() if it.get("type") == "function_call_output"]
    answer = orjson.loads(output["output"])
    assert (answer["previous_status"], [it["thread_id"] for it in answer["closed"]]) == ("running", [below])
    assert CLOSE_AGENT["parameters"]["required"] == ["id"]


async def test_one_that_closes_itself_goes_like_any_other_subtree(troupe: Troupe) -> None:
    """What is to outlive it does, its owner hears of it once, and nothing that ends with it wakes it."""
    root, loud = troupe.lead(), {"callback": {"enabled": True}}
    agent = await troupe.spawn(root, **loud)
    below = [await troupe.spawn(agent, **loud) for _ in range(2)]
    free = await troupe.spawn(agent, on_parent_close="abandon", **loud)
    await troupe.ask(root, "send_input", id=agent, message=f'call close_agent {{"id": "{agent}"}}')
    threads = troupe.home.threads
    with anyio.fail_after(SECONDS):
        while threads.status(agent) != "shutdown" or agent in threads.loaded:
            await checkpoint()
    assert [threads.status(it) for it in below] == ["shutdown"] * 2
    assert len({threads.rest(it).closed_by for it in (*below, agent)}) == 1
    assert (threads.status(free), threads.lineage.parent(free)) == ("running", None)
    assert len(troupe.lines(agent, "turn/started")) == 1
    assert troupe.lines(agent, "thread/queue/changed") == []
    [report] = troupe.home.thread(root).queue.entries
    assert report.report is not None
    assert (report.report.child_thread_id, report.report.status) == (agent, "cancelled")
    assert all(it in report.input[0]["text"] for it in below)


async def test_one_that_closes_itself_takes_no_work_meanwhile(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root)
    below = troupe.home.thread(await troupe.spawn(agent))
    held = below.terminals.end_all = Held()  # type: ignore[method-assign,assignment]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: troupe.ask(agent, "close_agent", id=agent))
        with anyio.fail_after(SECONDS):
            await held.asked.wait()
        with pytest.raises(InvalidRequest, match="is closing"):
            troupe.home.threads.start(Birth(settings=troupe.settings(agent), owner=agent))
        assert troupe.home.thread(agent).running is not None  # it has no answer yet
        held.let_go.set()
    with anyio.fail_after(SECONDS):
        while troupe.home.threads.status(agent) != "shutdown":
            await checkpoint()


class Held:
    """Commands that end when they are let go."""

    def __init__(self) -> None:
        self.asked, self.let_go = anyio.Event(), anyio.Event()

    async def __call__(self, turn_id: str | None = None, grace: float = 2.0, bounded: bool = True) -> None:
        self.asked.set()
        await self.let_go.wait()


@pytest.mark.parametrize("tool", ["close_agent", "resume_agent", "send_input"])
async def test_one_that_is_deleted_meanwhile_is_told_and_the_turn_goes_on(
    troupe: Troupe, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    threads = troupe.home.threads
    root = troupe.lead()
    agent = await troupe.spawn(root, "echo Done.")
    await troupe.at_rest(agent)
    if tool == "resume_agent":
        await troupe.close(agent)
    settled, ended, gone = threads.settled, Thread.ended, list[str]()

    async def go() -> None:
        if not gone:
            gone.append(agent)
            await threads.moves.delete(agent)

    async def meanwhile(thread_id: str | None = None) -> None:
        await settled(thread_id)
        await go()

    async def waited(thread: Thread) -> None:
        await ended(thread)
        await go()

    monkeypatch.setattr(threads, "settled", meanwhile)
    monkeypatch.setattr(Thread, "ended", waited)
    more = {"message": "m"} if tool == "send_input" else {}
    text = await troupe.refused(root, tool, id=agent, **more)
    assert gone == [agent]
    assert agent in text
    assert troupe.home.thread(root).running is not None


async def test_one_whose_log_is_gone_is_told_and_the_turn_goes_on(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root, "echo Done.")
    await troupe.at_rest(agent)
    await troupe.close(agent)
    await troupe.home.threads.settled()
    Path(troupe.view(agent).path).unlink()  # noqa: ASYNC240 (a moment, in a test)
    for tool, more in (("read_agent", {}), ("resume_agent", {}), ("set_thread_note", {"note": "n"})):
        assert agent in await troupe.refused(root, tool, id=agent, **more)
    assert troupe.home.thread(root).running is not None


async def test_without_a_tree_there_are_no_agents(troupe: Troupe) -> None:
    thread = troupe.home.thread(troupe.lead())
    assert thread.running is not None
    turn = thread.briefing.turn(thread.running)
    turn.tree = None
    result = await answered(turn, ToolCall("c", "wait", '{"ids": ["x"]}'))
    assert (result.ok, result.output) == (False, "There are no agents here.")
