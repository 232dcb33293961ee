"""What holds for every tale: stored is live, a fork is its source up to there, a close names all, late is the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import orjson
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.support.counts import count
from tests.support.crash_logs import check_index
from tests.support.crash_loom import Loom, Stroke, look, loom
from tests.support.crash_tales import PICK, TALE, Teller, told
from tests.support.tree_nodes import nodes

from threadloom.store.rollout import Rollouts
from threadloom.threads.replay import Replayed
from threadloom.threads.thread import Thread

MANY = settings(
    max_examples=count(300),
    deadline=None,
    database=None,
    phases=(Phase.explicit, Phase.generate),  # Phase.shrink takes minutes: for whoever looks into a failure
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

# ── fold(log) = live state ────────────────────────────────────────────────────────────────────────────────────────────


@MANY
@given(TALE)
def test_what_a_log_tells_is_what_was_live_at_every_prefix(tale: list[Any]) -> None:
    async def check(teller: Teller) -> None:
        for thread_id in teller.ids:
            thread = teller.get(thread_id)
            for row in [None, *teller.woven.puts[thread_id]]:  # whatever the index knew, a load ends in the same state
                assert look(Replayed(thread.store.read(thread_id), row).state) == look(thread.state)
            if isinstance(thread.store, Rollouts):
                _check_prefixes(thread.store, thread, teller.woven)
        await check_index(teller.woven.home, teller.woven.home.with_suffix(".rebuilt"))

    told(tale, check)


def _check_prefixes(store: Rollouts, thread: Thread, woven: Loom) -> None:
    whole = Path(str(thread.state.rest.thread.path)).read_bytes()
    cut = woven.home / "prefix.jsonl"
    for was in woven.moments[thread.id]:
        cut.write_bytes(whole[: was.end])
        log = store.read_at(str(cut))
        assert look(Replayed(log, None).state) == (was.rest, was.turn)
        log.close()


# ── fork(prefix) = prefix ─────────────────────────────────────────────────────────────────────────────────────────────


@MANY
@given(TALE)
def test_a_fork_is_its_source_up_to_there_whatever_comes_after(tale: list[Any]) -> None:
    async def check(teller: Teller) -> None:
        for it in teller.forks:
            assert teller.turns(it.id)[: len(it.turns)] == it.turns
            assert teller.get(it.id).history()[: len(it.history)] == it.history
            for turn in it.turns:
                items = teller.woven.threads.reader.items(it.id, turn_id=turn["id"])
                assert [orjson.loads(entry.item.to_json()) for entry in items] == turn["items"]

    told(tale, check)


# ── close ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@MANY
@given(
    st.lists(PICK, max_size=12),  # each thread's owner, among those before it
    st.lists(st.sampled_from(["busy", "closed", "unloaded", "rested", "new"]), min_size=13, max_size=13),
    PICK,
    st.booleans(),
)
def test_a_close_names_every_thread_of_the_subtree_once_children_first(
    owners: list[int], states: list[str], pick: int, ephemeral: bool
) -> None:
    async def run() -> None:
        async with loom() as woven:
            ids = [woven.start(ephemeral=ephemeral).id]
            for owner in owners:
                ids.append(woven.start(owner=ids[owner % len(ids)]).id)
            await woven.threads.settled()
            await _bring_about(woven, ids, states)
            await _check_close(woven, ids, ids[pick % len(ids)])

    anyio.run(run)


async def _bring_about(woven: Loom, ids: list[str], states: list[str]) -> None:
    """Threads in every state that a close can meet; from the bottom, as a close takes what is below along."""
    for thread_id, state in reversed(list(zip(ids, states, strict=False))):
        match state:
            case "rested":
                await woven.tell(thread_id, "x", [[Stroke("message"), Stroke("more", "y")]], "completed")
            case "closed":
                await woven.threads.cascade.close(thread_id)
            case "unloaded":
                woven.threads.unload(woven.threads.get(thread_id))
            case "busy":
                woven.begin(thread_id, "x", [[Stroke("message"), Stroke("more", "y")]])
    await anyio.wait_all_tasks_blocked()


async def _check_close(woven: Loom, ids: list[str], target: str) -> None:
    cascade = woven.threads.cascade
    owner = {it: woven.threads.lineage.parent(it) for it in ids}
    below = {it for it in ids if target in _line(owner, it)}
    before = nodes(woven.threads, target)
    states = {node.thread_id: node.status for node in before}
    dry = await cascade.close(target, dry_run=True)
    report = await cascade.close(target)
    order = [it.thread_id for it in report]
    assert [it.thread_id for it in dry] == order
    assert [it.before for it in dry] == [it.before for it in report]
    assert sorted(order) == sorted(below), "every thread of the subtree, once"
    assert all(order.index(it) < order.index(owner[it]) for it in below - {target}), "children first"
    for it in report:
        assert it.before == states[it.thread_id]
        assert it.after == "shutdown"
        assert (it.how == "already") == (it.before == "shutdown")
    left = {node.thread_id: node.status for node in nodes(woven.threads, target)}
    assert left == states | dict.fromkeys(below, "shutdown"), "nothing else was touched"
    assert [it.how for it in await cascade.close(target)] == ["already"] * len(order)


def _line(owner: dict[str, str | None], thread_id: str) -> Iterator[str]:
    at: str | None = thread_id
    while at is not None:
        yield at
        at = owner[at]


# ── catching up ───────────────────────────────────────────────────────────────────────────────────────────────────────


@MANY
@given(TALE, st.lists(PICK, min_size=3, max_size=3), st.integers(1, 9))
def test_who_comes_late_reads_the_same_merged_or_not_from_anywhere(
    tale: list[Any], marks: list[int], chunk: int
) -> None:
    async def check(teller: Teller) -> None:
        for thread_id in teller.ids:
            head = teller.get(thread_id).seq
            whole = _late(teller, thread_id, 0, 1_000_000, merge=False)
            assert {it["threadId"] if "threadId" in it else it["thread"]["id"] for it in whole} == {thread_id}
            for mark in marks:
                since = mark % (head + 1)
                plain = _late(teller, thread_id, since, 1_000_000, merge=False)
                assert plain == [it for it in whole if it["seq"] > since], "a suffix is the end of all"
                assert _late(teller, thread_id, since, chunk, merge=False) == plain, "in pieces of any size"
                for size in (chunk, 1_000_000):
                    merged = _late(teller, thread_id, since, size, merge=True)
                    assert _texts(merged) == _texts(plain)
                    assert [it for it in merged if "delta" not in it] == [it for it in plain if "delta" not in it]
                    assert [it["seq"] for it in merged if "fromSeq" in it or "delta" not in it] == sorted(
                        {it["seq"] for it in merged if "fromSeq" in it or "delta" not in it}
                    )
                    covered = [seq for it in merged for seq in range(it.get("fromSeq", it["seq"]), it["seq"] + 1)]
                    assert covered == [it["seq"] for it in plain], "each seq once, in order"

    told(tale, check)


def _late(teller: Teller, thread_id: str, since: int, chunk: int, *, merge: bool) -> list[Any]:
    """All notifications after a seq, read as the hub reads them."""
    found: list[Any] = []
    while True:
        late, head = teller.woven.threads.logs.behind(thread_id, since, chunk, merge=merge)
        found += [{"method": it.notification.method, **orjson.loads(it.params)} for it in late]
        since += chunk  # lines that nobody is told of are passed over
        if since >= head:
            return found


def _texts(notifications: list[Any]) -> dict[Any, str]:
    """What a client puts together from deltas."""
    texts: dict[Any, str] = {}
    for it in notifications:
        if "delta" in it:
            key = it["method"], it["itemId"], it.get("summaryIndex")
            texts[key] = texts.get(key, "") + it["delta"]
    return texts
