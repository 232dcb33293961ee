"""Sub-sessions: `create_session`, `wait_session`, `cancel_session`, and what becomes of them with their parent."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import anyio
import pytest
from anyio.lowlevel import checkpoint
from tests.server.agent.collab.troupe import NOBODY, Troupe
from tests.server.threads.house import words
from tests.support.talk import SECONDS

from threadloom.agent.collab.specs import CANCEL_SESSION, CREATE_SESSION, WAIT_SESSION
from threadloom.agent.history import text_of
from threadloom_protocol.v2.values.policy import WorkspaceWriteSandboxPolicy


async def create(troupe: Troupe, thread_id: str, prompt: str = "wait", session_type: str = "default") -> str:
    """A session; its id."""
    answer = await troupe.ask(thread_id, "create_session", session_type=session_type, prompt=prompt)
    assert list(answer) == ["session_id"]
    return str(answer["session_id"])


def told(troupe: Troupe, thread_id: str, session: str) -> list[str]:
    """What clients of the parent heard of a session."""
    return [
        it["message"].replace(session, "ID") for it in troupe.events(thread_id) if it.get("childThreadId") == session
    ]


# ── create_session ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_they_are_functions_and_take_what_they_say() -> None:
    for spec, properties in (
        (CREATE_SESSION, ["session_type", "prompt"]),
        (WAIT_SESSION, ["session_id", "timeout_ms"]),
        (CANCEL_SESSION, ["session_id"]),
    ):
        assert spec["type"] == "function"
        assert list(spec["parameters"]["properties"]) == spec["parameters"]["required"] == properties


async def test_it_returns_at_once_with_the_id_of_the_child(troupe: Troupe) -> None:
    root = troupe.lead()
    session = await create(troupe, root)
    thread = troupe.home.thread(session)
    assert thread.running is not None  # and yet there is an answer
    assert UUID(session).version == 7
    view = troupe.view(session)
    assert (view.parent_thread_id, view.session_id) == (root, root)
    assert view.source.sub_agent.other == "subSession"
    assert (view.spawn_config.kind, view.spawn_config.callback_config.enabled) == ("subSession", False)
    first = next(it["item"] for it in troupe.lines(session, "item/completed"))
    assert [it["text"] for it in first["content"]] == ["wait"]
    [item] = troupe.items(root)
    assert (item["tool"], item["status"], item["receiverThreadIds"], item["prompt"], item["model"]) == (
        "spawnAgent",
        "completed",
        [session],
        "wait",
        "rehearsal",
    )


async def test_its_type_is_a_template(troupe: Troupe) -> None:
    (troupe.templates / "poet.md").write_text(
        "---\ndescription: Rhymes.\nreasoning_effort: high\nmodel: rehearsal\n---\nYou rhyme.\n"
    )
    root = troupe.lead(model="another")
    session = await create(troupe, root, session_type="poet")
    rest = troupe.home.threads.rest(session)
    assert (rest.base_instructions, rest.developer_instructions) == ("You rhyme.", None)
    assert (rest.settings.model, rest.settings.effort, rest.thread.agent_role) == ("rehearsal", "high", "poet")
    text = await troupe.refused(root, "create_session", session_type="smith", prompt="p")
    assert text.startswith("Unknown agent_type `smith`. Available agent types: default, explorer, ")


@pytest.mark.parametrize("kind", ["tester", "mathematician", "linter_fixer", "default"])
async def test_the_types_of_the_first_day(troupe: Troupe, kind: str) -> None:
    root = troupe.lead()
    session = await create(troupe, root, "echo Done.", kind)
    assert await troupe.ask(root, "wait_session", session_id=session, timeout_ms=5000) == {"result": "Done."}
    rest = troupe.home.threads.rest(session)
    assert rest.base_instructions
    assert rest.settings.model == troupe.settings(root).model


async def test_what_cannot_be_spawned_is_an_error(troupe: Troupe) -> None:
    root = troupe.lead()
    assert await troupe.refused(root, "create_session", session_type="default", prompt=" ") == (
        "`prompt` must not be empty."
    )
    deep = await create(troupe, await create(troupe, root))
    text = await troupe.refused(deep, "create_session", session_type="default", prompt="p")
    assert text.startswith("The limit of 2 for the depth of agents (max_depth) is reached")
    assert len(troupe.everyone()) == 3
    assert [it["status"] for it in troupe.items(deep)] == ["failed"]


# ── the child ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_it_inherits_folder_and_fence_and_asks_nobody(troupe: Troupe) -> None:
    fence = WorkspaceWriteSandboxPolicy(network_access=True)
    root = troupe.lead(approval_policy="untrusted", sandbox_policy=fence)
    session = await create(troupe, root)
    settings = troupe.settings(session)
    assert (settings.cwd, settings.sandbox_policy, settings.approval_policy) == (str(troupe.folder), fence, "never")


async def test_it_has_a_history_and_a_log_of_its_own(troupe: Troupe) -> None:
    root = troupe.lead()
    session = await create(troupe, root, "echo Mine.")
    await troupe.at_rest(session)
    child, parent = troupe.home.thread(session), troupe.home.thread(root)
    texts = [text_of(it.get("content")) for it in child.history()]
    assert texts[-2:] == ["echo Mine.", "Mine."]
    assert "wait" not in texts  # what its parent was told
    assert troupe.view(session).path != troupe.view(root).path
    assert "/sessions/20" in troupe.view(session).path
    assert "Mine." not in str(parent.history())
    assert troupe.lines(root, "item/agentMessage/delta") == []


async def test_its_tools_are_what_its_type_leaves_of_the_parents(troupe: Troupe) -> None:
    (troupe.templates / "quiet.md").write_text("---\ndescription: d\nallow_list: [update_plan, wait_session]\n---\n")
    (troupe.templates / "wide.md").write_text("---\ndescription: d\n---\n")
    root = troupe.lead()

    def tools(thread_id: str) -> set[str]:
        thread = troupe.home.thread(thread_id)
        assert thread.running is not None
        return set(thread.briefing.turn(thread.running).tools)

    assert tools(await create(troupe, root, session_type="wide")) == tools(root) - {"request_user_input"}
    assert tools(await create(troupe, root, session_type="quiet")) == {"update_plan", "wait_session"}


async def test_a_session_can_have_sessions(troupe: Troupe) -> None:
    root = troupe.lead()
    script = (
        'call create_session {"session_type": "default", "prompt": "echo Deep."}\n'
        'call wait_session {"session_id": "session 1", "timeout_ms": 5000}\n'
    )
    session = await create(troupe, root, script)
    answer = await troupe.ask(root, "wait_session", session_id=session, timeout_ms=10_000)
    assert '{"result":"Deep."}' in answer["result"]
    [deep] = troupe.home.threads.lineage.children(session)
    assert troupe.home.threads.lineage.depth(deep) == 2


# ── wait_session ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_result_is_the_last_message_alone(troupe: Troupe) -> None:
    root = troupe.lead()
    session = await create(troupe, root, 'echo First.\ncall update_plan {"plan": []}\necho Last.')
    answer = await troupe.ask(root, "wait_session", session_id=session, timeout_ms=5000)
    assert answer["result"].splitlines()[0] == "Last."
    assert "First." not in answer["result"]
    [item] = [it for it in troupe.items(root) if it["tool"] == "wait"]
    assert (item["status"], item["receiverThreadIds"]) == ("completed", [session])


async def test_one_that_says_nothing_has_an_empty_result(troupe: Troupe) -> None:
    root = troupe.lead()
    session = await create(troupe, root, "slow 0 ms")
    assert await troupe.ask(root, "wait_session", session_id=session, timeout_ms=5000) == {"result": ""}


@pytest.mark.parametrize("ms", [0, -1])
async def test_no_time_means_no_wait(troupe: Troupe, ms: int) -> None:
    root = troupe.lead()
    session = await create(troupe, root)
    text = await troupe.refused(root, "wait_session", session_id=session, timeout_ms=ms)
    assert text == f"session {session} has not completed yet"
    thread = troupe.home.thread(session)
    thread.steer(words("echo Done."))
    await troupe.at_rest(session)
    assert await troupe.ask(root, "wait_session", session_id=session, timeout_ms=ms) == {"result": "Done."}


async def test_time_that_runs_out_is_an_error(troupe: Troupe) -> None:
    root = troupe.lead()
    session = await create(troupe, root)
    text = await troupe.refused(root, "wait_session", session_id=session, timeout_ms=3)
    assert text == f"session {session} did not complete within 3ms"
    assert troupe.home.thread(session).running is not None
    assert [it["status"] for it in troupe.items(root)] == ["completed", "failed"]


async def test_a_session_that_failed_gives_its_error(troupe: Troupe) -> None:
    root = troupe.lead()
    session = await create(troupe, root, "fail The loom broke.")
    text = await troupe.refused(root, "wait_session", session_id=session, timeout_ms=5000)
    assert text == "The loom broke."


async def test_a_session_that_was_cancelled_has_no_result(troupe: Troupe) -> None:
    root = troupe.lead()
    session = await create(troupe, root)
    await troupe.ask(root, "cancel_session", session_id=session)
    text = await troupe.refused(root, "wait_session", session_id=session, timeout_ms=5000)
    assert text == f"session {session} was cancelled"


@pytest.mark.parametrize("tool", ["wait_session", "cancel_session"])
async def test_an_unknown_session_is_an_error(troupe: Troupe, tool: str) -> None:
    root, stranger = troupe.lead(), troupe.lead()
    agent = await troupe.spawn(root)
    others = await create(troupe, stranger)
    more = {"timeout_ms": 1} if tool == "wait_session" else {}
    for it in (NOBODY, agent, others, root):
        assert await troupe.refused(root, tool, session_id=it, **more) == f"There is no session {it}."
    assert troupe.home.thread(others).running is not None


# ── cancel_session ────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_session_is_cancelled_with_all_it_has_started(troupe: Troupe) -> None:
    root = troupe.lead()
    session = await create(troupe, root)
    deep = await create(troupe, session)
    assert await troupe.ask(root, "cancel_session", session_id=session) == {"cancelled": True}
    assert [troupe.home.threads.status(it) for it in (session, deep)] == ["shutdown"] * 2
    assert await troupe.ask(root, "cancel_session", session_id=session) == {"cancelled": False}
    closes = [it for it in troupe.items(root) if it["tool"] == "closeAgent"]
    assert [it["agentsStates"][session]["status"] for it in closes] == ["running", "shutdown"]


@pytest.mark.parametrize("prompt", ["echo Done.", "fail"])
async def test_one_that_had_ended_is_not_cancelled(troupe: Troupe, prompt: str) -> None:
    root = troupe.lead()
    session = await create(troupe, root, prompt)
    await troupe.at_rest(session)
    assert await troupe.ask(root, "cancel_session", session_id=session) == {"cancelled": False}


# ── with their parent ─────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_interrupted_parent_ends_also_where_its_session_is_deleted_meanwhile(
    troupe: Troupe, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = troupe.home.threads
    root = troupe.lead()
    session = await create(troupe, root)
    settled, gone = threads.settled, list[str]()

    async def meanwhile(thread_id: str | None = None) -> None:
        await settled(thread_id)
        if not gone:
            gone.append(session)
            await threads.moves.delete(session)

    monkeypatch.setattr(threads, "settled", meanwhile)
    with anyio.fail_after(SECONDS):
        await troupe.home.thread(root).interrupt()
    assert gone == [session]
    assert threads.status(root) == "interrupted"
    assert not threads.exists(session)


async def test_an_interrupted_turn_ends_whatever_becomes_of_what_it_leaves(
    troupe: Troupe, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(thread_id: str) -> None:
        raise ZeroDivisionError

    root = troupe.lead()
    monkeypatch.setattr(troupe.home.threads._ground, "interrupted", broken)
    with anyio.fail_after(SECONDS):
        await troupe.home.thread(root).interrupt()
    assert troupe.home.threads.status(root) == "interrupted"


async def test_an_interrupted_parent_takes_its_sessions_along_and_leaves_its_agents(troupe: Troupe) -> None:
    root = troupe.lead()
    session, agent = await create(troupe, root), await troupe.spawn(root)
    deep, done = await create(troupe, session), await create(troupe, root, "echo Done.")
    await troupe.at_rest(done)
    await troupe.home.thread(root).interrupt()
    assert [troupe.home.threads.status(it) for it in (session, deep)] == ["shutdown"] * 2
    assert troupe.home.threads.status(done) == "completed"
    assert troupe.home.thread(agent).running is not None


async def test_an_interrupt_of_all_ends_them_in_the_same_way(troupe: Troupe) -> None:
    """They go with their parent's turn however long that takes to end, and are not left at rest."""
    root = troupe.lead()
    agent, session = await troupe.spawn(root), await create(troupe, root)
    running = [troupe.home.thread(it).running for it in (root, agent, session)]
    terminals, gate = troupe.home.thread(root).terminals, anyio.Event()
    usual = terminals.end_all

    async def end_all(turn_id: str | None = None, **how: Any) -> None:
        await gate.wait()
        await usual(turn_id, **how)

    terminals.end_all = end_all  # type: ignore[method-assign]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(troupe.home.threads.cascade.interrupt, root)
        with anyio.fail_after(SECONDS):
            while not (running[0] and running[0].scope.cancel_called):
                await checkpoint()
        ended = [it is not None and it.scope.cancel_called for it in running]
        gate.set()
    assert ended == [True, True, False]
    statuses = [troupe.home.threads.status(it) for it in (root, agent, session)]
    assert statuses == ["interrupted", "interrupted", "shutdown"]


async def test_a_parent_that_closes_takes_them_along(troupe: Troupe) -> None:
    root = troupe.lead()
    session = await create(troupe, root)
    report = await troupe.close(root)
    assert [(it.thread_id, it.after) for it in report] == [(session, "shutdown"), (root, "shutdown")]


async def test_a_new_message_of_the_user_cancels_nothing(troupe: Troupe) -> None:
    root = troupe.lead()
    session = await create(troupe, root)
    troupe.home.speak(root, "echo And on.")
    await troupe.at_rest(root)
    assert troupe.home.thread(session).running is not None


# ── what clients hear ─────────────────────────────────────────────────────────────────────────────────────────────────


async def test_clients_of_the_parent_hear_how_it_begins_and_ends(troupe: Troupe) -> None:
    root = troupe.lead()
    done, failed, cancelled = [await create(troupe, root, it) for it in ("echo Done.", "fail", "wait")]
    await troupe.at_rest(done, failed)
    await troupe.ask(root, "cancel_session", session_id=cancelled)
    begins = "spawned child session ID with model rehearsal"
    assert told(troupe, root, done) == [begins, "child session ID completed"]
    assert told(troupe, root, failed) == [begins, "child session ID failed"]
    assert told(troupe, root, cancelled) == [begins, "child session ID cancelled"]
    final = {it["childThreadId"] for it in troupe.events(root) if it["isFinal"]}
    assert final == {done, failed, cancelled}


async def test_the_end_is_told_once(troupe: Troupe) -> None:
    root = troupe.lead()
    session = await create(troupe, root, "echo Done.")
    await troupe.at_rest(session)
    with anyio.fail_after(SECONDS):
        while len(told(troupe, root, session)) < 2:
            await checkpoint()
    await troupe.close(session)
    assert told(troupe, root, session)[1:] == ["child session ID completed"]
