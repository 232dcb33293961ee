"""What can go wrong on the client's side; what the server refuses is an `RpcError` of the protocol package."""

from __future__ import annotations

from typing import Any, Final

from threadloom_protocol.errors import (
    InternalError,
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    Overloaded,
    ParseError,
    RpcError,
)


class Disconnected(Exception):
    """The connection has gone, or never came to be: nothing that waits for it will be answered."""


class Refused(Disconnected):
    """The server's HTTP side turned the connection away."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the server refused the connection with HTTP status {status}")
        self.status = status


class RequestTimeout(TimeoutError):
    """No answer in time. One that comes later is dropped."""

    def __init__(self, method: str, seconds: float) -> None:
        super().__init__(f"{method}: no answer within {seconds:g} s")
        self.method = method


class UnexpectedAnswer(Exception):
    """The server answered in a shape that its contract does not have."""

    def __init__(self, method: str, fault: Exception) -> None:
        super().__init__(f"{method}: {fault}")
        self.method = method


class Lagged(Exception):
    """A subscriber read too slowly; this many notifications are missing at this place. Reading on is fine."""

    def __init__(self, missed: int) -> None:
        super().__init__(f"{missed} notifications were missed: the subscriber's buffer was full")
        self.missed = missed


_BY_CODE: Final[dict[int, type[RpcError]]] = {
    it.code: it for it in (ParseError, InvalidRequest, MethodNotFound, InvalidParams, InternalError)
}


def from_wire(error: dict[str, Any]) -> RpcError:
    """The exception for the `error` member of a response: the class by its code, `RpcError` where none has it."""
    code, message, data = error["code"], error["message"], error.get("data")
    if code == Overloaded.code:
        overloaded = Overloaded(message)
        overloaded.data = data
        return overloaded
    return _BY_CODE.get(code, RpcError)(message, data, code=code)
