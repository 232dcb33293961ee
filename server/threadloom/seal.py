"""The seal of a log's line: its last member, a checksum of the bytes before it. One flipped bit can be found by it."""

from __future__ import annotations

from typing import Final
from zlib import crc32

MEMBER: Final = "crc"

_MARK: Final = b',"crc":"'
_SIZE: Final = len(_MARK) + len(b'01234567"}')


def sealed(text: bytes) -> bytes:
    """The line of an object, which is not empty and lacks its last brace."""
    return b'%b,"crc":"%08x"}\n' % (text, crc32(text))


def is_sealed(raw: bytes) -> bool:
    """Whether a line, newline left off, has a seal at all: older logs have none."""
    return raw[-_SIZE : -_SIZE + len(_MARK)] == _MARK


def is_broken(raw: bytes) -> bool:
    """Whether a line has a seal, and is not as it was written."""
    return is_sealed(raw) and raw[-10:] != b'%08x"}' % crc32(raw[:-_SIZE])


def unsealed(line: bytes) -> bytes:
    """A line without its seal, if it has one."""
    return line[: -_SIZE - 1] + b"}\n" if is_sealed(line[:-1]) else line


def mended(raw: bytes) -> bytes | None:
    """A line, newline left off, as it was before one of its bits flipped; None where more than that befell it."""
    text = raw[:-_SIZE]
    again = sealed(text)[:-1]
    if _differ(raw, again) == 1:  # in the seal itself
        return again
    if not is_sealed(raw):
        return None
    try:
        found = _flipped(len(text), crc32(text) ^ int(raw[-10:-2], 16))
    except ValueError:
        return None
    if found is None:
        return None
    at, bit = found
    return raw[:at] + bytes([raw[at] ^ bit]) + raw[at + 1 :]


def _differ(one: bytes, other: bytes) -> int:
    """In how many bits; only those of one length can be told from each other."""
    if len(one) != len(other):
        return -1
    return (int.from_bytes(one) ^ int.from_bytes(other)).bit_count()


# What one byte makes of an empty checksum, which bit alone makes what, and which byte a checksum ends with.
_TABLE: Final = [crc32(bytes([it]), 0xFFFFFFFF) ^ 0xFFFFFFFF for it in range(256)]
_BITS: Final = {_TABLE[1 << it]: 1 << it for it in range(8)}
_LAST: Final = {it >> 24: at for at, it in enumerate(_TABLE)}


def _flipped(size: int, difference: int) -> tuple[int, int] | None:
    """Byte and bit whose change alone makes two checksums of so many bytes differ so: taken back byte by byte."""
    for at in reversed(range(size)):
        if difference in _BITS:
            return at, _BITS[difference]
        last = _LAST[difference >> 24]
        difference = (difference ^ _TABLE[last]) << 8 & 0xFFFFFFFF | last
    return None
