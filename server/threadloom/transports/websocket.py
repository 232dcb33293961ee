"""WebSocket over TCP."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from threadloom.transports.auth import Gate
from threadloom.transports.listener import Address, Bound, Limits, Listener
from threadloom.transports.peer import WebSocketTransport

__all__ = ["Address", "Limits", "WebSocketListener", "WebSocketTransport"]


class WebSocketListener(Listener):
    """Listens on an address of this machine; port 0 takes a free one. Without a token it stays on loopback."""

    name = "websocket"

    def __init__(self, host: str, port: int, gate: Gate, limits: Limits | None = None) -> None:
        super().__init__(gate, limits or Limits())
        # The name could mean two addresses, and with port 0 two ports.
        self._host = "127.0.0.1" if host == "localhost" else host
        self._port = port

    @asynccontextmanager
    async def bound(self) -> AsyncIterator[Bound]:
        """See `Listener.bound`. Raises `ConfigurationError`, or `OSError` if the address cannot be had."""
        self._gate.check_listen(self._host)
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        with socket.create_server((self._host, self._port), family=family) as listening:
            port = listening.getsockname()[1]
            host = f"[{self._host}]" if family == socket.AF_INET6 else self._host
            yield Bound(listening, Address(f"ws://{host}:{port}", port), self._gate.at(self._host, port))
