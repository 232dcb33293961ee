"""A thread's history through its bases: a fork's log goes on where it left another one's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Final, NamedTuple

from threadloom.log import logger
from threadloom.store.base import Missing, StoreError
from threadloom.store.codec import empty
from threadloom.store.eventlog import StoredLog, first_seq
from threadloom.store.rows import Base, Line

_log = logger(__name__)

_told: Final[set[str]] = set()  # lost logs that this process has reported: whoever reads on meets them again and again

Opened = Callable[[str, ExitStack], StoredLog]  # a log for reading, let go of with the stack


class _Part(NamedTuple):
    log: StoredLog
    limit: int | None  # the last seq that belongs to the history
    cut: int | None  # the offset where it ends


def after(
    opened: Opened, thread_id: str, seq: int, stop: int | None, cut: int | None = None, *, model: bool = False
) -> Iterator[Line]:
    """See `Store.after`."""
    with ExitStack() as stack:
        for part in reversed(_parts(opened, stack, thread_id, seq, stop, cut)):
            for line in part.log.scan(part.log.behind(seq), part.cut, model=model):
                if part.limit is not None and line.seq > part.limit:
                    break
                yield line


def _parts(
    opened: Opened, stack: ExitStack, thread_id: str, seq: int, stop: int | None, cut: int | None
) -> list[_Part]:
    """What is needed of each log, the newest first."""
    parts = []
    part = _Part(opened(thread_id, stack), stop, cut)
    while True:
        base = part.log.header.base
        if part.limit is None or part.limit >= first_seq(part.log.header):
            parts.append(part)  # else the history left its base before this log began
        if base is None or base.seq < seq:
            return parts
        nearer = part.limit is not None and part.limit < base.seq
        limit, cut = (part.limit, None) if nearer else (base.seq, base.offset)
        try:
            part = _Part(opened(base.thread_id, stack), limit, cut)
        except StoreError as fault:  # it was purged: the fork has what came after
            _log.warning("a fork has lost its base", thread=thread_id, base=base.thread_id, reason=str(fault))
            return parts


def before(opened: Opened, thread_id: str, seq: int) -> Base:
    """See `Store.before`."""
    with ExitStack() as stack:
        log = opened(thread_id, stack)
        while (base := log.header.base) is not None and seq <= base.seq:
            log = opened(base.thread_id, stack)
        return Base(log.header.thread_id, seq - 1, log.seek(seq - 1))


def at(opened: Opened, rows: Sequence[tuple[str, int]]) -> list[Line]:
    """See `Store.lines`."""
    with ExitStack() as stack:
        logs = {thread_id: _found(opened, thread_id, stack) for thread_id in {it: None for it, _ in rows}}
        found = [(logs[thread_id], offset) for thread_id, offset in rows]
        return [empty(offset, 0) if log is None else log.at(offset) for log, offset in found]


def _found(opened: Opened, thread_id: str, stack: ExitStack) -> StoredLog | None:
    """A log, unless it is lost: what stands on it is told without it."""
    try:
        return opened(thread_id, stack)
    except Missing as fault:
        if thread_id not in _told:
            _told.add(thread_id)
            _log.warning("a log is lost that others refer to", thread=thread_id, reason=str(fault))
        return None
