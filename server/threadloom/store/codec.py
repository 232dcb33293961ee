"""The form of a log: header and lines, to bytes and back. A damaged line is no error here, only not a line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import orjson

from threadloom import seal
from threadloom.digits import number
from threadloom.store.base import Missing, StoreError
from threadloom.store.rows import VERSION, Base, Header, Line

BLOBS: Final = "blobs"  # the member that lists which values of a line lie out of it

_MEMBERS: Final = frozenset({"seq", "at", "method", "params", "model", BLOBS, seal.MEMBER})  # of a line

# Puts the values that lie out of line in their place again; None where one is missing.
Restore = Callable[[dict[str, Any]], dict[str, Any] | None]


class NoHeader(Missing):
    """A log begins with something else than its header, or with a damaged one."""

    def __init__(self, where: str, reason: str = "it is no log of a thread, or was never finished") -> None:
        super().__init__(f"{where} has no header: {reason}.")


def encode_header(header: Header) -> bytes:
    """The first line of a log."""
    base = header.base
    text = orjson.dumps(
        {
            "v": header.v,
            "threadId": header.thread_id,
            "createdAt": header.created_at,
            "base": base and {"threadId": base.thread_id, "seq": base.seq, "offset": base.offset},
            "owner": header.owner,
            "root": header.root or header.thread_id,
            "spawn": header.spawn,
            "settings": header.settings,
            "facts": header.facts,
        }
    )
    return seal.sealed(text[:-1])


def decode_header(raw: bytes, where: str, restore: Restore) -> Header:
    """The header that a line is. Raises `NoHeader` where it is none, `StoreError` where it is of a newer server."""
    value = _object(raw)
    if value is None or not isinstance(value.get("threadId"), str) or not isinstance(value.get("v"), int):
        raise NoHeader(where)
    if value["v"] > VERSION:
        raise StoreError(f"{where} was written by a newer version of threadloom. Update this one to read it.")
    whole = restore(value) if BLOBS in value else value
    if whole is None:
        raise NoHeader(where, "it lacks a value, as a file in the folder `blobs` is gone or damaged")
    try:
        return _header(whole)
    except (KeyError, TypeError) as fault:
        raise NoHeader(where, f"it is damaged ({fault!r})") from fault


def _header(value: dict[str, Any]) -> Header:
    base = value.get("base")
    return Header(
        thread_id=value["threadId"],
        created_at=value.get("createdAt") or 0,
        base=base and Base(base["threadId"], base["seq"], base["offset"]),
        owner=value.get("owner"),
        root=value.get("root") or value["threadId"],
        spawn=value.get("spawn"),
        settings=value.get("settings") or {},
        facts=value.get("facts") or {},
        v=value["v"],
    )


def decode_line(offset: int, raw: bytes, restore: Restore | None = None) -> Line | None:
    """The line that these bytes are, newline left off; None where they are damaged."""
    value = _object(raw)
    if value is not None and restore is not None and BLOBS in value:
        value = restore(value)
    if value is None or not _MEMBERS.issuperset(value):  # the name of a seal may be damaged, too
        return None
    method, params, model = value.get("method"), value.get("params"), value.get("model")
    line = Line(offset, len(raw) + 1, value.get("seq", 0), value.get("at", 0), method, params, model)
    return line if _sound(line) else None


def empty(offset: int, size: int) -> Line:
    """What stands for a damaged line where one must stand."""
    return Line(offset, size, 0, 0, None, None, None)


def is_whole(raw: bytes) -> bool:
    """Whether these bytes are a line as it was written, or a header."""
    return _object(raw) is not None


def seq_of(raw: bytes) -> int:
    """The seq of a line, without reading all of it; 0 where it has none, or is damaged."""
    if raw.startswith(b'{"seq":'):
        seq = number(raw[7 : raw.find(b",", 7)])
        return seq if seq is not None and not seal.is_broken(raw) else 0
    if raw.startswith(b'{"at":'):
        return 0
    line = decode_line(0, raw)
    return line.seq if line is not None else 0


def _sound(line: Line) -> bool:
    _, _, seq, at, method, params, model = line
    if type(seq) is not int or type(at) is not int or not (model is None or type(model) is list):
        return False
    if seq <= 0:
        return seq == 0 and method is None and model is not None
    return type(method) is str and type(params) is dict


def _object(raw: bytes) -> dict[str, Any] | None:
    if seal.is_broken(raw):
        return None
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None
