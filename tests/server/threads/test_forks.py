"""What a fork at a turn reads of its source: no more than it has to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

from tests.server.threads.house import House

from threadloom.store.rows import Line
from threadloom.threads.forks import fork

FAILED = 6


async def test_a_fork_may_be_given_instructions_of_its_own(home: House) -> None:
    async with home.talking() as talk:
        given = {"baseInstructions": "You are a weaver.", "developerInstructions": "Weave in blue."}
        source = (await talk.start(**given))["id"]
        for asked, words in (
            ({}, ("You are a weaver.", "Weave in blue.")),
            ({"developerInstructions": "Weave in red."}, ("You are a weaver.", "Weave in red.")),
            ({"baseInstructions": "You are a tailor."}, ("You are a tailor.", "Weave in blue.")),
        ):
            fork_id = (await talk.ask("thread/fork", threadId=source, **asked))["thread"]["id"]
            rest = home.threads.rest(fork_id)
            assert (rest.base_instructions, rest.developer_instructions) == words


async def test_turns_that_failed_are_read_once_to_see_what_was_used_before_them(home: House) -> None:
    source = home.born()
    await home.said(source, "echo something")
    for _ in range(FAILED):
        await home.said(source, "fail No.")
    thread = home.thread(source)
    await home.threads.settled()
    *_, last = thread.store.index.turns(source)
    assert last.status == "failed"
    read: list[int] = []  # seqs of lines
    after = thread.store.after

    def counting(thread_id: str, seq: int, stop: int | None = None, *rest: Any, **more: Any) -> Iterator[Line]:
        nonlocal read
        for it in after(thread_id, seq, stop, *rest, **more):
            read += [it.seq] if it.seq else []
            yield it

    with patch.object(thread.store, "after", counting):
        made = fork(home.threads, thread, last_turn=last.turn_id)
    assert made.usage() is not None
    used = thread.usage()
    assert used is not None
    assert made.state.rest.usage == used.token_usage
    assert len(read) == len(set(read)), "no line twice"
    assert min(read) > 1, "and nothing from before the turn that told it"
