"""What waits for a client: who is slow, who is let go, and what is kept."""

from __future__ import annotations

import sys
from inspect import signature
from unittest.mock import Mock

import anyio
import pytest

from threadloom import outbox
from threadloom.connection import BURST, MAX_UNREAD, ROOM, Connection
from threadloom.handshake import Client
from threadloom.outbox import HUGE, Outbox
from threadloom_protocol.v2 import note


def connected() -> Connection:
    """A client that is not read for: all that it is told waits."""
    it = Connection(**{name: Mock() for name in signature(Connection).parameters if name != "greeted"})
    it.client = Client(name="one", version="1", experimental=True)
    return it


def told(it: Connection, size: int) -> None:
    it.publish(note.UPDATED, b'{"note":"%b"}' % (b"x" * size))


async def test_one_message_is_never_too_large_to_be_sent() -> None:
    it = connected()
    told(it, MAX_UNREAD + 1)
    assert len(await it._outbox.take()) == 1


async def test_others_may_wait_behind_it() -> None:
    it = connected()
    told(it, MAX_UNREAD + 1)
    await it._outbox.take()
    told(it, 1)
    assert len(await it._outbox.take()) == 1


async def test_one_who_leaves_too_much_unread_is_let_go() -> None:
    it = connected()
    told(it, MAX_UNREAD + 1)
    await it._outbox.take()
    told(it, MAX_UNREAD + 1)
    await it._outbox.take()
    told(it, 1)
    assert await it._outbox.take() == []


async def test_what_has_left_counts_no_more() -> None:
    it = connected()
    told(it, 2 * MAX_UNREAD)
    it._outbox.sent(await it._outbox.take())
    told(it, MAX_UNREAD // 2)
    told(it, MAX_UNREAD // 2)
    told(it, MAX_UNREAD // 2 + 1)
    told(it, 1)
    assert len(await it._outbox.take()) == 3


async def test_an_answer_that_was_asked_for_is_not_left_unread() -> None:
    it = connected()
    it._outbox.put(b"x" * (MAX_UNREAD + 1))
    told(it, 1)
    told(it, 1)
    batch = await it._outbox.take()
    assert len(batch) == 3
    told(it, MAX_UNREAD // 2)
    it._outbox.sent(batch)
    told(it, 1)
    assert len(await it._outbox.take()) == 2


async def test_a_burst_makes_nobody_slow_but_what_is_stuck_does() -> None:
    it = connected()
    told(it, ROOM)
    assert it.has_room
    batch = await it._outbox.take()
    assert not it.has_room
    it._outbox.sent(batch)
    assert it.has_room
    told(it, BURST)
    assert not it.has_room


async def test_what_has_left_is_not_kept() -> None:
    box = Outbox()
    box.put(message := b"x" * 100_000)
    held = sys.getrefcount(message)
    batch = await box.take()
    box.sent(batch)
    assert sys.getrefcount(message) == held - 1
    assert box.size == 0


async def test_memory_is_given_back_after_something_huge_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[None] = []
    monkeypatch.setattr(outbox, "give_back", lambda: given.append(None))
    box = Outbox()
    for size, times in ((1, 0), (HUGE + 1, 1), (HUGE, 1)):
        box.put(b"x" * size)
        with anyio.fail_after(5):
            box.sent(await box.take())
        assert len(given) == times


def test_what_is_in_use_is_not_given_back() -> None:
    kept = [bytes([at % 256]) * 10_000 for at in range(200)]
    del kept[::2]
    outbox.give_back()
    assert all(it == it[:1] * 10_000 for it in kept)
