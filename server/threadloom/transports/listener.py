"""Listening for WebSocket peers, on whatever socket it is."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, cast

import anyio
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request as WireRequest
from websockets.http11 import Response

from threadloom.transports.auth import Answer, Gate
from threadloom.transports.base import MAX_MESSAGE, Accept, Closed
from threadloom.transports.http import Request, answer, gathered
from threadloom.transports.peer import WRITE_LIMIT, Peer, WebSocketTransport

GOING_AWAY: Final = 1001
INTERNAL_ERROR: Final = 1011


def _quiet_logger() -> logging.Logger:
    """The library's logger. It tells of faults; at DEBUG it would write down every header, and with them tokens.

    Made by hand, not by `getLogger`, so that no configuration of loggers can turn that on.
    """
    logger = logging.Logger("threadloom.transports.websocket", logging.WARNING)
    logger.parent = logging.getLogger("threadloom")
    return logger


_LOGGER: Final = _quiet_logger()


@dataclass(frozen=True, slots=True)
class Limits:
    """How much the peers of one listener may ask of it. Times are in seconds."""

    connections: int = 1024
    # Peers that have not said yet who they are; when there are more, the one that has been at it longest goes.
    handshakes: int = 128
    message: int = MAX_MESSAGE
    open_timeout: float = 10
    close_timeout: float = 0.5
    stall_timeout: float = 30
    ping_interval: float = 20


@dataclass(frozen=True, slots=True)
class Address:
    """Where peers find the listener."""

    url: str
    port: int | None = None


@dataclass(frozen=True, slots=True)
class Bound:
    """A socket that listens, and the policy at this place."""

    socket: socket.socket
    address: Address
    gate: Gate


class Reception:
    """Who is coming in, who is in, and how they are let go."""

    def __init__(self, gate: Gate, limits: Limits, name: str, accept: Accept) -> None:
        self._gate = gate
        self._limits = limits
        self._name = name
        self._accept = accept
        # In the order in which they came.
        self._arriving: dict[Peer, None] = {}
        self._inside: dict[Peer, WebSocketTransport] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def newcomer(self, *args: Any, **kwargs: Any) -> Peer:
        """A peer that is about to connect."""
        return Peer(*args, **kwargs, longest=self._limits.message, made=self._arrived, lost=self._forget)

    def decide(self, connection: ServerConnection, request: WireRequest) -> Response | None:
        """Answer a request, or let it become a connection (None)."""
        assert isinstance(connection, Peer)
        headers = gathered(request.headers.raw_items())
        verdict = answer(self._gate, Request(request.method, request.path, headers))
        crowded = len(self._inside) >= self._limits.connections or connection not in self._arriving
        if crowded and not isinstance(verdict, Answer):
            verdict = Answer(503, "Too many connections; try again later.")
        if isinstance(verdict, Answer):
            response = connection.respond(verdict.status, verdict.text + "\n")
            response.headers.update(verdict.headers)
            return response
        connection.admit(verdict.subprotocol)
        del self._arriving[connection]
        self._inside[connection] = self._transport(connection)
        return None

    async def handle(self, connection: ServerConnection) -> None:
        """Hand a peer that is in to the application, and see it off."""
        assert isinstance(connection, Peer)
        task = asyncio.current_task()
        assert task is not None
        transport = self._inside[connection]
        self._tasks.add(task)
        try:
            await self._accept(transport)
        except Closed:
            pass
        except Exception:
            await transport.aclose(INTERNAL_ERROR)
            raise
        finally:
            await transport.aclose()
            self._tasks.discard(task)

    def keep_alive(self) -> None:
        """Look after silent peers, again and again."""
        for peer in tuple(self._inside):
            peer.keep_alive()
        self._timer = asyncio.get_running_loop().call_later(self._limits.ping_interval, self.keep_alive)

    async def close(self, server: Server) -> None:
        """Stop listening and see everyone off, in bounded time."""
        if self._timer is not None:
            self._timer.cancel()
        server.close(close_connections=False)
        for peer in tuple(self._arriving):
            peer.transport.abort()
        async with anyio.create_task_group() as farewells:
            for transport in tuple(self._inside.values()):
                farewells.start_soon(transport.aclose, GOING_AWAY)
        if await self._over(server):
            return
        for task in tuple(self._tasks):
            task.cancel()
        if not await self._over(server):
            _LOGGER.error("a connection's task did not end when it was cancelled")

    async def _over(self, server: Server) -> bool:
        with anyio.move_on_after(self._limits.close_timeout):
            await server.wait_closed()
            return True
        return False

    def _arrived(self, peer: Peer) -> None:
        self._arriving[peer] = None
        if len(self._arriving) > self._limits.handshakes:
            oldest = next(iter(self._arriving))
            del self._arriving[oldest]
            oldest.transport.abort()

    def _forget(self, peer: Peer) -> None:
        self._arriving.pop(peer, None)
        self._inside.pop(peer, None)

    def _transport(self, peer: Peer) -> WebSocketTransport:
        limits = self._limits
        return WebSocketTransport(
            peer, self._name, stall_timeout=limits.stall_timeout, close_timeout=limits.close_timeout
        )


class Listener:
    """Hands every peer that may come in to `accept`, each in a task of its own."""

    name = "websocket"

    def __init__(self, gate: Gate, limits: Limits) -> None:
        self._gate = gate
        self._limits = limits

    def bound(self) -> AbstractAsyncContextManager[Bound]:
        """The socket to listen on, for as long as it is needed."""
        raise NotImplementedError

    @asynccontextmanager
    async def serving(self, accept: Accept) -> AsyncIterator[Address]:
        """Listen. On the way out peers are told, given `close_timeout`, and cut off."""
        limits = self._limits
        async with self.bound() as bound:
            reception = Reception(bound.gate, limits, self.name, accept)
            server = await serve(
                reception.handle,
                sock=bound.socket,
                unix=bound.address.port is None,
                backlog=limits.connections,
                create_connection=cast("type[ServerConnection]", reception.newcomer),
                process_request=reception.decide,
                compression=None,
                server_header=None,
                open_timeout=limits.open_timeout,
                close_timeout=limits.close_timeout,
                # The library would run a task per connection, and take a large message for silence.
                ping_interval=None,
                write_limit=WRITE_LIMIT,
                logger=_LOGGER,
            )
            try:
                reception.keep_alive()
                yield bound.address
            finally:
                with anyio.CancelScope(shield=True):
                    await reception.close(server)
