"""Where a server can be reached: the same server over each transport, with clients and wires to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup
from tests.support.conformance import Conformance
from tests.support.flow import Flow
from tests.support.probing import SURFACE, ProbingApp
from tests.support.processes import Listener, Log, command, environment, listening, server_home, ungrouped
from tests.support.tap import Tap
from tests.support.wire import Wire

from threadloom.app import App
from threadloom.config import Settings
from threadloom.transports.memory import pair
from threadloom_client import Client, Transport, connect, open_transport
from threadloom_client.stdio import StdioTransport
from threadloom_protocol.v2 import V2

KINDS = ("memory", "stdio", "websocket", "unix")


class Place(ABC):
    """A server, and one way to it."""

    kind: str

    def __init__(self, home: Path, conformance: Conformance, *, probing: bool) -> None:
        self.home = home  # of the server's files
        self._conformance = conformance
        self._surface = SURFACE if probing else V2
        self._good = "probe/echo" if probing else "thread/loaded/list"

    @abstractmethod
    async def dial(self) -> Transport:
        """A new connection, unchecked."""

    @property
    @abstractmethod
    def pid(self) -> int | None:
        """The process that serves the newest connection; None where it is this one."""

    async def tapped(self) -> Transport:
        """A new connection whose messages are checked."""
        return Tap(await self.dial(), Flow(self._conformance))

    @asynccontextmanager
    async def client(self, **options: Any) -> AsyncIterator[Client]:
        """A client that has shaken hands."""
        async with connect(await self.tapped(), surface=self._surface, **options) as client:
            yield client

    @asynccontextmanager
    async def wire(self, *, initialize: bool = True, **hello: Any) -> AsyncIterator[Wire]:
        """A raw connection, after the handshake or before it."""
        wire = Wire(await self.tapped(), self._good)
        try:
            if initialize:
                await wire.initialize(**hello)
            yield wire
        finally:
            await wire.transport.aclose()


class MemoryPlace(Place):
    """A server in this process."""

    kind = "memory"
    pid = None

    def __init__(self, app: App, tasks: TaskGroup, conformance: Conformance, *, probing: bool) -> None:
        super().__init__(app.settings.home, conformance, probing=probing)
        self.app = app
        self._tasks = tasks

    async def dial(self) -> Transport:
        ours, theirs = pair()
        self._tasks.start_soon(self.app.serve, theirs)
        return ours


class StdioPlace(Place):
    """A server per connection, on pipes."""

    kind = "stdio"

    def __init__(self, room: Path, conformance: Conformance, *, probing: bool) -> None:
        super().__init__(server_home(room), conformance, probing=probing)
        self._room = room
        self._probing = probing
        self._children: list[tuple[StdioTransport, Log]] = []

    async def dial(self) -> Transport:
        words = command("--listen", "stdio://", probing=self._probing)
        log = Log(words, self._room / f"stderr-{len(self._children)}.log")
        with log.path.open("wb") as stderr:
            transport = await open_transport(words, env=environment(self._room), cwd=self._room, stderr=stderr)
        assert isinstance(transport, StdioTransport)
        self._children.append((transport, log))
        return transport

    @property
    def newest(self) -> StdioTransport:
        """The pipes of the newest child."""
        return self._children[-1][0]

    @property
    def pid(self) -> int | None:
        return self.newest.process.pid

    async def end(self) -> None:
        """No child may stay, and each must have left in peace."""
        for transport, log in self._children:
            await transport.aclose()
            assert transport.process.returncode == 0, f"exit code {transport.process.returncode}: {log.text}"
            log.assert_clean()


class SocketPlace(Place):
    """A server that listens."""

    def __init__(self, kind: str, server: Listener, room: Path, conformance: Conformance, *, probing: bool) -> None:
        super().__init__(server_home(room), conformance, probing=probing)
        self.kind = kind
        self.url = server.url
        self.server = server

    async def dial(self) -> Transport:
        return await open_transport(self.url)

    @property
    def pid(self) -> int | None:
        return self.server.process.pid


@asynccontextmanager
async def running(kind: str, room: Path, conformance: Conformance, *, probing: bool = False) -> AsyncIterator[Place]:
    """A server reached over one kind of transport; all its files are in a folder of the test's."""
    if kind == "memory":
        make: Callable[[Settings], App] = ProbingApp if probing else App
        settings = Settings(home=server_home(room))
        async with ungrouped(), make(settings).running() as app, anyio.create_task_group() as tasks:
            yield MemoryPlace(app, tasks, conformance, probing=probing)
            tasks.cancel_scope.cancel()
    elif kind == "stdio":
        place = StdioPlace(room, conformance, probing=probing)
        try:
            yield place
        finally:
            await place.end()
    else:
        address = "ws://127.0.0.1:0" if kind == "websocket" else f"unix://{room / 's'}"
        async with listening(address, room, probing=probing) as server:
            yield SocketPlace(kind, server, room, conformance, probing=probing)
