"""All that clients which nobody here wrote were sent in this session, taken together."""

from __future__ import annotations

from tests.clients.witness import seen
from tests.support.conformance import Conformance

ENOUGH = 50


def test_most_kinds_of_messages_have_crossed_a_wire_to_a_foreign_client(conformance: Conformance) -> None:
    # That each of them was valid, the tests themselves have said.
    shared = conformance.shared()
    crossed = shared & seen().keys()
    assert len(crossed) >= ENOUGH, f"{len(crossed)} of {len(shared)}; never seen: {sorted(shared - crossed)}"
