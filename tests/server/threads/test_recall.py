"""What the model remembers is a fold over the log: however it was read, and whatever was let go of, it is the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from threadloom.store.rows import Line
from threadloom.threads.recall import CONTEXT, GOAL, Entry, Recall, recalled


class Log:
    """A log in a list, and the state that goes with it."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.compactions: list[int] = []
        self.seq = 0

    def write(self, model: list[dict[str, Any]], *, aside: bool) -> None:
        self.seq += not aside
        self.lines.append(Line(0, 0, 0 if aside else self.seq, 0, None, None, model))
        for it in model:
            if it.get("@") == "compact":
                self.compactions = [*(at for at in self.compactions if at < self.seq), self.seq]
            if it.get("@") == "revert":
                self.compactions = [at for at in self.compactions if at < it["fromSeq"]]

    def after(
        self, thread_id: str, seq: int, stop: int | None = None, cut: int | None = None, *, model: bool = False
    ) -> Iterator[Line]:
        """See `Store.after`: lines without a seq belong to the one before."""
        last = 0
        for it in self.lines:
            last = it.seq or last
            if last > seq or (last == seq and not it.seq):
                yield it


def naive(log: Log) -> list[Entry]:
    """What is left when every record is looked at again: no reverted one, and none before the last compaction."""
    alive: list[tuple[int, list[dict[str, Any]]]] = []
    seq = 0
    for line in log.lines:
        seq = line.seq or seq
        reverts = [it["fromSeq"] for it in line.model or [] if it.get("@") == "revert"]
        alive = [it for it in alive if all(it[0] < at for at in reverts)]
        alive.append((seq, line.model or []))
    marked = [at for at, (_, model) in enumerate(alive) if {"@": "compact"} in model]
    shown = alive[marked[-1] :] if marked else alive
    return [Entry(seq, it) for seq, model in shown for it in model if "@" not in it]


steps = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.booleans()),
        st.tuples(st.just("compact"), st.just(False)),
        st.tuples(st.just("revert"), st.integers(0, 12)),
        st.tuples(st.just("load"), st.just(False)),
    ),
    max_size=40,
)


@given(steps)
def test_live_and_read_back_it_is_what_the_whole_log_says(steps: list[tuple[str, Any]]) -> None:
    log, live = Log(), Recall()
    log.write([], aside=False)
    for number, (what, how) in enumerate(steps):
        match what:
            case "say":
                model, aside = [{"type": "message", "n": number}], how
            case "compact":
                model, aside = [{"@": "compact"}, {"type": "message", "n": number}], False
            case "revert":
                model, aside = [{"@": "revert", "fromSeq": max(2, log.seq - how)}], False
            case _:
                live = recalled(log, "", log.compactions)  # type: ignore[arg-type]
                continue
        log.write(model, aside=aside)
        if live.lost:
            live = recalled(log, "", log.compactions)  # type: ignore[arg-type]
        else:
            live.take(log.seq, model)
            live.settle()
        if live.lost:
            live = recalled(log, "", log.compactions)  # type: ignore[arg-type]
        assert live.entries == naive(log)
        assert recalled(log, "", log.compactions).entries == naive(log)  # type: ignore[arg-type]


def test_marks_say_what_comes_behind_them() -> None:
    recall = Recall()
    place: dict[str, Any] = {"@": CONTEXT, "items": 2, "documents": None}
    recall.take(1, [place, {"n": 1}, {"n": 2}, {"n": 3}, {"@": GOAL}, {"n": 4}, {"n": 5}, {"@": "unheard of"}])
    assert [(it.item["n"], it.kind) for it in recall.entries] == [
        (1, CONTEXT),
        (2, CONTEXT),
        (3, None),
        (4, GOAL),
        (5, None),
    ]
    assert recall.told == place
    recall.take(2, [{**place, "items": 0}])
    recall.take(3, [{"@": "revert", "fromSeq": 2}])
    assert recall.told == place
    recall.take(4, [{"@": "compact"}])
    assert (recall.told, recall.items) == (None, [])


def test_what_is_out_of_view_is_let_go_of() -> None:
    recall = Recall()
    recall.take(1, [{"n": 1}])
    recall.take(2, [{"@": "compact"}, {"n": 2}])
    recall.settle()
    recall.take(3, [{"n": 3}, {"@": "revert", "fromSeq": 3}])
    assert (recall.items, recall.lost) == ([{"n": 2}], False)
    recall.take(4, [{"@": "revert", "fromSeq": 2}])
    assert recall.lost  # it must be read again
