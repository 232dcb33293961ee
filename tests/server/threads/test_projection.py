"""What the index is told of a record."""

from __future__ import annotations

import pytest
from tests.server.threads.studio import Studio

from threadloom.store.writer import Change, nothing
from threadloom.threads.projection import SEARCHED, Projection
from threadloom_protocol.v2.item import ItemCompletedNotification
from threadloom_protocol.v2.values.items import AgentMessageThreadItem


def test_of_a_huge_message_the_beginning_can_be_found() -> None:
    projection = Projection("thread")
    for seq, text in enumerate(("short", "x" * (SEARCHED + 1)), 1):
        item = AgentMessageThreadItem(id=str(seq), text=text)
        event = ItemCompletedNotification(item=item, thread_id="thread", turn_id="turn", completed_at_ms=0)
        projection.take(0, seq, event, None)
    assert [it.text for it in projection.texts] == ["short", "x" * SEARCHED]


async def test_a_revert_that_the_index_has_heard_of_in_part_is_heard_of_again(
    loom: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = loom.born()
    for words in ("one", "two"):
        await loom.turn(thread, words)
    await loom.manager.settled()
    first, second = loom.store.index.turns(thread.id)
    writer = loom.store.index._writer
    queue, queued = writer.do, list[Change]()
    monkeypatch.setattr(writer, "do", lambda change, then=nothing: queued.append(change))
    thread.revert(second.seq)
    assert len(queued) == 2
    queue(queued[0])  # and there the power goes
    await loom.again()
    await loom.manager.knowledge.whole()
    assert [it.turn_id for it in loom.store.index.turns(thread.id)] == [first.turn_id]
