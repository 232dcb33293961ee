"""A server that listens: WebSocket over TCP or over a socket file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from threadloom_client.errors import Refused
from threadloom_client.transport import MAX_MESSAGE, Closed

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

CONNECT_SECONDS: Final = 10.0
CLOSE_SECONDS: Final = 2.0


class SocketTransport:
    """One WebSocket; every frame is one message."""

    def __init__(self, socket: ClientConnection, name: str) -> None:
        from websockets.exceptions import ConnectionClosed

        self.name = name
        self.socket = socket
        self._gone = ConnectionClosed

    async def receive(self) -> Sequence[bytes]:
        """See `Transport.receive`."""
        try:
            return [await self.socket.recv(decode=False)]
        except self._gone as fault:
            raise Closed(f"the server left: {fault}") from None

    async def send(self, messages: Sequence[bytes]) -> None:
        """See `Transport.send`."""
        try:
            for message in messages:
                await self.socket.send(message, text=True)
        except self._gone as fault:
            raise Closed(f"the server left: {fault}") from None

    async def aclose(self) -> None:
        """See `Transport.aclose`; `websockets` bounds it by `CLOSE_SECONDS`."""
        with suppress(AttributeError):  # of asyncio, when it is told to drop a connection that went while being flushed
            await self.socket.close()


async def dial(
    url: str,
    *,
    token: str | None = None,
    as_subprotocol: bool = False,
    headers: Mapping[str, str] | None = None,
) -> SocketTransport:
    """Connect to `ws://…`, `wss://…` or `unix://PATH`. The token is a header, or a subprotocol as browsers send it."""
    from websockets.asyncio.client import connect, unix_connect
    from websockets.exceptions import InvalidHandshake, InvalidStatus, InvalidURI

    options = _options(token, as_subprotocol, headers)
    try:
        if urlsplit(url).scheme == "unix":
            return SocketTransport(await unix_connect(_path(url), uri="ws://localhost/", **options), "unix")
        return SocketTransport(await connect(url, **options), "websocket")
    except InvalidStatus as fault:
        raise Refused(fault.response.status_code) from None
    except (OSError, InvalidHandshake, InvalidURI, TimeoutError, ValueError) as fault:  # also: no such port
        raise Closed(f"cannot connect to {url}: {fault}") from fault


def _path(url: str) -> str:
    return unquote(url.removeprefix("unix://"))


def _options(token: str | None, as_subprotocol: bool, headers: Mapping[str, str] | None) -> dict[str, Any]:
    options: dict[str, Any] = {
        "additional_headers": dict(headers or {}),
        "compression": None,
        "max_size": MAX_MESSAGE,
        "open_timeout": CONNECT_SECONDS,
        "close_timeout": CLOSE_SECONDS,
        "proxy": None,
    }
    if token is not None and as_subprotocol:
        options["subprotocols"] = [f"bearer.{token}"]
    elif token is not None:
        options["additional_headers"]["Authorization"] = f"Bearer {token}"
    return options
