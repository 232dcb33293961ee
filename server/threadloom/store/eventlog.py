"""What logs have in common, whatever they are kept in: how they are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Final

from threadloom.store import lines
from threadloom.store.codec import Restore, decode_line, empty, seq_of
from threadloom.store.rows import Header, Line

_STARTS: Final = (b'{"seq":', b'{"at":')  # of a line
_MODEL: Final = b',"model":'  # in a string its quotes would not stand alone


class StoredLog(ABC):
    """A log over bytes that can be read from an offset on."""

    def __init__(self, header: Header, first: int, end: int, seq: int, restore: Restore | None = None) -> None:
        self._header = header
        self._first = first  # offset behind the header
        self._end = end
        self._seq = seq
        self._restore = restore
        self._bad: set[int] = set()  # offsets of damaged lines

    @property
    def header(self) -> Header:
        """See `EventLog.header`."""
        return self._header

    @property
    @abstractmethod
    def path(self) -> str | None:
        """See `EventLog.path`."""

    @property
    def end(self) -> int:
        """See `EventLog.end`."""
        return self._end

    @property
    def seq(self) -> int:
        """See `EventLog.seq`."""
        return self._seq

    @property
    def damaged(self) -> int:
        """See `EventLog.damaged`."""
        return len(self._bad)

    @abstractmethod
    def _read(self, size: int, offset: int) -> bytes:
        """Bytes of the log."""

    def scan(self, start: int = 0, stop: int | None = None, *, model: bool = False) -> Iterator[Line]:
        """See `EventLog.scan`; with `model`, see `Store.after`."""
        stop = self._end if stop is None else min(stop, self._end)
        for offset, raw in lines.split(self._read, max(start, self._first), stop):
            if model and _MODEL not in raw and (seq := seq_of(raw)):  # most lines, and most of what they say
                yield Line(offset, len(raw) + 1, seq, 0, None, None, None)
                continue
            line = decode_line(offset, raw, self._restore)
            if line is not None:
                yield line
            else:
                self._damaged(offset)
                yield from self._rescued(offset, raw)

    def _rescued(self, offset: int, raw: bytes) -> Iterator[Line]:
        """Two lines that are one because what parted them is damaged."""
        for start in _STARTS:
            at = raw.find(start, 1)
            behind = decode_line(offset + at, raw[at:], self._restore) if at > 0 else None
            if behind is not None:
                before = decode_line(offset, raw[: at - 1], self._restore)
                yield from (before, behind) if before is not None else (behind,)
                return

    def _damaged(self, offset: int) -> None:
        """Take note of a line that cannot be read."""
        self._bad.add(offset)

    def seek(self, seq: int) -> int:
        """See `EventLog.seek`."""
        return lines.seek(self._read, self._first, self._end, seq).greater

    def behind(self, seq: int) -> int:
        """The end of the last line up to a seq: what follows at once may be lines that take none."""
        return lines.seek(self._read, self._first, self._end, seq).behind

    def at(self, offset: int) -> Line:
        """The line at an offset; an empty one where it is damaged."""
        raw = lines.line_at(self._read, offset, self._end) if self._first <= offset < self._end else b""
        line = decode_line(offset, raw, self._restore)
        if line is None:
            self._damaged(offset)
            line = next((it for it in self._rescued(offset, raw) if it.offset == offset), None)
        return line or empty(offset, len(raw) + 1)

    def _appended(self, written: Sequence[bytes], size: int) -> int:
        """Take note of lines that were written; the offset of the first."""
        offset = self._end
        self._end += size
        for raw in reversed(written):
            seq = seq_of(raw)
            if seq:
                self._seq = max(self._seq, seq)
                break
        return offset


def first_seq(header: Header) -> int:
    """The seq that a log goes on from."""
    return header.base.seq if header.base else 0
