"""Approvals as clients see them: who is asked, what each decision does, in which order it is told, and what lasts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.support.approving import ASKING, Ledger, asking, commands, flags
from tests.support.conformance import Conformance
from tests.support.places import running
from tests.support.talk import SECONDS, Message, Talk, said, story, talking

Pair = tuple[Talk, Talk]

REQUEST = "item/commandExecution/requestApproval"
ACTIVE, IDLE = "thread/status/changed active", "thread/status/changed idle"
BEGINS = [
    "answer",
    ACTIVE,
    "turn/started",
    "item/started userMessage",
    "item/completed userMessage",
    "thread/tokenUsage/updated",
    ACTIVE,
    "item/started commandExecution",
    REQUEST,
]
SPEAKS = [
    "item/started agentMessage",
    "item/agentMessage/delta",
    "item/completed agentMessage",
    "thread/tokenUsage/updated",
    IDLE,
    "turn/completed",
]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path)


async def in_step(*talks: Talk) -> None:
    """All that the server has sent up to now has come."""
    for talk in talks:
        await talk.ask("thread/loaded/list", limit=1)


def questions(talk: Talk, since: int = 0) -> list[str]:
    """The ids of what it was asked."""
    return [it["id"] for it in talk.log[since:] if it.get("method") == REQUEST]


def rejections(talk: Talk) -> list[tuple[str, str]]:
    """What the server made of answers that came to nothing."""
    return [(it["params"]["requestId"], it["params"]["reason"]) for it in talk.heard("serverRequest/rejected")]


async def ended(talk: Talk, thread_id: str) -> str:
    """How the turn ended."""
    return str((await talk.until("turn/completed", threadId=thread_id))["turn"]["status"])


# ── decisions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_accepted(talk: Talk, ledger: Ledger) -> None:
    thread_id = await asking(talk)
    before = len(talk.log)
    turn_id = await talk.begin(thread_id, ledger.call("one"))
    question = await talk.question()
    assert ledger.words == []
    await talk.decide(question, "accept")
    assert await ended(talk, thread_id) == "completed"
    told = talk.log[before:]
    assert story(told) == [
        *BEGINS,
        "serverRequest/resolved",
        ACTIVE,
        "item/completed commandExecution",
        *SPEAKS,
    ]
    assert [flags(it) for it in told if it.get("method") == "thread/status/changed"] == [
        [],
        ["waitingOnApproval"],
        [],
        [],
    ]
    started = next(
        it["params"] for it in told if it.get("method") == "item/started" and "command" in it["params"]["item"]
    )
    params = question["params"]
    assert (params["threadId"], params["turnId"], params["itemId"]) == (thread_id, turn_id, started["item"]["id"])
    assert params["command"] == started["item"]["command"]
    assert params["availableDecisions"] == ["accept", "acceptForSession", "decline", "cancel"]
    assert params["startedAtMs"] > 1_700_000_000_000
    assert params["origin"] == [thread_id]
    resolved = next(it["params"] for it in told if it.get("method") == "serverRequest/resolved")
    assert (resolved["threadId"], resolved["requestId"]) == (thread_id, question["id"])
    [item] = commands(told)
    assert (item["status"], item["exitCode"], ledger.words) == ("completed", 0, ["one"])
    assert item["durationMs"] < 20_000


async def test_declined(talk: Talk, ledger: Ledger) -> None:
    thread_id = await asking(talk)
    before = len(talk.log)
    await talk.begin(thread_id, ledger.call("one"))
    await talk.decide(await talk.question(), "decline")
    assert await ended(talk, thread_id) == "completed"
    told = talk.log[before:]
    assert story(told) == [*BEGINS, "serverRequest/resolved", ACTIVE, "item/completed commandExecution", *SPEAKS]
    [item] = commands(told)
    assert (item["status"], item["exitCode"], item["durationMs"], ledger.words) == ("declined", None, None, [])


async def test_cancelled_as_escape_does_it(talk: Talk, ledger: Ledger) -> None:
    thread_id = await asking(talk)
    before = len(talk.log)
    await talk.begin(thread_id, ledger.call("one") + "\necho never said")
    await talk.decide(await talk.question(), "cancel")
    assert await ended(talk, thread_id) == "interrupted"
    told = talk.log[before:]
    assert story(told) == [
        *BEGINS,
        "serverRequest/resolved",
        ACTIVE,
        "item/completed commandExecution",
        IDLE,
        "turn/completed",
    ]
    assert ([it["status"] for it in commands(told)], ledger.words) == (["declined"], [])
    assert (await talk.turn(thread_id, "echo still here"))["status"] == "completed"


async def test_accepted_for_the_rest_of_the_thread(talk: Talk, ledger: Ledger) -> None:
    thread_id = await asking(talk)
    await talk.begin(thread_id, ledger.call("one"))
    await talk.decide(await talk.question(), "acceptForSession")
    assert await ended(talk, thread_id) == "completed"
    before = len(talk.log)
    await talk.turn(thread_id, ledger.call("one"))
    assert story(talk.log[before:]) == [
        *BEGINS[:6],
        "item/started commandExecution",
        "item/completed commandExecution",
        *SPEAKS,
    ]
    assert ledger.words == ["one", "one"]
    await talk.begin(thread_id, ledger.call("another"))
    await talk.decide(await talk.question(), "decline")
    await ended(talk, thread_id)
    fork = (await talk.ask("thread/fork", threadId=thread_id))["thread"]["id"]
    await talk.begin(fork, ledger.call("one"))
    await talk.decide(await talk.question(threadId=fork), "decline")
    await ended(talk, fork)
    assert ledger.words == ["one", "one"]


@pytest.mark.parametrize("kind", ["memory", "websocket"])
async def test_what_was_accepted_for_the_thread_outlives_the_server(
    kind: str, tmp_path: Path, ledger: Ledger, conformance: Conformance
) -> None:
    async with running(kind, tmp_path, conformance) as place, talking(place) as talk:
        thread_id = await asking(talk)
        await talk.begin(thread_id, ledger.call("one"))
        await talk.decide(await talk.question(), "acceptForSession")
        await ended(talk, thread_id)
    async with running(kind, tmp_path, conformance) as place, talking(place) as talk:
        await talk.ask("thread/resume", threadId=thread_id)
        await talk.turn(thread_id, ledger.call("one"))
        assert questions(talk) == []
    assert ledger.words == ["one", "one"]


@pytest.mark.parametrize(
    ("decision", "runs"),
    [
        ({"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["echo"]}}, True),
        (
            {"applyNetworkPolicyAmendment": {"network_policy_amendment": {"host": "h", "action": "allow"}}},
            True,
        ),
        ({"applyNetworkPolicyAmendment": {"network_policy_amendment": {"host": "h", "action": "deny"}}}, False),
    ],
)
async def test_a_decision_with_a_rule_counts_this_once(talk: Talk, ledger: Ledger, decision: Any, runs: bool) -> None:
    thread_id = await asking(talk)
    for _ in range(2):
        await talk.begin(thread_id, ledger.call("one"))
        await talk.decide(await talk.question(), decision)
        await ended(talk, thread_id)
    assert ledger.words == ["one", "one"] * runs


# ── answers that come to nothing ──────────────────────────────────────────────────────────────────────────────────────


NONSENSE = ({"decision": "perhaps"}, {}, None, [], {"decision": None}, {"decision": {"accept": True}})


@pytest.mark.parametrize("nonsense", NONSENSE, ids=repr)
async def test_an_answer_that_does_not_fit_declines_where_nobody_else_can_answer(
    talk: Talk, ledger: Ledger, nonsense: Any
) -> None:
    thread_id = await asking(talk)
    await talk.begin(thread_id, ledger.call("one"))
    question = await talk.question()
    await talk.reply(question, nonsense)
    told = await talk.until("serverRequest/rejected")
    assert told == {"threadId": thread_id, "requestId": question["id"], "reason": "invalid"}
    assert await ended(talk, thread_id) == "completed"
    assert [it["status"] for it in commands(talk.log)] == ["declined"]
    assert ledger.words == []


async def test_an_answer_that_does_not_fit_leaves_the_question_to_the_others(pair: Pair, ledger: Ledger) -> None:
    one, other = pair
    thread_id = await asking(one)
    await other.ask("thread/resume", threadId=thread_id)
    await one.begin(thread_id, ledger.call("one"))
    question = await one.question()
    for nonsense in NONSENSE:
        await one.reply(question, nonsense)
        assert (await one.until("serverRequest/rejected"))["reason"] == "invalid"
    assert one.heard("serverRequest/resolved") == []
    await one.decide(question, "accept")
    assert await ended(one, thread_id) == "completed"
    assert ledger.words == ["one"]


async def test_what_nobody_asked_is_not_known(talk: Talk, ledger: Ledger) -> None:
    await talk.start()
    for identity in ("nothing", 7, "01a1e24a-0000-7000-8000-000000000000"):
        await talk.reply({"id": identity}, {"decision": "accept"})
        told = await talk.until("serverRequest/rejected")
        assert (told["requestId"], told["reason"]) == (str(identity), "unknown")


async def test_a_second_answer_comes_too_late(talk: Talk, ledger: Ledger) -> None:
    thread_id = await asking(talk)
    await talk.begin(thread_id, ledger.call("one"))
    question = await talk.question()
    for decision in ("decline", "accept", "accept"):
        await talk.decide(question, decision)
    assert await ended(talk, thread_id) == "completed"
    await in_step(talk)
    assert rejections(talk) == [(question["id"], "alreadyResolved")] * 2
    assert ledger.words == []


FAILURES = [{"code": code, "message": "no screen"} for code in (-32601, -32600, -32000)]


@pytest.mark.parametrize("error", [*FAILURES, {}, {"code": "x", "message": 1}, "no screen"])
async def test_a_client_that_fails_declines_where_it_is_the_only_one(talk: Talk, ledger: Ledger, error: Any) -> None:
    thread_id = await asking(talk)
    await talk.begin(thread_id, ledger.call("one"))
    question = await talk.question()
    await talk.wire.send({"id": question["id"], "error": error})
    assert await ended(talk, thread_id) == "completed"
    assert [it["status"] for it in commands(talk.log)] == ["declined"]
    await talk.decide(question, "accept")
    assert (await talk.until("serverRequest/rejected"))["reason"] == "alreadyResolved"
    assert ledger.words == []


@pytest.mark.parametrize("first", [0, 1])
async def test_one_who_knows_no_such_question_declines_where_all_others_fail(
    pair: Pair, ledger: Ledger, first: int
) -> None:
    thread_id = await asking(pair[0])
    await pair[1].ask("thread/resume", threadId=thread_id)
    await pair[0].begin(thread_id, ledger.call("one"))
    codes = {0: -32601, 1: -32000}
    for at in (first, 1 - first):
        question = await pair[at].question()
        assert pair[0].heard("serverRequest/resolved") == []
        await pair[at].wire.send({"id": question["id"], "error": {"code": codes[at], "message": "no"}})
        await in_step(pair[at])
    assert await ended(pair[0], thread_id) == "completed"
    assert [it["status"] for it in commands(pair[0].log)] == ["declined"]


@pytest.mark.parametrize("code", [-32601, -32000])
async def test_one_who_fails_leaves_it_to_the_others(pair: Pair, ledger: Ledger, code: int) -> None:
    one, other = pair
    thread_id = await asking(one)
    await other.ask("thread/resume", threadId=thread_id)
    await one.begin(thread_id, ledger.call("one"))
    question = await one.question()
    await one.wire.send({"id": question["id"], "error": {"code": code, "message": "no"}})
    await in_step(one)
    await other.decide(await other.question(), "accept")
    assert await ended(one, thread_id) == "completed"
    assert ledger.words == ["one"]


# ── several clients ───────────────────────────────────────────────────────────────────────────────────────────────────


async def test_everyone_who_follows_is_asked_and_the_first_answer_wins(pair: Pair, ledger: Ledger) -> None:
    one, other = pair
    thread_id = await asking(one)
    await other.ask("thread/resume", threadId=thread_id)
    await one.begin(thread_id, ledger.call("one"))
    first, second = await one.question(), await other.question()
    assert first == second
    await other.decide(second, "accept")
    for talk in pair:
        assert (await talk.until("serverRequest/resolved"))["requestId"] == first["id"]
    await one.decide(first, "decline")
    for talk in pair:
        assert await ended(talk, thread_id) == "completed"
    await in_step(one, other)
    assert (rejections(one), rejections(other)) == ([(first["id"], "alreadyResolved")], [])
    assert ledger.words == ["one"]


async def test_who_does_not_follow_is_not_asked(pair: Pair, ledger: Ledger) -> None:
    one, other = pair
    thread_id = await asking(one)
    await other.ask("thread/resume", threadId=thread_id)
    await other.ask("thread/unsubscribe", threadId=thread_id)
    await one.begin(thread_id, ledger.call("one"))
    question = await one.question()
    await in_step(other)
    assert questions(other) == []
    await other.decide(question, "accept")  # any client may answer all the same
    assert await ended(one, thread_id) == "completed"
    assert ledger.words == ["one"]


async def test_one_who_leaves_the_thread_is_not_waited_for(pair: Pair, ledger: Ledger) -> None:
    one, other = pair
    thread_id = await asking(one)
    await other.ask("thread/resume", threadId=thread_id)
    await one.begin(thread_id, ledger.call("one"))
    question = await one.question()
    await other.question()
    await other.ask("thread/unsubscribe", threadId=thread_id)
    await one.wire.send({"id": question["id"], "error": {"code": -32000, "message": "no"}})
    assert await ended(one, thread_id) == "completed"
    assert [it["status"] for it in commands(one.log)] == ["declined"]


@pytest.mark.parametrize("since", [None, 0, 4, "head"])
async def test_who_comes_later_is_asked_after_what_was_missed(pair: Pair, ledger: Ledger, since: Any) -> None:
    one, other = pair
    thread_id = await asking(one)
    await one.begin(thread_id, ledger.call("one"))
    question = await one.question()
    head = max(it["params"]["seq"] for it in one.heard(thread=thread_id) if "seq" in it["params"])
    await in_step(other)
    before = len(other.log)
    cursor = {} if since is None else {"sinceSeq": head if since == "head" else since}
    resumed = await other.ask("thread/resume", threadId=thread_id, **cursor)
    assert await other.question() == question
    told = [it for it in other.log[before:] if "method" in it]
    seqs = [it["params"]["seq"] for it in told if "seq" in it["params"]]
    if since is None:
        assert [it["status"] for it in resumed["thread"]["turns"][0]["items"] if "status" in it] == ["inProgress"]
        assert story(told) == ["thread/tokenUsage/updated", REQUEST]
    else:
        assert seqs == list(range(cursor["sinceSeq"] + 1, head + 1))
        assert story(told)[-1] == REQUEST
    assert resumed["thread"]["status"] == {"type": "active", "activeFlags": ["waitingOnApproval"]}
    await other.decide(question, "accept")
    for talk in pair:
        assert await ended(talk, thread_id) == "completed"
    assert commands(other.log) == commands(one.log)
    assert (questions(other), ledger.words) == ([question["id"]], ["one"])


async def test_the_same_question_comes_back_with_the_connection(pair: Pair, ledger: Ledger) -> None:
    one, other = pair
    thread_id = await asking(one)
    await one.begin(thread_id, ledger.call("one"))
    question = await one.question()
    for _ in range(2):
        await one.ask("thread/resume", threadId=thread_id)
        assert await one.question() == question
    await in_step(one, other)
    assert len(questions(one)) == 3
    await one.decide(question, "accept")
    assert await ended(one, thread_id) == "completed"
    assert ledger.words == ["one"]


# ── a turn that waits ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("how", ["turn/interrupt", "thread/close", "thread/archive", "thread/delete"])
async def test_what_ends_while_a_question_is_open_runs_nothing(talk: Talk, ledger: Ledger, how: str) -> None:
    thread_id = await asking(talk)
    turn_id = await talk.begin(thread_id, ledger.calls("one", "two"))
    first, second = await talk.question(), await talk.question()
    more = {"turnId": turn_id} if how == "turn/interrupt" else {}
    before = len(talk.log)
    await talk.ask(how, threadId=thread_id, **more)
    await in_step(talk)
    told = talk.log[before:]
    resolved = [it["params"]["requestId"] for it in told if it.get("method") == "serverRequest/resolved"]
    assert sorted(resolved) == sorted((first["id"], second["id"]))
    assert [it["status"] for it in commands(told)] == ["declined", "declined"]
    [end] = [it["params"]["turn"] for it in told if it.get("method") == "turn/completed"]
    assert end["status"] == "interrupted"
    assert story(told).index("serverRequest/resolved") < story(told).index("item/completed commandExecution")
    await talk.decide(first, "accept")
    assert (await talk.until("serverRequest/rejected"))["reason"] == "alreadyResolved"
    assert ledger.words == []


async def test_several_questions_of_one_turn_wait_side_by_side(talk: Talk, ledger: Ledger) -> None:
    thread_id = await asking(talk)
    before = len(talk.log)
    await talk.begin(thread_id, ledger.calls("one", "two", "three"))
    asked = [await talk.question() for _ in range(3)]
    await in_step(talk)
    read = await talk.ask("thread/read", threadId=thread_id)
    assert read["thread"]["status"] == {"type": "active", "activeFlags": ["waitingOnApproval"]}
    for question, decision in zip(reversed(asked), ("accept", "decline", "accept"), strict=True):
        await talk.decide(question, decision)
    assert await ended(talk, thread_id) == "completed"
    told = talk.log[before:]
    assert [flags(it) for it in told if it.get("method") == "thread/status/changed"] == [
        [],
        ["waitingOnApproval"],
        [],
        [],
    ]
    by_item = {it["params"]["itemId"]: word for it, word in zip(asked, ("one", "two", "three"), strict=True)}
    outcome = {by_item[it["id"]]: it["status"] for it in commands(told)}
    assert outcome == {"one": "completed", "two": "declined", "three": "completed"}
    assert ledger.words == ["one", "three"]


async def test_a_steer_waits_for_the_answer(talk: Talk, ledger: Ledger) -> None:
    thread_id = await asking(talk)
    turn_id = await talk.begin(thread_id, ledger.call("one"))
    question = await talk.question()
    steer: Message = {"threadId": thread_id, "expectedTurnId": turn_id, "input": said("echo as you wish")}
    assert await talk.ask("turn/steer", steer) == {"turnId": turn_id}
    await in_step(talk)
    assert talk.heard("serverRequest/resolved", "turn/completed") == []
    await talk.decide(question, "accept")
    done = (await talk.until("turn/completed"))["turn"]
    assert (done["status"], done["items"][-1]["text"].split("\n")[0]) == ("completed", "as you wish")
    assert ledger.words == ["one"]


async def test_settings_that_change_meanwhile_leave_the_question_as_it_is(talk: Talk, ledger: Ledger) -> None:
    thread_id = await asking(talk)
    await talk.begin(thread_id, ledger.call("one"))
    question = await talk.question()
    await talk.ask("thread/settings/update", threadId=thread_id, approvalPolicy="never")
    await in_step(talk)
    assert ledger.words == []
    await talk.decide(question, "decline")
    assert await ended(talk, thread_id) == "completed"
    assert ledger.words == []


async def test_a_fork_asks_nobody_what_its_source_has_asked(talk: Talk, ledger: Ledger) -> None:
    thread_id = await asking(talk)
    await talk.begin(thread_id, ledger.call("one"))
    question = await talk.question()
    forked = (await talk.ask("thread/fork", threadId=thread_id))["thread"]
    assert forked["turns"][0]["status"] == "interrupted"
    assert [it["status"] for it in forked["turns"][0]["items"] if it["type"] == "commandExecution"] == ["declined"]
    await talk.ask("thread/resume", threadId=forked["id"])
    await in_step(talk)
    assert questions(talk) == [question["id"]]
    await talk.decide(question, "accept")
    assert await ended(talk, thread_id) == "completed"
    assert ledger.words == ["one"]


# ── over a restart ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("kind", "decision"),
    [("memory", "accept"), ("memory", "decline"), ("stdio", "accept"), ("websocket", "decline"), ("unix", "cancel")],
)
async def test_a_turn_that_only_waits_goes_on_in_the_next_life_of_the_server(
    kind: str, decision: str, tmp_path: Path, ledger: Ledger, conformance: Conformance
) -> None:
    async with running(kind, tmp_path, conformance) as place, talking(place) as talk:
        thread_id = await asking(talk)
        turn_id = await talk.begin(thread_id, ledger.calls("one", "two") + "\necho the end")
        asked = [await talk.question(), await talk.question()]
        first = asked[0]["id"]
    assert [it["method"] for it in talk.heard("serverRequest/resolved", "turn/completed", "item/completed")] == [
        "item/completed"  # of what the user said
    ]
    async with running(kind, tmp_path, conformance) as place, talking(place) as talk:
        for method, params in (("thread/read", {"includeTurns": True}), ("thread/resume", {})):
            view = (await talk.ask(method, threadId=thread_id, **params))["thread"]
            assert view["status"] == {"type": "active", "activeFlags": ["waitingOnApproval"]}, method
            [turn] = view["turns"]
            assert (turn["id"], turn["status"]) == (turn_id, "inProgress")
            pending = [it["status"] for it in turn["items"] if it["type"] == "commandExecution"]
            assert pending == ["inProgress", "inProgress"]
        listed = (await talk.ask("thread/list"))["data"]
        assert [(it["id"], it["status"]["type"]) for it in listed] == [(thread_id, "active")]
        again = [await talk.question(), await talk.question()]
        assert again == asked
        assert ledger.words == []
        await talk.decide(again[1], "accept")
        await talk.until("item/completed")
        await talk.decide(again[0], decision)
        done = (await talk.until("turn/completed"))["turn"]
        statuses = {it["id"]: it["status"] for it in commands(talk.log)}
        assert statuses[again[0]["params"]["itemId"]] == ("completed" if decision == "accept" else "declined")
        assert statuses[again[1]["params"]["itemId"]] == "completed"
        assert done["status"] == ("interrupted" if decision == "cancel" else "completed")
        if decision != "cancel":
            assert done["items"][-1]["text"].startswith("the end")
        assert [it["params"]["requestId"] for it in talk.heard("serverRequest/resolved")] == [again[1]["id"], first]
    assert ledger.words == (["one", "two"] if decision == "accept" else ["two"])


@pytest.mark.parametrize("kind", ["websocket", "unix"])
async def test_a_question_from_before_can_be_answered_without_a_resume(
    kind: str, tmp_path: Path, ledger: Ledger, conformance: Conformance
) -> None:
    """A server that listens takes up what waits for an answer as soon as it is there."""
    async with running(kind, tmp_path, conformance) as place, talking(place) as talk:
        thread_id = await asking(talk)
        await talk.begin(thread_id, ledger.call("one"))
        question = await talk.question()
    async with running(kind, tmp_path, conformance) as place, talking(place) as talk:
        with anyio.fail_after(SECONDS):
            while thread_id not in (await talk.ask("thread/loaded/list"))["data"]:
                await talk.ask("thread/read", threadId=thread_id)
        await talk.wire.send(*[{"id": question["id"], "result": {"decision": "accept"}}] * 5)
        await talk.until("thread/status/changed", status={"type": "idle"})
        assert questions(talk) == []
        assert rejections(talk) == [(question["id"], "alreadyResolved")] * 4
    assert ledger.words == ["one"]


@pytest.mark.parametrize("kind", ["memory", "stdio"])
async def test_settings_that_change_before_the_restart_leave_the_question_as_it_is(
    kind: str, tmp_path: Path, ledger: Ledger, conformance: Conformance
) -> None:
    async with running(kind, tmp_path, conformance) as place, talking(place) as talk:
        thread_id = await asking(talk)
        await talk.begin(thread_id, ledger.calls("one", "one"))
        first, second = await talk.question(), await talk.question()
        await talk.ask("thread/settings/update", threadId=thread_id, approvalPolicy="never")
        await talk.decide(first, "acceptForSession")
        await talk.until("item/completed")
    async with running(kind, tmp_path, conformance) as place, talking(place) as talk:
        await talk.ask("thread/resume", threadId=thread_id)
        assert await talk.question() == second
        await in_step(talk)
        assert ledger.words == ["one"]
        await talk.decide(second, "decline")
        assert await ended(talk, thread_id) == "completed"
        assert [it["status"] for it in commands(talk.log)] == ["declined"]
    assert ledger.words == ["one"]


async def test_a_thread_without_questions_runs_as_before(talk: Talk, ledger: Ledger) -> None:
    thread_id = (await talk.start(**ASKING | {"approvalPolicy": "never"}))["id"]
    await talk.turn(thread_id, ledger.call("one"))
    assert (questions(talk), ledger.words) == ([], ["one"])
