"""What holds for every script: nothing is left open, nothing is told differently twice."""

from __future__ import annotations

from collections import Counter

import anyio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.server.agent.stage import Stage, said
from tests.support.counts import count

from threadloom.agent.base import Batch
from threadloom.agent.history import CALLS, OUTPUTS, ready

TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=40)
PLANS = st.sampled_from(
    ['{"plan": []}', '{"plan": [{"step": "s", "status": "pending"}]}', "{}", "not json", "[]", '{"plan": 1}']
)
LINE = st.one_of(
    st.integers(0, 60).map("say {} words".format),
    TEXT.map("echo {}".format),
    st.just("think"),
    st.integers(0, 20).map("slow {} ms".format),
    st.integers(1, 9).map("pieces of {} words".format),
    PLANS.map("call update_plan {}".format),
    PLANS.map("and call update_plan {}".format),
    st.just("call nosuch"),
    TEXT,
)
SCRIPT = st.lists(LINE, min_size=1, max_size=8).map("\n".join)
MANY = settings(max_examples=count(500), deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])


def check_items(stage: Stage) -> None:
    """Every item that was started is completed, once, with what was streamed of it."""
    started = [it.item.id for it in stage.events("item/started")]
    completed = {it.item.id: it.item for it in stage.events("item/completed")}
    assert started == [it.item.id for it in stage.events("item/completed")]
    assert len(set(started)) == len(started)
    streamed: dict[tuple[str, int], str] = {}
    for it in stage.events("item/agentMessage/delta"):
        streamed[it.item_id, 0] = streamed.get((it.item_id, 0), "") + it.delta
    for it in stage.events("item/reasoning/summaryTextDelta"):
        key = (it.item_id, it.summary_index)
        streamed[key] = streamed.get(key, "") + it.delta
    whole = {
        (item.id, at): text
        for item in completed.values()
        for at, text in enumerate([item.text] if item.type == "agentMessage" else item.summary)
    }
    assert streamed == whole


def check_history(stage: Stage) -> None:
    """Every call has its output, and what a model is given has it right behind."""
    calls = Counter(it["call_id"] for it in stage.history if it["type"] in CALLS)
    outputs = Counter(it["call_id"] for it in stage.history if it["type"] in OUTPUTS)
    assert calls == outputs
    assert set(calls.values()) <= {1}
    assert sorted(map(str, ready(stage.history))) == sorted(map(str, stage.history))


@MANY
@given(SCRIPT)
async def test_every_item_ends_as_it_was_streamed_and_every_call_has_its_output(script: str) -> None:
    stage = await Stage(script).play()
    check_items(stage)
    check_history(stage)
    assert stage.methods[-1] == "thread/tokenUsage/updated"


@MANY
@given(SCRIPT, st.lists(st.tuples(st.integers(1, 12), SCRIPT), max_size=4))
async def test_the_same_holds_however_often_the_user_speaks_meanwhile(
    script: str, spoken: list[tuple[int, str]]
) -> None:
    def on(batch: Batch) -> None:
        for at, text in spoken:
            if at == len(stage.batches):
                stage.steer(text)

    stage = Stage(script, on=on)
    await stage.play()
    check_items(stage)
    check_history(stage)
    heard = [text for at, text in sorted(spoken, key=lambda it: it[0]) if at <= len(stage.batches)]
    assert [it for it in stage.history if it.get("role") == "user"] == [said(script), *map(said, heard)]


@MANY
@given(SCRIPT, st.integers(0, 30))
async def test_interrupted_anywhere_nothing_is_completed_twice_and_the_next_request_is_valid(
    script: str, steps: int
) -> None:
    stage = Stage(f"{script}\nwait")
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stage.play)
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
    started = [it.item.id for it in stage.events("item/started")]
    completed = [it.item.id for it in stage.events("item/completed")]
    assert completed == started[: len(completed)]
    assert len(started) - len(completed) <= 1
    given_to_a_model = ready(stage.history)
    assert Counter(it["call_id"] for it in given_to_a_model if it["type"] in CALLS) == Counter(
        it["call_id"] for it in given_to_a_model if it["type"] in OUTPUTS
    )
