"""An ACP editor reaches our server through somebody else's bridge: `acpx` → `codex-acp` → `threadloom app-server`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.clients.acp import Editor
from tests.clients.recorded import Recorded
from tests.support.conformance import Conformance


@pytest.fixture
def recorded(room: Path, foreign: Conformance) -> Iterator[Recorded]:
    """Our executable, with what passes through it kept and judged."""
    recorded = Recorded(room)
    yield recorded
    recorded.kill()
    recorded.judge(foreign)


@pytest.fixture
def editor(room: Path, recorded: Recorded) -> Editor:
    """The editor on it."""
    return Editor(room, recorded.executable)


def updates(printed: str, kind: str) -> list[dict[str, Any]]:
    """What the agent told of a session, of one kind."""
    messages = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    told = (it["params"]["update"] for it in messages if it.get("method") == "session/update")
    return [it for it in told if it.get("sessionUpdate") == kind]


async def test_a_prompt_gets_an_answer(editor: Editor) -> None:
    code, said, complaints = await editor.run("exec", "echo Good morning")
    assert code == 0, complaints
    assert "Good morning" in said.splitlines(), said
    assert "[done] end_turn" in said


async def test_a_session_goes_on_in_later_runs(editor: Editor) -> None:
    code, _, complaints = await editor.run("sessions", "new")
    assert code == 0, complaints
    try:
        for word in ("one", "two"):
            code, said, complaints = await editor.run("prompt", f"echo {word}")
            assert code == 0, complaints
            assert word in said.splitlines(), said
    finally:
        await editor.run("sessions", "close")


async def test_the_answer_streams_and_the_plan_is_told(editor: Editor) -> None:
    plan = json.dumps({"plan": [{"step": "look", "status": "in_progress"}, {"step": "leap", "status": "pending"}]})
    script = f"think\ncall update_plan {plan}\necho Done as planned"
    code, said, complaints = await editor.run("--format", "json", "exec", script)
    assert code == 0, complaints
    text = "".join(it["content"]["text"] for it in updates(said, "agent_message_chunk"))
    assert "Done as planned" in text
    assert updates(said, "agent_thought_chunk")
    (planned,) = updates(said, "plan")[-1:]
    assert [it["content"] for it in planned["entries"]] == ["look", "leap"]


async def test_a_turn_that_fails_is_told_in_its_own_words(editor: Editor) -> None:
    _, said, complaints = await editor.run("exec", "fail The model is out of paper")
    assert "The model is out of paper" in said + complaints


async def test_the_servers_end_with_the_editor(editor: Editor, recorded: Recorded) -> None:
    await editor.run("exec", "echo one")
    assert recorded.codes() == [0] * len(recorded.starts)
