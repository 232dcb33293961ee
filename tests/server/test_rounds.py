"""What is worked out once for all who ask in one round of the loop, and events that are made when they are needed."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from threadloom.flag import Flag
from threadloom.rounds import Rounds


@pytest.fixture(params=["asyncio", "uvloop"], scope="module")
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """Both loops that the server may run on."""
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


async def test_all_who_ask_in_one_round_get_one_answer_and_the_next_round_another() -> None:
    number = count()
    asked = Rounds(lambda name: (name, next(number)))
    heard: list[tuple[str, int]] = []

    async def ask(name: str) -> None:
        heard.append(asked(name))

    for _ in range(2):
        async with anyio.create_task_group() as tasks:
            for name in ("a", "b", "a", "b"):
                tasks.start_soon(ask, name)
    assert heard == [("a", 0), ("b", 1), ("a", 0), ("b", 1), ("a", 2), ("b", 3), ("a", 2), ("b", 3)]


async def test_what_fails_is_asked_again() -> None:
    answers = iter([None, 1])

    def answer() -> int:
        if (found := next(answers)) is None:
            raise KeyError("nothing yet")
        return found

    asked = Rounds(answer)
    with pytest.raises(KeyError, match="nothing yet"):
        asked()
    assert (asked(), asked()) == (1, 1)


def test_a_loop_that_ended_in_the_middle_of_a_round_leaves_nothing_to_the_next() -> None:
    number = count()
    asked = Rounds(lambda: next(number))

    async def ask() -> int:
        return asked()

    async def ask_twice() -> list[int]:
        first = asked()
        await checkpoint()
        await checkpoint()
        return [first, asked()]

    assert asyncio.run(ask()) == 0
    assert asyncio.run(ask_twice()) == [1, 2]


async def test_a_flag_lets_go_all_who_wait_and_whoever_comes_later() -> None:
    flag, passed = Flag(), []

    async def wait(name: str) -> None:
        await flag.wait()
        passed.append(name)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait, "early")
        tasks.start_soon(wait, "too")
        await anyio.wait_all_tasks_blocked()
        assert (flag.is_set(), passed) == (False, [])
        flag.set()
        flag.set()
        assert flag.is_set()
    await wait("late")
    assert sorted(passed) == ["early", "late", "too"]
