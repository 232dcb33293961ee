"""What every index promises, whatever it is kept in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.counts import count
from tests.support.storing import BORN, KINDS, AnyStore, event, events, fork, opened, row, thread

from threadloom.ids import uuid7
from threadloom.store import texts
from threadloom.store.base import StoreError
from threadloom.store.rows import Base, ItemRow, Page, Query, Row, TextRow, TurnRow
from threadloom.store.texts import Texts


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AnyStore]:
    with opened(request.param, tmp_path) as made:
        yield made


@pytest.fixture(scope="module", params=KINDS)
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnyStore]:
    """One store for all examples of a property, each with a cwd or threads of its own."""
    with opened(request.param, tmp_path_factory.mktemp("home")) as made:
        yield made


async def put(store: AnyStore, *rows: Row) -> None:
    for it in rows:
        store.index.put(it)
    await store.index.settled()


def ids(page: Page) -> list[str]:
    return [it.thread_id for it in page.rows]


# ── rows ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_row_comes_back_as_it_was_put_and_is_replaced_as_a_whole(store: AnyStore) -> None:
    full = row(
        owner="parent",
        root="root",
        forked_from="source",
        name="Näme",
        preview="preview",
        archived=True,
        closed=True,
        thread=b'{"id":1}',
        state=b'{"s":2}',
        offset=10,
        seq=3,
        originator="client",
        git_branch="main",
        path="/somewhere",
    )
    await put(store, full)
    assert store.index.get(full.thread_id) == full
    bare = row(full.thread_id, seq=4)
    await put(store, bare)
    assert store.index.get(full.thread_id) == bare
    assert store.index.get("nobody") is None


async def test_what_is_told_late_of_a_thread_that_has_gone_on_does_not_count(store: AnyStore) -> None:
    """Another process may have had it meanwhile, and have been faster."""
    late = row(seq=4, offset=40, preview="then")
    now = replace(late, seq=5, offset=50, preview="now")
    ended = TurnRow(late.thread_id, "turn", 1, 10, 50, "completed")
    for said, turn in (now, ended), (late, ended._replace(last=20, status="inProgress")):
        store.index.put(said, [turn])
        await store.index.settled()
    assert store.index.get(late.thread_id) == now
    assert store.index.turns(late.thread_id) == [ended]
    aside = replace(now, offset=60, preview="later")  # a line may take no seq
    store.index.put(aside)
    await store.index.settled()
    assert store.index.get(late.thread_id) == aside


async def test_lists_leave_the_state_where_it_is(store: AnyStore) -> None:
    it = row(thread=b'{"id":1}', state=b"large")
    await put(store, it)
    assert store.index.threads(Query()).rows == [replace(it, state=b"")]


async def test_settled_returns_at_once_where_nothing_waits(store: AnyStore) -> None:
    await store.index.settled()
    store.index.put(it := row())
    await store.index.settled()
    await store.index.settled()
    assert store.index.threads(Query()).rows == [replace(it, state=b"")]


async def test_what_cannot_be_put_is_told_once_and_is_in_nobodys_way(store: AnyStore) -> None:
    good, bad = row(), row(created_at=None)
    for it in (good, bad):
        store.index.put(it)
    with pytest.raises(StoreError, match="index of threads"):
        await store.index.settled()
    await put(store, later := row())
    assert set(ids(store.index.threads(Query()))) == {good.thread_id, later.thread_id}


# ── pages of threads ──────────────────────────────────────────────────────────────────────────────────────────────────


async def test_threads_of_the_same_time_are_sorted_by_id(store: AnyStore) -> None:
    rows = sorted((row() for _ in range(5)), key=lambda it: it.thread_id)
    await put(store, *rows)
    for sort in ("created_at", "updated_at", "recency_at"):
        assert ids(store.index.threads(Query(sort=sort))) == [it.thread_id for it in reversed(rows)]
        assert ids(store.index.threads(Query(sort=sort, direction="asc"))) == [it.thread_id for it in rows]


async def test_the_way_back_finds_what_changed_since(store: AnyStore) -> None:
    old, mark, twin = (row(updated_at=BORN + at) for at in (1, 2, 2))
    await put(store, old, mark, twin)
    page = store.index.threads(Query(sort="updated_at", limit=1))
    assert page.back is not None
    new = row(updated_at=BORN + 3)
    await put(store, new)
    since = store.index.threads(Query(sort="updated_at", direction="asc", cursor=page.back))
    assert ids(since) == [*sorted([mark.thread_id, twin.thread_id]), new.thread_id]
    assert since.next is None


async def test_the_last_page_has_no_way_on_and_an_empty_one_none_at_all(store: AnyStore) -> None:
    assert store.index.threads(Query()) == Page([], None, None)
    await put(store, *(row(created_at=BORN + at) for at in range(4)))
    first = store.index.threads(Query(limit=2))
    second = store.index.threads(Query(limit=2, cursor=first.next))
    assert first.next is not None
    assert second.next is None


@pytest.mark.parametrize("cursor", ["", "not-a-cursor", "MTIz", "eC9h", "ä", "OTk5OTk5OTk5OTk5OTk5OTk5OTkvYQ"])
def test_what_is_no_cursor_is_refused(store: AnyStore, cursor: str) -> None:
    with pytest.raises(ValueError, match="invalid cursor"):
        store.index.threads(Query(cursor=cursor))


TIMES = st.integers(BORN, BORN + 4)  # few, so that many are the same
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "created_at": TIMES,
            "updated_at": TIMES,
            "recency_at": TIMES,
            "archived": st.booleans(),
            "source_kind": st.sampled_from(["cli", "vscode", "subAgentOther"]),
            "provider": st.sampled_from(["a", "b"]),
            "originator": st.sampled_from([None, "x", "y"]),
            "name": st.sampled_from([None, "Straße", "PLAIN"]),
            "preview": st.sampled_from(["", "fix the strasse", "Übung"]),
        }
    ),
    max_size=12,
)
QUERIES = st.builds(
    Query,
    sort=st.sampled_from(["created_at", "updated_at", "recency_at"]),
    direction=st.sampled_from(["asc", "desc"]),
    limit=st.integers(1, 5),
    archived=st.booleans(),
    source_kinds=st.sampled_from([None, [], ["cli"], ["cli", "vscode"]]),
    providers=st.sampled_from([None, [], ["b"]]),
    originators=st.sampled_from([None, ["x"], ["x", "y"]]),
    search=st.sampled_from([None, "", "STRASSE", "plain", "ü", "nothing"]),
)


def matching(rows: Sequence[Row], query: Query) -> list[Row]:
    """What a query means."""

    def fits(it: Row) -> bool:
        needle = (query.search or "").casefold()
        return (
            it.archived == query.archived
            and (not query.source_kinds or it.source_kind in query.source_kinds)
            and (not query.providers or it.provider in query.providers)
            and (not query.originators or it.originator in query.originators)
            and it.thread_id not in query.excluded
            and (needle in (it.name or "").casefold() or needle in it.preview.casefold())
        )

    order = sorted(filter(fits, rows), key=lambda it: (getattr(it, query.sort), it.thread_id))
    return order if query.direction == "asc" else order[::-1]


@settings(max_examples=count(500), deadline=None)
@given(members=ROWS, query=QUERIES, left_out=st.integers(0, 3))
async def test_pages_are_those_of_a_sorted_list_in_both_directions(
    shared: AnyStore, members: list[dict[str, Any]], query: Query, left_out: int
) -> None:
    cwd = uuid7()
    rows = [row(cwd=cwd, **it) for it in members]
    await put(shared, row(), *rows)
    query = replace(query, cwds=[cwd], excluded=[it.thread_id for it in rows[:left_out]])
    expected = [it.thread_id for it in matching(rows, query)]
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = shared.index.threads(replace(query, cursor=cursor))
        assert len(page.rows) == min(query.limit, len(expected) - len(seen))
        if page.rows:
            check_way_back(shared, query, page, rows, seen)
        seen += ids(page)
        cursor = page.next
        if cursor is None:
            break
    assert seen == expected


def check_way_back(store: AnyStore, query: Query, page: Page, rows: Sequence[Row], seen: list[str]) -> None:
    """From the first row of a page, and all of its time, to where the list began."""
    turned = replace(query, direction="asc" if query.direction == "desc" else "desc", limit=100)
    key = getattr(page.rows[0], query.sort)
    forward = matching(rows, turned)
    start = next(at for at, it in enumerate(forward) if getattr(it, query.sort) == key)
    way_back = store.index.threads(replace(turned, cursor=page.back))
    assert ids(way_back) == [it.thread_id for it in forward[start:]]
    assert set(seen) <= set(ids(way_back))


# ── the tree ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=count(200), deadline=None)
@given(owners=st.lists(st.integers(-1, 8), max_size=9), put_away=st.sets(st.integers(0, 8)))
async def test_the_tree_is_in_the_owner_edges(shared: AnyStore, owners: list[int], put_away: set[int]) -> None:
    made: list[Row] = []
    for at, owner in enumerate(owners):
        parent = made[owner].thread_id if 0 <= owner < at else None
        made.append(row(owner=parent, created_at=BORN - at // 2, archived=at in put_away, closed=at in put_away))
    await put(shared, *made)
    by_id = {it.thread_id: it for it in made}

    def children(of: str) -> list[str]:
        owned = [it for it in made if it.owner == of]
        return [it.thread_id for it in sorted(owned, key=lambda it: (it.created_at, it.thread_id))]

    def above(it: Row) -> list[str]:
        return [] if it.owner is None else [it.owner, *above(by_id[it.owner])]

    for it in made:
        below = shared.index.descendants(it.thread_id)
        assert shared.index.children(it.thread_id) == children(it.thread_id)
        assert sorted(below) == sorted(other.thread_id for other in made if it.thread_id in above(other))
        assert len(set(below)) == len(below)
        for at, child in enumerate(below):
            assert by_id[child].owner in [it.thread_id, *below[:at]], "a parent comes before its children"
        listed = [other for away in (False, True) for other in in_list(shared, it.thread_id, archived=away)]
        assert sorted(listed) == sorted(below)
        direct = shared.index.threads(Query(owner=it.thread_id, direction="asc", limit=100))
        assert ids(direct) == [other for other in children(it.thread_id) if not by_id[other].archived]


def in_list(store: AnyStore, ancestor: str, *, archived: bool) -> list[str]:
    return ids(store.index.threads(Query(ancestor=ancestor, archived=archived, limit=100)))


# ── turns and items ───────────────────────────────────────────────────────────────────────────────────────────────────


def turn(thread_id: str, seq: int, status: str = "completed") -> TurnRow:
    return TurnRow(thread_id, f"turn-{seq}", seq, seq * 100, seq * 100 + 50, status)


def item(thread_id: str, seq: int, turn_id: str = "turn") -> ItemRow:
    return ItemRow(thread_id, turn_id, f"item-{seq}", seq, seq * 100)


async def history(store: AnyStore, thread_id: str, *seqs: int) -> None:
    """Turns and items with these seqs."""
    rows = [turn(thread_id, seq) for seq in seqs], [item(thread_id, seq) for seq in seqs]
    store.index.put(row(thread_id, seq=max(seqs, default=0)), *rows)
    await store.index.settled()


def listed(store: AnyStore, thread_id: str) -> list[int]:
    """The seqs of a history, which turns and items agree on."""
    turns = [it.seq for it in store.index.turns(thread_id)]
    assert turns == [it.seq for it in store.index.items(thread_id)]
    for seq in range(20):
        found = store.index.turn(thread_id, f"turn-{seq}"), store.index.item(thread_id, f"item-{seq}")
        assert [it is not None for it in found] == [seq in turns] * 2
    return turns


async def test_turns_and_items_are_replaced_by_their_key(store: AnyStore) -> None:
    store.index.put(row("t"), [turn("t", 1, "inProgress")], [item("t", 2), item("t", 3)])
    ended = turn("t", 1)._replace(last=900)
    final = item("t", 2)._replace(offset=800)
    store.index.put(row("t"), [ended], [final])
    await store.index.settled()
    assert store.index.turns("t") == [ended]
    assert store.index.turn("t", "turn-1") == ended
    assert store.index.items("t") == [final, item("t", 3)]
    assert store.index.item("t", "item-2") == final
    assert store.index.turn("t", "turn-2") is None
    assert store.index.item("other", "item-2") is None


async def test_the_same_item_id_in_two_turns_is_two_items(store: AnyStore) -> None:
    first, second = item("t", 2, "a"), item("t", 5, "b")._replace(item_id="item-2")
    store.index.put(row("t"), items=[first, second])
    await store.index.settled()
    assert store.index.items("t") == [first, second]
    assert store.index.items("t", turn_id="a") == [first]
    assert store.index.item("t", "item-2") == second


async def test_a_fork_lists_what_it_took_along(store: AnyStore) -> None:
    source = thread(store, *events(1, 9)).header.thread_id
    made = thread(store, base=Base(source, 4, 10_000)).header.thread_id
    await history(store, source, 1, 3, 5)
    await history(store, made, 6)
    assert listed(store, source) == [1, 3, 5]
    assert listed(store, made) == [1, 3, 6]
    assert [it.thread_id for it in store.index.turns(made)] == [source, source, made]


async def test_a_revert_hides_what_lies_before_it(store: AnyStore) -> None:
    await history(store, "t", 1, 3, 5)
    store.index.hide("t", 3, 6)
    await history(store, "t", 7)
    assert listed(store, "t") == [1, 7]


async def test_a_revert_without_its_seq_hides_all_that_was_put(store: AnyStore) -> None:
    await history(store, "t", 1, 3, 5)
    store.index.hide("t", 3)
    await history(store, "t", 7)
    assert listed(store, "t") == [1, 7]


async def test_a_fork_that_reverts_leaves_its_base_alone(store: AnyStore) -> None:
    source = thread(store, *events(1, 9)).header.thread_id
    made = thread(store, base=Base(source, 5, 10_000)).header.thread_id
    await history(store, source, 1, 3, 5)
    await history(store, made, 6)
    store.index.hide(made, 3, 7)
    await history(store, made, 8)
    assert listed(store, made) == [1, 8]
    assert listed(store, source) == [1, 3, 5]


async def test_a_revert_reaches_forks_from_behind_it_alone(store: AnyStore) -> None:
    source = thread(store, *events(1, 9)).header.thread_id
    before = thread(store, base=Base(source, 5, 10_000)).header.thread_id
    behind = thread(store, base=Base(source, 6, 10_000)).header.thread_id
    await history(store, source, 1, 3, 5)
    store.index.hide(source, 3, 6)
    await store.index.settled()
    assert listed(store, source) == [1]
    assert listed(store, before) == [1, 3, 5]
    assert listed(store, behind) == [1]


async def test_a_thousand_reverts_hide_what_each_of_them_took_back(store: AnyStore) -> None:
    source = thread(store, *events(1, 9)).header.thread_id
    made = thread(store, base=Base(source, 50_000, 10_000)).header.thread_id
    seqs = range(1, 8001, 2)
    texts = [TextRow(source, f"turn-{it}", "said", it, "a kestrel") for it in seqs]
    store.index.put(row(source), [turn(source, it) for it in seqs], [item(source, it) for it in seqs], texts)
    for at in range(3, 8001, 4):  # every other turn, one after the other
        store.index.hide(source, at, at + 1)
    await put(store, row(made))
    left = [*range(1, 8001, 4)]
    for it in (source, made):
        assert listed(store, it) == left
        assert [it.seq for it in store.index.turns(it, after=left[500], limit=2, direction="desc")] == left[499:497:-1]
        found = store.index.texts.occurrences(it, "kestrel", limit=len(seqs))
        assert [place.seq for place in found] == left
    assert [it.thread_id for it in store.index.texts.find(Query(), "kestrel").page.rows] == [made, source]


async def test_a_fork_in_mid_turn_sees_it_as_it_was(store: AnyStore) -> None:
    source = thread(store, *events(1, 8))
    source_id = source.header.thread_id
    at = {line.seq: line.offset for line in source.scan()}
    made = fork(store, source, 4, event(5)).header.thread_id
    whole = TurnRow(source_id, "turn", 2, at[2], at[7], "completed")
    running = TurnRow(source_id, "other", 3, at[3], at[3], "inProgress")
    items = [ItemRow(source_id, "turn", "done", 3, at[3]), ItemRow(source_id, "turn", "open", 4, at[6])]
    store.index.put(row(source_id), [whole, running], items)
    store.index.put(row(made))
    await store.index.settled()
    assert store.index.turns(source_id) == [whole, running]
    cut = whole._replace(last=at[2], status="interrupted")
    assert store.index.turns(made) == [cut, running._replace(status="interrupted")]
    assert store.index.turn(made, "turn") == cut
    assert store.index.items(made) == [items[0], items[1]._replace(offset=at[4])]


async def test_a_fork_of_a_fork_may_leave_in_a_turn_of_the_first_base(store: AnyStore) -> None:
    source = thread(store, *events(1, 8))
    source_id = source.header.thread_id
    at = {line.seq: line.offset for line in source.scan()}
    middle = fork(store, source, 7, *events(8, 30))
    made = thread(store, base=Base(middle.header.thread_id, 4, middle.end)).header.thread_id
    whole = TurnRow(source_id, "turn", 2, at[2], at[6], "completed")
    whole_item = ItemRow(source_id, "turn", "item", 3, at[5])
    store.index.put(row(source_id), [whole], [whole_item])
    await put(store, row(middle.header.thread_id), row(made))
    assert store.index.turns(middle.header.thread_id) == [whole]
    assert store.index.turns(made) == [whole._replace(last=at[2], status="interrupted")]
    assert store.index.items(made) == [whole_item._replace(offset=at[3])]


async def test_a_row_of_the_forks_own_takes_the_place_of_the_bases(store: AnyStore) -> None:
    source = thread(store, *events(1, 8))
    source_id = source.header.thread_id
    made = fork(store, source, 4, *events(5, 7))
    made_id = made.header.thread_id
    at = {line.seq: line.offset for line in made.scan()}
    store.index.put(row(source_id), [turn(source_id, 1), turn(source_id, 2)], [item(source_id, 2), item(source_id, 3)])
    own = TurnRow(made_id, "turn-2", 2, 0, at[6], "interrupted")
    mine = ItemRow(made_id, "turn", "item-3", 3, at[5])
    store.index.put(row(made_id), [own], [mine])
    await store.index.settled()
    assert store.index.turns(made_id) == [turn(source_id, 1), own]
    assert store.index.turns(made_id, direction="desc", limit=1) == [own]
    assert store.index.turn(made_id, "turn-2") == own
    assert store.index.items(made_id) == [item(source_id, 2), mine]
    assert store.index.turns(source_id) == [turn(source_id, 1), turn(source_id, 2)]
    # A fork of the fork, from behind that row, has it; one from before does not.
    behind = fork(store, made, 6).header.thread_id
    before = fork(store, made, 5).header.thread_id
    older = fork(store, source, 4).header.thread_id
    await put(store, row(behind), row(before), row(older))
    assert store.index.turns(behind) == [turn(source_id, 1), own]
    for it in (before, older):
        assert [turn.thread_id for turn in store.index.turns(it)] == [source_id, source_id]


class Step(NamedTuple):
    """A thread: where it comes from, and what happens in it (a number reverts, so far back)."""

    source: int
    at: float
    happens: list[str | float]


FRACTIONS = st.floats(0, 1)
STEPS = st.lists(
    st.builds(
        Step, st.integers(-1, 3), FRACTIONS, st.lists(st.sampled_from(["turn", "other"]) | FRACTIONS, max_size=6)
    ),
    min_size=1,
    max_size=4,
)


class Told:
    """A thread, and what it lists after each of its seqs."""

    def __init__(self, store: AnyStore, source: Told | None, at: int) -> None:
        base = source and Base(source.id, at, 1_000_000)
        self.id = thread(store, base=base).header.thread_id
        self.seq = at
        self.views = {seq: view for seq, view in source.views.items() if seq <= at} if source else {0: []}

    @property
    def view(self) -> list[int]:
        return self.views[self.seq]

    def go_on(self, store: AnyStore, what: str | float) -> None:
        view = self.view
        self.seq += 1
        if what == "turn":
            store.index.put(row(self.id, seq=self.seq), [turn(self.id, self.seq)], [item(self.id, self.seq)])
            view = [*view, self.seq]
        elif isinstance(what, float):
            start = round(what * self.seq)
            store.index.hide(self.id, start, self.seq)
            view = [it for it in view if it < start]
        self.views[self.seq] = view


@settings(max_examples=count(300), deadline=None)
@given(steps=STEPS)
async def test_histories_through_forks_and_reverts_are_those_of_a_list(shared: AnyStore, steps: list[Step]) -> None:
    made: list[Told] = []
    for step in steps:
        source = made[step.source] if 0 <= step.source < len(made) else None
        told = Told(shared, source, round(step.at * source.seq) if source else 0)
        made.append(told)
        for what in step.happens:
            told.go_on(shared, what)
        shared.index.put(row(told.id, seq=told.seq))
    await shared.index.settled()
    for told in made:
        assert listed(shared, told.id) == told.view
        for limit in (1, 3):
            assert paged(shared, told.id, limit, "asc") == told.view
            assert paged(shared, told.id, limit, "desc") == told.view[::-1]


def paged(store: AnyStore, thread_id: str, limit: int, direction: Any) -> list[int]:
    """All turns, page by page."""
    seen: list[int] = []
    while True:
        options: Any = {"after": seen[-1] if seen else None, "limit": limit, "direction": direction}
        turns = [it.seq for it in store.index.turns(thread_id, **options)]
        assert turns == [it.seq for it in store.index.items(thread_id, **options)]
        seen += turns
        if len(turns) < limit:
            return seen


# ── what was said ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_words_that_many_threads_have_are_found_without_a_look_at_all_others(
    store: AnyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "MANY", 3)
    monkeypatch.setattr(texts, "STEP", 2)
    monkeypatch.setattr(texts, "PATIENCE", 4)
    made = [thread(store, event(1)).header.thread_id for _ in range(40)]
    for at, it in enumerate(made):
        words = "loom kestrel" if at < 9 else "loom"
        store.index.put(row(it, created_at=BORN + at), texts=[TextRow(it, "turn", "said", 1, words)])
    fork_of_one = thread(store, base=Base(made[8], 1, 10_000)).header.thread_id
    await put(store, row(fork_of_one, created_at=BORN))
    looked: list[str] = []
    snippet = Texts._snippet
    monkeypatch.setattr(Texts, "_snippet", lambda own, it, words: looked.append(it) or snippet(own, it, words))
    expected = [*made[8:0:-1], fork_of_one, made[0]]
    found, cursor = [], None
    for size in (4, 4, 2):
        looked.clear()
        page = store.index.texts.find(Query(limit=4, cursor=cursor), "kestrel").page
        assert len(page.rows) == size
        assert len(looked) <= 4 + 5
        found += ids(page)
        cursor = page.next
    assert (found, cursor) == (expected, None)
    assert ids(store.index.texts.find(Query(direction="asc", limit=3), "kestrel").page) == expected[:-4:-1]
    assert ids(store.index.texts.find(Query(limit=5), "loom").page) == made[:-6:-1]
    assert ids(store.index.texts.find(Query(archived=True), "loom").page) == []


# ── deleting ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_concealed_thread_is_in_no_list_until_it_is_shown_again(store: AnyStore) -> None:
    it = row()
    await put(store, it)
    for concealed in (True, False):
        store.index.conceal(it.thread_id, concealed=concealed)
        await store.index.settled()
        assert (store.index.get(it.thread_id) is None) == concealed
        assert ids(store.index.threads(Query())) == ([] if concealed else [it.thread_id])


async def test_a_dropped_thread_is_in_no_list(store: AnyStore) -> None:
    parent, child = row(), row(owner="")
    child = replace(child, owner=parent.thread_id)
    await put(store, parent, child)
    await history(store, child.thread_id, 1)
    store.index.put(child)
    store.index.drop(child.thread_id)
    await store.index.settled()
    assert store.index.get(child.thread_id) is None
    assert ids(store.index.threads(Query())) == [parent.thread_id]
    assert store.index.children(parent.thread_id) == store.index.descendants(parent.thread_id) == []
    assert store.index.turns(child.thread_id) == []


async def test_a_dropped_base_is_in_no_list_but_its_forks_have_their_history(store: AnyStore) -> None:
    source = thread(store, *events(1, 9)).header.thread_id
    made = thread(store, base=Base(source, 4, 10_000)).header.thread_id
    await history(store, source, 1, 3)
    await history(store, made, 6)
    store.index.drop(source)
    await store.index.settled()
    assert store.index.get(source) is None
    assert ids(store.index.threads(Query())) == [made]
    assert listed(store, made) == [1, 3, 6]


async def test_what_a_thread_owns_is_found_with_its_owners_and_states(store: AnyStore) -> None:
    top = row()
    child = replace(row(owner=""), owner=top.thread_id)
    grandchild = replace(row(owner=""), owner=child.thread_id)
    other = row()
    await put(store, top, child, grandchild, other)
    owned = store.index.owned(top.thread_id)
    assert owned == {child.thread_id: top.thread_id, grandchild.thread_id: child.thread_id}
    assert list(owned) == store.index.descendants(top.thread_id)
    assert store.index.states([top.thread_id, child.thread_id, "none"]) == {
        it.thread_id: it.state for it in (top, child)
    }


async def test_what_has_open_work_is_found_without_looking_at_all(store: AnyStore) -> None:
    quiet, busy = row(), replace(row(), due=True)
    await put(store, quiet, busy)
    assert store.index.due() == [busy.thread_id]
    await put(store, replace(busy, due=False))
    assert store.index.due() == []
