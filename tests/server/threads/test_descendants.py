"""Following a thread means following what it owns, from a cursor for each if one has it."""

from __future__ import annotations

from tests.server.threads.house import House
from tests.support.talk import Talk, said, story


async def methods_of(talk: Talk, thread_id: str, since: int = 0) -> list[str]:
    await talk.ask("thread/loaded/list", limit=1)
    return story(talk.heard(since=since, thread=thread_id))


def seqs(talk: Talk, thread_id: str, since: int = 0) -> list[int]:
    return [it["params"]["seq"] for it in talk.heard(since=since, thread=thread_id)]


QUIET = ["thread/status/changed active", "thread/status/changed idle"]


async def test_children_born_later_are_followed_from_their_first_event(home: House) -> None:
    async with home.talking() as talk:
        root = (await talk.start())["id"]
        child = home.born(root)
        grandchild = home.born(child)
        for thread_id in (child, grandchild):
            await home.said(thread_id, "say 9 words")
            told = await methods_of(talk, thread_id)
            assert told[:3] == ["thread/started", "thread/status/changed active", "turn/started"]
            assert told[-1] == "turn/completed"
            heard = seqs(talk, thread_id)
            assert heard == list(range(1, len(heard) + 1))


async def test_a_resume_follows_the_children_that_are_there(home: House) -> None:
    root = home.born()
    child = home.born(root)
    grandchild = home.born(child)
    await home.said(grandchild, "echo Before.")
    async with home.talking() as talk:
        await talk.ask("thread/resume", threadId=root)
        await home.said(grandchild, "echo Now.")
        later = home.born(grandchild)
        await home.said(later, "echo Later.")
        assert "turn/completed" in await methods_of(talk, grandchild)
        assert len(talk.heard("turn/completed", thread=grandchild)) == 1  # and not the one before
        assert "turn/completed" in await methods_of(talk, later)
        assert await talk.ask("thread/unsubscribe", threadId=root) == {"status": "unsubscribed"}
        before = len(talk.log)
        await home.said(later, "echo Unheard.")
        await home.said(home.born(child), "echo Unheard.")
        assert await methods_of(talk, later, before) == QUIET
        assert talk.heard("turn/started", since=before) == []


async def test_descendants_can_be_left_out(home: House) -> None:
    root = home.born()
    child = home.born(root)
    async with home.talking() as talk:
        await talk.ask("thread/resume", threadId=root, descendants=False)
        await home.said(child, "echo x")
        born = home.born(root)
        await home.said(born, "echo y")
        assert await methods_of(talk, child) == QUIET
        assert await methods_of(talk, born) == ["thread/started", *QUIET]
        await home.said(root, "echo z")
        assert "turn/completed" in await methods_of(talk, root)


async def test_each_descendant_goes_on_from_its_own_cursor(home: House) -> None:
    home.threads.clock = lambda: home.threads._ground.clock() - 1000  # all are born before anything is said
    root = home.born()
    children = [home.born(root) for _ in range(3)]
    for thread_id in (root, *children):
        await home.said(thread_id, "say 30 words")
    heads = {it: home.thread(it).seq for it in (root, *children)}
    async with home.talking() as talk:
        cursors = {children[0]: 0, children[1]: heads[children[1]] - 2}
        identity = await talk.send("thread/resume", {"threadId": root, "sinceSeq": 3, "descendants": cursors})
        await talk.answer(identity)
        await home.said(children[0], "echo On.")
        await talk.ask("thread/loaded/list")
        assert talk.log[0].get("id") == identity
        assert seqs(talk, root) == list(range(4, heads[root] + 1))
        assert seqs(talk, children[0]) == list(range(1, home.thread(children[0]).seq + 1))
        assert seqs(talk, children[1]) == [heads[children[1]] - 1, heads[children[1]]]
        assert seqs(talk, children[2]) == []  # no cursor, and born before what was heard last: from here on
        await home.said(children[2], "echo On.")
        await talk.ask("thread/loaded/list")
        assert seqs(talk, children[2])[0] == heads[children[2]] + 1


async def test_one_born_in_the_moment_of_what_was_heard_last_is_heard_from_its_birth(home: House) -> None:
    moment = home.threads.clock()
    home.threads.clock = home.threads._ground.clock = lambda: moment
    root = home.born()
    heard = home.thread(root).seq
    child = home.born(root)
    async with home.talking() as talk:
        await talk.ask("thread/resume", threadId=root, sinceSeq=heard, descendants={})
        await talk.ask("thread/loaded/list")
        assert seqs(talk, child) == list(range(1, home.thread(child).seq + 1))  # rather told twice than not at all


async def test_a_descendant_that_is_not_loaded_is_caught_up_with_too(home: House) -> None:
    root = home.born()
    child = home.born(root)
    await home.said(child, "say 30 words")
    home.threads.clock = lambda: 1 << 60
    assert set(await home.threads.upkeep.sweep()) == {root, child}
    home.threads.clock = home.threads._ground.clock
    async with home.talking() as talk:
        await talk.ask("thread/resume", threadId=root, sinceSeq=0, descendants={child: 0})
        await talk.ask("thread/loaded/list")
        told = seqs(talk, child)
        assert told == list(range(1, len(told) + 1))
        assert story(talk.heard(thread=child))[-1] == "thread/closed"
        # Its next event, when somebody loads it, follows without a seam.
        await talk.ask("turn/start", threadId=child, input=said("echo Awake."))
        await talk.until("turn/completed", threadId=child)
        told = seqs(talk, child)
        assert told == list(range(1, len(told) + 1))


async def test_ids_that_are_no_descendants_are_passed_over(home: House) -> None:
    root, stranger = home.born(), home.born()
    await home.said(stranger, "echo x")
    async with home.talking() as talk:
        await talk.ask("thread/resume", threadId=root, sinceSeq=0, descendants={stranger: 0, "nobody": 5})
        assert await methods_of(talk, stranger) == []
