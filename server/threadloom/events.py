"""What happened in a thread: records, in order, encoded once."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from threadloom.seal import sealed
from threadloom_protocol.model import Recorded
from threadloom_protocol.spec import ServerNotification


class Emission(NamedTuple):
    """An event that is to be recorded, and what only the model sees of it."""

    notification: ServerNotification[Any]
    event: Recorded
    model: list[dict[str, Any]] | None = None
    body: bytes | None = None  # the event as JSON, where whoever made it could do that for less


class Aside(NamedTuple):
    """What only the model sees, where no event goes with it: a line of the log that takes no seq (`model_line`)."""

    model: list[dict[str, Any]]


class Record(NamedTuple):
    """An event that has its place in a thread's log."""

    thread_id: str
    seq: int
    at: int  # milliseconds
    notification: ServerNotification[Any]
    event: Recorded
    body: bytes  # the event as JSON, without its seq

    def params(self) -> bytes:
        """The event as clients get it."""
        return with_seq(self.body, self.seq)


def with_seq(body: bytes, seq: int, from_seq: int | None = None) -> bytes:
    """Add the place in the log to an encoded event, which is an object and never empty."""
    merged = b"" if from_seq is None else b',"fromSeq":%d' % from_seq
    return b'%b%b,"seq":%d}' % (body[:-1], merged, seq)


def record(thread_id: str, seq: int, at: int, emission: Emission) -> Record:
    """Give an emission its place."""
    body = emission.event.to_json() if emission.body is None else emission.body
    return Record(thread_id, seq, at, emission.notification, emission.event, body)


def line(it: Record, model: list[dict[str, Any]] | None) -> bytes:
    """A record as a line of the log."""
    seen = b"" if model is None else b',"model":' + orjson.dumps(model)
    method = orjson.dumps(it.notification.method)
    return sealed(b'{"seq":%d,"at":%d,"method":%b,"params":%b%b' % (it.seq, it.at, method, it.body, seen))


def model_line(at: int, model: list[dict[str, Any]]) -> bytes:
    """A line that only the model sees; it takes no seq."""
    return sealed(b'{"at":%d,"model":%b' % (at, orjson.dumps(model)))
