"""Reviews as clients see them: a turn of the thread, in Codex's order of events."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.talk import Talk, said, story, text_of


@pytest.mark.parametrize(
    ("target", "title", "prompt"),
    [
        ({"type": "uncommittedChanges"}, "current changes", "not committed yet"),
        ({"type": "baseBranch", "branch": "main"}, "changes against 'main'", "git merge-base HEAD main"),
        ({"type": "commit", "sha": "0123456789abcdef"}, "commit 0123456", "the commit 0123456789abcdef changes"),
        (
            {"type": "commit", "sha": "0123456789abcdef", "title": "Mend it"},
            "commit 0123456: Mend it",
            "(“Mend it”)",
        ),
        ({"type": "custom", "instructions": " Look closely. "}, "Look closely.", "Look closely."),
    ],
)
async def test_a_review_is_a_turn_of_the_thread(talk: Talk, target: Any, title: str, prompt: str) -> None:
    thread = await talk.start()
    before = len(talk.log)
    answer = await talk.ask("review/start", threadId=thread["id"], target=target, delivery="inline")
    assert answer["reviewThreadId"] == thread["id"]
    assert answer["turn"]["status"] == "inProgress"
    [shown] = answer["turn"]["items"]
    assert (shown["type"], shown["content"][0]["text"]) == ("userMessage", title)
    ended = await talk.until("turn/completed")
    assert (ended["turn"]["id"], ended["turn"]["status"]) == (answer["turn"]["id"], "completed")
    assert story(talk.log[before:]) == [
        "answer",
        "thread/status/changed active",
        "turn/started",
        "item/started enteredReviewMode",
        "item/completed enteredReviewMode",
        "item/started userMessage",
        "item/completed userMessage",
        "thread/tokenUsage/updated",
        "item/started exitedReviewMode",
        "item/completed exitedReviewMode",
        "item/started agentMessage",
        "item/completed agentMessage",
        "thread/status/changed idle",
        "turn/completed",
    ]
    entered, asked, left, told = [it["params"]["item"] for it in talk.heard("item/completed", since=before)]
    assert entered["review"] == title
    assert prompt in asked["content"][0]["text"]
    assert left["review"] == told["text"] == text_of(ended["turn"]) == "Rehearsal"
    assert (await talk.turn(thread["id"], "echo Well."))["status"] == "completed"


async def test_a_review_of_nothing_is_refused(talk: Talk) -> None:
    thread = await talk.start()
    for target in (
        {"type": "baseBranch", "branch": " "},
        {"type": "commit", "sha": ""},
        {"type": "custom", "instructions": "\n"},
    ):
        refusal = await talk.refused("review/start", threadId=thread["id"], target=target)
        assert (refusal.code, "must not be empty" in refusal.message) == (-32600, True)
    turn_id = await talk.begin(thread["id"], "wait")
    busy = await talk.refused("review/start", threadId=thread["id"], target={"type": "uncommittedChanges"})
    assert "under way" in busy.message
    await talk.ask("turn/interrupt", threadId=thread["id"], turnId=turn_id)


async def test_there_is_one_way_to_have_it(talk: Talk) -> None:
    """Codex 0.166 knows no other."""
    thread = await talk.start()
    refusal = await talk.refused(
        "review/start", threadId=thread["id"], target={"type": "uncommittedChanges"}, delivery="detached"
    )
    assert refusal.code == -32602
    assert (await talk.ask("turn/start", threadId=thread["id"], input=said("echo On.")))["turn"]["id"]
