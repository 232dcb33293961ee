"""Who may do what to whom: every cell, with its exact text."""

from __future__ import annotations

from typing import Any

import anyio
import orjson
import pytest
from anyio.lowlevel import checkpoint
from tests.server.agent.collab.troupe import Kin, Troupe
from tests.support.talk import SECONDS, Talk, said

# What an agent may do to another, and the word for it where it may not.
ACTIONS = {
    "close": ("close_agent", {}),
    "interrupt": ("send_input", {"message": "echo Hello.", "interrupt": True}),
    "message": ("send_input", {"message": "echo Hello."}),
    "annotate": ("set_thread_note", {"note": "seen"}),
    "resume": ("resume_agent", {}),
    "read": ("read_agent", {}),
}
EVERYONE = ("root", "child", "grandchild", "sibling", "cousin", "stranger")

# Itself, and those below it; the root thus all of its tree; nobody of another one.
BELOW = {
    "root": {"root", "child", "grandchild", "sibling", "cousin"},
    "child": {"child", "grandchild"},
    "grandchild": {"grandchild"},
    "sibling": {"sibling", "cousin"},
    "cousin": {"cousin"},
    "stranger": {"stranger"},
}
CELLS = [(who, verb, whom) for who in EVERYONE for verb in ACTIONS for whom in EVERYONE]


@pytest.mark.parametrize(("who", "verb", "whom"), CELLS)
async def test_an_agent_may_act_on_itself_and_on_what_is_below(troupe: Troupe, who: str, verb: str, whom: str) -> None:
    kin = await troupe.kin()
    caller, other = getattr(kin, who), getattr(kin, whom)
    if verb == "resume" and who not in BELOW[whom]:  # else that would close the caller, too
        await troupe.close(other)
    before = marks(troupe, kin)
    tool, arguments = ACTIONS[verb]
    result = await troupe.call(caller, tool, id=other, **arguments)
    if who == whom and verb == "interrupt":
        assert (result.ok, result.output) == (False, "You cannot interrupt yourself.")
        return
    if whom in BELOW[who]:
        assert result.ok, result.output
        await EFFECTS[verb](troupe, other, orjson.loads(result.output))
        return
    assert (result.ok, result.output) == (False, f"Not permitted to {verb} agents outside your subtree.")
    after = marks(troupe, kin)
    del before[who], after[who]  # its own items
    assert after == before


def marks(troupe: Troupe, kin: Kin) -> dict[str, Any]:
    """Everything that could have been touched."""
    threads = troupe.home.threads
    everyone = {name: getattr(kin, name) for name in EVERYONE}
    return {name: (threads.shown(it), threads.status(it), it in threads.loaded) for name, it in everyone.items()}


async def closed(troupe: Troupe, whom: str, answer: Any) -> None:
    with anyio.fail_after(SECONDS):  # one that closes itself has its answer first
        while troupe.home.threads.status(whom) != "shutdown":
            await checkpoint()
    assert {troupe.home.threads.status(it) for it in troupe.home.threads.lineage.descendants(whom)} <= {"shutdown"}


async def interrupted(troupe: Troupe, whom: str, answer: Any) -> None:
    assert [it["turn"]["status"] for it in troupe.lines(whom, "turn/completed")][:1] == ["interrupted"]
    await messaged(troupe, whom, answer)


async def messaged(troupe: Troupe, whom: str, answer: Any) -> None:
    items = {it["item"]["id"]: it["item"] for it in troupe.lines(whom, "item/completed")}
    assert items[answer["submission_id"]]["content"][0]["text"] == "echo Hello."


async def annotated(troupe: Troupe, whom: str, answer: Any) -> None:
    assert troupe.view(whom).note == "seen"


async def resumed(troupe: Troupe, whom: str, answer: Any) -> None:
    above = troupe.home.threads.lineage.origin(whom)
    assert "shutdown" not in {troupe.home.threads.status(it) for it in above}


async def was_read(troupe: Troupe, whom: str, answer: Any) -> None:
    assert answer["turn_id"] == troupe.lines(whom, "turn/started")[-1]["turn"]["id"]


EFFECTS = {
    "close": closed,
    "interrupt": interrupted,
    "message": messaged,
    "annotate": annotated,
    "resume": resumed,
    "read": was_read,
}


@pytest.mark.parametrize("who", EVERYONE)
async def test_an_agent_learns_that_others_of_its_tree_are_at_rest_and_what_those_below_it_said(
    troupe: Troupe, who: str
) -> None:
    kin = await troupe.kin()
    for whom in set(EVERYONE) - {who}:
        other = getattr(kin, whom)
        await troupe.home.thread(other).interrupt()
        await troupe.home.said(other, "echo Mine.")
        answer = await troupe.ask(getattr(kin, who), "wait", ids=[other])
        told: Any = {"completed": "Mine." if whom in BELOW[who] else ""}
        assert answer["status"] == {other: "not_found" if "stranger" in (who, whom) else told}


@pytest.mark.parametrize("whom", EVERYONE)
async def test_a_client_may_act_on_any_thread_it_can_see(troupe: Troupe, whom: str) -> None:
    async with troupe.home.talking() as talk:
        kin = await troupe.kin()
        await acts(talk, getattr(kin, whom))


async def acts(talk: Talk, thread_id: str) -> None:
    """Annotate, message, interrupt, read, close and resume it."""
    assert (await talk.ask("thread/note/set", threadId=thread_id, note="seen"))["note"] == "seen"
    assert (await talk.ask("agent/sendInput", threadId=thread_id, input=said("echo Hello.\nwait")))["submissionId"]
    sent = await talk.ask("agent/sendInput", threadId=thread_id, input=said("echo Bye."), interrupt=True)
    assert sent["submissionId"]
    await talk.ask("turn/interrupt", threadId=thread_id, turnId="")
    assert (await talk.ask("thread/read", threadId=thread_id))["thread"]["note"] == "seen"
    report = (await talk.ask("thread/close", threadId=thread_id))["report"]
    assert report[-1]["threadId"] == thread_id
    assert (await talk.ask("thread/resume", threadId=thread_id))["thread"]["id"] == thread_id


async def test_who_calls_is_no_argument(troupe: Troupe) -> None:
    kin = await troupe.kin()
    for name in ("thread_id", "threadId", "sender", "me", "caller"):
        result = await troupe.call(kin.grandchild, "close_agent", id=kin.sibling, **{name: kin.root})
        assert not result.ok
    assert troupe.home.thread(kin.sibling).running is not None


async def test_sessions_are_asked_for_by_those_above_them_alone(troupe: Troupe) -> None:
    kin = await troupe.kin()
    made = await troupe.ask(kin.child, "create_session", session_type="default", prompt="echo Done.")
    session = made["session_id"]
    for who in (kin.root, kin.child):
        assert await troupe.ask(who, "wait_session", session_id=session, timeout_ms=5000) == {"result": "Done."}
    for who in (kin.grandchild, kin.sibling, kin.cousin, kin.stranger):
        for tool, more in (("wait_session", {"timeout_ms": 1}), ("cancel_session", {})):
            assert await troupe.refused(who, tool, session_id=session, **more) == f"There is no session {session}."
