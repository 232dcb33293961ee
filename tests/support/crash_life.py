"""One life of a server: it begins in a home, serves, and ends when it is killed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from signal import SIGCONT, SIGKILL
from subprocess import DEVNULL, PIPE

import anyio
from anyio.abc import Process
from tests.support.crash_server import COMMAND
from tests.support.processes import START_SECONDS, Listener, Log, environment, send, ungrouped

from threadloom_client import Transport, open_transport
from threadloom_client.stdio import StdioTransport

LIVES = count(1)


class Life:
    """A server under way."""

    def __init__(self, process: Process, log: Log, url: str, transport: Transport | None = None) -> None:
        self.process = process
        self.log = log
        self.url = url
        self._transport = transport

    async def dial(self) -> Transport:
        """A connection; the only one, on pipes."""
        return self._transport or await open_transport(self.url)

    def kill(self) -> None:
        """End it at once, wherever it is; also where it was stopped."""
        if self.process.returncode is None:
            send(self.process, SIGKILL)
            send(self.process, SIGCONT)


def _log(home: Path, words: Sequence[str]) -> Log:
    return Log(words, home / f"stderr-{next(LIVES)}.log")


@asynccontextmanager
async def life(kind: str, home: Path, command: Sequence[str] = COMMAND) -> AsyncIterator[Life]:
    """A server on pipes or on a socket. At the end it is killed, if it was not before."""
    opened = _on_pipes if kind == "stdio" else _on_socket
    async with opened(home, command) as server:
        try:
            yield server
        finally:
            server.kill()
            with anyio.CancelScope(shield=True), anyio.fail_after(START_SECONDS):
                await server.process.wait()
    assert "Traceback" not in server.log.text, server.log.text


@asynccontextmanager
async def _on_pipes(home: Path, command: Sequence[str]) -> AsyncIterator[Life]:
    words = [*command, "app-server", "--listen", "stdio://"]
    log = _log(home, words)
    with log.path.open("wb") as stderr:
        transport = await open_transport(words, env=environment(home), cwd=home, stderr=stderr)
    assert isinstance(transport, StdioTransport)
    try:
        yield Life(transport.process, log, "", transport)
    finally:
        await transport.aclose()


@asynccontextmanager
async def _on_socket(home: Path, command: Sequence[str]) -> AsyncIterator[Life]:
    words = [*command, "app-server", "--listen", "ws://127.0.0.1:0"]
    process = await anyio.open_process(words, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env=environment(home), cwd=home)
    server = Listener(process, _log(home, words))
    async with process, ungrouped(), anyio.create_task_group() as tasks:
        tasks.start_soon(server.listen_to)
        with anyio.fail_after(START_SECONDS):
            await server.heard.wait()
        assert server.url, f"the server did not start: {server.log.text}"
        yield Life(process, server.log, server.url)
