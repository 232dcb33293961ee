"""Random WebSocket frames that can be had again, lawful or not; and what must become of their connection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.support.junk import lines
from tests.support.sockets import BINARY, CLOSE, CONT, PING, PONG, TEXT, frame

MOST = 12  # frames of one connection
KNOWN = (CONT, TEXT, BINARY, CLOSE, PING, PONG)
MOST_CONTROL = 125  # bytes that a control frame may hold


@dataclass(frozen=True, slots=True)
class Noise:
    """One frame."""

    opcode: int
    payload: bytes
    fin: bool = True
    reserved: int = 0
    masked: bool = True

    def bytes(self) -> bytes:
        """As it goes over the wire."""
        if self.masked:
            head, *rest = frame(self.payload, self.opcode, fin=self.fin)
        else:
            short = self.payload[:MOST_CONTROL]
            head, *rest = (0x80 if self.fin else 0) | self.opcode, len(short), *short
        return bytes([head | self.reserved << 4, *rest])

    @property
    def lawful(self) -> bool:
        """Whether it may come at all."""
        control = self.opcode >= CLOSE
        return (
            self.opcode in KNOWN
            and self.masked
            and not self.reserved
            and not (control and (not self.fin or len(self.payload) > MOST_CONTROL))
        )


def noises(seed: int, count: int) -> list[list[Noise]]:
    """The frames of so many connections; the same for the same seed."""
    random = Random(seed)
    texts = iter([*lines(seed, count * MOST)])
    return [[_noise(random, next(texts)) for _ in range(random.randint(1, MOST))] for _ in range(count)]


def _noise(random: Random, text: bytes) -> Noise:
    payload = random.choice((text, random.randbytes(random.randrange(200)), b""))
    if random.random() < 0.1:
        return Noise(
            random.randrange(16), payload, random.random() < 0.5, random.choice((0, 1, 4)), random.random() < 0.7
        )
    opcode = random.choices((TEXT, CONT, BINARY, PING, PONG), (8, 8, 2, 1, 1))[0]
    if opcode in (PING, PONG):
        return Noise(opcode, payload[:MOST_CONTROL])
    return Noise(opcode, payload, random.random() < 0.6)


def in_order(random_frames: Sequence[Noise]) -> list[Noise]:
    """The same with messages begun before they go on, and ended before others begin, as most peers have it."""
    found, begun = [], False
    for it in random_frames:
        if it.lawful and it.opcode < CLOSE:
            opcode = CONT if begun else (it.opcode or TEXT)
            it = Noise(opcode, it.payload, it.fin)
            begun = not it.fin
        found.append(it)
    return found


def left_open(sent: Sequence[Noise]) -> bytes | None:
    """What ends the message that is under way; None where the connection must have ended."""
    begun = False
    for it in sent:
        if not it.lawful or it.opcode == CLOSE:
            return None
        if it.opcode < CLOSE:
            if begun is not (it.opcode == CONT):
                return None
            begun = not it.fin
    return Noise(CONT, b"").bytes() if begun else b""
