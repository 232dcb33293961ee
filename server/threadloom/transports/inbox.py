"""What came and waits to be read: messages put together from WebSocket frames."""

from __future__ import annotations

from typing import Final

from websockets.frames import Frame as WireFrame
from websockets.frames import Opcode

from threadloom.transports.base import Flaw, Frame, too_long
from threadloom.transports.skipping import Vast
from threadloom_protocol.errors import InvalidRequest, ParseError

# Beyond either the peer has to wait: one message of the largest size fits, a thousand of them do not.
MOST_MESSAGES: Final = 1024
MOST_BYTES: Final = 1024 * 1024


class Inbox:
    """Whole messages, in order, and the beginning of one that is still coming. `longest`: bytes of a message."""

    __slots__ = ("_binary", "_longest", "_shut", "_size", "_started", "_vast", "messages")

    def __init__(self, longest: int) -> None:
        self.messages: list[Frame] = []
        self._longest = longest
        self._size = 0
        self._started: bytearray | None = None
        self._binary = False
        self._vast = False  # what is still coming is too long already
        self._shut = False

    @property
    def full(self) -> bool:
        """Whether reading should wait until the inbox has been emptied."""
        return self._size >= MOST_BYTES or len(self.messages) >= MOST_MESSAGES

    def put(self, frame: WireFrame) -> None:
        """Take in a data frame. The library has checked that frames follow one another as they should."""
        if self._shut:
            return
        if frame.opcode is not Opcode.CONT:
            self._binary = frame.opcode is Opcode.BINARY
            self._vast = isinstance(frame, Vast)
            if frame.fin:
                self._add(bytes(frame.data))
                return
            self._started = bytearray()
        assert self._started is not None
        self._vast = self._vast or isinstance(frame, Vast) or len(self._started) + len(frame.data) > self._longest
        if self._vast:
            self._started.clear()
        elif not self._binary:
            self._started += frame.data
        if frame.fin:
            whole, self._started = bytes(self._started), None
            self._add(whole)

    def take(self) -> list[Frame]:
        """All that is there."""
        messages, self.messages, self._size = self.messages, [], 0
        return messages

    def shut(self) -> None:
        """Forget what is there and what still comes."""
        self._shut = True
        self._started = None
        self.take()

    def _add(self, data: bytes) -> None:
        if self._binary:
            self.messages.append(Flaw(InvalidRequest("A binary frame: messages travel in text frames.")))
            return
        if self._vast:
            self.messages.append(too_long(self._longest))
            return
        self._size += len(data)
        self.messages.append(data if _is_text(data) else Flaw(ParseError("The text is not UTF-8.")))


def _is_text(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
