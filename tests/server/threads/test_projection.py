"""What the index is told of a record."""

from __future__ import annotations

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
