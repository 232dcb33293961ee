"""`list_agents`, `list_active_agents`, `set_thread_note`, `read_agent`: what agents see of each other."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.agent.collab.troupe import NOBODY, Troupe

from threadloom.agent.collab.looking import MOST, PIECE, ListActiveAgents
from threadloom.agent.collab.specs import LIST_ACTIVE_AGENTS, LIST_AGENTS, READ_AGENT, SET_THREAD_NOTE

ROLES = {"default", "explorer", "linter_fixer", "mathematician", "orchestrator", "reviewer", "tester", "worker"}
GARDENER = """\
---
description: Grows things.
model: m
reasoning_effort: low
allow_list: ["spawn_*"]
deny_list: [wait]
agent_names:
  - {name: rose, description: Grows roses., model: n, reasoning_effort: high}
---
You are a gardener.
<!-- agent_name: rose -->
You grow roses.
"""


# ── list_agents ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_list_agents_takes_a_filter_and_expanded() -> None:
    assert set(LIST_AGENTS["parameters"]["properties"]) == {"agent_type", "expanded"}
    assert LIST_AGENTS["parameters"]["required"] == []


async def test_the_catalogue_lists_every_role(troupe: Troupe) -> None:
    (troupe.templates / "gardener.md").write_text(GARDENER)
    root = troupe.lead()
    found = {it["agent_type"]: it for it in (await troupe.ask(root, "list_agents"))["agents"]}
    assert set(found) == ROLES | {"gardener"}
    assert found["gardener"] == {
        "agent_type": "gardener",
        "description": "Grows things.",
        "allow_list": ["spawn_*"],
        "deny_list": ["wait"],
        "agent_names": [{"name": "rose", "description": "Grows roses."}],
    }
    assert set(found["worker"]) == {"agent_type", "description", "allow_list", "deny_list"}
    [item] = troupe.items(root)
    assert (item["tool"], item["status"], item["receiverThreadIds"], item["agentsStates"]) == (
        "listAgents",
        "completed",
        [],
        {},
    )


async def test_one_role_expanded(troupe: Troupe) -> None:
    (troupe.templates / "gardener.md").write_text(GARDENER)
    root = troupe.lead()
    [found] = (await troupe.ask(root, "list_agents", agent_type="gardener", expanded=True))["agents"]
    assert found == {
        "agent_type": "gardener",
        "description": "Grows things.",
        "allow_list": ["spawn_*"],
        "deny_list": ["wait"],
        "model": "m",
        "reasoning_effort": "low",
        "default_prompt": "You are a gardener.",
        "agent_names": [
            {
                "name": "rose",
                "description": "Grows roses.",
                "model": "n",
                "reasoning_effort": "high",
                "prompt": "You grow roses.",
            }
        ],
    }
    text = await troupe.refused(root, "list_agents", agent_type="smith")
    assert text.startswith("Unknown agent_type `smith`. Available agent types: default, ")


async def test_a_broken_template_is_passed_over_with_a_warning(troupe: Troupe) -> None:
    (troupe.templates / "broken.md").write_text("no front matter")
    root = troupe.lead()
    for _ in range(2):
        found = (await troupe.ask(root, "list_agents"))["agents"]
        assert {it["agent_type"] for it in found} == ROLES
    [warning] = [it for it in troupe.events(root) if it["level"] == "warning"]  # once
    assert warning["message"].startswith(f"{troupe.templates / 'broken.md'}: skipped: no front matter")


# ── list_active_agents ────────────────────────────────────────────────────────────────────────────────────────────────


def test_list_active_agents_takes_scope_and_flags() -> None:
    properties = LIST_ACTIVE_AGENTS["parameters"]["properties"]
    assert set(properties) == {"scope", "include_tree", "include_closed"}
    assert properties["scope"]["enum"] == ["children", "descendants", "all"]
    assert LIST_ACTIVE_AGENTS["parameters"]["required"] == []


async def listed(troupe: Troupe, thread_id: str, **options: Any) -> list[Any]:
    found: list[Any] = (await troupe.ask(thread_id, "list_active_agents", **options))["agents"]
    return found


async def test_an_agent_is_listed_with_all_that_is_known_of_it(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root, agent_type="worker", thread_note="mine", reasoning_effort="low")
    troupe.home.thread(agent).set_name("The first")
    [found] = await listed(troupe, root)
    assert found | {"status_duration_sec": 0, "updated_at": 0} == {
        "thread_id": agent,
        "thread_name": "The first",
        "thread_note": "mine",
        "agent_type": "worker",
        "agent_name": None,
        "status": "running",
        "status_duration_sec": 0,
        "model": "rehearsal",
        "reasoning_effort": "low",
        "updated_at": 0,
    }
    assert found["updated_at"] == troupe.view(agent).updated_at
    [item] = [it for it in troupe.items(root) if it["tool"] == "listAgents"]
    assert item["status"] == "completed"


async def test_scopes(troupe: Troupe) -> None:
    kin = await troupe.kin()

    async def ids(thread_id: str, **options: Any) -> list[str]:
        return [it["thread_id"] for it in await listed(troupe, thread_id, **options)]

    assert await ids(kin.root) == [kin.child, kin.sibling]
    assert await ids(kin.root, scope="children") == [kin.child, kin.sibling]
    assert set(await ids(kin.root, scope="descendants")) == {kin.child, kin.grandchild, kin.sibling, kin.cousin}
    assert await ids(kin.child, scope="descendants") == [kin.grandchild]
    everyone = await ids(kin.grandchild, scope="all")
    assert set(everyone) == {kin.child, kin.grandchild, kin.sibling, kin.cousin}  # the tree it is in, and no other
    assert everyone.index(kin.child) < everyone.index(kin.grandchild)
    assert await ids(kin.stranger, scope="all") == []


async def test_the_tree_is_told_where_it_is_asked_for(troupe: Troupe) -> None:
    kin = await troupe.kin()
    found = await listed(troupe, kin.root, scope="descendants", include_tree=True)
    assert {it["thread_id"]: (it["parent_thread_id"], it["depth"]) for it in found} == {
        kin.child: (kin.root, 1),
        kin.grandchild: (kin.child, 2),
        kin.sibling: (kin.root, 1),
        kin.cousin: (kin.sibling, 2),
    }
    plain = await listed(troupe, kin.root)
    assert not {"parent_thread_id", "depth"} & set(plain[0])


async def test_only_the_closed_are_left_out(troupe: Troupe) -> None:
    root = troupe.lead()
    done, failed, closed = [await troupe.spawn(root, it) for it in ("echo Done.", "fail", "wait")]
    await troupe.at_rest(done, failed)
    await troupe.close(closed)
    assert [(it["thread_id"], it["status"]) for it in await listed(troupe, root)] == [
        (done, "completed"),
        (failed, "errored"),
    ]
    everyone = {it["thread_id"]: it["status"] for it in await listed(troupe, root, include_closed=True)}
    assert everyone == {done: "completed", failed: "errored", closed: "shutdown"}


async def test_sessions_are_no_agents(troupe: Troupe) -> None:
    root = troupe.lead()
    await troupe.ask(root, "create_session", session_type="default", prompt="wait")
    assert await listed(troupe, root, scope="all", include_closed=True) == []


async def test_how_long_it_stands_so_is_counted_from_its_last_change(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root, "echo Done.")
    await troupe.at_rest(agent)
    since = troupe.home.threads.rest(agent).status_at
    tool = ListActiveAgents(lambda: since + 61_999)
    thread = troupe.home.thread(root)
    thread.ground.tools["list_active_agents"] = tool
    [found] = await listed(troupe, root)
    assert (found["status"], found["status_duration_sec"]) == ("completed", 61)


# ── set_thread_note ───────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_note_is_set_and_cleared(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root)
    answer = await troupe.ask(root, "set_thread_note", id=agent, note="  half \n way ")
    assert set(answer) == {"submission_id", "thread_note"}
    assert answer["thread_note"] == troupe.view(agent).note == "half \n way"
    assert answer["submission_id"] == f"{agent}:{troupe.home.thread(agent).seq}"
    for blank in ("", " \n"):
        await troupe.ask(root, "set_thread_note", id=agent, note="x")
        assert (await troupe.ask(root, "set_thread_note", id=agent, note=blank))["thread_note"] is None
        assert troupe.view(agent).note is None
    assert len(troupe.lines(agent, "thread/note/updated")) == 5
    assert [it["tool"] for it in troupe.items(root)] == ["spawnAgent"]  # a note is no item
    assert set(SET_THREAD_NOTE["parameters"]["properties"]) == {"id", "note"}


async def test_a_note_that_is_too_long_is_an_error(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root, thread_note="before")
    assert (
        await troupe.refused(root, "set_thread_note", id=agent, note="x" * 501)
        == "note must have at most 500 characters, not 501"
    )
    assert troupe.view(agent).note == "before"


async def test_a_note_never_reaches_the_model(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root, "echo Done.", thread_note="zebra")
    await troupe.ask(root, "set_thread_note", id=agent, note="zebra again")
    await troupe.at_rest(agent)
    assert "zebra" not in str(troupe.home.thread(agent).history())


# ── read_agent ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_all_that_an_agent_said_in_a_turn_is_read(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root, 'echo One.\ncall update_plan {"plan": []}\necho Two.')
    await troupe.at_rest(agent)
    [first] = [it["turn"]["id"] for it in troupe.lines(agent, "turn/completed")]
    await troupe.ask(root, "send_input", id=agent, message="echo Three.")
    await troupe.at_rest(agent)
    last = await troupe.ask(root, "read_agent", id=agent)
    assert last | {"turn_id": ""} == {"turn_id": "", "text": "Three.", "offset": 0, "next_offset": None, "total": 6}
    earlier = await troupe.ask(root, "read_agent", id=agent, turn_id=first)
    assert (earlier["turn_id"], earlier["text"].startswith("One.\n\nTwo.")) == (first, True)
    assert set(READ_AGENT["parameters"]["properties"]) == {"id", "turn_id", "offset", "limit"}


async def test_what_is_long_comes_in_pieces(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root, "say 3000 words")
    await troupe.at_rest(agent)
    whole = await troupe.ask(root, "read_agent", id=agent, limit=10 * MOST)
    text, total = whole["text"], whole["total"]
    assert PIECE < total < MOST
    assert (len(text), whole["next_offset"]) == (total, None)
    first = await troupe.ask(root, "read_agent", id=agent)
    assert (first["text"], first["next_offset"]) == (text[:PIECE], PIECE)
    rest = await troupe.ask(root, "read_agent", id=agent, offset=PIECE)
    assert first["text"] + rest["text"] == text
    piece = await troupe.ask(root, "read_agent", id=agent, offset=5, limit=3)
    assert (piece["text"], piece["offset"], piece["next_offset"]) == (text[5:8], 5, 8)
    assert (await troupe.ask(root, "read_agent", id=agent, offset=-1, limit=0))["text"] == text[:1]
    assert (await troupe.ask(root, "read_agent", id=agent, offset=total))["text"] == ""


async def test_what_is_not_there_cannot_be_read(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root, "echo Done.")
    text = await troupe.refused(root, "read_agent", id=agent, turn_id=NOBODY)
    assert text == f"There is no turn {NOBODY} of agent {agent}."
    assert await troupe.refused(root, "read_agent", id=NOBODY) == f"There is no agent {NOBODY}."


@pytest.mark.parametrize("name", ["read_agent", "set_thread_note"])
async def test_those_without_an_item_fail_without_one(troupe: Troupe, name: str) -> None:
    root = troupe.lead()
    await troupe.refused(root, name, id=NOBODY, **({"note": "n"} if name == "set_thread_note" else {}))
    assert troupe.items(root) == []
