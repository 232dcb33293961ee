"""What a transport is: frames of text in, frames of text out, for one peer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from threadloom_protocol.errors import InvalidRequest, RpcError

# Images travel inline, as base64, several in a message.
MAX_MESSAGE: Final = 64 * 1024 * 1024


class Closed(Exception):
    """The peer has gone; nothing more comes, nothing more arrives there."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """A frame that holds no readable text: it gets this error, and the connection goes on."""

    error: RpcError


Frame = bytes | str | Flaw


def too_long(limit: int) -> Flaw:
    """For a message of more bytes than one may have."""
    return Flaw(InvalidRequest(f"Invalid request: a message has at most {limit} bytes"))


class Transport(Protocol):
    """One peer. `receive` and `send` each have one caller at a time; every wait ends when the peer goes."""

    @property
    def name(self) -> str:
        """How the peer is connected, for logs: stdio, websocket, unix, memory."""
        ...

    async def receive(self) -> Sequence[Frame]:
        """The frames that have come, at least one. Raises `Closed` when the peer has gone."""
        ...

    async def send(self, messages: Sequence[bytes]) -> None:
        """Hand these messages over, in order; returns once there is room for more. Raises `Closed`."""
        ...

    async def aclose(self) -> None:
        """Let the peer go, in bounded time. Doing it twice is no error."""
        ...


Accept = Callable[[Transport], Awaitable[None]]
