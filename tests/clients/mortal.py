"""A server that can be killed and started again where it was."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE

import anyio
from anyio.abc import TaskGroup
from tests.support.processes import START_SECONDS, Listener, Log, command, environment


class Mortal:
    """A server, life after life, at one address and with one home."""

    def __init__(self, listen: str, room: Path, tasks: TaskGroup) -> None:
        self.url = listen
        self._room = room
        self._tasks = tasks
        self._lives: list[Listener] = []

    async def start(self) -> None:
        """Begin a life; the first one chooses the port, if it may."""
        words = command("--listen", self.url)
        process = await anyio.open_process(
            words, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env=environment(self._room), cwd=self._room
        )
        server = Listener(process, Log(words, self._room / f"stderr-{len(self._lives)}.log"))
        self._lives.append(server)
        self._tasks.start_soon(server.listen_to)
        with anyio.fail_after(START_SECONDS):
            await server.heard.wait()
        assert server.url, f"the server did not start: {server.log.text}"
        self.url = server.url

    async def kill(self) -> None:
        """End it as a power cut would."""
        process = self._lives[-1].process
        process.kill()
        await process.wait()

    async def end(self) -> None:
        """End the last life, politely; none of them may have had a fault."""
        await self._lives[-1].stop()
        for server in self._lives:
            await server.process.aclose()
            server.log.assert_clean()


@asynccontextmanager
async def mortal(listen: str, room: Path) -> AsyncIterator[Mortal]:
    """A server that has been started."""
    async with anyio.create_task_group() as tasks:
        server = Mortal(listen, room, tasks)
        await server.start()
        try:
            yield server
        finally:
            with anyio.CancelScope(shield=True):
                await server.end()
