"""`spawn_agent`: what it takes, whose word holds, what is checked before anything is made, where the agent works."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from tests.server.agent.collab.troupe import NOBODY, Troupe
from tests.support.talk import SECONDS, Talk, said

from threadloom.agent.collab.specs import SPAWN_AGENT
from threadloom.agent.tools.permission import CLOSED
from threadloom.config.values import Agents
from threadloom.threads.recall import CONTEXT, PARENT
from threadloom_protocol.v2.values.policy import ReadOnlySandboxPolicy, WorkspaceWriteSandboxPolicy

GARDENER = """\
---
description: Grows things.
reasoning_effort: low
allow_list: [spawn_agent, wait, update_plan]
deny_list: [wait]
agent_names:
  - {name: rose, description: Grows roses., reasoning_effort: high}
  - {name: oak}
---
You are a gardener.
<!-- agent_name: rose -->
You grow roses.
"""


@pytest.fixture
def gardener(troupe: Troupe) -> None:
    (troupe.templates / "gardener.md").write_text(GARDENER)
    (troupe.templates / "reader.md").write_text("---\ndescription: Reads.\nread_only: true\n---\nOnly read.\n")


# ── parameters ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_it_takes_what_it_says() -> None:
    properties = SPAWN_AGENT["parameters"]["properties"]
    assert set(properties) == {
        "message",
        "items",
        "agent_type",
        "agent_name",
        "working_directory",
        "model",
        "reasoning_effort",
        "thread_note",
        "callback",
        "on_parent_close",
    }
    assert SPAWN_AGENT["parameters"]["required"] == []


async def test_a_message_is_the_first_input(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root, "echo Hello.")
    await troupe.at_rest(agent)
    [first] = [it["item"] for it in troupe.lines(agent, "item/completed") if it["item"]["type"] == "userMessage"]
    assert [it["text"] for it in first["content"]] == ["echo Hello."]
    assert (await troupe.ask(root, "wait", ids=[agent]))["status"] == {agent: {"completed": "Hello."}}


async def test_what_it_is_told_by_its_owner_is_not_the_users_word(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root, "echo Hello.")
    await troupe.at_rest(agent)
    await troupe.ask(root, "send_input", id=agent, message="echo Again.")
    await troupe.at_rest(agent)
    recall = troupe.home.thread(agent).recall
    said = [it.kind for it in recall.entries if it.item.get("role") == "user" and it.kind != CONTEXT]
    assert said == [PARENT, PARENT]


async def test_items_are_the_first_input(troupe: Troupe) -> None:
    (troupe.folder / "a.gif").write_bytes(b"GIF89a")
    root = troupe.lead()
    items = [
        {"type": "text", "text": "echo Seen."},
        {"type": "local_image", "path": "a.gif"},
        {"type": "image", "image_url": "data:image/gif;base64,R0lG"},
        {"type": "mention", "name": "n", "path": "p"},
    ]
    agent = (await troupe.ask(root, "spawn_agent", items=items))["agent_id"]
    await troupe.at_rest(agent)
    [first] = [it["item"] for it in troupe.lines(agent, "item/completed") if it["item"]["type"] == "userMessage"]
    assert [it["type"] for it in first["content"]] == ["text", "localImage", "image", "mention"]
    before = troupe.everyone()
    missing = [{"type": "local_image", "path": "b.gif"}]
    assert "b.gif cannot be read" in await troupe.refused(root, "spawn_agent", items=missing)
    assert (await troupe.refused(root, "spawn_agent", items=[{"type": "text"}])).startswith("The input does not fit. ")
    assert troupe.everyone() == before


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            {"message": "m", "items": [{"type": "text", "text": "i"}]},
            "Give either `message` or `items`, not both.",
        ),
        ({}, "Give one of `message` and `items`."),
        ({"message": " "}, "`message` must not be empty."),
        ({"items": []}, "`items` must not be empty."),
    ],
)
async def test_one_of_message_and_items_is_given(troupe: Troupe, given: Any, text: str) -> None:
    root = troupe.lead()
    assert await troupe.refused(root, "spawn_agent", **given) == text
    assert troupe.everyone() == {root}
    [item] = troupe.items(root)
    assert (item["tool"], item["status"], item["receiverThreadIds"]) == ("spawnAgent", "failed", [])


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"on_parent_close": "never"}, "on_parent_close"),
        ({"callback": {"coalesce": {"window_ms": -1, "max": 1}}}, "callback.coalesce.window_ms"),
        ({"callback": {"coalesce": {"window_ms": 1, "max": -1}}}, "callback.coalesce.max"),
    ],
)
async def test_arguments_that_do_not_fit_are_told(troupe: Troupe, given: Any, where: str) -> None:
    root = troupe.lead()
    text = await troupe.refused(root, "spawn_agent", message="m", **given)
    assert text.startswith(f"The arguments of `spawn_agent` do not fit. {where}: ")
    assert troupe.items(root) == []


@pytest.mark.usefixtures("gardener")
async def test_a_type_and_a_name_choose_who_it_is(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root, agent_type="gardener", agent_name="rose")
    view = troupe.view(agent)
    assert (view.agent_role, view.agent_nickname) == ("gardener", "rose")
    spawned = view.source.sub_agent.thread_spawn
    assert (spawned.parent_thread_id, spawned.depth, spawned.agent_role, spawned.agent_nickname) == (
        root,
        1,
        "gardener",
        "rose",
    )
    assert troupe.home.threads.rest(agent).developer_instructions == "You grow roses."


@pytest.mark.usefixtures("gardener")
async def test_who_is_not_there_is_told_with_who_is(troupe: Troupe) -> None:
    root = troupe.lead()
    kinds = "default, explorer, gardener, linter_fixer, mathematician, orchestrator, reader, reviewer, tester, worker"
    assert (
        await troupe.refused(root, "spawn_agent", message="m", agent_type="smith")
        == f"Unknown agent_type `smith`. Available agent types: {kinds}."
    )
    assert (
        await troupe.refused(root, "spawn_agent", message="m", agent_type="gardener", agent_name="elm")
        == "Unknown agent_name `elm` for agent_type `gardener`. Available agent names: rose, oak."
    )
    assert (
        await troupe.refused(root, "spawn_agent", message="m", agent_name="rose")
        == "`agent_name` names a persona of a template: give its `agent_type`, too."
    )
    assert troupe.everyone() == {root}


async def test_an_edited_template_holds_for_the_next_agent(troupe: Troupe) -> None:
    root = troupe.lead()
    file = troupe.templates / "smith.md"
    file.write_text("---\ndescription: Forges.\n---\nFirst.\n")
    one = await troupe.spawn(root, agent_type="smith")
    file.write_text("---\ndescription: Forges.\ndeny_list: [wait]\n---\nSecond.\n")
    other = await troupe.spawn(root, agent_type="smith")
    told = [troupe.home.threads.rest(it).developer_instructions for it in (one, other)]
    assert told == ["First.", "Second."]
    assert [troupe.home.thread(it).policy.permits("wait") for it in (one, other)] == [True, False]


async def test_what_of_its_template_is_passed_over_is_a_warning(troupe: Troupe) -> None:
    root = troupe.lead()
    broken, careless = troupe.templates / "worker.md", troupe.templates / "smith.md"
    broken.write_text("no front matter")
    careless.write_text("---\ndescription: Forges.\ndenylist: [wait]\n---\nForge.\n")
    for kind in ("worker", "worker", "smith"):  # a warning comes once
        await troupe.spawn(root, agent_type=kind)
    told = [it["message"] for it in troupe.events(root) if it["level"] == "warning"]
    assert told == [
        f"{broken}: skipped: no front matter: it must begin with a line of `---`, and end with another",
        f"{careless}: unknown key `denylist` is passed over",
    ]


async def test_options_of_its_life_are_kept(troupe: Troupe) -> None:
    root = troupe.lead()
    callback = {"enabled": False, "template": "{{status}}", "coalesce": {"window_ms": 10, "max": 3}}
    agent = await troupe.spawn(root, callback=callback, on_parent_close="abandon")
    config = troupe.view(agent).spawn_config
    assert config.on_parent_close == "abandon"
    kept = config.callback_config
    assert (kept.enabled, kept.template, kept.coalesce.window_ms, kept.coalesce.max) == (False, "{{status}}", 10, 3)
    child = (await troupe.ask(agent, "spawn_agent", message="wait"))["agent_id"]
    assert troupe.view(child).spawn_config.callback_config == kept  # its parent's, where nothing is said
    assert troupe.view(child).spawn_config.on_parent_close == "cancel"


async def test_it_knows_where_it_was_born(troupe: Troupe) -> None:
    root = troupe.lead()
    turn = troupe.home.thread(root).running
    assert turn is not None
    point = troupe.view(await troupe.spawn(root)).spawn_point
    assert (point.turn_id, point.item_index >= 1) == (turn.id, True)


async def test_clients_see_it_as_an_item(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root, "wait", reasoning_effort="low")
    [started], [ended] = troupe.items(root, "started"), troupe.items(root)
    assert started["id"] == ended["id"]
    assert (started["status"], started["receiverThreadIds"], started["agentsStates"]) == ("inProgress", [], {})
    assert {name: value for name, value in ended.items() if name not in ("id", "startedAtMs", "completedAtMs")} == {
        "type": "collabAgentToolCall",
        "tool": "spawnAgent",
        "status": "completed",
        "senderThreadId": root,
        "receiverThreadIds": [agent],
        "prompt": "wait",
        "model": "rehearsal",
        "reasoningEffort": "low",
        "agentsStates": {agent: {"status": "running", "message": None}},
    }


# ── whose word holds ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("gardener")
@pytest.mark.parametrize(
    ("given", "effort"),
    [
        ({}, "medium"),
        ({"agent_type": "gardener"}, "low"),
        ({"agent_type": "gardener", "agent_name": "oak"}, "low"),
        ({"agent_type": "gardener", "agent_name": "rose"}, "high"),
        ({"agent_type": "gardener", "agent_name": "rose", "reasoning_effort": "medium"}, "medium"),
        ({"reasoning_effort": "high"}, "high"),
    ],
)
async def test_call_persona_template_parent_in_this_order(troupe: Troupe, given: Any, effort: str) -> None:
    root = troupe.lead(effort="medium")
    agent = await troupe.spawn(root, **given)
    assert (troupe.settings(agent).effort, troupe.view(agent).reasoning_effort) == (effort, effort)
    assert (troupe.settings(agent).model, troupe.settings(agent).model_provider) == ("rehearsal", "rehearsal")


@pytest.mark.usefixtures("gardener")
async def test_the_sandbox_is_the_parents_unless_the_template_only_reads(troupe: Troupe) -> None:
    fence = WorkspaceWriteSandboxPolicy(network_access=True)
    root = troupe.lead(sandbox_policy=fence)
    plain, reader = await troupe.spawn(root), await troupe.spawn(root, agent_type="reader")
    assert troupe.settings(plain).sandbox_policy == fence
    assert troupe.settings(reader).sandbox_policy == ReadOnlySandboxPolicy()
    below = await troupe.spawn(reader)
    assert troupe.settings(below).sandbox_policy == ReadOnlySandboxPolicy()
    assert troupe.view(reader).spawn_config.read_only


@pytest.mark.usefixtures("gardener")
async def test_a_reader_stays_one_whatever_it_is_set_to(troupe: Troupe) -> None:
    reader = await troupe.spawn(troupe.lead(), agent_type="reader")
    thread = troupe.home.thread(reader)
    thread.set_settings(thread.state.rest.settings.model_copy(update={"sandbox_policy": WorkspaceWriteSandboxPolicy()}))
    assert thread.running is not None
    turn = thread.briefing.turn(thread.running)
    assert turn.settings is not None
    assert (turn.settings.sandbox_policy, turn.read_only) == (ReadOnlySandboxPolicy(), True)
    assert "apply_patch" not in turn.tools
    text = await troupe.refused(
        reader, "exec_command", cmd="touch x", sandbox_permissions="require_escalated", justification="Please."
    )
    assert text == CLOSED
    assert troupe.home.thread(reader).requests.open == {}  # nobody was asked


@pytest.mark.usefixtures("gardener")
async def test_tools_are_those_of_its_template_and_no_more_than_its_parents(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root, agent_type="gardener")

    def tools(thread_id: str) -> set[str]:
        thread = troupe.home.thread(thread_id)
        assert thread.running is not None
        return set(thread.briefing.turn(thread.running).tools)

    assert tools(agent) == {"spawn_agent", "update_plan"}
    assert (
        await troupe.refused(agent, "wait", ids=[root])
        == "There is no tool `wait`. There are: spawn_agent, update_plan."
    )
    assert tools(await troupe.spawn(agent)) == {"spawn_agent", "update_plan"}
    await troupe.close(agent)
    await troupe.ask(root, "resume_agent", id=agent)
    troupe.busy(agent)
    assert tools(agent) == {"spawn_agent", "update_plan"}
    assert {"spawn_agent", "wait", "apply_patch"} <= tools(root)


# ── checked before anything is made ───────────────────────────────────────────────────────────────────────────────────


async def test_an_unknown_model_is_refused_with_those_there_are(troupe: Troupe) -> None:
    root = troupe.lead()
    text = await troupe.refused(root, "spawn_agent", message="m", model="gpt-0")
    assert text == "Unknown model `gpt-0`. Available models: rehearsal."
    assert troupe.everyone() == {root}


async def test_an_effort_that_the_model_does_not_have_is_refused_with_those_it_has(troupe: Troupe) -> None:
    root = troupe.lead()
    text = await troupe.refused(root, "spawn_agent", message="m", model="rehearsal", reasoning_effort="huge")
    assert text == "Model `rehearsal` does not support reasoning_effort `huge`. Supported values: low, medium, high."
    assert troupe.everyone() == {root}


async def test_a_model_list_that_is_not_there_means_try_again(troupe: Troupe) -> None:
    root = troupe.lead()

    async def none(provider: str) -> None:
        return None

    nursery = troupe.home.place.app.nursery
    models, nursery._models = nursery._models, none
    text = await troupe.refused(root, "spawn_agent", message="m", model="rehearsal")
    assert text == "Models are being updated; try spawn_agent again in a moment."
    assert troupe.everyone() == {root}
    await troupe.spawn(root)  # what is inherited needs no list
    nursery._models = models
    await troupe.spawn(root, model="rehearsal")


async def test_a_provider_that_is_not_configured_is_named(troupe: Troupe) -> None:
    (troupe.templates / "far.md").write_text("---\ndescription: Far.\nmodel: m\nmodel_provider: moon\n---\n")
    root = troupe.lead()
    text = await troupe.refused(root, "spawn_agent", message="m", agent_type="far")
    assert text.startswith("There is no model provider `moon`.")
    assert troupe.everyone() == {root}


async def test_limits_name_themselves_and_who_holds_them(troupe: Troupe) -> None:
    root = troupe.lead()
    child = await troupe.spawn(root)
    deep = await troupe.spawn(child)
    assert await troupe.refused(deep, "spawn_agent", message="m") == (
        f"The limit of 2 for the depth of agents (max_depth) is reached: {deep} is at depth 2, "
        "and cannot own agents that run."
    )
    others = [await troupe.spawn(root) for _ in range(10)]
    held = ", ".join([child, deep, *others])
    assert await troupe.refused(child, "spawn_agent", message="m") == (
        f"The limit of 12 agents that run in one tree (max_threads) is reached. They are: {held}. "
        "Wait for one, or close it."
    )
    assert len(troupe.everyone()) == 13
    await troupe.close(others[0])
    await troupe.spawn(root, "echo Room again.")


async def test_a_tree_has_one_limit_wherever_its_agents_work(troupe: Troupe, elsewhere: Path) -> None:
    """The folder that one of them works in may be configured otherwise."""
    root = troupe.lead()
    async with troupe.home.talking() as talk:
        asked = {"threadId": root, "workingDirectory": str(elsewhere), "input": said("wait")}
        child = (await talk.ask("agent/spawn", asked))["thread"]["id"]
    troupe.home.threads._limits = lambda cwd, own: Agents(max_threads=1 if cwd == str(troupe.folder) else 50)
    for it in (root, child):
        assert (await troupe.refused(it, "spawn_agent", message="m")).startswith("The limit of 1 agents")


# ── the note ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("gardener")
@pytest.mark.parametrize(
    ("given", "note"),
    [
        ({}, None),
        ({"thread_note": "  busy \n"}, "busy"),
        ({"thread_note": " "}, None),
        ({"agent_type": "gardener"}, "agent_type=gardener; agent_description=Grows things."),
        (
            {"agent_type": "gardener", "agent_name": "rose"},
            "agent_type=gardener; agent_name=rose; agent_description=Grows roses.",
        ),
        ({"agent_type": "gardener", "thread_note": "mine"}, "mine"),
    ],
)
async def test_it_has_the_note_it_is_given_or_one_that_says_what_it_is(
    troupe: Troupe, given: Any, note: str | None
) -> None:
    agent = await troupe.spawn(troupe.lead(), **given)
    assert troupe.view(agent).note == note


@pytest.mark.usefixtures("gardener")
async def test_a_note_that_cannot_be_set_is_a_warning_and_no_failure(troupe: Troupe) -> None:
    root = troupe.lead()
    agent = await troupe.spawn(root, agent_type="gardener", thread_note="x" * 501)
    assert troupe.view(agent).note == "agent_type=gardener; agent_description=Grows things."
    [warning] = [it for it in troupe.events(root) if it["level"] == "warning"]
    assert warning["message"] == (
        f"The note of agent {agent} was not set: note must have at most 500 characters, not 501."
    )


# ── where it works ────────────────────────────────────────────────────────────────────────────────────────────────────


class Asking:
    """A spawn that waits for somebody's word."""

    def __init__(self, troupe: Troupe, talk: Talk) -> None:
        self._troupe = troupe
        self._talk = talk

    async def decided(self, thread_id: str, decision: str, where: Path | str) -> tuple[Any, dict[str, Any]]:
        """What comes of it, and what was asked."""
        results: list[Any] = []

        async def spawn() -> None:
            results.append(
                await self._troupe.call(thread_id, "spawn_agent", message="wait", working_directory=str(where))
            )

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(spawn)
            question = await self._talk.question(cwd=str(where))
            await self._talk.decide(question, decision)
        return results[0], question["params"]


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere").mkdir()
    return tmp_path / "elsewhere"


async def test_another_directory_needs_an_approval(troupe: Troupe, elsewhere: Path) -> None:
    async with troupe.home.talking() as talk:
        root = troupe.lead()
        await talk.ask("thread/resume", threadId=root)
        result, question = await Asking(troupe, talk).decided(root, "accept", elsewhere)
        assert result.ok, result.output
        [agent] = troupe.everyone() - {root}
        assert (troupe.settings(agent).cwd, troupe.view(agent).cwd) == (str(elsewhere), str(elsewhere))
        running = troupe.home.thread(root).running
        assert running is not None
        assert {name: question[name] for name in ("threadId", "turnId", "command", "cwd", "availableDecisions")} == {
            "threadId": root,
            "turnId": running.id,
            "command": f"spawn_agent --working-directory {elsewhere}",
            "cwd": str(elsewhere),
            "availableDecisions": ["accept", "decline", "cancel"],
        }
        assert question["origin"] == [root]


@pytest.mark.parametrize("decision", ["decline", "cancel"])
async def test_without_approval_there_is_no_thread_and_no_file(troupe: Troupe, elsewhere: Path, decision: str) -> None:
    async with troupe.home.talking() as talk:
        root = troupe.lead()
        child = await troupe.spawn(root)
        await talk.ask("thread/resume", threadId=root)
        result, _ = await Asking(troupe, talk).decided(child, decision, elsewhere)
        assert (result.ok, result.output) == (
            False,
            f"The user does not let an agent work in {elsewhere}. None was started.",
        )
        assert troupe.everyone() == {root, child}
        [item] = [it["item"] for it in troupe.lines(root, "item/completed") if it["item"]["type"] == "commandExecution"]
        assert item["status"] == "declined"
        await troupe.at_rest(*([root] if decision == "cancel" else []))
        assert (troupe.home.thread(root).running is None) is (decision == "cancel")  # the turn it was asked in
        assert troupe.home.thread(child).running is not None


async def test_the_question_of_a_sub_agent_goes_to_the_turn_of_its_owner(troupe: Troupe, elsewhere: Path) -> None:
    async with troupe.home.talking() as talk:
        root = troupe.lead()
        child = await troupe.spawn(root)
        await talk.ask("thread/resume", threadId=root)
        result, question = await Asking(troupe, talk).decided(child, "accept", elsewhere)
        assert result.ok
        running = troupe.home.thread(root).running
        assert running is not None
        assert (question["threadId"], question["turnId"]) == (root, running.id)
        assert question["origin"] == [child, root]


async def test_it_reaches_those_who_follow_the_root_from_any_depth(troupe: Troupe, elsewhere: Path) -> None:
    troupe.home.place.app.threads._limits = lambda *of: _Roomy()  # type: ignore[assignment]
    async with troupe.home.talking() as talk:
        root = troupe.lead()
        child = await troupe.spawn(root)
        deep = await troupe.spawn(child)
        await talk.ask("thread/resume", threadId=root)
        result, question = await Asking(troupe, talk).decided(deep, "accept", elsewhere)
        assert result.ok
        assert (question["threadId"], question["origin"]) == (child, [deep, child, root])


class _Roomy:
    max_depth = 5
    max_threads = 50


async def test_without_a_turn_of_the_owner_it_is_asked_in_its_own_thread(troupe: Troupe, elsewhere: Path) -> None:
    async with troupe.home.talking() as talk:
        root = troupe.lead()
        child = await troupe.spawn(root)
        await talk.ask("thread/resume", threadId=root)
        await troupe.home.thread(root).interrupt()
        result, question = await Asking(troupe, talk).decided(child, "accept", elsewhere)
        assert result.ok
        assert (question["threadId"], question["origin"]) == (child, [child, root])


async def test_where_the_parent_works_nobody_is_asked(troupe: Troupe) -> None:
    root = troupe.lead(approval_policy="never")
    (troupe.folder / "link").symlink_to(troupe.folder)
    for same in (str(troupe.folder), ".", "link"):
        agent = await troupe.spawn(root, "echo Here.", working_directory=same)
        assert troupe.settings(agent).cwd == str(troupe.folder)
    agent = await troupe.spawn(root, "echo Here.")
    assert troupe.settings(agent).cwd == str(troupe.folder)


async def test_where_nobody_may_be_asked_it_is_refused(troupe: Troupe, elsewhere: Path) -> None:
    root = troupe.lead(approval_policy="never")
    text = await troupe.refused(root, "spawn_agent", message="m", working_directory=str(elsewhere))
    assert text == "An agent may work in another directory only with the user's approval, and nobody is asked."
    assert troupe.everyone() == {root}


async def test_a_directory_that_is_not_there_is_an_error(troupe: Troupe) -> None:
    root = troupe.lead()
    text = await troupe.refused(root, "spawn_agent", message="m", working_directory="nowhere")
    where = troupe.folder.resolve() / "nowhere"
    assert text == f"`working_directory` must be a directory: there is none at {where}."
    assert troupe.everyone() == {root}


async def test_a_question_is_not_put_where_the_agent_could_not_be_born(troupe: Troupe, elsewhere: Path) -> None:
    root = troupe.lead()
    for given in ({"model": "gpt-0"}, {"agent_type": "smith"}):
        await troupe.refused(root, "spawn_agent", message="m", working_directory=str(elsewhere), **given)
    deep = await troupe.spawn(await troupe.spawn(root))
    await troupe.refused(deep, "spawn_agent", message="m", working_directory=str(elsewhere))
    asked = [it for thread in troupe.home.threads.loaded.values() for it in thread.requests.open]
    assert asked == []


async def test_a_close_during_the_question_leaves_nothing(troupe: Troupe, elsewhere: Path) -> None:
    root = troupe.lead()
    child = await troupe.spawn(root)
    results: list[Any] = []

    async def spawn() -> None:
        results.append(await troupe.call(child, "spawn_agent", message="m", working_directory=str(elsewhere)))

    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(spawn)
            while not troupe.home.thread(root).requests.open:
                await checkpoint()
            await troupe.close(root)
    assert not results[0].ok
    assert set(troupe.home.threads.loaded) == set()


async def test_nobody_can_be_told_by_a_name_that_is_none(troupe: Troupe) -> None:
    root = troupe.lead()
    assert await troupe.refused(root, "send_input", id=NOBODY, message="m") == f"There is no agent {NOBODY}."
