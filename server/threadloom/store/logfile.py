"""The log of a thread as a file: one write for what belongs together, all of it or nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from threadloom.log import logger
from threadloom.seal import sealed, unsealed
from threadloom.store import lines
from threadloom.store.base import StoreError
from threadloom.store.blobs import INLINE, Blobs
from threadloom.store.codec import encode_header
from threadloom.store.eventlog import StoredLog, first_seq
from threadloom.store.faults import refused, write_all
from threadloom.store.handles import Handles
from threadloom.store.headers import Known, nothing_known, read_header
from threadloom.store.rows import Header
from threadloom.store.syncing import Syncer

_log = logger(__name__)

_WRITE: Final = os.O_RDWR | os.O_APPEND
_told: Final[set[tuple[str, int]]] = set()  # damage that this process has reported


def _is_news(path: str, offset: int) -> bool:
    """Whether damage was not met before: whoever reads on meets it again and again."""
    news = (path, offset) not in _told
    _told.add((path, offset))
    return news


def _unheard(thread_id: str) -> None:
    return None


class FileLog(StoredLog):
    """A log in a file, up to the last whole line that was there when it was opened."""

    _flags = os.O_RDONLY
    _unended = False  # the newline of its last line is damaged, and read as if it were not

    def __init__(
        self,
        path: str,
        blobs: Blobs,
        handles: Handles,
        known: Known = nothing_known,
        suspect: Callable[[str], None] = _unheard,
    ) -> None:
        self._path = path
        self._blobs = blobs
        self._handles = handles
        self._suspect = suspect  # hears of a thread that a damaged line was met of, once for each
        self._size = os.fstat(self._descriptor()).st_size
        head = read_header(self._read, self._size, path, blobs.restore, known)
        end = lines.whole_end(self._read, self._size)
        if end < self._size and lines.is_unended(self._read, end, self._size):
            self._unended, end = True, self._size
        super().__init__(head.header, head.first, end, -1, blobs.restore)
        self.guessed = head.guessed
        if self._unended:
            super()._damaged(end - 1)
            if _is_news(path, end - 1):
                _log.warning("the end of the last line of a log is damaged", path=path, offset=end - 1)
        if head.damaged:
            super()._damaged(0)
            if _is_news(path, 0):
                _log.warning("the header of a log is damaged", path=path, mended=not head.guessed)

    @property
    def path(self) -> str:
        """See `EventLog.path`."""
        return self._path

    @property
    def seq(self) -> int:
        """See `EventLog.seq`."""
        if self._seq < 0:
            last, lost = lines.last_seq(self._read, self._first, self._end)
            self._seq = max(last, first_seq(self._header)) + lost  # a damaged line had one seq at most
        return self._seq

    def append(self, lines: Sequence[bytes]) -> int:
        """See `EventLog.append`."""
        raise StoreError(f"{self._path} was opened for reading.")

    async def sync(self) -> None:
        """See `EventLog.sync`."""

    def close(self) -> None:
        """See `EventLog.close`."""
        self._handles.close(self._path)

    def _read(self, size: int, offset: int) -> bytes:
        try:
            data = os.pread(self._descriptor(), size, offset)
        except OSError as fault:
            raise refused("read", self._path, fault) from fault
        at = self._size - 1 - offset
        return data[:at] + b"\n" + data[at + 1 :] if self._unended and 0 <= at < len(data) else data

    def _damaged(self, offset: int) -> None:
        super()._damaged(offset)
        if _is_news(self._path, offset):
            _log.warning("a log has a damaged line, which is passed over", path=self._path, offset=offset)
            self._suspect(self._header.thread_id)

    def _descriptor(self) -> int:
        return self._handles.get(self._path, self._flags)


class RolloutLog(FileLog):
    """A log that grows. It is the file's only writer: see `Lease`."""

    _flags = _WRITE

    def __init__(
        self,
        path: str,
        blobs: Blobs,
        handles: Handles,
        syncer: Syncer,
        known: Known = nothing_known,
        suspect: Callable[[str], None] = _unheard,
    ) -> None:
        super().__init__(path, blobs, handles, known, suspect)
        self._syncer = syncer
        self._synced = -1  # offset up to which it is known to be on the disk
        self._written = self._end  # offset from which on it was written here
        self._named = False  # its name is known to be there: whoever gave it may have been killed before that
        if self._unended:
            self._end_line()
        self._torn = self._end < self._size  # there is something behind the end that does not belong there
        if self._torn:
            self._report()
            self._cut(self._descriptor())

    def reserve(self, seq: int) -> None:
        """Give out no seq up to this one: somebody may have seen it."""
        self._seq = max(self.seq, seq)

    def append(self, lines: Sequence[bytes]) -> int:
        """See `EventLog.append`."""
        data = b"".join(lines)
        if len(data) > INLINE:
            lines = [_shrunk(line, self._blobs, self._header.thread_id) for line in lines]
            data = b"".join(lines)
        try:
            descriptor = self._descriptor()
            if self._torn:
                self._cut(descriptor)
            self._write(descriptor, data)
        except OSError as fault:
            raise refused("write", self._path, fault) from fault
        return self._appended(lines, len(data))

    async def sync(self) -> None:
        """See `EventLog.sync`."""
        end = self._end
        if self._synced < end:
            await self._syncer.sync(self._path, max(self._synced, self._written), end, folder=not self._named)
            self._named = True
            self._synced = max(self._synced, end)

    def _write(self, descriptor: int, data: bytes) -> None:
        try:
            write_all(descriptor, data)
        except OSError:
            self._torn = True
            with suppress(OSError):  # tried again before the next write
                self._cut(descriptor)
            raise

    def _end_line(self) -> None:
        descriptor = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)  # one for appending would take it at the end
        try:
            write_all(descriptor, b"\n", self._size - 1)
        finally:
            os.close(descriptor)
        self._unended = False

    def _cut(self, descriptor: int) -> None:
        os.ftruncate(descriptor, self._end)
        self._torn = False

    def _report(self) -> None:
        self._bad.add(self._end)
        _log.warning(
            "the last line of a log is torn and was cut", path=self._path, offset=self._end, lost=self._size - self._end
        )


def create(
    path: str, header: Header, first: Sequence[bytes], blobs: Blobs, handles: Handles, syncer: Syncer
) -> RolloutLog:
    """A new log: header and first lines in one write."""
    data = b"".join(_shrunk(line, blobs, header.thread_id) for line in (encode_header(header), *first))
    try:
        descriptor = _new_file(path, handles)
        try:
            write_all(descriptor, data)
        except OSError:
            _undo(path, descriptor, handles)
            raise
    except OSError as fault:
        raise refused("create", path, fault) from fault
    log = RolloutLog(path, blobs, handles, syncer)
    log._written = 0
    return log


def _shrunk(line: bytes, blobs: Blobs, thread_id: str) -> bytes:
    """A line with its long values out of it, sealed as it is written."""
    return line if len(line) <= INLINE else sealed(blobs.shrink(unsealed(line), thread_id)[:-2])


def _new_file(path: str, handles: Handles) -> int:
    flags = _WRITE | os.O_CREAT | os.O_EXCL
    try:
        return handles.open(path, flags)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        return handles.open(path, flags)


def _undo(path: str, descriptor: int, handles: Handles) -> None:
    with suppress(OSError):  # if the file cannot go, at least it is no log
        os.ftruncate(descriptor, 0)
    handles.close(path)
    with suppress(OSError):
        os.unlink(path)
