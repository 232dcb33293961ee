"""The composition root: the one module that knows every class.

Embedding: `async with App(Settings(home)).running() as app:` and `await app.serve(transport)` for each peer.
More methods: `App(settings, surface=Surface(2, [*V2.names, "my.room"]), handlers=HANDLERS | {"my.room": "my.own"})`,
where `my.room` declares them and `my.own` has functions marked with `@answers(…)`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio.abc import TaskGroup, TaskStatus

from threadloom import handshake
from threadloom.config import Settings
from threadloom.connection import Connection, Greeted
from threadloom.dispatcher import Dispatcher
from threadloom.housekeeping import Housekeeping, sandbox
from threadloom.lull import Lull
from threadloom.routes import Context, Peer, Routes
from threadloom.transports.base import Transport
from threadloom_protocol.spec import Surface
from threadloom_protocol.v2 import V2

if TYPE_CHECKING:
    from threadloom.agent.collab.spawning import Nursery
    from threadloom.agent.models.base import Catalog
    from threadloom.config.auth import Keyring
    from threadloom.config.load import Configuration
    from threadloom.exec.errands import Errands
    from threadloom.exec.launch import Host
    from threadloom.threads.manager import Manager
    from threadloom_protocol.jsonrpc import Response
    from threadloom_protocol.model import Event
    from threadloom_protocol.spec import ServerNotification

ROOMS: Final = (
    "lifecycle",
    "model",
    "roster",
    "thread",
    "turn",
    "note",
    "tree",
    "agent",
    "queue",
    "session",
    "settings",
    "search",
    "history",
    "goal",
    "review",
    "account",
    "config",
    "hook",
    "mode",
    "terminal",
    "command",
    "process",
)

# Which module answers the requests of which room; a room that is not here has nothing but empty or planned ones.
HANDLERS: Final[dict[str, str]] = {f"threadloom_protocol.v2.{room}": f"threadloom.methods.{room}" for room in ROOMS}

GRACE: Final = 0.5  # seconds that open requests get to end by themselves when the server stops


class App:
    """A server without an address: give it peers."""

    def __init__(self, settings: Settings, *, surface: Surface = V2, handlers: Mapping[str, str] = HANDLERS) -> None:
        self.settings = settings
        self._models: Catalog | None = None
        self._keyring: Keyring | None = None
        self._configuration: Configuration | None = None
        self._routes = Routes(surface, handlers)
        self._connections: set[Connection] = set()
        self._threads: Manager | None = None
        self._host: Host | None = None
        self._nursery: Nursery | None = None
        self._errands: Errands | None = None
        self._tasks: TaskGroup
        self._housekeeping: Housekeeping
        self._calls: anyio.CancelScope
        self._dispatcher: Dispatcher

    @asynccontextmanager
    async def running(self) -> AsyncIterator[App]:
        """Run what lives in the background; leaving answers what is open and lets every peer go, in bounded time."""
        try:
            async with anyio.create_task_group() as background:
                self._tasks = background
                calls = await background.start(_host)
                self._calls = calls.cancel_scope
                self._dispatcher = Dispatcher(self._routes, calls)
                self._housekeeping = Housekeeping(self, background, self._routes.load_next, self._lull)
                self._housekeeping.begin()
                try:
                    yield self
                finally:
                    with anyio.CancelScope(shield=True):
                        await self.stop()
                    background.cancel_scope.cancel()
        finally:
            if self._models is not None:
                with anyio.CancelScope(shield=True):
                    await self._models.aclose()  # nobody asks them for anything any more
        if self._threads is not None:
            self._threads.close()

    async def serve(self, transport: Transport, *, only: bool = False, greeted: Greeted | None = None) -> None:
        """Serve one peer until it goes; the only one takes the server along, which first answers what it has asked."""
        last_call = self.stop if only else None
        connection = Connection(
            transport,
            self._dispatcher,
            lambda client: self._greet(client, connection),
            self._context,
            self._pump,
            self._answered,
            last_call,
            greeted,
        )
        self._connections.add(connection)
        if greeted is not None:
            self._housekeeping.welcome(connection)
        if self._threads is not None:
            self._threads.hub.join(connection)
        try:
            await connection.run()
        finally:
            self._connections.discard(connection)
            if self._errands is not None:
                self._errands.leave(connection)
            if self._threads is not None:
                self._threads.hub.leave(connection)
                self._threads.trees.unwatch(connection)

    def _context(self, peer: Peer) -> Context:
        return Context(peer, self)

    @property
    def models(self) -> Catalog:
        """The models this server can run."""
        if self._models is None:
            from threadloom.compose.models import catalog

            self._models = catalog(self.configuration, self.keyring, self._tell)
        return self._models

    @property
    def keyring(self) -> Keyring:
        """The account that models are paid with."""
        if self._keyring is None:
            from threadloom.config.auth import Keyring

            self._keyring = Keyring(self.settings.home)
        return self._keyring

    @property
    def configuration(self) -> Configuration:
        """What this server is configured with."""
        if self._configuration is None:
            from threadloom.config.load import Configuration

            self._configuration = Configuration(self.settings, self.keyring)
        return self._configuration

    @property
    def host(self) -> Host:
        """Where commands run."""
        if self._host is None:
            from threadloom.exec.launch import Host

            self._host = Host()
        return self._host

    @property
    def errands(self) -> Errands:
        """The commands that clients have run for themselves."""
        if self._errands is None:
            from threadloom.compose.commands import errands

            self._errands = errands(self.configuration, self.host, self._tasks, lambda it: it in self._connections)
        return self._errands

    @property
    def nursery(self) -> Nursery:
        """Where agents are made ready."""
        if self._nursery is None:
            from threadloom.compose.tools import nursery

            self._nursery = nursery(self.settings, self.configuration, self.models)
        return self._nursery

    @property
    def runs_threads(self) -> bool:
        """Whether there are threads in memory at all."""
        return self._threads is not None

    @property
    def threads(self) -> Manager:
        """The threads of this server; a client that only looks around costs none of it."""
        if self._threads is None:
            from threadloom.compose.threads import threads

            self._threads = threads(
                self.settings, self.configuration, self.models, self._tasks, self.host, self.nursery
            )
            for connection in self._connections:
                self._threads.hub.join(connection)
            self._housekeeping.expect_turns()
        return self._threads

    def _pump(self, connection: Connection) -> None:
        if self._threads is not None:
            self._threads.hub.pump(connection)
            self._threads.trees.tell(connection)

    def _answered(self, connection: Connection, response: Response) -> None:
        if self._threads is not None:
            self._threads.answers.take(connection, response)

    def announce(self, notification: ServerNotification[Any], event: Event) -> None:
        """Tell every client something that is about no thread."""
        body = event.to_json()
        for connection in self._connections:
            connection.publish(notification, body)

    def _tell(self, text: str) -> None:
        from threadloom_protocol.v2.config import WARNING, WarningNotification

        self.announce(WARNING, WarningNotification(message=text))

    def _greet(self, client: handshake.Client, connection: Connection) -> dict[str, object]:
        self._housekeeping.welcome(connection)
        return handshake.greet(client, self.settings.home, sandbox=sandbox())

    def _lull(self, patience: float) -> Lull:
        return Lull(lambda: self._dispatcher.asked, lambda: any(it.busy for it in self._connections), patience)

    async def stop(self) -> None:
        """No new work; what is open gets a moment to end, then an error; then every peer is let go."""
        if self._threads is not None and self.settings.drain:
            self._dispatcher.draining = True
            await self._threads.drain(self.settings.drain)
        self._dispatcher.stopping = True
        if self._threads is not None:
            await self._threads.stop()
        with anyio.move_on_after(GRACE):
            await self._each(Connection.settle)
        self._calls.cancel()
        if self._host is not None:
            await self._host.close()
        await self._each(Connection.close)

    async def _each(self, step: Callable[[Connection], Coroutine[object, object, None]]) -> None:
        async with anyio.create_task_group() as tasks:
            for connection in self._connections:
                tasks.start_soon(step, connection)


async def _host(*, task_status: TaskStatus[TaskGroup]) -> None:
    """A home for requests under way: it can be cleared without touching anything else."""
    async with anyio.create_task_group() as calls:
        task_status.started(calls)
        await anyio.sleep_forever()
