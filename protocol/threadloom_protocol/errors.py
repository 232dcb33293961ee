"""Every error a client may see, with its code."""

from __future__ import annotations

from typing import Any, ClassVar


class RpcError(Exception):
    """An error with its place in JSON-RPC: raised by handlers, answered by the dispatcher, raised again by clients."""

    code: ClassVar[int] = -32603

    def __init__(self, message: str, data: Any = None, *, code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.data = data
        self.wire_code = self.code if code is None else code

    def to_wire(self) -> dict[str, Any]:
        """The `error` member of a response."""
        error: dict[str, Any] = {"code": self.wire_code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return error


class ParseError(RpcError):
    """The text is not JSON."""

    code = -32700


class InvalidRequest(RpcError):
    """JSON, but not a request that can be served in this shape or at this time."""

    code = -32600


class MethodNotFound(RpcError):
    """No such method here, or not yet."""

    code = -32601


class InvalidParams(RpcError):
    """The method exists; its params do not fit."""

    code = -32602


class InternalError(RpcError):
    """A fault of the server."""

    code = -32603


class Overloaded(RpcError):
    """Too much at once; the same request may succeed a little later."""

    code = -32001

    def __init__(self, message: str = "Server overloaded; retry later.") -> None:
        super().__init__(message, {"codexErrorInfo": "server_overloaded"})


class NotInitialized(InvalidRequest):
    """A request came before the handshake."""

    def __init__(self) -> None:
        super().__init__("Not initialized")


class AlreadyInitialized(InvalidRequest):
    """A second handshake on one connection."""

    def __init__(self) -> None:
        super().__init__("Already initialized")


class ShuttingDown(InternalError):
    """The server is stopping and takes no new work."""

    def __init__(self, message: str = "The server is shutting down.") -> None:
        super().__init__(message)
