"""Searching what was said: in all threads, and in one."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Any

import pytest
from tests.support.talk import Talk


async def spoken(talk: Talk, *words: str, **params: Any) -> str:
    """A thread in which these words were said, one in a turn; its id."""
    thread_id = str((await talk.start(**params))["id"])
    for it in words:
        await talk.turn(thread_id, f"echo {it}")
    return thread_id


async def found(talk: Talk, term: str, **params: Any) -> list[str]:
    """The threads that a search finds."""
    answer = await talk.ask("thread/search", searchTerm=term, **params)
    return [it["thread"]["id"] for it in answer["data"]]


async def places(talk: Talk, thread_id: str, term: str, limit: int = 25) -> list[Any]:
    """The places that a search finds, page by page."""
    data, cursor = [], None
    while True:
        page = await talk.ask(
            "thread/searchOccurrences", threadId=thread_id, searchTerm=term, limit=limit, cursor=cursor
        )
        assert len(page["data"]) <= limit
        data += page["data"]
        cursor = page["nextCursor"]
        if cursor is None:
            return data


async def test_threads_are_found_by_what_anybody_said_in_them(talk: Talk) -> None:
    one = await spoken(talk, "The quick zebrafox jumps over the lazy dog")
    other = await spoken(talk, "A zebrafox again", "and nothing")
    assert await found(talk, "zebrafox") == [other, one]
    assert await found(talk, "ZebraFox") == [other, one]
    assert await found(talk, "zebraf") == [other, one]  # the last word may be a beginning
    assert await found(talk, "quick zebrafox") == [one]
    assert await found(talk, "zebrafox quick") == []  # words in their order
    assert await found(talk, "ebrafox") == []
    assert await found(talk, '"zebrafox') == [other, one]  # signs mean nothing
    assert await found(talk, "zebrafox NOT again*") == []
    assert await found(talk, "!?") == []
    assert await found(talk, "zebrafox", sortDirection="asc", sortKey="updated_at") == [one, other]
    [result] = (await talk.ask("thread/search", searchTerm="lazy dog"))["data"]
    assert "jumps over the lazy dog" in result["snippet"]
    assert result["thread"]["turns"] == []
    assert (await talk.refused("thread/search", searchTerm="  ")).message == "searchTerm must not be empty"
    for term in ("x", "!?"):
        assert (await talk.refused("thread/search", searchTerm=term, cursor="x")).message == "invalid cursor: x"


@pytest.mark.parametrize(
    ("said", "terms", "others"),
    [
        ("我們在圖書館見面", ["圖書", "書館見", "館"], ["書圖", "圖館"]),
        ("ひらがなとカタカナ", ["がな", "カタカ"], ["かな"]),
        ("한국어로 말한다", ["국어", "말한"], ["어국"]),
        ("Die Hauptstraße ist lang", ["hauptstraße", "HAUPTSTRASSE", "hauptstra"], ["straße"]),
        ("un cafe\u0301s noir", ["cafés", "cafes noir"], ["caf s"]),
    ],
)
async def test_words_are_found_in_every_script(talk: Talk, said: str, terms: list[str], others: list[str]) -> None:
    thread = await spoken(talk, said)
    assert [await found(talk, it) for it in terms] == [[thread]] * len(terms)
    assert [await found(talk, it) for it in others] == [[]] * len(others)
    await talk.ask("thread/delete", threadId=thread)
    assert await found(talk, terms[0]) == []


async def test_pages_and_filters_are_those_of_lists(talk: Talk) -> None:
    ids = [await spoken(talk, f"pagination{n % 2} mothwing") for n in range(5)]
    first = await talk.ask("thread/search", searchTerm="mothwing", limit=2)
    second = await talk.ask("thread/search", searchTerm="mothwing", limit=2, cursor=first["nextCursor"])
    third = await talk.ask("thread/search", searchTerm="mothwing", limit=2, cursor=second["nextCursor"])
    seen = [it["thread"]["id"] for page in (first, second, third) for it in page["data"]]
    assert (seen, third["nextCursor"]) == (ids[::-1], None)
    back = await talk.ask(
        "thread/search", searchTerm="mothwing", limit=2, sortDirection="asc", cursor=second["backwardsCursor"]
    )
    assert back["data"][0]["thread"]["id"] in (ids[2], ids[3])
    await talk.ask("thread/archive", threadId=ids[0])
    assert await found(talk, "mothwing") == ids[:0:-1]
    assert await found(talk, "mothwing", archived=True) == [ids[0]]
    assert await found(talk, "mothwing", sourceKinds=["subAgent"]) == []


async def test_forks_are_found_by_what_they_took_along_and_reverted_words_are_not_found(talk: Talk) -> None:
    source = await spoken(talk, "heronry first", "second bitternfen")
    turns = (await talk.ask("thread/turns/list", threadId=source, sortDirection="asc"))["data"]
    early = (await talk.ask("thread/fork", threadId=source, lastTurnId=turns[0]["id"]))["thread"]["id"]
    late = (await talk.ask("thread/fork", threadId=source))["thread"]["id"]
    later = (await talk.ask("thread/fork", threadId=late))["thread"]["id"]
    assert set(await found(talk, "heronry")) == {source, early, late, later}
    assert set(await found(talk, "bitternfen")) == {source, late, later}
    await talk.ask("thread/revert", threadId=source, beforeTurnId=turns[1]["id"])
    assert set(await found(talk, "bitternfen")) == {late, later}
    assert await places(talk, source, "bitternfen") == []
    assert len(await places(talk, later, "bitternfen")) == 2
    await talk.ask("thread/delete", threadId=source)
    assert set(await found(talk, "heronry")) == {early, late, later}


async def test_every_place_in_a_thread_is_found_in_order(talk: Talk) -> None:
    thread_id = await spoken(talk, "𝕏 Kiwi kiwi", "nothing here", f"{'long ' * 40}KIWI{' tail' * 40}")
    all_of_them = await places(talk, thread_id, "kiwi")
    assert all_of_them == await places(talk, thread_id, "KIWI", limit=2)
    assert len(all_of_them) == 6  # what was asked is echoed
    for it in all_of_them:
        units = it["snippet"].encode("utf-16-le")
        start, end = it["snippetMatchRange"]["start"], it["snippetMatchRange"]["end"]
        assert units[start * 2 : end * 2].decode("utf-16-le").lower() == "kiwi"
    items = (await talk.ask("thread/items/list", threadId=thread_id, limit=100))["data"]
    order = [it["item"]["id"] for it in items]
    at = [order.index(it["itemId"]) for it in all_of_them]
    assert at == sorted(at)
    last = all_of_them[-1]["snippet"]
    assert (last[0], last[-1], len(last)) == ("…", "…", 126)
    assert await places(talk, thread_id, "ki.i") == []
    accents = await spoken(talk, "caf\u00e9, cafe\u0301")  # of both kinds
    for term in ("caf\u00e9", "CAFE\u0301"):
        assert len(await places(talk, accents, term)) == 4
    for cursor in ("nonsense", urlsafe_b64encode(b"99999999999999999999.0").decode()):
        refusal = await talk.refused("thread/searchOccurrences", threadId=thread_id, searchTerm="x", cursor=cursor)
        assert refusal.message == f"invalid cursor: {cursor}"


@pytest.mark.parametrize("direction", ["asc", "desc"])
async def test_a_place_says_how_to_read_the_turns_around_it(talk: Talk, direction: str) -> None:
    thread_id = await spoken(talk, "one", "two plumcake", "three")
    turns = (await talk.ask("thread/turns/list", threadId=thread_id, sortDirection="asc"))["data"]
    place = (await places(talk, thread_id, "plumcake"))[0]
    assert place["turnId"] == turns[1]["id"]
    page = await talk.ask("thread/turns/list", threadId=thread_id, cursor=place["turnCursor"], sortDirection=direction)
    expected = turns[1:] if direction == "asc" else turns[1::-1]
    assert [it["id"] for it in page["data"]] == [it["id"] for it in expected]


async def test_titles_and_previews_are_searched_by_the_list(talk: Talk) -> None:
    thread_id = await spoken(talk, "the preview says quillwort")
    name = "Sundew and Butterwort, \u00e0 fleurs e\u0301toile\u0301es"  # accents of both kinds
    await talk.ask("thread/name/set", threadId=thread_id, name=name)
    for term in ("quillwort", "QUILLW", "sundew AND", "butterw", "A\u0300 fleurs", "\u00c9TOIL\u00c9ES", "e\u0301t"):
        listed = (await talk.ask("thread/list", searchTerm=term))["data"]
        assert [it["id"] for it in listed] == [thread_id]
    assert (await talk.ask("thread/list", searchTerm="quillwort sundew"))["data"] == []


async def test_an_ephemeral_thread_can_be_searched_by_itself_alone(talk: Talk) -> None:
    thread_id = await spoken(talk, "fleeting mayfly", ephemeral=True)
    assert await found(talk, "mayfly") == []
    assert len(await places(talk, thread_id, "mayfly")) == 2
    assert (await talk.refused("thread/searchOccurrences", threadId="nobody", searchTerm="x")).code == -32600
