"""Lines of a log → notifications for one who lags: neighbouring deltas may become one, with the same text."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any, NamedTuple

import orjson

from threadloom.events import with_seq
from threadloom.store.rows import Line
from threadloom_protocol.model import Delta
from threadloom_protocol.spec import ServerNotification
from threadloom_protocol.v2 import V2


class Late(NamedTuple):
    """A notification that comes late, and the seq it brings a client to."""

    notification: ServerNotification[Any]
    params: bytes
    seq: int


class _Run:
    """Deltas of one item, next to each other in the log."""

    def __init__(self, notification: ServerNotification[Any], line: Line) -> None:
        assert line.params is not None
        self._notification = notification
        self._params = line.params
        self._key = _key(line)
        self._first = self._last = line.seq
        self._pieces = [line.params["delta"]]

    def takes(self, line: Line) -> bool:
        """Add a line if it goes on where this one ends."""
        if _key(line) != self._key or line.params is None:
            return False
        self._pieces.append(line.params["delta"])
        self._last = line.seq
        return True

    def late(self) -> Late:
        """All of them as one."""
        body = orjson.dumps({**self._params, "delta": "".join(self._pieces)})
        first = self._first if self._last > self._first else None
        return Late(self._notification, with_seq(body, self._last, first), self._last)


def late(lines: Iterable[Line], *, merge: bool) -> Iterator[Late]:
    """The notifications that these lines were. Lines that only the model sees are left out."""
    run: _Run | None = None
    for line in lines:
        if not line.seq or line.method is None or line.params is None:
            continue
        if run is not None and run.takes(line):
            continue
        if run is not None:
            yield run.late()
            run = None
        notification = V2.notification(line.method)
        if notification is None:
            continue
        if merge and issubclass(notification.params, Delta):
            run = _Run(notification, line)
        else:
            yield Late(notification, with_seq(orjson.dumps(line.params), line.seq), line.seq)
    if run is not None:
        yield run.late()


def as_own(lines: Iterable[Line], thread_id: str, fates: Container[str | None]) -> Iterator[Line]:
    """A fork's past under the fork's id. The `fates` of the thread it came from (named, closed …) are not its own."""
    for line in lines:
        params = line.params or {}
        if (
            params.get("threadId", thread_id) == thread_id
            and params.get("thread", {}).get("id", thread_id) == thread_id
        ):
            yield line
        elif line.method not in fates:
            yield line._replace(params={**params, "threadId": thread_id})


def _key(line: Line) -> tuple[Any, ...]:
    params = line.params or {}
    return (line.method, params.get("itemId"), params.get("summaryIndex"), params.get("contentIndex"))
