"""What the product does not have is answered in the right shape, with nothing in it."""

from __future__ import annotations

import pytest
from tests.support.places import Place

from threadloom_protocol.spec import Stage
from threadloom_protocol.v2 import V2

EMPTY = sorted(method for method, it in V2.requests.items() if it.stage is Stage.EMPTY)
PARAMS = {"skills/list": {"cwds": ["/"]}}  # the rest need none


async def test_methods_that_are_answered_empty(over: Place) -> None:
    async with over.client(experimental=True) as client:
        for method in EMPTY:
            answer = await client.call(method, PARAMS.get(method, {}))
            assert V2.requests[method].result.model_validate(answer) == V2.requests[method].result()


@pytest.mark.parametrize("method", EMPTY)
def test_an_empty_answer_holds_nothing(method: str) -> None:
    members = V2.requests[method].result().model_dump().values()
    assert all(not value for value in members)
