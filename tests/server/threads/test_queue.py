"""What waits for a thread: in which order, what holds it back, and what a fold of it can stand."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import given
from hypothesis import strategies as st
from tests.server.threads.family import Family
from tests.server.threads.house import words

from threadloom.threads import say
from threadloom.threads.defaults import plain
from threadloom.threads.queue import MOST
from threadloom.threads.replay import Replayed
from threadloom.threads.resting import MAX_REPORTS, Queued, Resting
from threadloom.threads.state import ThreadState
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2.values.content import LocalImageUserInput
from threadloom_protocol.v2.values.genealogy import ChildReport
from threadloom_protocol.v2.values.items import UserMessageThreadItem
from threadloom_protocol.v2.values.status import IdleThreadStatus
from threadloom_protocol.v2.values.threads import Thread as View
from threadloom_protocol.v2.values.turns import Turn

PIXEL = b"\x89PNG\r\n\x1a\n"


def ids(kin_thread: Any) -> list[str]:
    return [it.client_user_message_id for it in kin_thread.queue.entries]


async def settle() -> None:
    """Let happen what would happen by itself."""
    for _ in range(50):
        await checkpoint()


# ── prompts ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_prompts_run_in_order_each_in_a_turn_of_its_own(kin: Family) -> None:
    thread = kin.root()
    kin.begin(thread, "hold x")
    for it in "abc":
        thread.queue.add(words(it), it)
    await settle()
    assert kin.voice.heard[thread.id] == ["hold x"]
    kin.voice.let_go("x")
    await kin.quiet()
    assert kin.voice.heard[thread.id] == ["hold x", "a", "b", "c"]
    assert kin.voice.most[thread.id] == 1


async def test_the_same_prompt_is_put_once(kin: Family) -> None:
    thread = kin.root()
    thread.queue.pause()
    first = thread.queue.add(words("a"), "c1")
    assert thread.queue.add(words("another text"), "c1") == first
    assert ids(thread) == ["c1"]


async def test_so_many_prompts_and_no_more_but_any_number_of_reports(kin: Family) -> None:
    thread = kin.root()
    thread.queue.pause()
    for at in range(MOST):
        thread.queue.add(words("x"), str(at))
    with pytest.raises(InvalidRequest, match=f"{MOST} prompts wait"):
        thread.queue.add(words("x"), "more")
    child = kin.child(thread)
    await kin.until(lambda: thread.queue.state.length == MOST + 1)
    assert thread.queue.entries[-1].id.startswith(child.id)


async def test_entries_are_changed_moved_and_taken_out(kin: Family) -> None:
    thread = kin.root()
    thread.queue.pause()
    a, b, c = (thread.queue.add(words(it), it) for it in "abc")
    thread.queue.update(b.id, words("bb"))
    thread.queue.reorder([c.id, b.id, a.id])
    assert thread.queue.delete(a.id)
    assert not thread.queue.delete(a.id)
    assert ids(thread) == ["c", "b"]
    thread.queue.resume()
    thread.queue.pump()
    await kin.quiet()
    assert kin.voice.heard[thread.id] == ["c", "bb"]


async def test_an_order_names_every_entry_once(kin: Family) -> None:
    thread = kin.root()
    thread.queue.pause()
    a, b = (thread.queue.add(words(it), it) for it in "ab")
    for order in ([a.id], [a.id, a.id], [a.id, b.id, "x"], []):
        with pytest.raises(InvalidRequest, match="every queued submission exactly once"):
            thread.queue.reorder(order)
    assert ids(thread) == ["a", "b"]


async def test_a_report_can_be_moved_and_taken_out_but_not_edited(kin: Family) -> None:
    thread = kin.root()
    thread.queue.pause()
    child = kin.child(thread)
    await kin.until(lambda: thread.queue.entries and not child.state.rest.due_reports)
    [report] = thread.queue.entries
    with pytest.raises(InvalidRequest, match="a report cannot be edited"):
        thread.queue.update(report.id, words("I did it all"))
    thread.queue.delete(report.id)
    kin.manager.reports.deliver(child)
    thread.queue.report(report)
    assert thread.queue.entries == [], "what was taken out does not come back"
    assert len(kin.marks(thread, "queued")) == 1


async def test_nothing_is_put_into_the_queue_of_a_thread_that_takes_no_work(kin: Family) -> None:
    thread = kin.root()
    await kin.manager.settled()
    await kin.manager.moves.archive(thread.id)
    with pytest.raises(InvalidRequest, match="archived"):
        kin.manager.get(thread.id).queue.add(words("x"), "c1")


async def test_a_prompt_with_a_picture_has_it_when_its_turn_comes(kin: Family, tmp_path: Path) -> None:
    thread = kin.root()
    picture = tmp_path / "p.png"
    picture.write_bytes(PIXEL)
    thread.queue.add([*words("look"), LocalImageUserInput(path=str(picture))], "c1")
    thread.queue.pump()
    await kin.quiet()
    sent = orjson.dumps(thread.history()).decode()
    assert "data:image/png;base64" in sent


async def test_a_prompt_whose_picture_is_gone_holds_the_queue_and_says_so(kin: Family, tmp_path: Path) -> None:
    thread = kin.root()
    thread.queue.add([LocalImageUserInput(path=str(tmp_path / "gone.png"))], "c1")
    thread.queue.pump()
    await kin.until(lambda: thread.queue.state.paused)
    assert thread.queue.state.paused == "turnFailed"
    assert "gone.png cannot be read" in kin.background(thread, "warning")[0]
    thread.queue.update(thread.queue.entries[0].id, words("without it"))
    thread.queue.resume()
    thread.queue.pump()
    await kin.quiet()
    assert kin.voice.heard[thread.id] == ["without it"]


# ── what holds it back ────────────────────────────────────────────────────────────────────────────────────────────────


async def test_nothing_starts_while_it_is_paused(kin: Family) -> None:
    thread = kin.root()
    thread.queue.pause()
    thread.queue.add(words("a"), "a")
    thread.queue.pump()
    await kin.turn(thread, "by hand")
    await kin.manager.upkeep.sweep()
    await settle()
    assert kin.voice.heard[thread.id] == ["by hand"]
    assert kin.claims(thread) == []
    assert thread.queue.state.paused == "user", "a turn that ends well does not undo what the user did"


@pytest.mark.parametrize("waiting", [True, False])
async def test_an_interrupt_of_the_user_holds_it_and_a_turn_that_ends_well_lets_it_go(
    kin: Family, waiting: bool
) -> None:
    thread = kin.root()
    await kin.held(thread)
    if waiting:
        thread.queue.add(words("a"), "a")
    await thread.interrupt(by_user=True)
    if not waiting:
        thread.queue.add(words("a"), "a")
        thread.queue.pump()
    await settle()
    assert thread.queue.state.paused == "interrupt"
    assert kin.voice.heard[thread.id] == ["hold x"]
    await kin.turn(thread, "go on")
    await kin.quiet()
    assert kin.voice.heard[thread.id] == ["hold x", "go on", "a"]
    assert thread.queue.state.paused is None


async def test_an_interrupt_of_somebody_else_does_not(kin: Family) -> None:
    thread = kin.root()
    await kin.held(thread)
    thread.queue.add(words("a"), "a")
    await thread.interrupt()
    await kin.quiet()
    assert kin.voice.heard[thread.id] == ["hold x", "a"]


async def test_a_failed_turn_holds_it(kin: Family) -> None:
    thread = kin.root()
    for it in ("a", "fail", "b"):
        thread.queue.add(words(it), it)
    thread.queue.pump()
    await kin.until(lambda: thread.queue.state.paused)
    assert (thread.queue.state.paused, ids(thread)) == ("turnFailed", ["b"])


async def test_the_pause_is_in_the_line_that_ends_the_turn(kin: Family) -> None:
    thread = kin.root()
    await kin.turn(thread, "fail")
    [ended] = [it for it in kin.lines(thread) if it.get("method") == "turn/completed"]
    assert {"@": "paused", "why": "turnFailed"} in ended["model"]


async def test_a_start_by_hand_goes_past_a_pause_and_never_beside_a_turn(kin: Family) -> None:
    thread = kin.root()
    thread.queue.pause()
    a, b = (thread.queue.add(words(it), it) for it in ("a", "hold b"))
    running = thread.queue.start([thread.queue.find(b.id)])
    running.show()
    with pytest.raises(InvalidRequest, match="already has an active or pending turn"):
        thread.queue.start([a])
    kin.voice.let_go("b")
    await running.done.wait()
    assert ids(thread) == ["a"]
    assert kin.voice.heard[thread.id] == ["hold b"]


# ── over a restart ────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_restart_goes_on_where_it_was(kin: Family) -> None:
    thread = kin.root()
    await kin.held(thread)
    for it in "ab":
        thread.queue.add(words(it), it)
    await kin.again()
    thread = kin.manager.get(thread.id)
    await kin.quiet()
    assert kin.voice.heard[thread.id] == ["hold x", "a", "b"]


async def test_a_window_on_one_project_does_not_run_anothers_agents(kin: Family) -> None:
    mine, theirs = kin.root(), kin.root()
    for it in (mine, theirs):
        it.queue.pause()
        it.queue.add(words("a"), "a")
        it.queue.resume()
    child = kin.child(mine, "hold x")
    await kin.again(up=False)
    await settle()
    assert dict(kin.manager.loaded) == {}
    kin.manager.get(mine.id)
    await kin.until(lambda: kin.told(mine))
    await kin.quiet()
    assert theirs.id not in kin.manager.loaded
    assert kin.voice.heard[mine.id][0] == "a"
    assert kin.told(mine) == [(child.id, "interrupted")]
    assert kin.manager.rest(theirs.id).queue[0].client_user_message_id == "a"


# ── the fold ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def fresh() -> ThreadState:
    settings = plain(cwd="/")
    view = View(
        id="t",
        session_id="t",
        project_id=None,
        preview="",
        ephemeral=False,
        model_provider="x",
        created_at=0,
        updated_at=0,
        status=IdleThreadStatus(),
        cwd="/",
        cli_version="1",
        source="vscode",
        turns=[],
    )
    return ThreadState(Resting(thread=view, settings=settings))


def entry(name: str, *, report: bool = False) -> dict[str, Any]:
    told = ChildReport(child_thread_id=name, child_turn_id="t", status="completed") if report else None
    made = Queued(
        id=name, input=[], client_user_message_id=name, kind="report" if report else "prompt", report=told, at=0
    )
    return dict(orjson.loads(made.to_json()))


NAMES = st.sampled_from("abcdef")


def lawful(marks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """An order names what waits by then, as a thread's own does."""
    state = fresh()
    for mark in marks:
        if mark["@"] == "reordered":
            mark["ids"] = [it for it in mark["ids"] if it in {held.id for held in state.rest.queue}]
        state.mark([copy.deepcopy(mark)])
        yield mark


MARKS = st.lists(
    st.one_of(
        st.builds(lambda it, report: {"@": "queued", "entry": entry(it, report=report)}, NAMES, st.booleans()),
        st.builds(lambda it: {"@": "requeued", "entry": entry(it) | {"clientUserMessageId": "new"}}, NAMES),
        st.builds(lambda it: {"@": "unqueued", "ids": it}, st.lists(NAMES, unique=True)),
        st.builds(lambda it: {"@": "consumes", "ids": it}, st.lists(NAMES, unique=True)),
        st.builds(lambda it: {"@": "reordered", "ids": it}, st.permutations("abcdef")),
        st.builds(lambda it: {"@": "paused", "why": it}, st.sampled_from([None, "user", "interrupt"])),
    ),
    max_size=12,
).map(lambda marks: list(lawful(marks)))


@given(MARKS, st.data())
def test_taking_lines_in_once_more_changes_nothing(marks: list[dict[str, Any]], data: st.DataObject) -> None:
    """A load begins where the open turn began, with a state that is ahead of that."""
    once = fresh()
    once.mark(copy.deepcopy(marks))
    again = fresh()
    again.mark(copy.deepcopy(marks))
    again.mark(copy.deepcopy(marks[data.draw(st.integers(0, len(marks)), "from") :]))
    assert [it.id for it in again.rest.queue if it.id not in once.rest.reports] == [
        it.id for it in once.rest.queue if it.id not in once.rest.reports
    ]
    assert sorted(it.id for it in again.rest.queue) == sorted(it.id for it in once.rest.queue)
    assert again.rest.queue_paused == once.rest.queue_paused
    assert again.rest.thread.queue == once.rest.thread.queue


@given(MARKS)
def test_nothing_is_there_twice_and_nothing_that_was_taken_comes_back(marks: list[dict[str, Any]]) -> None:
    state = fresh()
    gone: set[str] = set()
    for mark in marks:
        state.mark([copy.deepcopy(mark)])
        if mark["@"] in ("unqueued", "consumes"):
            gone |= set(mark["ids"])
        found = [it.id for it in state.rest.queue]
        assert len(found) == len(set(found))
        assert not gone & set(found)


def test_a_long_queue_is_not_forgotten_however_many_reports_have_come() -> None:
    state = fresh()
    for at in range(MAX_REPORTS + 10):
        state.mark([{"@": "queued", "entry": entry(f"r{at}", report=True)}])
    state.mark([{"@": "queued", "entry": entry("r0", report=True)}])
    assert len(state.rest.queue) == MAX_REPORTS + 10


async def test_a_prompt_that_came_amid_a_turn_is_there_once_after_a_crash(kin: Family) -> None:
    """The index has it, and the log from where the turn began has it again."""
    thread = kin.root()
    kin.begin(thread, "hold x")
    thread.queue.add(words("a"), "a")
    await kin.manager.settled()
    row = kin.store.index.get(thread.id)
    log = kin.store.read(thread.id)
    try:
        assert [it.client_user_message_id for it in Replayed(log, row).state.rest.queue] == ["a"]
    finally:
        log.close()


def test_what_a_torn_claim_has_taken_comes_first_again() -> None:
    """The line that starts the turn is there, the message is not: the power went in the middle of a write."""
    state = fresh()
    for it in "abc":
        state.mark([{"@": "queued", "entry": entry(it, report=it == "a")}])
    begun = say.turn_started("t", "turn", 0).event
    lost = Turn(id="turn", items=[], status="interrupted")
    for _ in range(2):  # a load may take the same lines in once more
        state.apply(1, 0, begun, [{"@": "consumes", "ids": ["a"], "claim": True}])
        assert [it.id for it in state.rest.queue] == ["b", "c"]
        state.apply(2, 0, say.turn_completed("t", lost).event)
        assert [it.id for it in state.rest.queue] == ["a", "b", "c"]


@pytest.mark.parametrize("report", [True, False])
def test_what_was_told_does_not_come_back(report: bool) -> None:
    state = fresh()
    state.mark([{"@": "queued", "entry": entry("a:t", report=report)}])
    state.apply(1, 0, say.turn_started("t", "turn", 0).event, [{"@": "consumes", "ids": ["a:t"], "claim": True}])
    told = ChildReport(child_thread_id="a", child_turn_id="t", status="completed") if report else None
    message = UserMessageThreadItem(id="m" if report else "a:t", content=[], report=told)
    state.apply(2, 0, say.item_completed("t", "turn", message, 0).event)
    state.apply(3, 0, say.turn_completed("t", Turn(id="turn", items=[], status="interrupted")).event)
    assert state.rest.queue == state.rest.claimed == []
