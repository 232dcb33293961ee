"""Lulls: what waits for one lets a client go from answer to question, and is not kept for ever."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from threadloom.lull import MOMENT, Lull

PATIENCE = 0.5


class Client:
    """In each moment that is waited: `.` nothing, `q` it asks and is answered, `b` it asks, `e` it is answered."""

    def __init__(self, deeds: str) -> None:
        self.asked = 0
        self.busy = False
        self.moments = 0
        self._deeds = deeds

    async def moment(self, seconds: float) -> None:
        assert seconds == MOMENT
        deed = self._deeds[self.moments % len(self._deeds)]
        self.moments += 1
        self.asked += deed in "qb"
        self.busy = deed == "b" or (self.busy and deed != "e")

    def lull(self) -> Lull:
        return Lull(lambda: self.asked, lambda: self.busy, PATIENCE, self.moment)


def nothing(client: Client) -> None:
    """It has not asked for anything."""


def one(client: Client) -> None:
    """It has asked, and has its answer."""
    client.asked = 1


def waits(client: Client) -> None:
    """It has asked, and waits."""
    client.asked, client.busy = 1, True


@pytest.mark.parametrize(
    ("before", "deeds", "moments"),
    [
        (nothing, ".", 0),  # nobody is there: nothing to wait for
        (one, ".", 1),
        (one, "qqq.", 4),  # goes from answer to question
        (one, "b..e.", 5),  # a long request counts to its end, and the moment of its end is no lull
        (waits, "e.", 2),  # the same for one that was under way
        (waits, ".", round(PATIENCE / MOMENT)),  # one that has no end
        (one, "q", round(PATIENCE / MOMENT)),  # nor have these
    ],
)
async def test_what_can_wait_lets_others_go_first(before: Callable[[Client], None], deeds: str, moments: int) -> None:
    client = Client(deeds)
    before(client)
    await client.lull().wait()
    assert client.moments == moments


async def test_one_lull_serves_until_somebody_asks_again() -> None:
    client = Client(".")
    lull = client.lull()
    client.asked = 1
    for _ in range(3):
        await lull.wait()
    assert client.moments == 1
    client.asked = 2
    await lull.wait()
    assert client.moments == 2


async def test_all_waits_share_one_patience() -> None:
    client = Client("q")
    lull = client.lull()
    client.asked = 1
    for _ in range(3):
        await lull.wait()
    assert client.moments == round(PATIENCE / MOMENT)
