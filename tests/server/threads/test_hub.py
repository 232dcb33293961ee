"""The fan-out by itself: who lags is served from the log, who left is forgotten."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from threadloom.events import Emission, Record, line, record
from threadloom.store.rows import Line
from threadloom.threads import hub as module
from threadloom.threads.catchup import Late, late
from threadloom.threads.hub import Hub
from threadloom_protocol.spec import ServerNotification
from threadloom_protocol.v2 import item, note, roster

THREAD = "thread"


def delta(text: str, item_id: str = "i") -> Emission:
    event = item.AgentMessageDeltaNotification(thread_id=THREAD, turn_id="t", item_id=item_id, delta=text)
    return Emission(item.AGENT_MESSAGE_DELTA, event)


def noted(text: str | None) -> Emission:
    return Emission(note.UPDATED, note.ThreadNoteUpdatedNotification(thread_id=THREAD, note=text))


def deleted() -> Emission:
    return Emission(roster.DELETED, roster.ThreadDeletedNotification(thread_id=THREAD))


class Source:
    """A log in a list, and owners in a dict."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.damaged: set[int] = set()
        self.owners: dict[str, str] = {}

    def add(self, emission: Emission) -> Record:
        made = record(THREAD, len(self.records) + 1, 0, emission)
        self.records.append(made)
        return made

    def lines(self, seq: int, stop: int) -> list[Line]:
        found = []
        for it in self.records[seq:stop]:
            if it.seq not in self.damaged:
                value = orjson.loads(line(it, None))
                found.append(Line(0, 0, it.seq, 0, value["method"], value["params"], None))
        return found

    def behind(self, thread_id: str, seq: int, limit: int, *, merge: bool) -> tuple[list[Late], int]:
        head = len(self.records)
        return list(late(self.lines(seq, min(head, seq + limit)), merge=merge)), head

    def parent(self, thread_id: str) -> str | None:
        return self.owners.get(thread_id)


class Client:
    """A listener with so much room."""

    def __init__(self, room: float = float("inf")) -> None:
        self.room = room
        self.heard: list[dict[str, Any]] = []

    @property
    def has_room(self) -> bool:
        return self.room > 0

    def publish(self, notification: ServerNotification[Any], body: bytes) -> None:
        self.room -= 1
        self.heard.append({"method": notification.method, **orjson.loads(body)})

    @property
    def text(self) -> str:
        return "".join(it.get("delta", "") for it in self.heard)

    def covered(self) -> list[int]:
        """Every seq that it was given or told of, in order."""
        seqs: list[int] = []
        for it in self.heard:
            if it["method"] == "thread/gap":
                seqs += range(it["fromSeq"], it["toSeq"] + 1)
            else:
                seqs += range(it.get("fromSeq", it["seq"]), it["seq"] + 1)
        return seqs


class House:
    """A hub over one thread."""

    def __init__(self) -> None:
        self.source = Source()
        self.hub = Hub(self.source, self.source.parent)

    def join(self, client: Client, cursor: int | None = 0) -> Client:
        self.hub.join(client)
        if cursor is not None:
            self.hub.subscribe(client, THREAD, cursor, head=len(self.source.records))
            self.hub.pump(client)
        return client

    def say(self, *emissions: Emission) -> None:
        self.hub.publish([self.source.add(it) for it in emissions])


# ── lagging ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_one_who_lags_gets_the_rest_in_fewer_pieces_once_it_has_room() -> None:
    house = House()
    slow, quick = house.join(Client(room=2)), house.join(Client())
    house.say(*(delta(f"{number} ") for number in range(10)))
    assert [len(it.heard) for it in (slow, quick)] == [2, 10]
    house.say(noted("between"), delta("after"))
    slow.room = 1
    house.hub.pump(slow)
    slow.room = 100
    house.hub.pump(slow)
    assert slow.text == quick.text
    assert slow.covered() == quick.covered() == list(range(1, 13))
    merged = slow.heard[2]
    assert (merged["fromSeq"], merged["seq"], merged["delta"]) == (3, 10, "2 3 4 5 6 7 8 9 ")
    # From here on it hears events as they come again.
    house.say(delta("live"))
    assert slow.heard[-1] == quick.heard[-1]


def test_one_who_lags_is_given_no_more_than_it_has_room_for() -> None:
    house = House()
    slow = house.join(Client(room=0))
    house.say(*(noted(str(number)) for number in range(5)))
    for room in (2, 1, 9):
        slow.room = room
        house.hub.pump(slow)
        assert slow.room >= 0
    assert slow.covered() == [1, 2, 3, 4, 5]


def test_deltas_of_different_items_are_never_merged() -> None:
    house = House()
    slow = house.join(Client(room=0))
    house.say(delta("a"), delta("b"), delta("c", "other"), delta("d"))
    slow.room = 10
    house.hub.pump(slow)
    assert [(it["itemId"], it["delta"]) for it in slow.heard] == [("i", "ab"), ("other", "c"), ("i", "d")]
    assert "fromSeq" not in slow.heard[1]


def test_a_cursor_brings_everything_as_it_was() -> None:
    house = House()
    house.say(*(delta(str(number)) for number in range(5)))
    back = house.join(Client(), cursor=2)
    assert [it["seq"] for it in back.heard] == [3, 4, 5]
    assert not any("fromSeq" in it for it in back.heard)


def test_events_of_a_thread_never_overtake_those_that_wait() -> None:
    house = House()
    slow = house.join(Client(room=1))
    house.say(delta("one"), delta("two"))
    slow.room = 5  # there is room again, but nobody has said so yet
    house.say(delta("three"))
    house.hub.pump(slow)
    assert slow.covered() == [1, 2, 3]
    assert slow.text == "onetwothree"


def test_what_was_held_while_somebody_joined_comes_once() -> None:
    """A snapshot may contain records that are not shown yet: they are published later, but not to whoever has them."""
    house = House()
    house.say(delta("shown"))
    held = house.source.add(noted("held"))
    house.hub.join(client := Client())
    house.hub.subscribe(client, THREAD, held.seq, head=1)
    house.hub.pump(client)
    house.hub.publish([held])
    assert client.heard == []
    house.say(delta("new"))
    assert client.covered() == [3]


def test_too_far_behind_is_told_as_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BEHIND", 100)
    house = House()
    slow = house.join(Client(room=3))
    house.say(*(delta("x") for _ in range(104)))
    slow.room = 10
    house.hub.pump(slow)
    assert slow.heard[-1] == {"method": "thread/gap", "threadId": THREAD, "fromSeq": 4, "toSeq": 104}
    house.say(delta("on"))
    assert slow.covered() == list(range(1, 106))
    # One less is still served.
    other = house.join(Client(room=3), cursor=5)
    other.room = 1000
    house.hub.pump(other)
    assert "thread/gap" not in {it["method"] for it in other.heard}


def test_damaged_lines_hold_nobody_up() -> None:
    house = House()
    slow = house.join(Client(room=0))
    house.say(*(noted(str(number)) for number in range(2 * module.CHUNK)))
    house.source.damaged = set(range(1, module.CHUNK + 10))
    slow.room = 10_000
    house.hub.pump(slow)
    assert [it["seq"] for it in slow.heard] == list(range(module.CHUNK + 10, 2 * module.CHUNK + 1))
    house.say(noted("live"))
    assert slow.heard[-1]["note"] == "live"


@settings(deadline=None)  # a busy machine is no failure
@given(st.data())
def test_whatever_room_there_is_nothing_is_lost_or_doubled(data: st.DataObject) -> None:
    house = House()
    clients = [house.join(Client(room=data.draw(st.integers(0, 5)))) for _ in range(3)]
    expected = ""
    for _ in range(data.draw(st.integers(1, 25))):
        match data.draw(st.integers(0, 3)):
            case 0:
                batch = [delta(data.draw(st.text(max_size=3)), data.draw(st.sampled_from("ab"))) for _ in range(3)]
                expected += "".join(it.event.delta for it in batch)  # type: ignore[attr-defined]
                house.say(*batch)
            case 1:
                house.say(noted("n"))
            case 2:
                client = data.draw(st.sampled_from(clients))
                client.room = data.draw(st.integers(0, 4))
                house.hub.pump(client)
            case 3:
                at = data.draw(st.sampled_from(range(3)))
                house.hub.leave(clients[at])
                again = Client(room=data.draw(st.integers(0, 5)))
                again.heard = clients[at].heard
                cursor = again.covered()[-1] if again.heard else 0
                clients[at] = house.join(again, cursor=cursor)
    for client in clients:
        client.room = float("inf")
        house.hub.pump(client)
        assert client.covered() == list(range(1, len(house.source.records) + 1))
        assert client.text == expected


# ── coming and going ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_concerns_everybody_reaches_everybody_once() -> None:
    house = House()
    subscriber, other = house.join(Client()), house.join(Client(), cursor=None)
    house.say(noted("for all"), delta("for some"))
    assert [it["method"] for it in subscriber.heard] == ["thread/note/updated", "item/agentMessage/delta"]
    assert [it["method"] for it in other.heard] == ["thread/note/updated"]


def test_one_who_left_is_forgotten() -> None:
    house = House()
    client = house.join(Client(room=0))
    house.say(delta("x"))
    house.hub.leave(client)
    house.say(noted("x"))
    client.room = 9
    house.hub.pump(client)
    assert client.heard == []
    assert not house.hub.followed(THREAD)
    assert not house.hub._lagging


def test_one_who_left_while_its_request_was_answered_does_not_come_back() -> None:
    house = House()
    client = house.join(Client(), cursor=None)
    house.hub.leave(client)
    house.hub.subscribe(client, THREAD, 0, head=0)
    house.hub.cover(client, "child", 0, head=0)
    assert not house.hub.followed(THREAD)
    assert not house.hub.followed("child")


def test_a_deletion_is_told_to_those_who_lag_with_what_they_will_never_hear() -> None:
    house = House()
    slow, quick = house.join(Client(room=1)), house.join(Client())
    house.say(delta("a"), delta("b"), delta("c"), deleted())
    house.hub.forget(THREAD)
    assert [it["method"] for it in slow.heard] == ["item/agentMessage/delta", "thread/gap", "thread/deleted"]
    assert slow.covered() == quick.covered() == [1, 2, 3, 4]
    slow.room = 9
    house.hub.pump(slow)
    assert len(slow.heard) == 3


def test_whoever_is_dismissed_hears_what_is_due_and_no_more() -> None:
    house = House()
    slow, quick = house.join(Client(room=1)), house.join(Client())
    house.say(delta("a"), delta("b"), delta("c"))
    house.hub.dismiss(THREAD)
    slow.room = 9
    house.hub.pump(slow)
    assert not house.hub.followed(THREAD)
    house.say(delta("d"))
    assert slow.text == quick.text == "abc"


# ── descendants ───────────────────────────────────────────────────────────────────────────────────────────────────────


def follows(house: House, *threads: str) -> list[bool]:
    return [house.hub.followed(it) for it in threads]


def test_following_a_thread_covers_what_it_owns_at_any_depth() -> None:
    house = House()
    house.source.owners = {"child": THREAD, "grandchild": "child", "stranger": "elsewhere"}
    client = house.join(Client())
    for born in ("child", "grandchild", "stranger"):
        house.hub.adopt(born, 0)
    assert follows(house, "child", "grandchild", "stranger") == [True, True, False]
    assert house.hub.unsubscribe(client, THREAD)
    assert follows(house, THREAD, "child", "grandchild") == [False, False, False]
    assert not house.hub.unsubscribe(client, THREAD)


def test_descendants_can_be_left_out() -> None:
    house = House()
    house.source.owners = {"child": THREAD}
    house.hub.join(client := Client())
    house.hub.subscribe(client, THREAD, 0, head=0, descendants=False)
    house.hub.adopt("child", 0)
    assert follows(house, THREAD, "child") == [True, False]


def test_what_was_asked_for_by_itself_stays_when_an_owner_is_left() -> None:
    house = House()
    house.source.owners = {"child": THREAD, "grandchild": "child"}
    client = house.join(Client())
    house.hub.adopt("child", 0)
    house.hub.subscribe(client, "child", 0, head=0)
    house.hub.adopt("grandchild", 0)
    house.hub.unsubscribe(client, THREAD)
    assert follows(house, THREAD, "child", "grandchild") == [False, True, True]


def test_a_child_that_is_followed_already_keeps_its_place() -> None:
    house = House()
    client = house.join(Client(room=1))
    house.say(delta("a"), delta("b"))
    house.hub.cover(client, THREAD, None, head=2)  # its owner is resumed once more, without a cursor for it
    client.room = 9
    house.hub.pump(client)
    assert client.text == "ab"


# ── nothing is kept of threads that nobody follows ────────────────────────────────────────────────────────────────────


def kept(hub: Hub) -> set[str]:
    return hub._feeds.keys() | hub._covering.keys()


def test_a_thread_that_nobody_follows_takes_no_room() -> None:
    house = House()
    house.join(Client(), cursor=None)
    for number in range(100):
        house.hub.adopt(f"t{number}", 0)
    assert kept(house.hub) == set()


@pytest.mark.parametrize("how", ["leave", "unsubscribe", "dismiss"])
def test_the_last_one_who_follows_a_tree_takes_its_entries_along(how: str) -> None:
    house = House()
    client = house.join(Client())
    house.source.owners["child"] = THREAD
    house.hub.adopt("child", 0)
    house.hub.subscribe(client, "alone", 0, head=0, descendants=False)
    assert kept(house.hub) == {THREAD, "child", "alone"}
    if how == "leave":
        house.hub.leave(client)
    for thread_id in (THREAD, "child", "alone"):
        if how == "dismiss":
            house.hub.dismiss(thread_id)
        elif how == "unsubscribe":
            house.hub.unsubscribe(client, thread_id)
    assert kept(house.hub) == set()


def test_one_who_had_to_hear_the_rest_first_leaves_nothing_either() -> None:
    house = House()
    slow = house.join(Client(room=1))
    house.say(delta("a"), delta("b"))
    house.hub.dismiss(THREAD)
    assert kept(house.hub) == {THREAD}
    slow.room = 10
    house.hub.pump(slow)
    assert slow.text == "ab"
    assert kept(house.hub) == set()
