"""What every store promises of its logs, whatever they are kept in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.counts import count
from tests.support.storing import KINDS, AnyStore, aside, event, events, fork, header, index, opened, seqs, thread

from threadloom.store.base import EventLog, StoreError
from threadloom.store.rows import Base, Line

LONG = "ö" * 40_000  # 80,000 bytes


@pytest.fixture(scope="module", params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnyStore]:
    with opened(request.param, tmp_path_factory.mktemp("home")) as made:
        yield made


def test_a_header_comes_back_as_it_was(store: AnyStore) -> None:
    thread(store, thread_id="other")
    born = header(
        base=Base("other", 7, 512),
        owner="parent",
        root="root",
        spawn={"agentType": "worker"},
        settings={"cwd": "/work", "instructions": LONG},
        facts={"source": "vscode", "git": None},
    )
    store.create(born, [])
    assert store.read(born.thread_id).header == born
    assert store.open(born.thread_id).header == born


def test_a_root_that_is_not_named_is_the_thread_itself(store: AnyStore) -> None:
    log = thread(store, root="")
    assert store.read(log.header.thread_id).header.root == log.header.thread_id


def test_lines_come_back_in_order_with_their_places(store: AnyStore) -> None:
    log = thread(store, event(1, "a"))
    second = log.append([event(2, "b"), aside({"type": "reasoning"}), event(3, "c", model=[{"type": "message"}])])
    assert log.seq == 3
    lines = list(store.read(log.header.thread_id).scan())
    assert [(line.seq, line.method, line.params, line.model) for line in lines] == [
        (1, "test/happened", {"text": "a"}, None),
        (2, "test/happened", {"text": "b"}, None),
        (0, None, None, [{"type": "reasoning"}]),
        (3, "test/happened", {"text": "c"}, [{"type": "message"}]),
    ]
    assert lines[1].offset == second
    assert [line.offset + line.size for line in lines] == [*(line.offset for line in lines[1:]), log.end]
    assert list(log.scan(second)) == lines[1:]
    assert list(log.scan(second, lines[2].offset)) == lines[1:2]
    assert log.damaged == 0


def test_a_log_without_lines_goes_on_from_its_base(store: AnyStore) -> None:
    assert thread(store).seq == 0
    source = thread(store, *events(1, 5))
    made = fork(store, source, 3)
    assert made.seq == 3
    assert store.open(made.header.thread_id).seq == 3
    made.append([event(4)])
    assert store.open(made.header.thread_id).seq == 4


def test_an_opened_log_goes_on_where_it_ended(store: AnyStore) -> None:
    log = thread(store, *events(1, 400), *(aside({"n": n}) for n in range(300)))
    end = log.end
    log.close()
    again = store.open(log.header.thread_id)
    assert (again.seq, again.end) == (400, end)
    assert again.append([event(401)]) == end
    assert seqs(again.scan(end)) == [401]


def test_a_log_opened_for_reading_is_not_written(store: AnyStore) -> None:
    log = thread(store, event(1))
    reading = store.read(log.header.thread_id)
    log.append([event(2)])
    assert seqs(reading.scan()) == [1]
    with pytest.raises(StoreError, match="opened for reading"):
        reading.append([event(2)])
    reading.close()


def test_what_is_not_there_cannot_be_opened(store: AnyStore) -> None:
    for attempt in (store.open, store.read):
        with pytest.raises(StoreError, match="no "):
            attempt("01990000-0000-7000-8000-000000000000")
    with pytest.raises(StoreError):
        list(store.after("nobody", 0))


def test_a_thread_is_born_once(store: AnyStore) -> None:
    log = thread(store, event(1))
    with pytest.raises(StoreError):
        store.create(log.header, [event(1)])
    assert seqs(log.scan()) == [1]


async def test_sync_returns_and_all_is_there(store: AnyStore) -> None:
    log = thread(store, event(1))
    await log.sync()
    log.append([event(2)])
    await log.sync()
    await log.sync()
    assert seqs(log.scan()) == [1, 2]


@pytest.mark.parametrize(
    "value",
    [
        LONG,
        {"$blob": "ab" * 32},
        {"$blob": "ab" * 32, "long": LONG},
        [{"$$blob": LONG}, {"$blob": {"$blob": LONG}}, "$blob"],
        {"deep": [[{"er": LONG}, LONG, LONG[:10]]]},
    ],
)
def test_long_values_come_back_as_they_were(store: AnyStore, value: object) -> None:
    log = thread(store, event(1))
    log.append([event(2, model=[{"value": value}])])
    at = log.append([event(3)])
    [line, after] = store.after(log.header.thread_id, 1)
    assert line.model == [{"value": value}]
    assert (after.seq, after.offset) == (3, at)


def test_lines_are_read_by_their_places(store: AnyStore) -> None:
    logs = [thread(store, *events(1, 20)) for _ in range(2)]
    kept = [(log.header.thread_id, line) for log in logs for line in log.scan()][::-3]
    assert store.lines([(thread_id, line.offset) for thread_id, line in kept]) == [line for _, line in kept]
    assert store.lines([]) == []


def test_what_is_no_line_comes_empty(store: AnyStore) -> None:
    log = thread(store, *events(1, 3))
    whole = list(log.scan())[1]
    [before, inside, beyond] = store.lines(
        [(log.header.thread_id, it) for it in (0, whole.offset + 3, log.end + 10_000)]
    )
    for line in (before, inside, beyond):
        assert (line.seq, line.method, line.params, line.model) == (0, None, None, None)


# ── a naive model ─────────────────────────────────────────────────────────────────────────────────────────────────────

# How long a line's text is, and whether it takes a seq. Lengths around a chunk are where mistakes would be.
LINES = st.lists(
    st.tuples(st.sampled_from([0, 1, 90, 1_000, 4_080, 5_000, 65_400, 70_000]), st.booleans()), max_size=30
)


def written(log: EventLog, shape: list[tuple[int, bool]], seq: int) -> int:
    """Append lines of a shape, in a few writes; the last seq."""
    batch: list[bytes] = []
    for size, numbered in shape:
        seq += numbered
        batch.append(event(seq, "x" * size) if numbered else aside({"text": "x" * size}))
        if size % 2 == 0:
            log.append(batch)
            batch = []
    log.append(batch)
    return seq


@settings(max_examples=count(300), deadline=None)
@given(shape=LINES)
def test_scan_seek_and_after_are_those_of_a_list(store: AnyStore, shape: list[tuple[int, bool]]) -> None:
    log = thread(store)
    last = written(log, shape, 0)
    lines = list(log.scan())
    assert [line.seq > 0 for line in lines] == [numbered for _, numbered in shape]
    assert list(log.scan(log.end)) == []
    for line in lines[:: max(1, len(lines) // 5)]:
        assert list(log.scan(line.offset)) == [it for it in lines if it.offset >= line.offset]
        assert list(log.scan(0, line.offset)) == [it for it in lines if it.offset < line.offset]
    for seq in range(last + 2):
        assert log.seek(seq) == next((it.offset for it in lines if it.seq > seq), log.end)
        assert list(store.after(log.header.thread_id, seq)) == behind(lines, seq)
        assert list(store.after(log.header.thread_id, seq, seq + 2)) == up_to(behind(lines, seq), seq + 2)


def behind(lines: list[Line], seq: int) -> list[Line]:
    """What follows the last line up to a seq."""
    at = max((at + 1 for at, line in enumerate(lines) if 0 < line.seq <= seq), default=0)
    return lines[at:]


def up_to(lines: list[Line], stop: int) -> list[Line]:
    """What comes before the first line with a greater seq."""
    return lines[: next((at for at, line in enumerate(lines) if line.seq > stop), None)]


class Step(NamedTuple):
    """A fork of one of the threads so far, at one of its seqs, and what it goes on with."""

    source: int
    at: float
    lines: list[tuple[int, bool]]


SHORT = st.lists(st.tuples(st.sampled_from([0, 300]), st.booleans()), max_size=8)
STEPS = st.lists(st.builds(Step, st.integers(0, 9), st.floats(0, 1), SHORT), max_size=6)


@settings(max_examples=count(300), deadline=None)
@given(first=SHORT, steps=STEPS)
def test_a_fork_has_the_history_of_its_source_up_to_where_it_left(
    store: AnyStore, first: list[tuple[int, bool]], steps: list[Step]
) -> None:
    made = [thread(store)]
    written(made[0], first, 0)
    histories = [list(made[0].scan())]
    for step in steps:
        source = made[step.source % len(made)]
        history = histories[step.source % len(made)]
        at = round(step.at * source.seq)
        # A seq of the source's base is as good as one of its own: the offset then says nothing.
        log = thread(store, base=Base(source.header.thread_id, at, source.seek(at)))
        written(log, step.lines, at)
        made.append(log)
        histories.append(up_to(history, at) + list(log.scan()))
    for log, history in zip(made, histories, strict=True):
        for seq in range(log.seq + 1):
            assert list(store.after(log.header.thread_id, seq)) == behind(history, seq)
        middle = log.seq // 2
        assert list(store.after(log.header.thread_id, 0, middle)) == up_to(history, middle)


# ── deleting ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_removed_log_is_gone(store: AnyStore) -> None:
    log = thread(store, *events(1, 3))
    index(store, log)
    store.remove(log.header.thread_id)
    await store.index.settled()
    assert store.index.get(log.header.thread_id) is None
    with pytest.raises(StoreError):
        store.read(log.header.thread_id)


async def test_a_log_stays_while_forks_stand_on_it_and_goes_with_the_last(store: AnyStore) -> None:
    source = thread(store, *events(1, 5))
    child = fork(store, source, 4, *events(5, 6))
    grandchild = fork(store, child, 2)
    for log in (source, child, grandchild):
        index(store, log)
    ids = [log.header.thread_id for log in (source, child, grandchild)]
    for gone in (ids[0], ids[1]):
        store.remove(gone)
        await store.index.settled()
        assert store.index.get(gone) is None
        assert seqs(store.after(ids[2], 0)) == [1, 2]
        assert [turn.thread_id for turn in store.index.turns(ids[2])] == [ids[0]]
    store.remove(ids[2])
    await store.index.settled()
    for gone in ids:
        with pytest.raises(StoreError):
            store.read(gone)


async def test_a_log_is_kept_for_a_fork_that_no_list_shows_yet(store: AnyStore) -> None:
    source = thread(store, *events(1, 3))
    index(store, source)
    made = fork(store, source, 3)
    store.remove(source.header.thread_id)
    await store.index.settled()
    assert seqs(store.after(made.header.thread_id, 0)) == [1, 2, 3]
