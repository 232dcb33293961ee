"""Questions to the person as clients see them: who is asked, what the model gets back, and what lasts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.approving import flags
from tests.support.conformance import Conformance
from tests.support.places import running
from tests.support.talk import Message, Talk, story, talking

from threadloom.agent.tools.asking import NOBODY

Pair = tuple[Talk, Talk]

REQUEST = "item/tool/requestUserInput"
WAITING = {"type": "active", "activeFlags": ["waitingOnUserInput"]}
ACTIVE, IDLE = "thread/status/changed active", "thread/status/changed idle"
PROMPT = "ask Which colour? red | green"


def answer(*words: str) -> Message:
    return {"answers": {"answer": {"answers": list(words)}}}


async def asking(talk: Talk, **params: Any) -> str:
    """A new thread whose person can be asked; its id."""
    return str((await talk.start(**{"approvalPolicy": "on-request", **params}))["id"])


async def ended(talk: Talk, thread_id: str) -> tuple[str, str]:
    """How the turn ended, and its last words."""
    turn = (await talk.until("turn/completed", threadId=thread_id))["turn"]
    return turn["status"], next((it["text"] for it in turn["items"] if it["type"] == "agentMessage"), "")


def back(output: str) -> str:
    """What the rehearsal model says of an answer."""
    return f"request_user_input answered: {output}"


GREEN = back('{"answers":{"answer":{"answers":["green"]}}}')


async def in_step(*talks: Talk) -> None:
    """All that the server has sent up to now has come."""
    for talk in talks:
        await talk.ask("thread/loaded/list", limit=1)


def questions(talk: Talk) -> list[str]:
    """The ids of what it was asked."""
    return [it["id"] for it in talk.log if it.get("method") == REQUEST]


async def test_asked_and_answered(talk: Talk) -> None:
    thread_id = await asking(talk)
    before = len(talk.log)
    turn_id = await talk.begin(thread_id, PROMPT)
    question = await talk.question()
    params = question["params"]
    assert (params["threadId"], params["turnId"], params["origin"]) == (thread_id, turn_id, [thread_id])
    assert (params["isBlocking"], params["autoResolutionMs"]) == (True, None)
    assert params["questions"] == [
        {
            "id": "answer",
            "header": "Rehearsal",
            "question": "Which colour?",
            "isOther": True,
            "isSecret": False,
            "options": [{"label": "red", "description": ""}, {"label": "green", "description": ""}],
        }
    ]
    await talk.reply(question, answer("green"))
    assert await ended(talk, thread_id) == ("completed", GREEN)
    told = talk.log[before:]
    assert story(told) == [
        "answer",
        ACTIVE,
        "turn/started",
        "item/started userMessage",
        "item/completed userMessage",
        "thread/tokenUsage/updated",
        ACTIVE,
        REQUEST,
        "serverRequest/resolved",
        ACTIVE,
        "item/started agentMessage",
        "item/agentMessage/delta",
        "item/completed agentMessage",
        "thread/tokenUsage/updated",
        IDLE,
        "turn/completed",
    ]
    waits = [flags(it) for it in told if it.get("method") == "thread/status/changed"]
    assert waits == [[], ["waitingOnUserInput"], [], []]


@pytest.mark.parametrize("given", [{}, {"answer": {"answers": []}}, {"another": {"answers": ["green"]}}])
async def test_no_answer_is_told_as_none(talk: Talk, given: Message) -> None:
    thread_id = await asking(talk)
    await talk.begin(thread_id, PROMPT)
    await talk.reply(await talk.question(), {"answers": given})
    assert await ended(talk, thread_id) == ("completed", back(NOBODY))


@pytest.mark.parametrize("nonsense", [{}, None, {"answers": []}, {"answers": {"answer": "green"}}], ids=repr)
async def test_an_answer_that_does_not_fit_leaves_it_unanswered(talk: Talk, nonsense: Any) -> None:
    thread_id = await asking(talk)
    await talk.begin(thread_id, PROMPT)
    question = await talk.question()
    await talk.reply(question, nonsense)
    told = await talk.until("serverRequest/rejected")
    assert told == {"threadId": thread_id, "requestId": question["id"], "reason": "invalid"}
    assert await ended(talk, thread_id) == ("completed", back(NOBODY))


async def test_a_client_that_fails_leaves_it_unanswered_where_it_is_the_only_one(talk: Talk) -> None:
    thread_id = await asking(talk)
    await talk.begin(thread_id, PROMPT)
    question = await talk.question()
    await talk.wire.send({"id": question["id"], "error": {"code": -32000, "message": "no screen"}})
    assert await ended(talk, thread_id) == ("completed", back(NOBODY))


async def test_everyone_who_follows_is_asked_and_the_first_answer_wins(pair: Pair) -> None:
    one, other = pair
    thread_id = await asking(one)
    await other.ask("thread/resume", threadId=thread_id)
    await one.begin(thread_id, PROMPT)
    question = await one.question()
    assert await other.question() == question
    await other.reply(question, answer("green"))
    for talk in pair:
        assert (await talk.until("serverRequest/resolved"))["requestId"] == question["id"]
    await one.reply(question, answer("red"))
    assert await ended(one, thread_id) == ("completed", GREEN)
    await in_step(one)
    rejected = [it["params"] for it in one.heard("serverRequest/rejected")]
    assert [(it["requestId"], it["reason"]) for it in rejected] == [(question["id"], "alreadyResolved")]


async def test_who_comes_later_or_again_is_asked_the_same(pair: Pair) -> None:
    one, other = pair
    thread_id = await asking(one)
    await one.begin(thread_id, PROMPT)
    question = await one.question()
    for talk in pair:
        resumed = await talk.ask("thread/resume", threadId=thread_id)
        assert resumed["thread"]["status"] == WAITING
        assert await talk.question() == question
    await other.reply(question, answer("green"))
    assert await ended(one, thread_id) == ("completed", GREEN)


@pytest.mark.parametrize("how", ["turn/interrupt", "thread/close", "thread/archive", "thread/delete"])
async def test_what_ends_takes_its_question_along(talk: Talk, how: str) -> None:
    thread_id = await asking(talk)
    turn_id = await talk.begin(thread_id, PROMPT)
    question = await talk.question()
    await talk.ask(how, threadId=thread_id, **({"turnId": turn_id} if how == "turn/interrupt" else {}))
    await in_step(talk)
    assert [it["params"]["requestId"] for it in talk.heard("serverRequest/resolved")] == [question["id"]]
    [end] = [it["params"]["turn"] for it in talk.heard("turn/completed")]
    assert end["status"] == "interrupted"
    await talk.reply(question, answer("green"))
    assert (await talk.until("serverRequest/rejected"))["reason"] == "alreadyResolved"


async def test_a_question_and_an_approval_of_one_turn_wait_side_by_side(talk: Talk) -> None:
    thread_id = await asking(talk, sandbox="danger-full-access", approvalPolicy="untrusted")
    order = json.dumps({"cmd": "touch never", "login": False})
    await talk.begin(thread_id, f"{PROMPT}\nand call exec_command {order}")
    asked = {it["method"]: it for it in [await talk.question(), await talk.question()]}
    await in_step(talk)
    status = (await talk.ask("thread/read", threadId=thread_id))["thread"]["status"]
    assert status["activeFlags"] == ["waitingOnApproval", "waitingOnUserInput"]
    assert await activity(talk, thread_id) == "waits for an approval"
    await talk.reply(asked[REQUEST], answer("green"))
    await talk.until("thread/status/changed", status={"type": "active", "activeFlags": ["waitingOnApproval"]})
    await talk.decide(asked["item/commandExecution/requestApproval"], "decline")
    status, words = await ended(talk, thread_id)
    assert (status, GREEN in words) == ("completed", True)


async def activity(talk: Talk, thread_id: str) -> str:
    """What a tree shows that a thread is at."""
    [node] = (await talk.ask("thread/tree", threadId=thread_id))["data"]
    return str(node["activity"])


async def test_a_tree_shows_who_waits_for_an_answer(talk: Talk) -> None:
    thread_id = await asking(talk)
    await talk.begin(thread_id, PROMPT)
    question = await talk.question()
    assert await activity(talk, thread_id) == "waits for an answer"
    await talk.reply(question, answer("green"))
    assert await ended(talk, thread_id) == ("completed", GREEN)


async def test_an_agent_asks_through_its_owners(talk: Talk) -> None:
    root = await asking(talk)
    await talk.begin(root, f"spawn {PROMPT}\nwait for agents")
    question = await talk.question()
    child = question["params"]["threadId"]
    assert (child != root, question["params"]["origin"]) == (True, [child, root])
    await talk.reply(question, answer("green"))
    assert await ended(talk, child) == ("completed", GREEN)
    status, words = await ended(talk, root)
    assert (status, "green" in words) == ("completed", True)


async def unasked(talk: Talk, prompt: str, **params: Any) -> None:
    """A prompt that would ask, where nobody is to be asked."""
    thread_id = await asking(talk, **params)
    await talk.begin(thread_id, prompt)
    status, words = await ended(talk, thread_id)
    assert (status, "There is no tool `request_user_input`." in words, questions(talk)) == ("completed", True, [])


async def test_who_wants_no_questions_gets_none(talk: Talk) -> None:
    await unasked(talk, PROMPT, approvalPolicy="never")


async def test_a_sub_session_does_not_ask(talk: Talk) -> None:
    create = json.dumps({"session_type": "worker", "prompt": PROMPT})
    wait = json.dumps({"session_id": "session 1", "timeout_ms": 10_000})
    await unasked(talk, f"call create_session {create}\ncall wait_session {wait}")


@pytest.mark.parametrize("kind", ["memory", "stdio", "websocket", "unix"])
async def test_a_question_outlives_the_server_and_settings_that_change(
    kind: str, tmp_path: Path, conformance: Conformance
) -> None:
    async with running(kind, tmp_path, conformance) as place, talking(place) as talk:
        thread_id = await asking(talk)
        turn_id = await talk.begin(thread_id, PROMPT)
        question = await talk.question()
        await talk.ask("thread/settings/update", threadId=thread_id, approvalPolicy="never")
    assert talk.heard("serverRequest/resolved", "turn/completed") == []
    async with running(kind, tmp_path, conformance) as place, talking(place) as talk:
        view = (await talk.ask("thread/resume", threadId=thread_id))["thread"]
        assert (view["status"], view["turns"][0]["id"]) == (WAITING, turn_id)
        assert await talk.question() == question
        await talk.reply(question, answer("green"))
        assert await ended(talk, thread_id) == ("completed", GREEN)
