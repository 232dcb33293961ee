"""Ids: unique everywhere, and in the order in which this process gave them out."""

from __future__ import annotations

import os
import time
from threading import Lock
from typing import Final

_RANDOM_BITS: Final = 74  # what a UUIDv7 leaves beside 48 bits of time, 4 of version and 2 of variant
_LOW_BITS: Final = 62  # of those, the ones behind the variant

_BLOCK: Final = 512  # random bytes asked of the system at a time: asking costs more than the bytes
_WIDTH: Final = 10  # bytes that hold them

_lock = Lock()
_last = 0
_random = b""


def uuid7() -> str:
    """A UUID of version 7: it begins with the time in milliseconds and is greater than every one before it."""
    global _last, _random
    with _lock:
        if len(_random) < _WIDTH:
            _random = os.urandom(_BLOCK)
        chance, _random = int.from_bytes(_random[:_WIDTH]) >> (8 * _WIDTH - _RANDOM_BITS), _random[_WIDTH:]
        fresh = time.time_ns() // 1_000_000 << _RANDOM_BITS | chance
        # Within a millisecond, or where the clock was set back, counting on keeps the order.
        _last = max(fresh, _last + 1)
        return _text(_last)


def _text(value: int) -> str:
    """Time and random bits with version and variant between them, as 32 hex digits in five groups."""
    high, low = value >> _LOW_BITS, value & ((1 << _LOW_BITS) - 1)
    high = (high >> 12) << 16 | 0x7000 | (high & 0xFFF)
    digits = f"{high:016x}{0b10 << _LOW_BITS | low:016x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
