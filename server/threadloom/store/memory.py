"""A store that ends with the process: for ephemeral threads, held to the same contract as the one on the disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from threadloom.store import history, schema
from threadloom.store.base import Fold, Missing, Progress, StoreError
from threadloom.store.codec import decode_header, encode_header
from threadloom.store.eventlog import StoredLog, first_seq
from threadloom.store.index import SqliteIndex
from threadloom.store.rollout import Rollouts
from threadloom.store.rows import Base, Header, Line


class MemoryReading(StoredLog):
    """A log in memory, as it was when it was opened."""

    path = None

    def __init__(self, header: Header, first: int, data: bytearray, seq: int) -> None:
        super().__init__(header, first, len(data), seq)
        self._data = data

    def append(self, lines: Sequence[bytes]) -> int:
        """See `EventLog.append`."""
        raise StoreError(f"The log of thread {self._header.thread_id} was opened for reading.")

    async def sync(self) -> None:
        """See `EventLog.sync`."""

    def close(self) -> None:
        """See `EventLog.close`."""

    def _read(self, size: int, offset: int) -> bytes:
        return bytes(self._data[offset : offset + size])


class MemoryLog(MemoryReading):
    """A log in memory that grows."""

    def __init__(self, header: Header, lines: Sequence[bytes]) -> None:
        head = encode_header(header)
        kept = decode_header(head, "memory", dict)  # apart from what the caller may change
        super().__init__(kept, len(head), bytearray(head), first_seq(kept))
        self.append(lines)

    def append(self, lines: Sequence[bytes]) -> int:
        """See `EventLog.append`."""
        size = len(self._data)
        self._data += b"".join(lines)
        return self._appended(lines, len(self._data) - size)

    def read(self) -> MemoryReading:
        """The log as it is now."""
        return MemoryReading(self._header, self._first, self._data, self._seq)


class MemoryLease:
    """The right to write a tree that nobody else can see."""

    def __init__(self, root_id: str) -> None:
        self.root_id = root_id
        self.epoch = 0
        self.users = 0

    def release(self) -> None:
        """See `Lease.release`."""
        self.users -= 1


class MemoryStore:
    """Logs and index in memory. Forks may stand on logs of the store behind."""

    def __init__(self, behind: Rollouts | None = None) -> None:
        self._behind = behind
        self._logs: dict[str, MemoryLog] = {}
        self._leases: dict[str, MemoryLease] = {}
        self._index = SqliteIndex(None, self._seek, behind.index if behind else None)

    @property
    def index(self) -> SqliteIndex:
        """See `Store.index`."""
        return self._index

    def path(self, header: Header) -> None:
        """See `Store.path`."""
        return

    def create(self, header: Header, lines: Sequence[bytes]) -> MemoryLog:
        """See `Store.create`."""
        if header.thread_id in self._logs:
            raise StoreError(f"There is a thread {header.thread_id} already.")
        if header.base is not None:
            if self._behind is not None and header.base.thread_id not in self._logs:
                self._behind.pin(header.base.thread_id)
            self._index.put_base(header.thread_id, header.base)
        self._logs[header.thread_id] = log = MemoryLog(header, lines)
        return log

    def open(self, thread_id: str) -> MemoryLog:
        """See `Store.open`."""
        log = self._logs.get(thread_id)
        if log is None:
            raise Missing(f"There is no thread {thread_id} in memory.")
        return log

    def read(self, thread_id: str) -> MemoryReading:
        """See `Store.read`."""
        return self.open(thread_id).read()

    def after(
        self, thread_id: str, seq: int, stop: int | None = None, cut: int | None = None, *, model: bool = False
    ) -> Iterator[Line]:
        """See `Store.after`."""
        return history.after(self._reading, thread_id, seq, stop, cut, model=model)

    def before(self, thread_id: str, seq: int) -> Base:
        """See `Store.before`."""
        return history.before(self._reading, thread_id, seq)

    def lines(self, rows: Sequence[tuple[str, int]]) -> list[Line]:
        """See `Store.lines`."""
        return history.at(self._reading, rows)

    def _reading(self, thread_id: str, stack: ExitStack) -> StoredLog:
        if self._behind is not None and thread_id not in self._logs:
            return self._behind.reading(thread_id, stack)
        return self.read(thread_id)

    def _seek(self, thread_id: str, seq: int) -> int:
        return self.open(thread_id).seek(seq)

    def lease(self, root_id: str) -> MemoryLease:
        """See `Store.lease`."""
        lease = self._leases.setdefault(root_id, MemoryLease(root_id))
        lease.epoch += lease.users == 0
        lease.users += 1
        return lease

    def holder(self, root_id: str) -> int | None:
        """See `Store.holder`."""
        return None

    def remove(self, thread_id: str, *, purge: bool = False) -> None:
        """See `Store.remove`."""
        self._index.do(lambda db: self._remove(db, thread_id, purge))

    def sweep(self, thread_id: str) -> None:
        """See `Store.sweep`: nothing can be saved here, so what is kept goes with its last fork."""

    def _remove(self, db: sqlite3.Connection, thread_id: str, purge: bool) -> None:
        for erased, _ in schema.drop(db, thread_id, purge=purge):
            self._leases.pop(erased, None)
            log = self._logs.pop(erased, None)
            base = log and log.header.base
            if self._behind is not None and base and base.thread_id not in self._logs:
                self._behind.unpin(base.thread_id)

    async def bring_up(self, thread_id: str, fold: Fold) -> None:
        """See `Store.bring_up`: likewise."""

    @property
    def intact(self) -> bool:
        """See `Store.intact`."""
        return True

    async def recover(self, fold: Fold, progress: Progress | None = None) -> None:
        """See `Store.recover`: nothing happens here that the index does not see."""

    def close(self) -> None:
        """See `Store.close`."""
        self._index.close()
