"""From an address to a client that has shaken hands."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import IO, Any, TypedDict, Unpack

from threadloom_client.client import TIMEOUT, Client
from threadloom_client.errors import Disconnected
from threadloom_client.sockets import dial
from threadloom_client.stdio import spawn
from threadloom_client.transport import Closed, Transport
from threadloom_protocol.spec import Surface
from threadloom_protocol.v2 import V2
from threadloom_protocol.v2.lifecycle import ClientInfo

# A URL (`ws://`, `wss://`, `unix://PATH`), the command that starts a server, or a transport that is already open.
Target = str | Sequence[str] | Transport


class How(TypedDict, total=False):
    """What else opening a transport may need."""

    # for URLs
    token: str | None
    as_subprotocol: bool  # the token as subprotocol `bearer.TOKEN`, as browsers do, instead of as a header
    headers: Mapping[str, str] | None
    # for commands
    env: Mapping[str, str] | None
    cwd: str | os.PathLike[str] | None
    stderr: int | IO[Any] | None


async def open_transport(target: Target, **how: Unpack[How]) -> Transport:
    """An open transport to the target. Raises `Disconnected`, or `Refused` with the HTTP status."""
    try:
        if isinstance(target, str):
            return await dial(
                target,
                token=how.get("token"),
                as_subprotocol=how.get("as_subprotocol", False),
                headers=how.get("headers"),
            )
        if isinstance(target, Sequence):
            return await spawn(target, env=how.get("env"), cwd=how.get("cwd"), stderr=how.get("stderr"))
    except Closed as fault:
        raise Disconnected(str(fault)) from fault
    return target


@asynccontextmanager
async def connect(
    target: Target,
    *,
    client: ClientInfo | None = None,
    experimental: bool = False,
    opt_out: list[str] | None = None,
    surface: Surface = V2,
    tagged: bool = False,
    timeout: float = TIMEOUT,
    **how: Unpack[How],
) -> AsyncIterator[Client]:
    """Connect, shake hands, and leave when the block ends.

    `opt_out` names notifications that the server shall not send; `tagged` writes `"jsonrpc": "2.0"` into every
    message, and gets it back; `timeout` is for each request that does not bring its own.
    """
    transport = await open_transport(target, **how)
    async with Client(transport, surface=surface, tagged=tagged, timeout=timeout).running() as session:
        await session.initialize(client or _myself(), experimental=experimental, opt_out=opt_out)
        yield session


def _myself() -> ClientInfo:
    return ClientInfo(name="threadloom_client", version=version("threadloom"))
