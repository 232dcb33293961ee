"""Saved sessions: frozen where they were saved, kept as long as a name means them, found by name or id."""

from __future__ import annotations

from collections import Counter
from typing import Any

import anyio
import orjson
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from tests.server.agent.stage import Gate
from tests.server.threads.studio import Studio
from tests.support.counts import count
from tests.support.crash_logs import check_index
from tests.support.crash_loom import loom as loomed
from tests.support.crash_saves import TALE, Saver, assert_sendable
from tests.support.sockets import until
from tests.support.storing import resealed
from tests.support.talk import SECONDS

from threadloom.agent.history import ABORTED, ready
from threadloom.agent.sampling import ToolCall
from threadloom.events import Aside
from threadloom.store.base import StoreError
from threadloom.store.logfile import RolloutLog
from threadloom.threads.frozen import digest
from threadloom.threads.sessions import MAX_NAME, Sessions
from threadloom.threads.thread import Thread
from threadloom_protocol.errors import InvalidParams, InvalidRequest
from threadloom_protocol.v2.session import SessionMoved

# ── frozen ────────────────────────────────────────────────────────────────────────────────────────────────────────────


HISTORIES = count(200)
# In a hundred histories there are at least so many names, and so many threads that went on like this after a save.
LEAST = {"name": 60, "turn": 30, "revert": 15, "compaction": 8, "delete": 30}


def test_a_name_brings_back_what_was_saved_whatever_came_after() -> None:
    kept: Counter[str] = Counter()

    async def run(tale: list[Any]) -> None:
        async with loomed() as woven:
            saver = Saver(woven)
            await saver.tell(tale)
            kept.update(await saver.kept())
            await check_index(woven.home, woven.home.with_suffix(".rebuilt"))

    @settings(
        max_examples=HISTORIES,
        deadline=None,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    @given(TALE)
    def told(tale: list[Any]) -> None:
        anyio.run(run, tale)

    told()
    assert all(kept[what] * 100 >= least * HISTORIES for what, least in LEAST.items()), kept


def saved(loom: Studio, name: str) -> Thread:
    """A fork of a saved session."""
    found = Sessions(loom.manager).find(name)
    assert found.saved is not None
    made = Sessions(loom.manager).fork(found.saved)
    made.announce()
    return made


async def rebuilt(loom: Studio) -> None:
    """The same home with an index made from the logs alone."""
    await loom.close()
    (loom.room / "home" / "index.sqlite").unlink()
    loom.open()
    await loom.manager.knowledge.whole()


async def test_the_next_request_of_a_fork_is_the_one_that_the_saved_thread_would_have_sent(loom: Studio) -> None:
    thread = loom.born()
    await loom.turn(thread, "one")
    await Sessions(loom.manager).save(thread.id, "core")
    await loom.turn(thread, "next")
    expected = loom.model.asked[-1].history
    await loom.turn(thread, "and on")
    await loom.turn(saved(loom, "core"), "next")
    assert loom.model.asked[-1].history == expected


async def test_saved_in_mid_turn_is_as_if_interrupted_there(loom: Studio) -> None:
    thread, gate = loom.born(), Gate()
    call = ToolCall("c1", "update_plan", '{"plan": []}')
    loom.model.will(("Half a ", gate, "sentence.", call))
    running = thread.start_turn([])
    running.show()
    await until(lambda: thread.state.turn is not None and "Half a " in orjson.dumps(_texts(thread)).decode())
    await Sessions(loom.manager).save(thread.id, "half")
    gate.open.set()
    await loom.ended(thread, running)
    made = saved(loom, "half")
    await loom.manager.settled()
    [turn] = loom.manager.reader.turns(made.id).data
    assert (turn.status, [it.text for it in turn.items]) == ("interrupted", ["Half a "])
    [whole] = loom.manager.reader.turns(thread.id).data
    assert whole.status == "completed"
    assert "Half a sentence." in [it.text for it in whole.items if it.type == "agentMessage"]
    assert [it["content"][0]["text"] for it in made.history() if it.get("role") == "assistant"] == ["Half a "]


def _texts(thread: Thread) -> list[str]:
    turn = thread.state.turn
    return [getattr(it, "text", "") for it in turn.look().items] if turn else []


async def test_a_tool_that_is_open_when_a_thread_is_saved_reads_aborted(loom: Studio) -> None:
    thread = loom.born()
    await loom.turn(thread, "one")
    call = {"type": "function_call", "call_id": "c9", "name": "x", "arguments": "{}"}
    gate = Gate()
    loom.model.will((gate, "ok"))
    running = thread.start_turn([])
    running.show()
    await until(lambda: len(loom.model.asked) == 2)
    thread.emit(Aside([call]))
    await Sessions(loom.manager).save(thread.id, "open")
    gate.open.set()
    await loom.ended(thread, running)
    history = saved(loom, "open").history()
    assert history[-1] == {"type": "function_call_output", "call_id": "c9", "output": ABORTED}
    assert ready(history) == history
    assert_sendable(history)


async def test_a_history_that_is_not_what_was_saved_is_refused(loom: Studio) -> None:
    thread = loom.born()
    await loom.turn(thread, "something")
    await Sessions(loom.manager).save(thread.id, "core")
    await loom.turn(thread, "more")
    log = anyio.Path(str(thread.state.rest.thread.path))
    was = await log.read_bytes()
    changed = was.replace(b"something", b"SOMETHING").splitlines(keepends=True)
    await log.write_bytes(b"".join(map(resealed, changed)))
    loom.manager.unload(thread)
    with pytest.raises(StoreError, match="saved as `core` cannot be forked: its history is not what was saved"):
        saved(loom, "core")
    await log.write_bytes(was.replace(b'"@":"saved"', b'"@":"sAved"'))
    with pytest.raises(StoreError, match="its record cannot be read"):
        saved(loom, "core")
    await log.write_bytes(was)
    saved(loom, "core")


def test_a_digest_is_of_what_is_said_not_of_how_it_is_written() -> None:
    assert digest([{"a": 1, "b": [2]}]) == digest([{"b": [2], "a": 1}])
    assert digest([{"a": 1}]) != digest([{"a": 2}])
    assert digest([{"a": 1}, {"b": 1}]) != digest([{"b": 1}, {"a": 1}])


# ── names ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "1 to 100 characters, not 0"),
        ("x" * (MAX_NAME + 1), "1 to 100 characters, not 101"),
        ("a\nb", "no control characters"),
        ("a\x7fb", "no control characters"),
        ("a\x85b", "no control characters"),
        ("-rf", "must not start with `-`"),
        ("  ", "must not be blank"),
    ],
)
async def test_what_is_no_name_is_refused(loom: Studio, name: str, fault: str) -> None:
    thread = loom.born()
    with pytest.raises(InvalidParams, match=fault):
        await Sessions(loom.manager).save(thread.id, name)
    assert thread.state.rest.thread.saved_as == []


@pytest.mark.parametrize("name", ["x", "x" * MAX_NAME, "Ünï çode 名前 🧵", "a-b", "a/b", "it's"])
async def test_any_other_name_is_one(loom: Studio, name: str) -> None:
    thread = loom.born()
    await Sessions(loom.manager).save(thread.id, name)
    assert [it.name for it in thread.state.rest.thread.saved_as] == [name]
    assert Sessions(loom.manager).find(name).thread_id == thread.id


async def test_a_title_is_given_only_where_there_is_none(loom: Studio) -> None:
    one, other = loom.born(), loom.born(name="Mine")
    for it in (one, other):
        await Sessions(loom.manager).save(it.id, f"of {it.id}")
    assert one.state.rest.thread.name == f"of {one.id}"
    assert other.state.rest.thread.name == "Mine"


async def test_the_latest_save_of_a_name_counts_whatever_the_clock_says(loom: Studio) -> None:
    one, other = loom.born(), loom.born()
    sessions = Sessions(loom.manager)
    await sessions.save(one.id, "core")
    loom.now -= 10_000
    await sessions.save(other.id, "core")
    assert sessions.find("core").thread_id == other.id
    assert [it.thread_id for it in sessions.page(9, None)[0]] == [other.id]
    assert (one.state.rest.thread.saved_as, len(other.state.rest.thread.saved_as)) == ([], 1)
    await rebuilt(loom)
    assert Sessions(loom.manager).find("core").thread_id == other.id


async def test_a_name_that_is_forgotten_does_not_come_back(loom: Studio) -> None:
    one, other = loom.born(), loom.born()
    sessions = Sessions(loom.manager)
    await sessions.save(one.id, "core")
    loom.manager.unload(one)
    await sessions.save(other.id, "core")
    await sessions.delete("core")
    assert other.state.rest.thread.saved_as == []
    await rebuilt(loom)
    assert Sessions(loom.manager).page(9, None) == ([], None)
    with pytest.raises(InvalidRequest, match="no session is saved as `core`"):
        await Sessions(loom.manager).delete("core")


async def test_an_older_name_stays_forgotten_where_its_log_could_not_be_told(
    loom: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = loom.born(), loom.born()
    sessions = Sessions(loom.manager)
    await sessions.save(one.id, "core")
    real = loom.manager.logs.writing

    def writing(thread_id: str) -> Any:
        if thread_id == one.id:
            raise StoreError("another process has it")
        return real(thread_id)

    monkeypatch.setattr(loom.manager.logs, "writing", writing)
    await sessions.save(other.id, "core")
    assert sessions.find("core").thread_id == other.id
    await sessions.delete("core")
    with pytest.raises(InvalidRequest):
        sessions.find("core")


@pytest.mark.parametrize("had", [None, 0, 1])
@pytest.mark.parametrize("step", [2, 3])  # before either has recorded it, and behind
async def test_of_two_saves_at_once_one_counts_and_the_other_has_lost_the_name(
    loom: Studio, monkeypatch: pytest.MonkeyPatch, had: int | None, step: int
) -> None:
    threads = [loom.born(), loom.born()]
    sessions = Sessions(loom.manager)
    if had is not None:
        await sessions.save(threads[had].id, "core")
    settled, steps, first, both = loom.manager.settled, Counter[int](), anyio.Event(), anyio.Event()

    async def together(thread_id: str | None = None) -> None:
        await settled(thread_id)
        task = anyio.get_current_task().id
        steps[task] += 1
        if steps[task] == step:
            (both if first.is_set() else first).set()
            await both.wait()

    with monkeypatch.context() as patch, anyio.fail_after(SECONDS):
        patch.setattr(loom.manager, "settled", together)
        async with anyio.create_task_group() as tasks:
            for it in threads:
                tasks.start_soon(sessions.save, it.id, "core")
                await first.wait()
    told = [it.id for it in threads if it.state.rest.thread.saved_as]
    assert [sessions.find("core").thread_id] == told
    await rebuilt(loom)
    assert [Sessions(loom.manager).find("core").thread_id] == told


async def test_a_name_is_on_the_disk_before_anybody_hears_of_it(loom: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    thread = loom.born()
    order: list[str] = []
    sync, publish = RolloutLog.sync, loom.manager.hub.publish

    async def synced(log: RolloutLog) -> None:
        await sync(log)
        order.append("synced")

    monkeypatch.setattr(RolloutLog, "sync", synced)
    monkeypatch.setattr(
        loom.manager.hub,
        "publish",
        lambda records: (order.extend(it.notification.method for it in records), publish(records)),
    )
    await Sessions(loom.manager).save(thread.id, "core")
    assert order == ["synced", "synced", "thread/name/updated", "session/saved"]


async def test_ephemeral_and_archived_threads_cannot_be_saved(loom: Studio) -> None:
    fleeting, away = loom.born(ephemeral=True), loom.born()
    await loom.manager.settled()
    await loom.manager.moves.archive(away.id)
    with pytest.raises(InvalidRequest, match="is ephemeral and cannot be saved"):
        await Sessions(loom.manager).save(fleeting.id, "x")
    with pytest.raises(InvalidRequest, match="is archived; unarchive it first"):
        await Sessions(loom.manager).save(away.id, "x")


# ── what is kept ──────────────────────────────────────────────────────────────────────────────────────────────────────


def logs(loom: Studio) -> list[str]:
    """The ids of the logs on the disk, those that are only kept with a star."""
    found = sorted((loom.room / "home" / "sessions").rglob("rollout-*"))
    return [f"{it.name.split('-', 6)[-1].split('.')[0]}{'*' if it.name.endswith('.kept') else ''}" for it in found]


async def test_a_deleted_thread_is_kept_for_its_name_and_goes_with_it(loom: Studio) -> None:
    thread = loom.born()
    await loom.turn(thread, "one")
    sessions = Sessions(loom.manager)
    await sessions.save(thread.id, "core")
    await loom.manager.moves.delete(thread.id)
    assert not loom.manager.exists(thread.id)
    assert logs(loom) == [f"{thread.id}*"]
    await loom.again()
    await loom.manager.knowledge.whole()
    sessions = Sessions(loom.manager)
    [shown], _ = sessions.page(9, None)
    assert (shown.thread_id, shown.path) == (thread.id, str(next((loom.room / "home").rglob("*.kept"))))
    with pytest.raises(InvalidRequest, match=f"thread {thread.id} is gone: it was deleted; `session/fork` still"):
        sessions.there(sessions.find("core"))
    made = saved(loom, "core")
    await loom.manager.settled()
    assert [it.status for it in loom.manager.reader.turns(made.id).data] == ["completed"]
    await sessions.delete("core")
    assert f"{thread.id}*" in logs(loom)  # the fork stands on it
    await loom.manager.moves.delete(made.id)
    assert logs(loom) == []


@pytest.mark.parametrize("anew", [False, True])
async def test_a_name_that_is_taken_over_lets_a_deleted_thread_go(loom: Studio, anew: bool) -> None:
    thread = loom.born()
    await Sessions(loom.manager).save(thread.id, "core")
    await loom.manager.moves.delete(thread.id)
    if anew:
        await rebuilt(loom)
    other = loom.born()
    await Sessions(loom.manager).save(other.id, "core")
    await loom.manager.settled()
    assert logs(loom) == [other.id]


async def test_a_purge_takes_it_from_names_and_forks_and_the_forks_go_on_without(loom: Studio) -> None:
    thread = loom.born()
    await loom.turn(thread, "one")
    await Sessions(loom.manager).save(thread.id, "core")
    made = saved(loom, "core")
    await loom.turn(made, "two")
    await loom.manager.settled()
    await loom.manager.moves.delete(thread.id, purge=True)
    assert logs(loom) == [made.id]
    with pytest.raises(InvalidRequest, match="there is no saved session or thread `core`"):
        Sessions(loom.manager).find("core")
    await loom.again()
    await loom.manager.knowledge.whole()
    again = loom.load(made)
    assert await loom.turn(again, "three") == "completed"
    assert [it for it in ("one", "two", "three") if it in loom.model.said()] == ["two", "three"]
    await loom.manager.settled()
    assert len(loom.manager.reader.turns(made.id).data) == 2


async def test_what_was_kept_of_a_deleted_thread_can_be_purged_later(loom: Studio) -> None:
    thread = loom.born()
    await loom.turn(thread, "one")
    await Sessions(loom.manager).save(thread.id, "core")
    made = saved(loom, "core")
    await loom.manager.settled()
    await loom.manager.moves.delete(thread.id)
    with pytest.raises(InvalidRequest, match="thread not found"):
        await loom.manager.moves.delete(thread.id)
    assert logs(loom) == sorted([f"{thread.id}*", made.id])
    await loom.manager.moves.delete(thread.id, purge=True)
    assert logs(loom) == [made.id]
    assert Sessions(loom.manager).page(9, None) == ([], None)
    assert await loom.turn(made, "two") == "completed"


# ── finding ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_name_goes_before_an_id_and_an_id_before_a_beginning(loom: Studio) -> None:
    one, other = loom.born(), loom.born()
    sessions = Sessions(loom.manager)
    await sessions.save(one.id, other.id)  # a name that is somebody's id
    assert sessions.find(other.id).thread_id == one.id
    assert sessions.find(other.id, by_id=True).thread_id == other.id
    assert sessions.find(one.id.upper()) == (one.id, sessions.find(other.id).saved, False)
    unique = next(n for n in range(8, 37) if not other.id.startswith(one.id[:n]))
    assert sessions.find(one.id[:unique]).thread_id == one.id


async def test_what_is_unknown_or_may_be_several_is_told_with_what_is_near(loom: Studio) -> None:
    one, other = loom.born(), loom.born()
    sessions = Sessions(loom.manager)
    await sessions.save(one.id, "codex-core")
    await loom.manager.settled()
    with pytest.raises(InvalidRequest, match=r"no saved session or thread `codex-cor`; did you mean `codex-core`\?"):
        sessions.find("codex-cor")
    with pytest.raises(InvalidRequest, match="there is no thread `codex-core`"):
        sessions.find("codex-core", by_id=True)
    with pytest.raises(InvalidRequest) as told:
        sessions.find(one.id[:8])
    assert {one.id, other.id} <= set(str(told.value).replace(",", "").split())
    with pytest.raises(InvalidRequest, match="did you mean"):
        sessions.find(one.id[:7])  # too short to stand for one
    nobody = "ffffffff-0000-7000-8000-000000000000"
    with pytest.raises(InvalidRequest, match=f"`{nobody}`; did you mean `{max(one.id, other.id)}`"):
        sessions.find(nobody)


async def test_how_far_a_thread_has_moved_is_counted_from_its_save(loom: Studio) -> None:
    thread = loom.born()
    await loom.turn(thread, "one")
    sessions = Sessions(loom.manager)
    await sessions.save(thread.id, "core")
    moved = sessions.moved(sessions.find("core"))
    assert moved == SessionMoved(turns=0, seq=0)
    before = thread.seq
    await loom.turn(thread, "two")
    await loom.turn(thread, "three")
    await loom.manager.settled()
    moved = sessions.moved(sessions.find("core"))
    assert moved == SessionMoved(turns=2, seq=thread.seq - before)
    assert sessions.moved(sessions.find(thread.id)) is None
