"""`--listen ws://…` and `unix://…`: the listener behind the flags."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import fields
from pathlib import Path

import anyio

from threadloom.app import App
from threadloom.config import Settings
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
            for line in _said(address.url, gate):
                print(line, file=sys.stderr, flush=True)  # noqa: T201 (a person reads this)
            await anyio.sleep_forever()

    return serve


def _said(url: str, gate: Gate) -> Iterator[str]:
    """Where it listens, for programs, too; and how a person gets there."""
    yield f"listening on {url}"
    yield f"connect: threadloom chat --connect {url}{' --token-file FILE' if gate.verifier else ''}"
    if gate.verifier is not None and url.startswith("ws://"):
        page = url.replace("ws://", "http://", 1)
        yield f"browser: {page}/?link={gate.links.mint()} (works once, within {LINK_SECONDS / 60:.0f} minutes)"


def _address(place: str) -> tuple[str, int]:
    host, colon, port = place.rstrip("/").rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"--listen ws://IP:PORT needs an address and a port, not {place!r}")
    return host.strip("[]"), int(port)
