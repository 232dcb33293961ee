"""`--listen ws://…` and `unix://…`: the listener behind the flags."""

from __future__ import annotations

import os
import shutil
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import fields
from pathlib import Path

import anyio

from threadloom.app import App
from threadloom.config import Settings
from threadloom.digits import number
from threadloom.transports.auth import Gate
from threadloom.transports.links import LINK_SECONDS
from threadloom.transports.listener import Listener
from threadloom.transports.tokens import Flags
from threadloom.transports.websocket import WebSocketListener


def listener(arguments: Namespace, scheme: str, place: str, settings: Settings) -> Callable[[App], Awaitable[None]]:
    """Serve at an address until the server stops; flags that make no sense together are refused here."""
    flags = Flags(**{field.name: getattr(arguments, field.name) for field in fields(Flags)})
    gate = Gate.from_flags(flags, arguments.allow_origin)
    if scheme == "unix":
        from threadloom.transports.unix import UnixListener  # late: one of the two is enough

        at: Listener = UnixListener(Path(place) if place else settings.home / "app-server.sock", gate)
    else:
        host, port = _address(place)
        gate.check_listen(host)
        at = WebSocketListener(host, port, gate)

    async def serve(app: App) -> None:
        async with at.serving(app.serve) as address:
            for line in announced(address.url, gate):
                print(line, file=sys.stderr, flush=True)  # noqa: T201 (a person reads this)
            await anyio.sleep_forever()

    return serve


def announced(url: str, gate: Gate) -> Iterator[str]:
    """Where it listens, for programs, too; and how a person gets there."""
    yield f"listening on {url}"
    yield f"connect: {_program()} chat --connect {url}{' --token-file FILE' if gate.verifier else ''}"
    if gate.verifier is not None and url.startswith("ws://"):
        page = url.replace("ws://", "http://", 1)
        yield f"browser: {page}/?link={gate.links.mint()} (works once, within {LINK_SECONDS / 60:.0f} minutes)"


def _program() -> str:
    """What to type: the name where a shell finds it, else what was typed for this server, as after `make run`."""
    known = shutil.which("threadloom") is not None
    return "threadloom" if known or os.path.basename(sys.argv[0]) != "threadloom" else sys.argv[0]


def _address(place: str) -> tuple[str, int]:
    host, colon, port = place.rstrip("/").rpartition(":")
    found = number(port)
    if not colon or not host or found is None or found > 65535:
        raise ValueError(f"--listen ws://IP:PORT needs an address and a port, not {place!r}")
    return host.strip("[]"), found
