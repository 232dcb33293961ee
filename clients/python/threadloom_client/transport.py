"""What the client needs of a transport; the server's in-memory ends have the same shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

# As much as the server accepts: images travel inline, as base64, several in a message.
MAX_MESSAGE: Final = 64 * 1024 * 1024


class Closed(Exception):
    """The server has gone; nothing more comes, nothing more arrives there."""


class Transport(Protocol):
    """One connection. `receive` and `send` each have one caller at a time; whatever they raise ends the connection."""

    async def receive(self) -> Sequence[object]:
        """The frames (`bytes` or `str`) that have come, at least one. Raises when the server has gone."""
        ...

    async def send(self, messages: Sequence[bytes]) -> None:
        """Hand these messages over, in order; returns once there is room for more. Raises when the server has gone."""
        ...

    async def aclose(self) -> None:
        """Leave, in bounded time. Doing it twice is no error."""
        ...
