"""Envelopes: text ⇄ value. A message is a request, a notification or a response by its shape alone."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import orjson

from threadloom_protocol.errors import InvalidParams, InvalidRequest, ParseError, RpcError

RequestId = str | int

# What is parsed must be written down again, with a little around it, and the encoder takes 254.
DEEPEST: Final = 128

JSONRPC: Final = b'"jsonrpc":"2.0",'


class Request(NamedTuple):
    """Wants an answer with the same id."""

    id: RequestId
    method: str
    params: Any


class Notification(NamedTuple):
    """Wants none."""

    method: str
    params: Any


class Response(NamedTuple):
    """Answers a request of the other side: a result, or an error object."""

    id: RequestId
    result: Any = None
    error: dict[str, Any] | None = None


class Malformed(NamedTuple):
    """A message that gets an error; its id is echoed where it can be told."""

    error: RpcError
    id: RequestId | None = None
    answers: RequestId | None = None  # the question that it says something to, but nothing that can be understood


Message = Request | Notification | Response | Malformed


def loads(text: bytes | str) -> Any:
    """Parse JSON, with the protocol's own error where it is none."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as fault:
        raise ParseError(f"Parse error: {fault}") from None


def may_be_deep(text: bytes | str) -> bool:
    """Whether there are brackets enough for a message with more in each other than it may have."""
    opened = text.count(b"[") + text.count(b"{") if isinstance(text, bytes) else text.count("[") + text.count("{")
    return opened > DEEPEST


def classify_deep(value: Any) -> Message:
    """`classify` for what may be too deep: a request gets an error then, and a result counts as one."""
    message = classify(value)
    if isinstance(message, Request) and _is_deep(message.params):
        return Malformed(InvalidParams(f"Invalid params: more than {DEEPEST} values in each other"), message.id)
    if isinstance(message, Response) and _is_deep(message.result):
        return Response(message.id, error=InvalidParams("the result is nested too deeply").to_wire())
    return message


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        holders = [it for it in level if type(it) is dict or type(it) is list]
        if not holders:
            return False
        level = [inner for it in holders for inner in (it.values() if type(it) is dict else it)]
    return any(type(it) is dict or type(it) is list for it in level)


def classify(value: Any) -> Message:
    """What a parsed JSON value is: by its members, never by the `jsonrpc` tag alone."""
    if type(value) is not dict:
        return Malformed(InvalidRequest("Invalid request: a message is a JSON object"))
    if value.get("jsonrpc", "2.0") != "2.0":
        return Malformed(InvalidRequest('Invalid request: jsonrpc must be "2.0" or absent'), _asker_id(value))
    if "method" not in value:
        return _response(value)
    method = value["method"]
    if type(method) is not str:
        return Malformed(InvalidRequest("Invalid request: method must be a string"), _readable_id(value))
    if "id" not in value:
        return Notification(method, value.get("params"))
    identity = value["id"]
    if type(identity) is int or type(identity) is str:
        return Request(identity, method, value.get("params"))
    return Malformed(InvalidRequest("Invalid request: id must be a string or an integer"))


def _response(value: dict[str, Any]) -> Message:
    if "result" not in value and "error" not in value:
        return Malformed(InvalidRequest("Invalid request: method is missing"), _readable_id(value))
    identity = _readable_id(value)
    if identity is None:
        return Malformed(InvalidRequest("Invalid response: id must be a string or an integer"))
    error = value.get("error")
    if error is None:
        return Response(identity, value.get("result"))
    if type(error) is dict and type(error.get("code")) is int and type(error.get("message")) is str:
        return Response(identity, error=error)
    return Malformed(InvalidRequest("Invalid response: error needs an integer code and a message"), answers=identity)


def _asker_id(value: dict[str, Any]) -> RequestId | None:
    """The id to echo. That of an answer is of our choosing: sent back, it might meet a request of the peer's own."""
    answers = "method" not in value and ("result" in value or "error" in value)
    return None if answers else _readable_id(value)


def _readable_id(value: dict[str, Any]) -> RequestId | None:
    identity = value.get("id")
    return identity if type(identity) is int or type(identity) is str else None


# JSON; where it is long, in pieces, which are joined once and in their envelope.
Encoded = bytes | list[bytes | memoryview]


class Envelope:
    """Writes messages for one peer: with the `jsonrpc` member for those who send it, without for the others."""

    def __init__(self, *, tagged: bool) -> None:
        self.tagged = tagged
        self._open = b"{" + (JSONRPC if tagged else b"")

    def result(self, identity: RequestId, body: Encoded) -> bytes:
        """A response around an already encoded result."""
        if isinstance(body, bytes):
            return b'%b"id":%b,"result":%b}' % (self._open, orjson.dumps(identity), body)
        return b"".join([b'%b"id":%b,"result":' % (self._open, orjson.dumps(identity)), *body, b"}"])

    def error(self, identity: RequestId | None, error: RpcError) -> bytes:
        """A response that refuses; its id is null only where no id could be read."""
        try:
            body = orjson.dumps(error.to_wire())
        except TypeError:  # data that JSON cannot hold must not cost the client its answer
            body = orjson.dumps({"code": error.wire_code, "message": error.message})
        return b'%b"id":%b,"error":%b}' % (self._open, orjson.dumps(identity), body)

    def request(self, identity: RequestId, method: str, params: bytes) -> bytes:
        """A request around already encoded params."""
        return b'%b"id":%b,"method":%b,"params":%b}' % (
            self._open,
            orjson.dumps(identity),
            orjson.dumps(method),
            params,
        )

    def notification(self, method: str, params: bytes | None) -> bytes:
        """A notification around already encoded params."""
        if params is None:
            return b'%b"method":%b}' % (self._open, orjson.dumps(method))
        return b'%b"method":%b,"params":%b}' % (self._open, orjson.dumps(method), params)


BARE: Final = Envelope(tagged=False)
TAGGED: Final = Envelope(tagged=True)
