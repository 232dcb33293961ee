"""Does a home, read back through a server, hold everything that clients have seen of it?"""

from __future__ import annotations

import random
from collections.abc import Collection
from typing import Any

from tests.support.crash_wire import CrashWire
from tests.support.crash_witness import Json, Moment, SeenThread, Witness, texts_of

from threadloom_protocol.errors import InvalidRequest

# Sub-agents too: a list shows only what people start, unless it is asked for more.
KINDS = ["cli", "vscode", "exec", "appServer", "subAgent", "unknown"]


async def check(wire: CrashWire, rng: random.Random, only: Collection[str] | None = None) -> int:
    """Compare what is stored with what was seen; the number of threads looked at, which may be `only` some.

    After a look at all of them, what nobody could know is known. A server that carries on a close or an archive may
    overtake the look: what it shows is at least what had been seen when it was asked.
    """
    witness = wire.witness
    before = {it.id: it.moment() for it in witness.threads.values()}
    listed = await _lists(wire, rng)
    unknown = listed.keys() - witness.threads.keys()
    assert len(unknown) <= witness.births(), f"threads that nobody started: {unknown}"
    closed = await _closed(wire, listed)
    wanted = [it for it in witness.threads.values() if only is None or it.id in only]
    for thread in wanted:
        seen = before.get(thread.id) or Moment(0, None, None)
        await _check_thread(wire, thread, seen, listed.get(thread.id), rng, closed=thread.id in closed)
    for thread_id in unknown if only is None else ():
        await _adopt(wire, witness.thread(thread_id), closed=thread_id in closed)
    if only is None:
        witness.settle()
    return len(wanted)


async def _lists(wire: CrashWire, rng: random.Random) -> dict[str, tuple[bool, Json]]:
    """All threads that lists show, archived or not.

    A server that carries on an archive may do so between two pages. So one looks until two looks agree.
    """
    before: set[tuple[str, bool]] | None = None
    while True:
        views = [
            (archived, view)
            for archived in (False, True)
            for view in await pages(wire, "thread/list", rng, archived=archived, sourceKinds=KINDS)
        ]
        places = [(view["id"], archived) for archived, view in views]
        if set(places) == before:
            found = {view["id"]: (archived, view) for archived, view in views}
            assert len(found) == len(views), f"something is listed twice: {sorted(places)}"
            return found
        before = set(places)


async def pages(wire: CrashWire, method: str, rng: random.Random, **params: Any) -> list[Json]:
    """All pages of a list, of some size, as one."""
    found: list[Json] = []
    cursor, limit = None, rng.choice((3, 20, 100))
    while True:
        page = await wire.look(method, cursor=cursor, limit=limit, **params)
        found += page["data"]
        cursor = page["nextCursor"]
        if cursor is None:
            return found


async def _check_thread(
    wire: CrashWire,
    thread: SeenThread,
    before: Moment,
    listed: tuple[bool, Json] | None,
    rng: random.Random,
    *,
    closed: bool,
) -> None:
    witness = wire.witness
    where = f"thread {thread.id}"
    if listed is None:
        assert thread.deleted or witness.unsure(thread.id, "thread/delete"), f"{where} was seen, and is gone"
        thread.deleted = True
        return
    assert not thread.deleted, f"{where} was deleted, and is back"
    archived, view = listed
    toggles = _toggles(witness, thread, "archive", "unarchive")
    _among(f"{where}: archived", archived, thread.fact("archived"), bool(before.archived), *toggles)
    names = [params["name"].strip() for params in witness.unsure(thread.id, "thread/name/set")]
    _among(f"{where}: name", view["name"], thread.last_fact("name"), *names)
    notes = [params["note"].strip() or None for params in witness.unsure(thread.id, "thread/note/set")]
    _among(f"{where}: note", view["note"], thread.last_fact("note"), *notes)
    assert view["seq"] >= before.top, f"{where} ends at {view['seq']}, but {before.top} was seen"
    toggles = _toggles(witness, thread, "close", "resume")
    _among(f"{where}: closed", closed, thread.fact("closed"), bool(before.closed), *toggles)
    read = (await wire.look("thread/read", threadId=thread.id, includeTurns=True))["thread"]
    turns = read["turns"]
    _check_order(witness, thread, [turn["id"] for turn in turns])
    for turn in turns:
        _check_turn(thread, turn)
    await _check_pages(wire, thread.id, turns, rng)
    facts = {"name": view["name"], "note": view["note"], "archived": archived, "closed": closed}
    thread.adopt([turn["id"] for turn in turns], before.top, **facts)


def _toggles(witness: Witness, thread: SeenThread, on: str, off: str) -> list[bool]:
    """Values that a request without an answer may have set."""
    return [True] * bool(witness.unsure(thread.id, f"thread/{on}")) + [False] * bool(
        witness.unsure(thread.id, f"thread/{off}")
    )


def _among(what: str, actual: Any, expected: Any, *others: Any) -> None:
    assert actual in [expected if actual is None or expected is not None else type(actual)(), *others], (
        f"{what} is {actual!r}, but {expected!r} was seen (open: {others})"
    )


async def _closed(wire: CrashWire, listed: dict[str, tuple[bool, Json]]) -> set[str]:
    """The threads that read closed, tree by tree."""
    nodes = []
    for root in {view["sessionId"] for _, view in listed.values()} & listed.keys():
        nodes += (await wire.look("thread/tree", threadId=root))["data"]
    return {node["threadId"] for node in nodes if node["status"] == "shutdown"}


def _check_order(witness: Witness, thread: SeenThread, actual: list[str]) -> None:
    """The turns that were seen, in their order, without those taken back; behind them at most what was asked for."""
    if thread.foreign:
        actual = [it for it in actual if it in thread.turns]
    more = len(witness.unsure(thread.id, "turn/start"))
    assert any(actual[: len(it)] == it and len(actual) <= len(it) + more for it in thread.possible()), (
        f"thread {thread.id} has turns {actual}, but {thread.turns} were seen (open: {witness.lost})"
    )


def _check_turn(thread: SeenThread, turn: Json) -> None:
    where = f"thread {thread.id}, turn {turn['id']}"
    assert turn["status"] != "inProgress", f"{where} is open, and nobody runs it"
    assert turn["status"] == thread.status.get(turn["id"], turn["status"]), f"{where}: {turn['status']}"
    assert turn["status"] == "interrupted" or turn["id"] not in thread.cut, f"{where} was cut, and is {turn['status']}"
    if turn["id"] in thread.inherited:
        assert turn == thread.inherited[turn["id"]], f"{where}: the fork had another one"
    items = {item["id"]: item for item in turn["items"]}
    for item_id, item in items.items():
        if item_id in thread.items:
            assert item == thread.items[item_id], f"{where}: item {item} was {thread.items[item_id]}"
        texts = texts_of(item)
        for member, seen in thread.texts.get(item_id, {}).items():
            assert texts.get(member, "").startswith(seen), f"{where}: {seen!r} was seen, {texts.get(member)!r} is left"
    missing = [it for it in thread.of_turn(turn["id"]) if it not in items]
    assert not missing, f"{where}: items {missing} are gone"


async def _check_pages(wire: CrashWire, thread_id: str, turns: list[Json], rng: random.Random) -> None:
    """The same history, page by page, both ways."""
    paged = await pages(wire, "thread/turns/list", rng, threadId=thread_id, sortDirection="asc", itemsView="full")
    assert paged == turns, f"thread {thread_id}: pages of turns differ: {paged} {turns}"
    entries = await pages(wire, "thread/items/list", rng, threadId=thread_id, sortDirection="desc")
    assert [(it["turnId"], it["item"]) for it in reversed(entries)] == [
        (turn["id"], item) for turn in turns for item in turn["items"]
    ], f"thread {thread_id}: pages of items differ"


async def _adopt(wire: CrashWire, thread: SeenThread, *, closed: bool) -> None:
    """A thread whose birth was not answered."""
    view = (await wire.look("thread/read", threadId=thread.id, includeTurns=True))["thread"]
    thread.saw_view(view, born=False)
    thread.note(thread.top, closed=closed)


async def refused(wire: CrashWire, method: str, **params: Any) -> str:
    """The words of a refusal that the asker is to blame for."""
    try:
        await wire.look(method, **params)
    except InvalidRequest as refusal:
        return refusal.message
    raise AssertionError(f"{method} was not refused")
