"""From a command to a client: of a server in this process, or of one that runs elsewhere (`--connect`)."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from threadloom.cli.asides import Aside
    from threadloom.config import Settings
    from threadloom_client import Client
    from threadloom_protocol.v2.lifecycle import ClientInfo

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130

TOKEN: Final = "THREADLOOM_TOKEN"  # noqa: S105 (the name of a variable)
UNAUTHORIZED: Final = 401


class Failure(Exception):
    """A command cannot go on: what a person is told, and the exit code."""

    def __init__(self, text: str, code: int = FAILED) -> None:
        super().__init__(text)
        self.code = code


def beside(text: str) -> None:
    """Say what is no part of the output."""
    from threadloom.cli.clean import clean

    sys.stderr.write(f"threadloom: {clean(text)}\n")


class Place:
    """Where the server of a command is."""

    def __init__(self, arguments: Namespace) -> None:
        self.url: str | None = arguments.connect
        self._token = _token(arguments)
        self._arguments = arguments
        self._told: set[str] = set()  # what was said beside the answers, each once over all connections
        if self.url is not None and not _address(self.url):
            raise Failure(f"--connect takes ws://IP:PORT, wss://… or unix://PATH, not {self.url!r}", USAGE)

    @property
    def settings(self) -> Settings:
        """What a server in this process starts with."""
        from threadloom.config import Settings, foreign, home, override

        try:
            overrides = dict(map(override, self._arguments.config))
        except ValueError as fault:
            raise Failure(str(fault), USAGE) from None
        for names, on in ((self._arguments.enable, True), (self._arguments.disable, False)):
            overrides |= {f"features.{name}": on for name in names}
        return Settings(home(), overrides, foreign=foreign(), patient=True)

    @asynccontextmanager
    async def client(self, aside: Aside = beside) -> AsyncIterator[Client]:
        """A client that has shaken hands; a server in this process ends with it. `aside` hears what else is said."""
        from threadloom.cli.asides import heard
        from threadloom_client import connect

        def tell(text: str) -> None:
            if text not in self._told:
                self._told.add(text)
                aside(text)

        at = (
            _embedded(self.settings, tell)
            if self.url is None
            else connect(self.url, client=_myself(), experimental=True, token=self._token)
        )
        async with at as client, heard(client, tell, partial=self.url is not None):
            yield client

    def explain(self, fault: Exception) -> str | None:
        """What a person can do about a connection that failed; None where it is not about that."""
        from threadloom_client import Disconnected, Refused, RequestTimeout

        if isinstance(fault, Refused):
            hint = f"give a token with --token-file FILE or in {TOKEN}" if fault.status == UNAUTHORIZED else ""
            return f"{self.url}: {fault}{hint and f'; {hint}'}"
        if isinstance(fault, Disconnected) and self.url is not None:
            return f"{fault}\n{_advice(self.url)}"
        return str(fault) if isinstance(fault, Disconnected | RequestTimeout) else None


def _address(url: str) -> bool:
    """Whether one can connect there at all."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        there = parts.netloc + parts.path if parts.scheme == "unix" else parts.hostname
        return parts.scheme in ("ws", "wss", "unix") and bool(there) and (parts.scheme == "unix" or parts.port != 0)
    except ValueError:  # no such port, or half of an IPv6 address
        return False


def _advice(url: str) -> str:
    if url.startswith("wss://"):  # which our server does not speak by itself
        return "Is the server there, and does what speaks TLS in front of it pass WebSockets on?"
    return f"Is the server there? `threadloom app-server --listen {url}` starts one."


def current_folder() -> str:
    """Where the command runs. Raises `Failure` where that is gone."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise Failure("the folder that this runs in is gone: change to one that is there") from None


def _token(arguments: Namespace) -> str | None:
    if arguments.token_file is None:
        return os.environ.get(TOKEN) or None
    try:
        from threadloom.config.files import TEXT  # late: few commands are given one

        return Path(arguments.token_file).read_text(encoding=TEXT).strip()
    except (OSError, UnicodeError) as fault:
        raise Failure(f"cannot read the token from {arguments.token_file}: {fault}", USAGE) from None


@asynccontextmanager
async def _embedded(settings: Settings, tell: Aside) -> AsyncIterator[Client]:
    from anyio import create_task_group

    from threadloom.app import App
    from threadloom.transports.memory import pair
    from threadloom_client import connect

    _writable(settings.home)
    ours, theirs = pair()
    async with App(settings).running() as app, create_task_group() as tasks:
        for fault in app.configuration.faults():  # the server says it, too, but a short command does not wait for it
            tell(str(fault))
        tasks.start_soon(app.serve, theirs)
        async with connect(ours, client=_myself(), experimental=True, timeout=inf) as client:
            yield client


def _writable(folder: Path) -> None:
    """A home that cannot be is found out before anything is made in it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as fault:
        raise Failure(
            f"{folder} cannot be the home: {fault.strerror}\nSet THREADLOOM_HOME to another folder."
        ) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Failure(f"{folder} cannot be written to.\nSet THREADLOOM_HOME to another folder.")


def _myself() -> ClientInfo:
    from threadloom import __version__
    from threadloom_protocol.v2.lifecycle import ClientInfo

    return ClientInfo(name="threadloom-cli", title="Threadloom", version=__version__)


Work = Callable[["Place"], Awaitable[int]]


def run(arguments: Namespace, work: Work) -> int:
    """Do the work of a command; whatever goes wrong becomes a line on stderr and an exit code."""
    try:
        place = Place(arguments)
        if place.url is None:
            from threadloom.exec.choice import begin

            begin()  # while the rest is loaded
        return _run(place, work)
    except Failure as fault:
        return fail(str(fault), fault.code)
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(place: Place, work: Work) -> int:
    import gc

    import anyio

    gc.enable()
    try:
        return anyio.run(work, place, backend="asyncio")
    except BaseException as fault:
        raise _known(place, fault) from fault


def _known(place: Place, fault: BaseException) -> BaseException:
    """The fault itself, out of its groups, as a `Failure` where it is one that a person may meet."""
    from threadloom_protocol.errors import InvalidParams, RpcError

    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    if isinstance(fault, RpcError):
        return Failure(fault.message, USAGE if isinstance(fault, InvalidParams) else FAILED)
    if isinstance(fault, Exception) and (text := place.explain(fault)):
        return Failure(text)
    return fault


def fail(text: str, code: int = FAILED) -> int:
    """Say what went wrong."""
    beside(text)
    return code
