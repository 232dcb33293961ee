"""What clients of a parent hear of its agents: every change of standing, in one form, and which of them are final."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from tests.server.agent.collab.troupe import Troupe
from tests.support.talk import SECONDS, timeless

from threadloom.threads.journal import Journal
from threadloom.threads.observer import MESSAGE, _line, _time
from threadloom_protocol.v2.values.status import CollabAgentStatus


async def heard(troupe: Troupe, root: str, many: int) -> list[Any]:
    """What was told of agents, once there is so much of it."""
    with anyio.fail_after(SECONDS):
        while len(told := [it for it in troupe.events(root) if it.get("childThreadId")]) < many:
            await checkpoint()
    return told


async def test_every_change_is_told_and_it_goes_on_after_the_first_end(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root, "echo One.", agent_type="worker")
    await troupe.at_rest(agent)
    await troupe.ask(root, "send_input", id=agent, message="fail The loom broke.")
    await troupe.at_rest(agent)
    await troupe.ask(root, "send_input", id=agent, message="wait")
    await troupe.home.thread(agent).interrupt()
    await troupe.ask(root, "close_agent", id=agent)
    who = f"agent worker ({agent}) [call-1]"
    told = await heard(troupe, root, 7)
    assert [(timeless(it["message"]), it["isFinal"]) for it in told] == [
        (f"{who} running", False),
        (f"{who} completed in N s: One.", True),
        (f"{who} running", False),
        (f"{who} errored in N s: The loom broke.", True),
        (f"{who} running", False),
        (f"{who} interrupted in N s:", True),
        (f"{who} shutdown in N s:", True),
    ]
    assert {it["childThreadId"] for it in told} == {agent}
    assert {it["level"] for it in told} == {"info"}


async def test_it_goes_from_its_birth_to_work_to_an_end(troupe: Troupe) -> None:
    root = troupe.lead()
    steps: list[tuple[str, str]] = []
    ground = troupe.home.threads._ground
    observe = ground.changed

    def changed(thread: Journal, before: CollabAgentStatus) -> None:
        steps.append((before, thread.state.agent_status))
        observe(thread, before)

    ground.changed = changed
    agent = await troupe.spawn(root, "echo One.")
    await troupe.at_rest(agent)
    await troupe.close(agent)
    assert steps == [("pendingInit", "running"), ("running", "completed"), ("completed", "shutdown")]


async def test_an_agent_without_a_type_or_a_call_has_names_all_the_same(troupe: Troupe) -> None:
    async with troupe.home.talking() as talk:
        root = troupe.lead()
        made = await talk.ask("agent/spawn", threadId=root, input=[{"type": "text", "text": "echo Hi."}])
        agent = made["thread"]["id"]
        told = await heard(troupe, root, 2)
        assert timeless(told[-1]["message"]) == f"agent default ({agent}) [client] completed in N s: Hi."


@pytest.mark.parametrize(
    ("ms", "text"), [(0, "0s"), (999, "0s"), (12_345, "12s"), (65_000, "1m 05s"), (3_725_000, "62m 05s")]
)
def test_times_are_short(ms: int, text: str) -> None:
    assert _time(ms) == text


def test_messages_are_one_line_of_so_many_characters() -> None:
    assert _line("a\n b\t c") == "a b c"
    assert _line("x" * MESSAGE) == "x" * 160
    assert _line("x" * (MESSAGE + 1)) == "x" * 159 + "…"


async def test_the_parent_of_the_agent_hears_it_and_nobody_else(troupe: Troupe) -> None:
    kin = await troupe.kin()
    await troupe.close(kin.grandchild)
    told = [it for it in await heard(troupe, kin.child, 3) if it["childThreadId"] == kin.grandchild]
    assert [timeless(it["message"]).split("] ")[1] for it in told] == [
        "running",
        "interrupted in N s:",
        "shutdown in N s:",
    ]
    for other in (kin.root, kin.sibling, kin.stranger):
        assert kin.grandchild not in {it.get("childThreadId") for it in troupe.events(other)}
