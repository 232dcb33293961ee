"""What waits to be sent to one client: in order, bounded, handed over in batches."""

from __future__ import annotations

from collections import deque
from typing import Final

from threadloom.flag import Flag

# Above this a client that sends requests without reading the answers is not read from until it catches up.
HIGH_WATER: Final = 1024 * 1024

# Bytes of a message so large that what was made of it on its way is missed elsewhere.
HUGE: Final = 4 * 1024 * 1024


class Outbox:
    """Messages for one peer. One task takes; anyone on the loop puts."""

    def __init__(self) -> None:
        self.size = 0  # bytes waiting
        self.sending = False  # a batch is under way, and the peer has not taken all of it
        self._told = self._telling = 0  # bytes of events: those that wait, and those of the batch under way
        self._largest = 0  # bytes of the largest event since none waited
        self._messages: deque[bytes] = deque()
        self._filled = Flag()
        self._drained = Flag()
        self._closed = False

    @property
    def unread(self) -> int:
        """Bytes of events beside the largest: one alone may be of any size, and so may what the peer has asked for."""
        return self._told + self._telling - self._largest

    def tell(self, event: bytes) -> None:
        """Queue what nobody has asked for."""
        self._told += len(event)
        self._largest = max(self._largest, len(event))
        self.put(event)

    def put(self, message: bytes) -> None:
        """Queue a message; after `close` it is dropped, as there is nobody to read it."""
        if self._closed:
            return
        self._messages.append(message)
        self.size += len(message)
        if len(self._messages) == 1:
            self._filled.set()

    async def take(self) -> list[bytes]:
        """All that waits, at least one message; empty once the outbox is closed and taken."""
        if not self._messages and not self._closed:
            self._filled = Flag()  # one task takes, so nobody else waits on the old one
            await self._filled.wait()
        batch = list(self._messages)
        self._messages.clear()
        self._telling, self._told = self._telling + self._told, 0
        self.sending = True
        return batch

    def sent(self, batch: list[bytes]) -> None:
        """Note that a batch has left, and let go of it: it counts until then, so that a stuck peer counts too."""
        sizes = [len(message) for message in batch]
        batch.clear()  # or they would be kept until there are others
        self._telling = 0
        self.sending = False
        self.size -= sum(sizes)
        self._largest = self._largest if self._told else 0
        self._drained.set()
        if max(sizes) > HUGE:
            give_back()

    async def below(self, limit: int) -> None:
        """Wait until less than `limit` bytes wait here."""
        while self.size >= limit and not self._closed:
            if self._drained.is_set():
                self._drained = Flag()
            await self._drained.wait()

    def close(self) -> None:
        """Take nothing more; what is here can still be taken."""
        self._closed = True
        self._filled.set()
        self._drained.set()


def give_back() -> None:
    """Return free memory to the system: the C library keeps what lies between things that are in use."""
    from ctypes import CDLL  # late: most servers never need it

    trim = getattr(CDLL(None), "malloc_trim", None)  # where it is not, there is nothing to be done
    if trim is not None:
        trim(0)
