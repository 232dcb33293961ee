"""The SDK's way to the network: one read from the socket is one piece of the body, however a server cuts its chunks.

The SDK's own gives every chunk by itself, at some 17 µs each, and to a thread that is a batch, a write and a wake-up.
With this one a delta costs 6 µs from the socket to its event, and all that came together stays together.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple

import anyio
import httpx2

from threadloom.agent.models.http1 import Framing, Head, Malformed, framing, head
from threadloom.agent.models.socket import Socket, connect

FIRST: Final = 4 << 10  # bytes of a first read: what it brings is soon shown, however much waits behind it
READ: Final = 64 << 10  # bytes of a read later on, each twice as many as the one before until then
IDLE: Final = 30.0  # seconds that a connection is kept for the next request: servers close theirs after five to sixty
KEPT: Final = 128  # connections to one server that are kept: many agents that work at once need no new ones
MOMENT: Final = 0.02  # seconds that the end of an answer, long sent, may take to be read

Origin = tuple[str, str, int]


class Asked(NamedTuple):
    """A request, as it is sent."""

    method: str
    origin: Origin
    data: bytes
    timeout: Mapping[str, float | None]


class Connection:
    """One connection, one request at a time."""

    def __init__(self, socket: Socket, origin: Origin) -> None:
        self.origin = origin
        self.since = 0.0  # idle since, if it was ever used
        self.answered = False  # something came back
        self.unread: Body | None = None  # an answer whose last bytes are still to come
        self._socket = socket
        self._most = FIRST

    async def exchange(self, asked: Asked, transport: Transport) -> httpx2.Response:
        """Send a request; the answer as soon as its head is there."""
        self._most, self.answered = FIRST, False
        with _told(asked.timeout.get("write"), httpx2.WriteTimeout, httpx2.WriteError):
            await self._socket.send(asked.data)
        top, rest = await self._head(asked.timeout.get("read"))
        body = Body(self, transport, top, rest, _framing(top, asked.method), asked.timeout.get("read"))
        return httpx2.Response(top.status, headers=top.headers, stream=body, extensions={"body": body})

    async def _head(self, timeout: float | None) -> tuple[Head, bytes]:
        data = b""
        while True:
            data += await self.read(timeout)
            self.answered = True
            with _http():
                while (found := head(data)) is not None:
                    if found[0].status >= 200:
                        return found
                    data = found[1]  # a word in between

    async def read(self, timeout: float | None) -> bytes:
        """What comes next. Raises where nothing more does."""
        most, self._most = self._most, min(self._most * 2, READ)
        try:
            data = await self._socket.read(most, timeout)
        except TimeoutError:
            raise httpx2.ReadTimeout("") from None
        except OSError as error:
            raise httpx2.ReadError(_cause(error)) from None
        if not data:
            raise httpx2.RemoteProtocolError("The server closed the connection.")
        return data

    async def ready(self) -> bool:
        """Whether it can take another request: read to the end, young enough, and not closed by the server."""
        if time.monotonic() - self.since > IDLE:
            return False
        body, self.unread = self.unread, None
        if body is not None:
            with anyio.move_on_after(MOMENT):
                await body.drain()
        return (body is None or body.reusable) and self._socket.quiet

    def abort(self) -> None:
        """Close it at once."""
        self._socket.abort()


class Body(httpx2.AsyncByteStream):
    """The body of an answer. `said_all`: what may still come is of no interest, and the connection is kept."""

    def __init__(
        self,
        connection: Connection,
        transport: Transport,
        top: Head,
        rest: bytes,
        framing: Framing,
        timeout: float | None,
    ) -> None:
        self.said_all = False
        self._connection = connection
        self._transport = transport
        self._keeps = top.keeps and framing.sized
        self._rest = rest
        self._framing = framing
        self._timeout = timeout

    @property
    def reusable(self) -> bool:
        """Whether the connection is at the start of a next answer."""
        return self._framing.done and self._keeps

    async def read(self) -> bytes:
        """What one read brings; nothing at the end."""
        data: bytes | None = b""
        while not data and not self._framing.done and data is not None:
            data = await self._next()
        return data or b""

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        while data := await self.read():
            yield data

    async def drain(self) -> None:
        """Read what is left, for nothing."""
        try:
            while not self._framing.done and await self._next() is not None:
                pass
        except httpx2.TransportError:
            return

    async def _next(self) -> bytes | None:
        data, self._rest = self._rest, b""
        try:
            data = data or await self._connection.read(self._timeout)
        except httpx2.RemoteProtocolError:
            if self._framing.sized:
                raise
            return None
        with _http():
            return self._framing.feed(data)

    async def aclose(self) -> None:
        """Give the connection back, or close it at once where the answer is given up."""
        if self.reusable:
            self._transport.keep(self._connection)
        elif self.said_all and self._keeps:
            self._connection.unread = self
            self._transport.keep(self._connection)
        else:
            self._connection.abort()


class Transport(httpx2.AsyncBaseTransport):
    """Connections to servers, kept for the next request."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._context = context
        self._idle: dict[Origin, list[Connection]] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """See `httpx2.AsyncBaseTransport`."""
        content = await request.aread()
        head = head_of(request.method, request.url, request.headers)
        timeout = request.extensions.get("timeout", {})
        return await self.ask(Asked(request.method, origin_of(request.url), head + content, timeout))

    async def ask(self, asked: Asked) -> httpx2.Response:
        """Send a request; the answer as soon as its head is there."""
        while True:
            connection = await self._connection(asked)
            try:
                return await connection.exchange(asked, self)
            except httpx2.TransportError as fault:
                connection.abort()
                if connection.answered or not connection.since or isinstance(fault, httpx2.TimeoutException):
                    raise
                # The server has closed what was kept just as it was used again, and not taken the request.
            except BaseException:
                connection.abort()
                raise

    async def _connection(self, asked: Asked) -> Connection:
        while idle := self._idle.get(asked.origin):
            connection = idle.pop()
            try:
                ready = await connection.ready()
            except BaseException:  # given up meanwhile: nobody else has it
                connection.abort()
                raise
            if ready:
                return connection
            connection.abort()
        return Connection(await self._connect(asked.origin, asked.timeout.get("connect")), asked.origin)

    async def _connect(self, origin: Origin, limit: float | None) -> Socket:
        scheme, host, port = origin
        if scheme not in ("http", "https") or not host or port > 65535:
            raise httpx2.UnsupportedProtocol(f"`{scheme}://{host}:{port}` is no address of a model's server.")
        with _told(limit, httpx2.ConnectTimeout, httpx2.ConnectError):
            return await connect(host, port, self._context if scheme == "https" else None)

    def keep(self, connection: Connection) -> None:
        """A connection that can be used again."""
        idle = self._idle.setdefault(connection.origin, [])
        connection.since = time.monotonic()
        idle.append(connection)
        if len(idle) > KEPT:
            idle.pop(0).abort()

    async def aclose(self) -> None:
        """Close what is idle."""
        kept, self._idle = self._idle, {}
        for connection in [it for idle in kept.values() for it in idle]:
            connection.abort()


@contextmanager
def _told(
    seconds: float | None, late: type[httpx2.TimeoutException], broken: type[httpx2.NetworkError]
) -> Iterator[None]:
    """Bounded, and with the SDK's names for what may happen."""
    try:
        with anyio.fail_after(seconds):
            yield
    except TimeoutError as error:
        raise (late("") if seconds is not None else broken(_cause(error))) from None
    except OSError as error:
        raise broken(_cause(error)) from None


@contextmanager
def _http() -> Iterator[None]:
    try:
        yield
    except Malformed as error:
        raise httpx2.RemoteProtocolError(f"This is not HTTP: {error}.") from None


def _framing(top: Head, method: str) -> Framing:
    with _http():
        return framing(top, method)


def _cause(error: BaseException) -> str:
    """What is at the bottom of it."""
    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__


def origin_of(url: httpx2.URL) -> Origin:
    """Where a page is asked for."""
    return url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80)


def head_of(method: str, url: httpx2.URL, headers: httpx2.Headers) -> bytes:
    """The head of a request, up to its content."""
    raw = headers.raw
    if any(sign in part for pair in raw for part in pair for sign in (b"\r", b"\n", b"\0")):
        raise httpx2.LocalProtocolError("A header of the provider has a line break in it.")
    lines = [b"%b %b HTTP/1.1" % (method.encode(), url.raw_path), *(b"%b: %b" % pair for pair in raw)]
    return b"\r\n".join([*lines, b"", b""])
