"""A transport that shows every message to the conformance check on its way."""

from __future__ import annotations

from collections.abc import Sequence

from tests.support.flow import Flow

from threadloom_client import Transport


class Tap:
    """The client's end of a connection, seen through."""

    def __init__(self, inner: Transport, flow: Flow) -> None:
        self.inner = inner
        self._flow = flow

    async def receive(self) -> Sequence[object]:
        """What the server says, after it has been judged."""
        frames = await self.inner.receive()
        for frame in frames:
            self._flow.received(frame)
        return frames

    async def send(self, messages: Sequence[bytes]) -> None:
        """What the client says, noted before the server can answer."""
        for message in messages:
            self._flow.sent(message)
        await self.inner.send(messages)

    async def aclose(self) -> None:
        """See `Transport.aclose`."""
        await self.inner.aclose()


class Recorder:
    """The same where a test is about speed: what crosses is kept, and judged when there is time for it."""

    def __init__(self, inner: Transport, flow: Flow) -> None:
        self.inner = inner
        self._flow = flow
        self._kept: list[tuple[bool, object]] = []

    async def receive(self) -> Sequence[object]:
        """What the server says."""
        frames = await self.inner.receive()
        self._kept += ((False, frame) for frame in frames)
        return frames

    async def send(self, messages: Sequence[bytes]) -> None:
        """What the client says."""
        self._kept += ((True, message) for message in messages)
        await self.inner.send(messages)

    async def aclose(self) -> None:
        """See `Transport.aclose`."""
        await self.inner.aclose()

    def judge(self) -> None:
        """Show all of it to the check, in its order."""
        for mine, frame in self._kept:
            if mine:
                assert isinstance(frame, bytes)
                self._flow.sent(frame)
            else:
                self._flow.received(frame)
