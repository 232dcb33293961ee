"""Agents as clients see them: a tree at work on the offline model, and clients that start and address agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.conformance import Conformance
from tests.support.places import Place, running
from tests.support.talk import Message, Talk, said, talking, text_of, timeless

NOBODY = "01a1e24a-0000-7000-8000-000000000000"
FAMILY = """\
spawn as worker
  echo Worker here.
  spawn echo From below.
  wait for agents
and spawn echo Second here.
wait for agents
"""


def collabs(messages: list[Message], thread: str, of: str = "item/completed") -> list[Any]:
    """The items about other agents."""
    told = [it["params"] for it in messages if it.get("method") == of and it["params"]["threadId"] == thread]
    return [it["item"] for it in told if it["item"]["type"] == "collabAgentToolCall"]


async def test_a_tree_at_work(talk: Talk) -> None:
    root = (await talk.start())["id"]
    turn = await talk.turn(root, FAMILY)
    assert turn["status"] == "completed"
    items = collabs(talk.log, root)
    assert [it["tool"] for it in items] == ["spawnAgent", "spawnAgent", "wait", "wait"]
    spawned = [it["receiverThreadIds"][0] for it in items[:2]]
    assert {it["prompt"].splitlines()[0] for it in items[:2]} == {"echo Worker here.", "echo Second here."}
    waited = {name: state for it in items[2:] for name, state in it["agentsStates"].items()}
    assert {it["status"] for it in waited.values()} == {"completed"}
    assert set(waited) == set(spawned)
    tree = (await talk.ask("thread/tree", threadId=root))["data"]
    found = [(it["depth"], it["agentRole"], it["status"]) for it in tree if it["depth"]]
    assert sorted(found, key=str) == [(1, "worker", "completed"), (1, None, "completed"), (2, None, "completed")]
    # One subscription for the whole tree: what the grandchild said came here, too.
    [deep] = [it["threadId"] for it in tree if it["depth"] == 2]
    ended = [it["params"]["turn"] for it in talk.heard("turn/completed", thread=deep)]
    assert [text_of(it) for it in ended] == ["From below."]
    listed = await talk.ask("thread/list", ancestorThreadId=root)
    assert {it["id"] for it in listed["data"]} == {*spawned, deep}


async def test_background_events_tell_how_they_stand(talk: Talk) -> None:
    root = (await talk.start())["id"]
    await talk.turn(root, "spawn echo Done.\nwait for agents")
    [agent] = [it["receiverThreadIds"][0] for it in collabs(talk.log, root) if it["tool"] == "spawnAgent"]
    while len(told := [it["params"] for it in talk.heard("backgroundEvent", thread=root)]) < 2:
        await talk.read()
    assert [(timeless(it["message"]).split("] ")[1], it["isFinal"], it["childThreadId"]) for it in told] == [
        ("running", False, agent),
        ("completed in N s: Done.", True, agent),
    ]


async def test_messages_closes_and_resumes(talk: Talk) -> None:
    root = (await talk.start())["id"]
    script = "spawn wait\nmessage agent 1: echo Heard.\nwait for agent 1\nclose agent 1\nresume agent 1"
    turn = await talk.turn(root, script)
    assert [it["tool"] for it in collabs(talk.log, root)] == [
        "spawnAgent",
        "sendInput",
        "wait",
        "closeAgent",
        "resumeAgent",
    ]
    assert 'wait answered: {"status":' in text_of(turn)
    assert '{"completed":"Heard."}' in text_of(turn)
    [agent] = (await talk.ask("agent/active", threadId=root))["data"]
    assert agent["status"] == "completed"


async def test_an_approval_of_a_deep_agent_comes_to_whoever_follows_the_root(talk: Talk, tmp_path: Path) -> None:
    root = (await talk.start())["id"]
    call = f'call spawn_agent {{"message": "echo Elsewhere.", "working_directory": "{tmp_path}"}}'
    await talk.begin(root, f"spawn\n  {call}\n  wait for agents\nwait for agents")
    question = await talk.question(cwd=str(tmp_path))
    assert question["method"] == "item/commandExecution/requestApproval"
    assert question["params"]["threadId"] == root
    assert question["params"]["command"] == f"spawn_agent --working-directory {tmp_path}"
    assert question["params"]["origin"][-1] == root
    assert len(question["params"]["origin"]) == 2
    await talk.decide(question, "accept")
    while (await talk.until("turn/completed"))["threadId"] != root:
        pass
    tree = (await talk.ask("thread/tree", threadId=root))["data"]
    [deep] = [it["threadId"] for it in tree if it["depth"] == 2]
    assert (await talk.ask("thread/read", threadId=deep))["thread"]["cwd"] == str(tmp_path)


async def test_sessions(talk: Talk) -> None:
    root = (await talk.start())["id"]
    turn = await talk.turn(
        root,
        'call create_session {"session_type": "tester", "prompt": "echo All pass."}\n'
        'call wait_session {"session_id": "session 1", "timeout_ms": 10000}',
    )
    assert '{"result":"All pass."}' in text_of(turn)
    assert [it["tool"] for it in collabs(talk.log, root)] == ["spawnAgent", "wait"]
    listed = await talk.ask("thread/list", sourceKinds=["subAgentOther"], ancestorThreadId=root)
    [session] = listed["data"]
    assert session["source"] == {"subAgent": {"other": "subSession"}}
    assert (session["agentRole"], session["spawnConfig"]["kind"]) == ("tester", "subSession")


# ── what clients ask themselves ───────────────────────────────────────────────────────────────────────────────────────


async def test_the_catalogue(talk: Talk, tmp_path: Path) -> None:
    folder = tmp_path / ".threadloom" / "agents"
    folder.mkdir(parents=True)
    (folder / "gardener.md").write_text(
        "---\ndescription: Grows things.\nread_only: true\ndeny_list: [shell]\n"
        "agent_names: [{name: rose, description: Roses.}]\n---\nYou grow.\n<!-- agent_name: rose -->\nRoses!\n"
    )
    (folder / "broken.md").write_text("nothing")
    listed = await talk.ask("agent/list", cwd=str(tmp_path))
    kinds = {it["agentType"]: it for it in listed["data"]}
    assert {"default", "worker", "explorer", "orchestrator", "reviewer", "gardener"} <= set(kinds)
    assert kinds["gardener"] == {
        "agentType": "gardener",
        "description": "Grows things.",
        "source": "project",
        "path": str(folder / "gardener.md"),
        "model": None,
        "modelProvider": None,
        "reasoningEffort": None,
        "readOnly": True,
        "allowList": None,
        "denyList": ["shell"],
        "agentNames": [
            {"name": "rose", "description": "Roses.", "model": None, "reasoningEffort": None, "prompt": None}
        ],
        "defaultPrompt": None,
    }
    assert kinds["worker"]["source"] == "builtIn"
    assert [it["path"] for it in listed["errors"]] == [str(folder / "broken.md")]
    one = await talk.ask("agent/list", cwd=str(tmp_path), agentType="gardener", expanded=True)
    [found] = one["data"]
    assert (found["defaultPrompt"], found["agentNames"][0]["prompt"]) == ("You grow.", "Roses!")
    refusal = await talk.refused("agent/list", agentType="smith")
    assert (refusal.code, refusal.message.startswith("Unknown agent_type `smith`.")) == (-32600, True)


async def test_a_client_spawns_and_addresses_agents(talk: Talk, tmp_path: Path) -> None:
    root = (await talk.start())["id"]
    made = await talk.ask(
        "agent/spawn",
        threadId=root,
        input=said("echo Hello."),
        agentType="worker",
        workingDirectory=str(tmp_path),
        note="mine",
    )
    child = made["thread"]
    assert (child["parentThreadId"], child["cwd"], child["note"], child["agentRole"]) == (
        root,
        str(tmp_path),
        "mine",
        "worker",
    )
    assert child["spawnConfig"]["workingDirectory"] == str(tmp_path)  # and nobody was asked
    await talk.until("turn/completed", threadId=child["id"])
    [agent] = (await talk.ask("agent/active", threadId=root))["data"]
    assert (agent["threadId"], agent["status"], agent["note"], agent["depth"]) == (child["id"], "completed", "mine", 1)
    sent = {"threadId": child["id"], "input": said("echo Again."), "clientUserMessageId": "m-1"}
    first = await talk.ask("agent/sendInput", sent)
    await talk.until("turn/completed", threadId=child["id"])
    assert await talk.ask("agent/sendInput", sent) == first  # sent again, and not said again
    items = (await talk.ask("thread/items/list", threadId=child["id"], limit=50))["data"]
    assert [it["item"]["id"] for it in items if it["item"].get("clientId") == "m-1"] == [first["submissionId"]]
    await talk.ask("agent/sendInput", threadId=child["id"], input=said("wait"))
    await talk.ask("agent/sendInput", threadId=child["id"], input=said("echo Now."), interrupt=True)
    ended = [await talk.until("turn/completed", threadId=child["id"]) for _ in range(2)]
    assert [it["turn"]["status"] for it in ended] == ["interrupted", "completed"]
    await talk.ask("thread/close", threadId=child["id"])
    assert (await talk.ask("agent/active", threadId=root))["data"] == []
    [closed] = (await talk.ask("agent/active", threadId=root, includeClosed=True, scope="all"))["data"]
    assert closed["status"] == "shutdown"


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"agentType": "smith"}, "Unknown agent_type `smith`."),
        ({"model": "gpt-0"}, "Unknown model `gpt-0`. Available models: rehearsal."),
        ({"reasoningEffort": "huge"}, "does not support reasoning_effort `huge`"),
        ({"workingDirectory": "/nowhere/at/all"}, "`working_directory` must be a directory"),
        ({"input": []}, "input must not be empty"),
        ({"threadId": NOBODY}, "thread not found"),
    ],
)
async def test_a_client_is_refused_what_cannot_be(talk: Talk, params: Any, reason: str) -> None:
    root = (await talk.start())["id"]
    refusal = await talk.refused("agent/spawn", **({"threadId": root, "input": said("echo x")} | params))
    assert (refusal.code, reason in refusal.message) == (-32600, True), refusal.message
    assert (await talk.ask("agent/active", threadId=root, scope="all", includeClosed=True))["data"] == []


async def test_threads_that_are_not_there(talk: Talk) -> None:
    for method, params in (("agent/active", {}), ("agent/sendInput", {"input": said("x")})):
        refusal = await talk.refused(method, threadId=NOBODY, **params)
        assert refusal.message == f"thread not found: {NOBODY}"


@pytest.mark.parametrize("limits", [{"agents.max_threads": 1}, {"agents": {"max_threads": 1}}])
async def test_limits_of_a_tree_are_those_that_its_root_was_given(talk: Talk, limits: Any) -> None:
    root = (await talk.start(config=limits))["id"]
    child = (await talk.ask("agent/spawn", threadId=root, input=said("wait")))["thread"]["id"]
    for owner in (root, child):
        refusal = await talk.refused("agent/spawn", threadId=owner, input=said("wait"))
        assert refusal.message.startswith(
            f"The limit of 1 agents that run in one tree (max_threads) is reached. They are: {child}."
        )


async def test_limits_are_configured(tmp_path: Path, conformance: Conformance) -> None:
    async with running("memory", tmp_path, conformance) as place:
        await _limited(place)


async def _limited(place: Place) -> None:
    place.home.mkdir(parents=True, exist_ok=True)
    (place.home / "config.toml").write_text("[agents]\nmax_threads = 1\nmax_depth = 1\n")
    async with talking(place) as talk:
        root = (await talk.start())["id"]
        child = (await talk.ask("agent/spawn", threadId=root, input=said("wait")))["thread"]["id"]
        refusal = await talk.refused("agent/spawn", threadId=root, input=said("wait"))
        assert refusal.message == (
            f"The limit of 1 agents that run in one tree (max_threads) is reached. They are: {child}. "
            "Wait for one, or close it."
        )
        deeper = await talk.refused("agent/spawn", threadId=child, input=said("wait"))
        assert deeper.message.startswith("The limit of 1 for the depth of agents (max_depth) is reached")
