"""`threadloom app-server`: an app behind an address, from start to a bounded stop."""

from __future__ import annotations

import errno
import os
import signal
from argparse import Namespace
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import Final

import anyio
from anyio.abc import TaskGroup, TaskStatus

from threadloom.app import App
from threadloom.cli.lean import import_without
from threadloom.cli.opening import SIGNALS, Opening, fail, heard
from threadloom.cli.signals import Signals
from threadloom.config import Settings
from threadloom.connection import Greeted
from threadloom.routes import MissingHandler

ORPHAN_CHECK: Final = 1.0  # seconds between looks at whether the parent of a stdio server still lives

HINTS: Final = {
    errno.EADDRINUSE: "Stop what listens there, or choose another port; with port 0 it takes a free one.",
    errno.EADDRNOTAVAIL: "This machine has no such address; it always has 127.0.0.1.",
}

Serve = Callable[[App], Awaitable[None]]


def serve(arguments: Namespace, settings: Settings, opening: Opening | None) -> int:
    """Serve until the peer goes or a signal comes; the exit code."""
    try:
        how = _pipes(opening) if opening is not None else _transport(arguments, settings)
    except (ValueError, OSError) as fault:
        return fail(str(fault), 2)
    _allow_many_files()
    try:
        anyio.run(
            _main, settings, how, backend="asyncio", backend_options={"use_uvloop": find_spec("uvloop") is not None}
        )
    except BaseExceptionGroup as faults:
        return _explain(faults, arguments.listen)
    return 0


def _allow_many_files() -> None:
    """A loaded thread holds its log open and its tree's lock: take all that the system lets us have."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _explain(faults: BaseExceptionGroup[BaseException], listen: str) -> int:
    """A start that failed for a known reason says so in one line; anything else is a fault of ours, shown whole."""
    from threadloom.transports.tokens import ConfigurationError  # late: only listeners have such

    fault: BaseException = faults
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    if isinstance(fault, MissingHandler):
        return fail(f"cannot start: {fault}", 1)
    if isinstance(fault, OSError | ConfigurationError):
        hint = HINTS.get(fault.errno or 0) if isinstance(fault, OSError) else None
        return fail("\n".join(filter(None, (f"cannot listen on {listen}: {fault}", hint))), 1)
    raise faults


def _transport(arguments: Namespace, settings: Settings) -> Serve:
    """How `--listen` is served; a fault in what was asked for shows before anything starts."""
    scheme, _, place = arguments.listen.partition("://")
    if arguments.listen == "off":
        return _nothing
    if scheme in ("ws", "unix"):
        import_without("importlib.metadata", "websockets.version")  # used only by versions that are not released
        from threadloom.cli.listen import listener  # late: stdio needs no WebSocket library

        return listener(arguments, scheme, place, settings)
    raise ValueError(f"--listen takes stdio://, ws://IP:PORT, unix://[PATH] or off, not {arguments.listen!r}")


async def _main(settings: Settings, serve: Serve) -> None:
    async with App(settings).running() as app, anyio.create_task_group() as tasks:
        await tasks.start(_until_signal, app, tasks)
        await serve(app)
        await app.stop()
        tasks.cancel_scope.cancel()


def _pipes(opening: Opening) -> Serve:
    async def serve(app: App) -> None:
        from threadloom.transports.stdio import StdioTransport  # late: listeners have others

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_until_orphaned, tasks)
            transport = StdioTransport(opening.source, opening.sink, opening.read)
            greeted = Greeted(opening.client, opening.envelope) if opening.client is not None else None
            await app.serve(transport, only=True, greeted=greeted)
            tasks.cancel_scope.cancel()

    return serve


async def _nothing(app: App) -> None:
    await anyio.sleep_forever()


async def _until_signal(app: App, tasks: TaskGroup, *, task_status: TaskStatus[None]) -> None:
    """The first signal stops the server politely, a second one at once; a hang-up only ever asks politely."""
    signals = Signals(*SIGNALS, before=heard)
    task_status.started()  # from here on no signal comes too early
    await signals.next()
    tasks.start_soon(_stop, app, tasks)
    while True:
        number = await signals.next()
        if number != signal.SIGHUP:
            os._exit(128 + number)


async def _stop(app: App, tasks: TaskGroup) -> None:
    await app.stop()
    tasks.cancel_scope.cancel()


async def _until_orphaned(tasks: TaskGroup) -> None:
    """A server on pipes whose parent died has nobody left to serve, even where another process keeps the pipe open."""
    parent = os.getppid()
    while os.getppid() == parent:  # noqa: ASYNC110 (there is no event for it)
        await anyio.sleep(ORPHAN_CHECK)
    tasks.cancel_scope.cancel()
