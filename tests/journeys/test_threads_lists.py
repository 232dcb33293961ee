"""Lists of threads, turns and items: filters, orders, and pages both ways."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.conformance import Conformance
from tests.support.places import Place, running
from tests.support.talk import Message, Talk, talking, text_of

# ── threads ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def ids(talk: Talk, **params: Any) -> list[str]:
    return [it["id"] for it in (await talk.ask("thread/list", params))["data"]]


async def born(talk: Talk, count: int, **params: Any) -> list[str]:
    """Threads with a name: those without it, and without a turn, are in no such list."""
    made = [(await talk.start(**params))["id"] for _ in range(count)]
    for it in made:
        await talk.ask("thread/name/set", threadId=it, name="x")
    return made


async def test_threads_are_listed_newest_first(talk: Talk, tmp_path: Path) -> None:
    made = await born(talk, 3, cwd=str(tmp_path))
    assert await ids(talk, cwd=str(tmp_path)) == made[::-1]
    assert await ids(talk, cwd=str(tmp_path), sortDirection="asc") == made
    assert await ids(talk, cwd=str(tmp_path), sortKey="section_position") == made[::-1]


async def test_what_was_opened_and_left_without_a_word_is_in_no_list_of_what_people_began(
    talk: Talk, tmp_path: Path
) -> None:
    here = {"cwd": str(tmp_path)}
    left, named, spoken, ordered = [(await talk.start(**here))["id"] for _ in range(4)]
    await talk.ask("thread/name/set", threadId=named, name="Later")
    await talk.turn(spoken, "echo x")
    await talk.ask("thread/shellCommand", threadId=ordered, command="true")
    await talk.until("turn/completed", threadId=ordered)
    forked = (await talk.ask("thread/fork", threadId=spoken))["thread"]["id"]
    for kinds in (None, [], ["cli", "vscode"]):
        assert await ids(talk, **here, sourceKinds=kinds) == [forked, ordered, spoken, named]
    page = await talk.ask("thread/list", here, limit=4)
    assert page["nextCursor"] is None
    assert await ids(talk, **here, sourceKinds=["vscode", "subAgent"]) == [forked, ordered, spoken, named, left]
    await talk.turn(left, "echo y")
    assert left in await ids(talk, **here)


async def test_a_list_goes_on_where_a_page_ended_and_can_turn_back(talk: Talk, tmp_path: Path) -> None:
    made = await born(talk, 5, cwd=str(tmp_path))
    here = {"cwd": str(tmp_path), "limit": 2}
    pages = [await talk.ask("thread/list", here)]
    while pages[-1]["nextCursor"] is not None:
        pages.append(await talk.ask("thread/list", here, cursor=pages[-1]["nextCursor"]))
    assert [[it["id"] for it in page["data"]] for page in pages] == [[made[4], made[3]], [made[2], made[1]], [made[0]]]
    # The other way from a page: it starts with that page's first thread, and shows what has come since.
    fresh = await born(talk, 1, cwd=str(tmp_path))
    back = await talk.ask("thread/list", here | {"limit": 9}, cursor=pages[0]["backwardsCursor"], sortDirection="asc")
    assert [it["id"] for it in back["data"]][-2:] == [made[4], *fresh]
    none = await talk.ask("thread/list", cwd=str(tmp_path / "none"))
    assert (none["data"], none["nextCursor"], none["backwardsCursor"]) == ([], None, None)


@pytest.mark.parametrize("key", ["updated_at", "recency_at", "created_at"])
async def test_every_order_pages_without_losing_or_repeating(talk: Talk, tmp_path: Path, key: str) -> None:
    made = await born(talk, 7, cwd=str(tmp_path))
    for thread_id in made[::3]:
        await talk.turn(thread_id, "echo x")
    for direction in ("asc", "desc"):
        here = {"cwd": str(tmp_path), "limit": 3, "sortKey": key, "sortDirection": direction}
        page = await talk.ask("thread/list", here)
        found = page["data"]
        while page["nextCursor"]:
            page = await talk.ask("thread/list", here, cursor=page["nextCursor"])
            found += page["data"]
        assert sorted(it["id"] for it in found) == made
        member = {"updated_at": "updatedAt", "recency_at": "recencyAt", "created_at": "createdAt"}[key]
        # Times are told in seconds; within one, the order is finer than that.
        times = [it[member] for it in found]
        assert times == sorted(times, reverse=direction == "desc")


async def test_what_was_spoken_in_last_comes_first_by_recency(talk: Talk, tmp_path: Path) -> None:
    made = await born(talk, 3, cwd=str(tmp_path))
    listed = (await talk.ask("thread/list", cwd=str(tmp_path), sortKey="recency_at"))["data"]
    assert [it["id"] for it in listed] == made[::-1]


async def test_lists_filter_by_directory_and_provider(talk: Talk, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    [first] = await born(talk, 1, cwd=str(one))
    [second] = await born(talk, 1, cwd=str(two), modelProvider="local")
    assert await ids(talk, cwd=str(one)) == [first]
    assert await ids(talk, cwd=[str(one), str(two)]) == [second, first]
    assert await ids(talk, cwd=str(tmp_path)) == []
    both = {"cwd": [str(one), str(two)]}
    assert await ids(talk, **both, modelProviders=["local"]) == [second]
    assert await ids(talk, **both, modelProviders=["rehearsal"]) == [first]
    assert await ids(talk, **both, modelProviders=[]) == [second, first]
    assert await ids(talk, **both, excludedThreadIds=[second]) == [first]
    assert await ids(talk, **both, sectionId="no-such-section") == []


async def test_lists_filter_by_kind_of_source(talk: Talk, tmp_path: Path) -> None:
    [made] = await born(talk, 1, cwd=str(tmp_path))
    for kinds, expected in (
        (None, [made]),
        ([], [made]),
        (["vscode"], [made]),
        (["cli", "vscode", "exec"], [made]),
        (["cli"], []),
        (["subAgent"], []),
        (["subAgentThreadSpawn"], []),
    ):
        assert await ids(talk, cwd=str(tmp_path), sourceKinds=kinds) == expected
    assert (await talk.refused("thread/list", sourceKinds=["telepathy"])).code == -32602


async def test_a_search_looks_at_names_and_first_words(talk: Talk, tmp_path: Path) -> None:
    [named, spoken, other] = await born(talk, 3, cwd=str(tmp_path))
    await talk.ask("thread/name/set", threadId=named, name="Über die Brücke")
    await talk.turn(spoken, "echo a BRIDGE over 100% of it")
    assert await ids(talk, cwd=str(tmp_path), searchTerm="über DIE") == [named]
    assert await ids(talk, cwd=str(tmp_path), searchTerm="bridge over 100%") == [spoken]
    assert await ids(talk, cwd=str(tmp_path), searchTerm="%") == [spoken]
    assert await ids(talk, cwd=str(tmp_path), searchTerm="_") == []
    assert await ids(talk, cwd=str(tmp_path), searchTerm="") == [other, spoken, named]


async def test_a_list_shows_how_threads_stand(talk: Talk, tmp_path: Path) -> None:
    [busy, failed, idle] = await born(talk, 3, cwd=str(tmp_path))
    turn_id = await talk.begin(busy, "wait")
    await talk.turn(failed, "fail")
    listed = {it["id"]: it["status"]["type"] for it in (await talk.ask("thread/list", cwd=str(tmp_path)))["data"]}
    assert listed == {busy: "active", failed: "systemError", idle: "idle"}
    await talk.ask("turn/interrupt", threadId=busy, turnId=turn_id)


async def test_limits_are_bounded(talk: Talk, tmp_path: Path) -> None:
    made = await born(talk, 3, cwd=str(tmp_path))
    assert await ids(talk, cwd=str(tmp_path), limit=0) == [made[2]]
    assert await ids(talk, cwd=str(tmp_path), limit=4_000_000_000) == made[::-1]


async def test_no_more_than_a_hundred_threads_come_at_once(tmp_path: Path, conformance: Conformance) -> None:
    async with running("memory", tmp_path, conformance) as place, talking(place) as talk:
        made = await born(talk, 103, cwd=str(tmp_path))
        page = await talk.ask("thread/list", limit=1000)
        assert [it["id"] for it in page["data"]] == made[:2:-1]
        rest = await talk.ask("thread/list", limit=1000, cursor=page["nextCursor"])
        assert [it["id"] for it in rest["data"]] == made[2::-1]
        assert rest["nextCursor"] is None
        assert len((await talk.ask("thread/list"))["data"]) == 25


@pytest.mark.parametrize("cursor", ["", "bogus", "czEy", "💥", "{}"])
async def test_a_cursor_that_is_none_is_refused(talk: Talk, cursor: str) -> None:
    refusal = await talk.refused("thread/list", cursor=cursor)
    assert (refusal.code, refusal.message) == (-32600, f"invalid cursor: {cursor}")


async def test_relations_exclude_each_other(talk: Talk) -> None:
    thread = await talk.start()
    both = {"parentThreadId": thread["id"], "ancestorThreadId": thread["id"]}
    assert "mutually exclusive" in (await talk.refused("thread/list", **both)).message
    assert await ids(talk, parentThreadId=thread["id"]) == []
    assert await ids(talk, ancestorThreadId=thread["id"]) == []


async def test_relations_need_the_experimental_handshake(place: Place) -> None:
    async with talking(place, experimental=False) as talk:
        refusal = await talk.refused("thread/list", parentThreadId="x")
        assert refusal.message == "thread/list.parentThreadId requires experimentalApi capability"


async def test_loaded_threads_come_in_pages(over: Place) -> None:
    async with talking(over) as talk:
        assert await talk.ask("thread/loaded/list") == {"data": [], "nextCursor": None}
        made = await born(talk, 3)
        assert await talk.ask("thread/loaded/list") == {"data": made, "nextCursor": None}
        page = await talk.ask("thread/loaded/list", limit=2)
        assert page == {"data": made[:2], "nextCursor": made[1]}
        rest = await talk.ask("thread/loaded/list", limit=2, cursor=page["nextCursor"])
        assert rest == {"data": made[2:], "nextCursor": None}
        assert (await talk.ask("thread/loaded/list", limit=0))["data"] == made[:1]
        assert (await talk.refused("thread/loaded/list", cursor="bogus")).message == "invalid cursor: bogus"


# ── turns ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def spoken(talk: Talk, count: int) -> tuple[str, list[str]]:
    """A thread with some turns."""
    thread = await talk.start()
    return thread["id"], [(await talk.turn(thread["id"], f"think\necho {number}"))["id"] for number in range(count)]


def names(page: Message) -> list[str]:
    return [it["id"] for it in page["data"]]


async def test_turns_come_newest_first_in_pages_both_ways(talk: Talk) -> None:
    thread_id, turns = await spoken(talk, 5)
    here = {"threadId": thread_id, "limit": 2}
    first = await talk.ask("thread/turns/list", here)
    assert names(first) == [turns[4], turns[3]]
    second = await talk.ask("thread/turns/list", here, cursor=first["nextCursor"])
    last = await talk.ask("thread/turns/list", here, cursor=second["nextCursor"])
    assert (names(second), names(last), last["nextCursor"]) == ([turns[2], turns[1]], [turns[0]], None)
    # Turning round begins with the turn that the page began with: it may have changed since.
    back = await talk.ask("thread/turns/list", here, cursor=second["backwardsCursor"], sortDirection="asc")
    assert names(back) == [turns[2], turns[3]]
    onward = await talk.ask("thread/turns/list", here, cursor=back["nextCursor"], sortDirection="asc")
    assert names(onward) == [turns[4]]
    again = await talk.ask("thread/turns/list", here, cursor=onward["backwardsCursor"], sortDirection="desc")
    assert names(again) == [turns[4], turns[3]]


async def test_a_turn_shows_as_much_as_is_asked_for(talk: Talk) -> None:
    thread_id, _ = await spoken(talk, 1)
    seen = {}
    for view in (None, "notLoaded", "summary", "full"):
        [turn] = (await talk.ask("thread/turns/list", threadId=thread_id, itemsView=view))["data"]
        assert turn["itemsView"] == (view or "summary")
        seen[view] = [it["type"] for it in turn["items"]]
    assert seen["notLoaded"] == []
    assert seen["summary"] == seen[None] == ["userMessage", "agentMessage"]
    assert seen["full"] == ["userMessage", "reasoning", "agentMessage"]


async def test_a_thread_without_turns_has_an_empty_page(talk: Talk) -> None:
    thread = await talk.start()
    empty = {"data": [], "nextCursor": None, "backwardsCursor": None}
    assert await talk.ask("thread/turns/list", threadId=thread["id"]) == empty
    assert await talk.ask("thread/items/list", threadId=thread["id"]) == empty


async def test_a_page_of_turns_is_bounded(talk: Talk) -> None:
    thread_id, turns = await spoken(talk, 2)
    assert names(await talk.ask("thread/turns/list", threadId=thread_id, limit=0)) == [turns[1]]
    assert names(await talk.ask("thread/turns/list", threadId=thread_id, limit=4_000_000_000)) == turns[::-1]


@pytest.mark.parametrize("method", ["thread/turns/list", "thread/items/list"])
@pytest.mark.parametrize(
    "cursor", ["", "bogus", "c3g=", "💥", "czk5OTk5OTk5OTk5OTk5OTk5OTk5", "YXQtOTk5OTk5OTk5OTk5OTk5OTk5OTk5"]
)
async def test_a_cursor_of_something_else_is_refused(talk: Talk, method: str, cursor: str) -> None:
    thread = await talk.start()
    assert (await talk.refused(method, threadId=thread["id"], cursor=cursor)).message == f"invalid cursor: {cursor}"


async def test_a_running_turn_is_on_the_page_as_it_stands(talk: Talk) -> None:
    thread = await talk.start()
    turn_id = await talk.begin(thread["id"], "echo So far.\nwait")
    await talk.until("item/agentMessage/delta")
    [turn] = (await talk.ask("thread/turns/list", threadId=thread["id"]))["data"]
    assert (turn["id"], turn["status"], text_of(turn)) == (turn_id, "inProgress", "So far.")
    entries = (await talk.ask("thread/items/list", threadId=thread["id"]))["data"]
    assert entries[-1]["item"]["text"] == "So far."
    await talk.ask("turn/interrupt", threadId=thread["id"], turnId=turn_id)


# ── items ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_items_come_oldest_first_in_pages_both_ways(talk: Talk) -> None:
    thread_id, turns = await spoken(talk, 3)
    whole = (await talk.ask("thread/items/list", threadId=thread_id))["data"]
    assert [it["turnId"] for it in whole] == [turn for turn in turns for _ in range(3)]
    assert [it["item"]["type"] for it in whole] == ["userMessage", "reasoning", "agentMessage"] * 3
    expected = [it["item"]["id"] for it in whole]

    async def page(**params: Any) -> Message:
        return dict(await talk.ask("thread/items/list", threadId=thread_id, limit=4, **params))

    def found(page: Message) -> list[str]:
        return [it["item"]["id"] for it in page["data"]]

    first = await page()
    second = await page(cursor=first["nextCursor"])
    third = await page(cursor=second["nextCursor"])
    assert [found(it) for it in (first, second, third)] == [expected[:4], expected[4:8], expected[8:]]
    assert third["nextCursor"] is None
    back = await page(cursor=second["backwardsCursor"], sortDirection="desc")
    assert found(back) == expected[4:0:-1]
    assert found(await page(sortDirection="desc")) == expected[:4:-1]


async def test_items_of_one_turn_and_from_an_item_on(talk: Talk) -> None:
    thread_id, turns = await spoken(talk, 3)
    of_one = {"threadId": thread_id, "turnId": turns[1]}
    entries = (await talk.ask("thread/items/list", of_one))["data"]
    assert [it["turnId"] for it in entries] == [turns[1]] * 3
    anchor = {"type": "item", "itemId": entries[1]["item"]["id"]}
    after = await talk.ask("thread/items/list", of_one, cursor=anchor)
    assert [it["item"]["id"] for it in after["data"]] == [entries[2]["item"]["id"]]
    before = await talk.ask("thread/items/list", of_one, cursor=anchor, sortDirection="desc")
    assert [it["item"]["id"] for it in before["data"]] == [entries[0]["item"]["id"]]
    nowhere = await talk.refused("thread/items/list", **of_one, cursor={"type": "item", "itemId": "x"})
    assert nowhere.message == "item not found: x"
    assert (await talk.ask("thread/items/list", threadId=thread_id, turnId="x"))["data"] == []


async def test_a_resume_says_where_paging_backwards_begins(talk: Talk) -> None:
    thread_id, turns = await spoken(talk, 3)
    page = {"limit": 2, "itemsView": "notLoaded"}
    resumed = await talk.ask("thread/resume", threadId=thread_id, excludeTurns=True, initialTurnsPage=page)
    assert resumed["thread"]["turns"] == []
    asked = await talk.ask("thread/turns/list", page, threadId=thread_id)
    assert resumed["initialTurnsPage"] == asked
    assert names(asked) == [turns[2], turns[1]]
    backwards = {"threadId": thread_id, "sortDirection": "desc"}
    found = await talk.ask("thread/turns/list", backwards, cursor=resumed["turnsBackwardsCursor"])
    assert names(found) == turns[::-1]
    items = await talk.ask("thread/items/list", backwards, cursor=resumed["itemsBackwardsCursor"], limit=2)
    assert [it["item"]["type"] for it in items["data"]] == ["agentMessage", "reasoning"]
    assert items["data"][0]["turnId"] == turns[2]
