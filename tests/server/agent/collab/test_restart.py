"""Agents over the end of a process: a question about a spawn waits on, and rights stay what they were."""

from __future__ import annotations

from pathlib import Path

import anyio
from anyio.lowlevel import checkpoint
from tests.server.agent.collab.troupe import Troupe
from tests.server.threads.house import house
from tests.support.conformance import Conformance
from tests.support.talk import SECONDS


async def test_a_question_about_a_directory_waits_for_its_answer(tmp_path: Path, conformance: Conformance) -> None:
    work, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    work.mkdir()
    elsewhere.mkdir()
    async with house(tmp_path / "home", conformance) as home:
        root = home.born_with(home.settings.model_copy(update={"cwd": str(work)}))
        home.speak(root, f'call spawn_agent {{"message": "echo Here.", "working_directory": "{elsewhere}"}}')
        with anyio.fail_after(SECONDS):
            while not home.thread(root).requests.open:
                await checkpoint()
        [asked] = home.thread(root).requests.open
    async with house(tmp_path / "home", conformance) as home, home.talking() as talk:
        await talk.ask("thread/resume", threadId=root)
        question = await talk.question(cwd=str(elsewhere))
        assert question["id"] == asked
        await talk.decide(question, "accept")
        turn = (await talk.until("turn/completed", threadId=root))["turn"]
        assert turn["status"] == "completed"
        [agent] = home.threads.lineage.children(root)
        assert home.threads.rest(agent).settings.cwd == str(elsewhere)
        troupe = Troupe(home, work)
        items = [it["item"] for it in troupe.lines(root, "item/completed")]
        assert [it["status"] for it in items if it["type"] == "commandExecution"] == ["completed"]
        assert [it["status"] for it in troupe.items(root)] == ["completed"]


async def test_rights_are_the_same_in_the_next_life(tmp_path: Path, conformance: Conformance) -> None:
    (tmp_path / "work").mkdir()
    async with house(tmp_path / "home", conformance) as home:
        troupe = Troupe(home, tmp_path / "work")
        (troupe.templates / "quiet.md").write_text("---\ndescription: d\nread_only: true\nallow_list: [wait]\n---\n")
        root = troupe.lead()
        agent = await troupe.spawn(root, "echo Done.", agent_type="quiet")
        await troupe.at_rest(agent)
        (troupe.templates / "quiet.md").write_text("---\ndescription: d\n---\n")
    async with house(tmp_path / "home", conformance) as home:
        await home.threads.knowledge.whole()
        troupe = Troupe(home, tmp_path / "work")
        troupe.busy(agent)
        thread = home.thread(agent)
        assert thread.running is not None
        turn = thread.briefing.turn(thread.running)
        assert (set(turn.tools), turn.read_only) == ({"wait"}, True)
