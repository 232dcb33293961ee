"""What a delta costs on its way through a provider, from the bytes of a socket to an event."""

from __future__ import annotations

import time

from tests.support.mock_model import completed, delta, sse

from threadloom.agent.models.http1 import Chunked
from threadloom.agent.models.responses import Decoder
from threadloom.agent.models.sse import Splitter
from threadloom.agent.sampling import ModelEvent, TextDelta

DELTAS = 5_000
READ = 64 << 10
MOST = 25e-6  # seconds; about 4 on an idle machine


def test_a_delta_costs_little() -> None:
    events = [sse(delta(f"word number {at} ")) for at in range(DELTAS)] + [sse(completed())]
    wire = b"".join(b"%x\r\n%b\r\n" % (len(it), it) for it in events) + b"0\r\n\r\n"
    seconds = min(_once(wire) for _ in range(5))
    assert seconds / DELTAS < MOST, f"{seconds / DELTAS * 1e6:.1f} µs"


def _once(wire: bytes) -> float:
    begun = time.process_time()
    framing, splitter, decoder, batch = Chunked(), Splitter(), Decoder(), list[ModelEvent]()
    for at in range(0, len(wire), READ):
        for name, data in splitter.feed(framing.feed(wire[at : at + READ])):
            decoder.take(name, data, batch)
    spent = time.process_time() - begun
    assert (decoder.done, sum(isinstance(event, TextDelta) for event in batch)) == (True, DELTAS)
    return spent
