"""A server of one's own: started as a child process, one message per line."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from signal import SIGKILL, SIGTERM, Signals
from subprocess import PIPE
from typing import IO, Any, Final

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from threadloom_client.transport import Closed

CHUNK: Final = 256 * 1024
# The server promises to leave within 1.5 s of the end of its input, and as quickly after SIGTERM.
PATIENCE: Final = 2.0


class StdioTransport:
    """The pipes of a child process."""

    name = "stdio"

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._stdin: ByteSendStream = process.stdin
        self._stdout: ByteReceiveStream = process.stdout
        self._partial: list[bytes] = []

    async def receive(self) -> Sequence[bytes]:
        """See `Transport.receive`."""
        while True:
            try:
                chunk = await self._stdout.receive(CHUNK)
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                raise Closed(await self._last_words()) from None
            if lines := self._split(chunk):
                return lines

    def _split(self, chunk: bytes) -> list[bytes]:
        """Whole lines; what follows the last line end waits for the rest of it."""
        head, newline, rest = chunk.rpartition(b"\n")
        if not newline:
            self._partial.append(chunk)
            return []
        text = b"".join((*self._partial, head))
        self._partial = [rest] if rest else []
        return [line for line in text.split(b"\n") if line]

    async def send(self, messages: Sequence[bytes]) -> None:
        """See `Transport.send`."""
        try:
            await self._stdin.send(b"\n".join(messages) + b"\n")
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            raise Closed(await self._last_words()) from None

    async def aclose(self) -> None:
        """End the child: its input ends, then SIGTERM, then SIGKILL."""
        with anyio.CancelScope(shield=True):
            await self._stdin.aclose()
            if not await self._exits_within(PATIENCE):
                self._signal(SIGTERM)
                if not await self._exits_within(PATIENCE):
                    self._signal(SIGKILL)
            await self.process.aclose()

    def _signal(self, signal: Signals) -> None:
        with suppress(ProcessLookupError):  # it may have left by itself in the meantime
            self.process.send_signal(signal)

    async def _exits_within(self, seconds: float) -> bool:
        with anyio.move_on_after(seconds):
            await self.process.wait()
        return self.process.returncode is not None

    async def _last_words(self) -> str:
        """Why there is nothing more to read; a process that closed its output is about to leave."""
        if await self._exits_within(PATIENCE):
            return f"the server exited with code {self.process.returncode}"
        return "the server closed its output"


async def spawn(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    stderr: int | IO[Any] | None = None,
) -> StdioTransport:
    """Start a server; its log goes to this process's stderr unless told otherwise."""
    try:
        process = await anyio.open_process(list(command), stdin=PIPE, stdout=PIPE, stderr=stderr, env=env, cwd=cwd)
    except OSError as fault:
        raise Closed(f"cannot start {command[0]}: {fault}") from fault
    return StdioTransport(process)
