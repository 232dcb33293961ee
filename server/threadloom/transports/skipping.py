"""The library's WebSocket protocol, but that a frame that is too long ends nothing: it is skipped, and shows."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from websockets.exceptions import ProtocolError
from websockets.frames import Frame, Opcode
from websockets.server import ServerProtocol
from websockets.streams import StreamReader
from websockets.typing import Subprotocol

DATA: Final = (Opcode.TEXT, Opcode.BINARY, Opcode.CONT)


class Vast(Frame):
    """A frame that was too long: nothing of it was kept."""


class SkippingReader(StreamReader):
    """Reads up to so many bytes at once; more than that pass by, and nothing is what was read."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.skipped = False
        self._limit = limit

    def read_exact(self, n: int) -> Generator[None, None, bytearray]:
        """See `StreamReader.read_exact`."""
        return super().read_exact(n) if n <= self._limit else self._skip(n)

    def _skip(self, left: int) -> Generator[None, None, bytearray]:
        while (came := len(self.buffer)) < left:
            self.buffer.clear()
            left -= came
            if self.eof:
                raise EOFError(f"stream ends {left} bytes before it should")
            yield
        del self.buffer[:left]
        self.skipped = True
        return bytearray()


class SkippingProtocol(ServerProtocol):
    """In the place of a protocol that the library has made for a connection. `limit`: bytes of a frame."""

    def __init__(self, made: ServerProtocol, limit: int) -> None:
        self._limit = limit  # the base begins to parse before it returns
        self.to_echo: Subprotocol | None = None  # of those that the peer offers
        super().__init__(max_size=None, logger=made.logger)

    def select_subprotocol(self, subprotocols: Sequence[Subprotocol]) -> Subprotocol | None:
        """See `ServerProtocol.select_subprotocol`."""
        return self.to_echo

    def parse(self) -> Generator[None]:
        """See `Protocol.parse`."""
        self.reader: SkippingReader = SkippingReader(self._limit)
        yield from super().parse()

    def recv_frame(self, frame: Frame) -> None:
        """See `Protocol.recv_frame`."""
        if self.reader.skipped:
            self.reader.skipped = False
            if frame.opcode not in DATA:
                raise ProtocolError("control frame too long")
            frame = Vast(frame.opcode, b"", frame.fin)
        super().recv_frame(frame)
