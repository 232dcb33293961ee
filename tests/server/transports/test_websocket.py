"""WebSocket over TCP: messages both ways, and peers that are rude, slow, many, or gone."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import pytest
from tests.support.counts import count
from tests.support.sockets import (
    BINARY,
    CLOSE,
    CONT,
    PING,
    PONG,
    SECONDS,
    TEXT,
    UPGRADE,
    Raw,
    dialled,
    frame,
    request,
    until,
)
from tests.support.vitals import open_files
from websockets.asyncio.client import connect
from websockets.frames import Frame as WireFrame
from websockets.frames import Opcode

from threadloom.transports.auth import Gate
from threadloom.transports.base import Closed, Flaw, Frame, Transport
from threadloom.transports.inbox import MOST_BYTES, MOST_MESSAGES, Inbox
from threadloom.transports.listener import Reception
from threadloom.transports.peer import BLOCK, WRITE_LIMIT, Peer
from threadloom.transports.skipping import SkippingReader
from threadloom.transports.tokens import CapabilityToken
from threadloom.transports.websocket import Address, Limits, WebSocketListener
from threadloom_protocol.errors import RpcError


@pytest.fixture(params=["asyncio", "uvloop"], scope="module")
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """Both loops that the server may run on."""
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


class Desk:
    """The application's side: takes every peer, leaves the talking to the test, and waits to be released."""

    def __init__(self) -> None:
        self._accepted: asyncio.Queue[Transport] = asyncio.Queue()
        self.release = anyio.Event()
        self.left = 0

    async def accept(self, transport: Transport) -> None:
        """See `Accept`."""
        self._accepted.put_nowait(transport)
        try:
            await self.release.wait()
        finally:
            self.left += 1

    async def next(self) -> Transport:
        """The next peer that was let in."""
        with anyio.fail_after(SECONDS):
            return await self._accepted.get()


async def echo(transport: Transport) -> None:
    """Send back what comes; a flawed frame comes back as its error."""
    try:
        while True:
            await transport.send([text(frame) for frame in await transport.receive()])
    except Closed:
        pass


def text(frame: Frame) -> bytes:
    if isinstance(frame, Flaw):
        return str(frame.error.wire_code).encode()
    return frame if isinstance(frame, bytes) else frame.encode()


@asynccontextmanager
async def listening(
    accept: Callable[[Transport], Awaitable[None]] = echo, gate: Gate | None = None, **limits: Any
) -> AsyncIterator[Address]:
    async with WebSocketListener("127.0.0.1", 0, gate or Gate(), Limits(**limits)).serving(accept) as address:
        yield address


@asynccontextmanager
async def upgraded(address: Address) -> AsyncIterator[Raw]:
    async with dialled(address) as raw:
        assert (await raw.upgrade()).status == 101
        yield raw


@asynccontextmanager
async def met(**limits: Any) -> AsyncIterator[tuple[Raw, Transport]]:
    """A raw peer, and the transport that stands for it."""
    desk = Desk()
    async with listening(desk.accept, **limits) as address, upgraded(address) as raw:
        transport = await desk.next()
        yield raw, transport
        desk.release.set()


async def received(transport: Transport) -> list[Frame]:
    with anyio.fail_after(SECONDS):
        return list(await transport.receive())


async def reading(transport: Transport) -> None:
    while True:
        await transport.receive()


async def writing(transport: Transport) -> None:
    while True:
        await transport.send([b"x" * 100_000])


async def gone(transport: Transport) -> None:
    """Both directions say that the peer has gone."""
    with anyio.fail_after(SECONDS):
        with pytest.raises(Closed):
            await reading(transport)
        with pytest.raises(Closed):
            await writing(transport)


class Census:
    """Tasks, files and objects of this room, as they are at one moment."""

    def __init__(self) -> None:
        self._tasks, self._files, self._things = asyncio.all_tasks(), open_files(), held()

    @classmethod
    async def taken(cls) -> Census:
        async with listening():  # libuv opens a file of its own when it listens for the first time
            pass
        return cls()

    def added(self) -> list[object]:
        """What there is by now that was not there then."""
        left = [*(asyncio.all_tasks() - self._tasks), *(open_files() - self._files)]
        return left or [*(held() - self._things)]  # those are counted last: it takes a while

    async def holds_again(self) -> None:
        with anyio.move_on_after(SECONDS):
            while self.added():  # noqa: ASYNC110 - nobody says when the last one has gone
                await anyio.sleep(0.002)
        assert not self.added()


def held() -> Counter[type]:
    gc.collect()
    return Counter(type(thing) for thing in gc.get_objects() if isinstance(thing, Peer | Reception))


def closing(code: int) -> tuple[int, bytes]:
    return CLOSE, code.to_bytes(2, "big")


@pytest.mark.parametrize(
    ("method", "target", "headers", "status"),
    [
        ("GET", "/healthz", (), 200),
        ("GET", "/readyz", (), 200),
        ("GET", "/readyz?verbose", (), 200),
        ("GET", "/readyz", (("Origin", "https://evil.example"),), 403),
        ("POST", "/readyz", (), 405),
        ("GET", "/", (), 426),
        ("GET", "/", (("Upgrade", "h2c"),), 426),
        ("GET", "/nothing", (), 404),
        ("GET", "/nothing", UPGRADE, 404),
        ("POST", "/", UPGRADE, 405),
        ("GET", "/", UPGRADE[:2], 401),
        ("GET", "/", UPGRADE, 401),
    ],
)
async def test_what_http_requests_get(method: str, target: str, headers: tuple[Any, ...], status: int) -> None:
    async with listening(gate=Gate(CapabilityToken(bytes(32)))) as address, dialled(address) as raw:
        await raw.send(request(*headers, method=method, target=target))
        assert (await raw.head()).status == status
        await raw.ends()


async def test_health_is_answered_under_any_name() -> None:
    async with listening() as address, dialled(address) as raw:
        await raw.send(request(target="/readyz", host="some-probe"))
        assert (await raw.head()).status == 200


@pytest.mark.parametrize("dropped", range(4))
async def test_half_a_handshake_is_refused(dropped: int) -> None:
    headers = [header for at, header in enumerate(UPGRADE) if at != dropped]
    async with listening() as address, dialled(address) as raw:
        await raw.send(request(*headers))
        assert (await raw.head()).status in (400, 426)


async def test_a_browser_gets_back_one_of_the_subprotocols_it_offered() -> None:
    async with (
        listening() as address,
        connect(address.url, subprotocols=["bearer.secret", "threadloom.v2"], proxy=None) as both,  # type: ignore[list-item]
        connect(address.url, subprotocols=["bearer.secret"], proxy=None) as alone,  # type: ignore[list-item]
        connect(address.url, proxy=None) as without,
    ):
        assert [both.subprotocol, alone.subprotocol, without.subprotocol] == ["threadloom.v2", "bearer.secret", None]


SIZES = [0, 1, 125, 126, 127, 65535, 65536, BLOCK - 1, BLOCK + 1, WRITE_LIMIT + 1, 20_000_000]


async def test_messages_of_every_size_go_both_ways() -> None:
    async with listening() as address, connect(address.url, max_size=None, proxy=None) as client:
        for size in SIZES:
            with anyio.fail_after(30):
                await client.send("x" * size)
                assert await client.recv() == "x" * size


async def test_messages_sent_together_arrive_in_order() -> None:
    messages = [str(n).encode() * (n % 50) for n in range(2000)] + [bytes([65 + n % 26]) * BLOCK for n in range(9)]
    async with met() as (raw, transport), anyio.create_task_group() as tasks:
        tasks.start_soon(transport.send, messages)
        for message in messages:
            assert await raw.read() == (TEXT, message)


async def test_what_came_together_is_received_together() -> None:
    async with met() as (raw, transport):
        await raw.send(b"".join(frame(b"%d" % n) for n in range(500)))
        assert await received(transport) == [b"%d" % n for n in range(500)]


async def test_what_came_before_the_end_is_received_before_the_end() -> None:
    async with met() as (raw, transport):
        await raw.send(frame(b"one") + frame(b"two") + frame(b"\x03\xe8", CLOSE))
        assert await raw.read() == closing(1000)
        assert await received(transport) == [b"one", b"two"]
        await gone(transport)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (frame(b"\x00\xff", BINARY), -32600),
        (frame(b"{", BINARY, fin=False) + frame(b"}", CONT), -32600),
        (frame(b'"\xff"'), -32700),
        (frame(b"\xed\xa0\x80"), -32700),
        (frame(b"\xe2\x82", fin=False) + frame(b"", CONT), -32700),
    ],
)
async def test_a_frame_without_text_gets_its_error_and_the_connection_goes_on(data: bytes, code: int) -> None:
    async with listening() as address, upgraded(address) as raw:
        await raw.send(frame(b"before") + data + frame("ünd danach".encode()))
        answers = [await raw.read() for _ in range(3)]
        assert answers == [(TEXT, b"before"), (TEXT, str(code).encode()), (TEXT, "ünd danach".encode())]


async def test_a_flaw_says_what_to_do() -> None:
    async with met() as (raw, transport):
        await raw.send(frame(b"x", BINARY))
        [flaw] = await received(transport)
        assert isinstance(flaw, Flaw)
        assert isinstance(flaw.error, RpcError)
        assert "text frames" in flaw.error.message


async def test_fragments_make_one_message_with_a_ping_between_them() -> None:
    async with listening() as address, upgraded(address) as raw:
        await raw.send(frame(b"\xe2\x82", fin=False) + frame(b"hello", PING) + frame(b"\xac!", CONT))
        assert await raw.read() == (PONG, b"hello")
        assert await raw.read() == (TEXT, "€!".encode())


def test_nothing_is_kept_of_a_binary_message_but_that_it_came() -> None:
    inbox = Inbox(10_000_000)
    inbox.put(WireFrame(Opcode.BINARY, b"x" * 1_000_000, fin=False))
    inbox.put(WireFrame(Opcode.CONT, b"x" * 1_000_000, fin=False))
    assert sys.getsizeof(inbox._started) < 1000
    inbox.put(WireFrame(Opcode.CONT, b""))
    assert [type(message) for message in inbox.take()] == [Flaw]


async def test_a_message_in_very_many_fragments() -> None:
    async with listening() as address, upgraded(address) as raw:
        await raw.send(frame(b"", fin=False) + frame(b"x", CONT, fin=False) * 6000 + frame(b"", CONT))
        assert await raw.read() == (TEXT, b"x" * 6000)


@pytest.mark.parametrize(
    "data",
    [
        frame(b"x" * 1001),
        frame(b"x" * 100_000),
        frame(b"x" * 600, fin=False) + frame(b"x" * 600, CONT),
        frame(b"x" * 1001, fin=False) + frame(b"", PING) + frame(b"x", CONT, fin=False) + frame(b"x", CONT),
        frame(b"x", fin=False) + frame(b"x" * 1001, CONT),
    ],
)
@pytest.mark.parametrize("at_once", [True, False])
async def test_a_message_that_is_too_long_is_skipped_and_said_to_be(data: bytes, at_once: bool) -> None:
    async with met(message=1000) as (raw, transport):
        told = []
        pieces = [data] if at_once else [data[at : at + 999] for at in range(0, len(data), 999)]
        for piece in [frame(b"y" * 1000), *pieces, frame(b"z" * 1000)]:
            await raw.send(piece)
        while len(told) < 3:
            told += await received(transport)
        first, flaw, last = told
        assert (first, last) == (b"y" * 1000, b"z" * 1000)
        assert isinstance(flaw, Flaw)
        assert (flaw.error.code, flaw.error.message) == (-32600, "Invalid request: a message has at most 1000 bytes")


async def test_nothing_is_kept_of_a_message_that_is_too_long() -> None:
    reader = SkippingReader(1000)
    reading = reader.read_exact(2**62)
    for _ in range(100):
        next(reading)
        reader.feed_data(b"x" * 10_000)
        assert len(reader.buffer) <= 10_000
    reader.feed_eof()
    with pytest.raises(EOFError):
        list(reading)


@pytest.mark.parametrize(
    "data",
    [
        b"\x81\x01x",  # not masked
        frame(b"x", 3),  # no such opcode
        b"\xc1" + frame(b"x")[1:],  # a reserved bit
        frame(b"x", CONT),  # nothing to continue
        frame(b"x", fin=False) + frame(b"x"),  # not continued
        frame(b"x", PING, fin=False),
        frame(b"x" * 126, PING),
        frame(b"x" * 2000, PING),
        frame(b"x", CLOSE),
    ],
)
async def test_whoever_breaks_the_protocol_is_let_go(data: bytes) -> None:
    async with met(message=1000) as (raw, transport):
        await raw.send(data)
        opcode, reason = await raw.read()
        assert (opcode, reason[:2]) == closing(1002)
        await gone(transport)


async def test_half_a_connection_is_none() -> None:
    async with met() as (raw, transport):
        await raw.send(frame(b"last words"))
        await raw.half_close()
        assert await received(transport) == [b"last words"]
        await gone(transport)
        await raw.ends()


async def test_a_peer_may_go_without_a_word() -> None:
    async with met() as (raw, transport):
        await raw.reset()
        await gone(transport)


async def test_a_peer_may_say_goodbye() -> None:
    async with listening() as address:
        async with connect(address.url, proxy=None) as client:
            await client.close(1000, "bye")
        assert client.close_code == 1000


async def test_closing_wakes_whoever_waits_and_forgets_what_was_not_read() -> None:
    async with met(close_timeout=SECONDS) as (raw, transport), anyio.create_task_group() as tasks:
        tasks.start_soon(transport.aclose)
        await gone(transport)
        assert await raw.read() == closing(1000)
        await raw.send(frame(b"too late") + frame(b"\x03\xe8", CLOSE))
        assert await raw.ends() == b""
        await raw.stream.aclose()
    with pytest.raises(Closed):
        await transport.receive()
    await transport.aclose()


async def test_what_was_not_read_does_not_keep_a_connection_from_closing() -> None:
    async with met(close_timeout=SECONDS) as (raw, transport), anyio.create_task_group() as tasks:
        tasks.start_soon(raw.stream.send, frame(b"1") * 200_000 + frame(b"\x03\xe8", CLOSE))
        await until(lambda: bool(peer_of(transport)._deaf))
        with anyio.fail_after(SECONDS - 1):
            tasks.start_soon(transport.aclose)
            assert await raw.ends() == b"\x88\x02\x03\xe8"
            await raw.stream.aclose()
            await gone(transport)


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nHost: 127", request(*UPGRADE)[:-2]])
async def test_whoever_takes_too_long_to_shake_hands_is_let_go(said: bytes) -> None:
    async with listening(open_timeout=0.1) as address, dialled(address) as raw:
        await raw.send(said)
        assert await raw.ends() == b""


async def endless_headers(raw: Raw) -> None:
    for _ in range(100):
        await raw.send(b"X: " + b"x" * 4000 + b"\r\n")
        await anyio.wait_all_tasks_blocked()


async def test_a_handshake_without_end_is_cut_off() -> None:
    async with listening() as address, dialled(address) as raw:
        await raw.send(b"GET / HTTP/1.1\r\n")
        with pytest.raises(anyio.BrokenResourceError):
            await endless_headers(raw)


@pytest.mark.parametrize(
    ("said", "status"),
    [(b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\n", 414), (b"GET / HTTP/1.1\r\nX: " + b"x" * 9000 + b"\r\n", 431)],
)
async def test_a_line_that_is_too_long_is_refused(said: bytes, status: int) -> None:
    async with listening() as address, dialled(address) as raw:
        await raw.send(said)
        assert (await raw.head()).status == status


async def test_those_who_hesitate_make_room_for_those_who_do_not() -> None:
    async with listening(handshakes=3) as address, dialled(address) as oldest, AsyncExitStack() as others:
        for _ in range(3):
            await others.enter_async_context(dialled(address))
        assert await oldest.ends() == b""
        async with connect(address.url, proxy=None) as client:
            await client.send("hello")
            assert await client.recv() == "hello"


async def test_one_connection_too_many_is_refused_until_another_ends() -> None:
    desk = Desk()
    async with listening(desk.accept, connections=2) as address, upgraded(address), upgraded(address) as second:
        transports = [await desk.next(), await desk.next()]
        async with dialled(address) as third:
            assert (await third.upgrade()).status == 503
        async with dialled(address) as probe:
            await probe.send(request(target="/healthz"))
            assert (await probe.head()).status == 200
        await second.reset()
        await gone(transports[1])
        async with upgraded(address):
            await desk.next()
            desk.release.set()
    assert desk.left == 3


async def leave_at_once(address: Address, raw: Raw) -> None:
    await raw.reset()


async def leave_in_the_middle(address: Address, raw: Raw) -> None:
    await raw.send(b"GET / HTTP/1.1\r\nHost:")
    await raw.reset()


async def leave_refused(address: Address, raw: Raw) -> None:
    await raw.send(request(*UPGRADE, ("Origin", "https://evil.example")))
    assert (await raw.head()).status == 403


async def leave_without_a_word(address: Address, raw: Raw) -> None:
    await raw.upgrade()
    await raw.send(frame(b"hello")[:-2])
    await raw.reset()


async def leave_after_a_question(address: Address, raw: Raw) -> None:
    await raw.upgrade()
    await raw.send(frame(b"hello") * 10)
    await raw.half_close()


async def leave_politely(address: Address, raw: Raw) -> None:
    await raw.upgrade()
    await raw.send(frame(b"\x03\xe8", CLOSE))
    await raw.ends()


LEAVING = [
    leave_at_once,
    leave_in_the_middle,
    leave_refused,
    leave_without_a_word,
    leave_after_a_question,
    leave_politely,
]


@pytest.mark.soak
async def test_very_many_come_and_go_and_nothing_is_left() -> None:
    limiter = anyio.CapacityLimiter(50)

    async def visit(address: Address, leave: Callable[[Address, Raw], Awaitable[None]]) -> None:
        async with limiter, dialled(address) as raw:
            await leave(address, raw)

    async with listening() as address:
        await asyncio.sleep(0)
        before = await Census.taken()
        async with anyio.create_task_group() as visitors:
            for visit_number in range(count(1000)):
                visitors.start_soon(visit, address, LEAVING[visit_number % len(LEAVING)])
        await before.holds_again()
        async with connect(address.url, proxy=None) as client:
            await client.send("still there?")
            assert await client.recv() == "still there?"


@pytest.mark.soak
async def test_very_many_at_once_are_all_told_when_the_server_stops() -> None:
    many = count(1000) // 4  # each is two descriptors here, and a process often may have 1,024
    before = await Census.taken()
    async with AsyncExitStack() as peers:
        with anyio.fail_after(SECONDS):  # one after the other, they would take two minutes
            async with listening() as address:
                raws = [await peers.enter_async_context(upgraded(address)) for _ in range(many)]
        for raw in raws:
            assert await raw.read() == closing(1001)
    await before.holds_again()


async def test_a_slow_reader_makes_the_sender_wait_and_costs_little_memory() -> None:
    message = b"x" * 50_000
    sent = 0

    async with met() as (raw, transport), anyio.create_task_group() as tasks:

        async def sending() -> None:
            nonlocal sent
            for _ in range(1000):
                await transport.send([message])
                sent += 1

        tasks.start_soon(sending)
        await stuck(transport)
        waiting = sent
        assert waiting < 500
        assert buffered(transport) <= WRITE_LIMIT + 2 * len(message)
        await anyio.wait_all_tasks_blocked()
        assert sent == waiting
        for _ in range(1000):
            assert await raw.read() == (TEXT, message)


async def test_a_large_batch_is_written_bit_by_bit() -> None:
    batch = [b"x" * 50_000] * 1000
    async with met() as (raw, transport), anyio.create_task_group() as tasks:
        tasks.start_soon(transport.send, batch)
        await stuck(transport)
        assert buffered(transport) <= WRITE_LIMIT + 2 * BLOCK
        for _ in batch:
            assert await raw.read() == (TEXT, b"x" * 50_000)


def peer_of(transport: Transport) -> Any:
    return transport._peer  # type: ignore[attr-defined]


def buffered(transport: Transport) -> int:
    size = peer_of(transport).transport.get_write_buffer_size()
    assert isinstance(size, int)
    return size


async def stuck(transport: Transport) -> None:
    await until(lambda: bool(peer_of(transport).stuck))


async def fill(transport: Transport) -> None:
    with pytest.raises(Closed):
        await writing(transport)


async def test_a_peer_that_takes_nothing_is_let_go_after_a_while() -> None:
    async with met(stall_timeout=0.1) as (_, transport):
        with anyio.fail_after(SECONDS):
            await fill(transport)
        await gone(transport)


async def test_a_peer_that_takes_little_is_kept() -> None:
    size = 24_000_000
    async with met(stall_timeout=1) as (raw, transport), anyio.create_task_group() as tasks:
        tasks.start_soon(transport.send, [b"x" * size])
        await stuck(transport)
        started = time.monotonic()
        taken = 0
        while taken < size:
            with anyio.fail_after(SECONDS):
                taken += len(await raw.stream.receive(131072))
            await anyio.sleep(0.01)  # the slowness itself: longer in all than the limit, never at one time
        assert time.monotonic() - started > 1.5


async def test_a_goodbye_ends_the_wait_for_room_and_is_answered_behind_what_was_sent() -> None:
    async with met() as (raw, transport):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fill, transport)
            await stuck(transport)
            await raw.send(frame(b"\x03\xe8", CLOSE))
        assert (await raw.ends()).endswith(b"x\x88\x02\x03\xe8")


async def test_a_peer_that_reads_nothing_and_closes_its_half_is_gone_at_once() -> None:
    async with met() as (raw, transport), anyio.create_task_group() as tasks:
        tasks.start_soon(fill, transport)
        await stuck(transport)
        await raw.half_close()
        await gone(transport)


async def test_a_server_that_does_not_read_makes_the_peer_wait() -> None:
    async with met() as (raw, transport):
        sent = 0
        with anyio.move_on_after(SECONDS):
            while True:
                with anyio.move_on_after(0.2) as pause:
                    await raw.stream.send(frame(b"x" * 100_000))
                if pause.cancelled_caught:
                    break
                sent += 1
        kept = sum(len(message) for message in peer_of(transport).inbox.messages)
        assert kept <= MOST_BYTES + 512 * 1024
        got = 0
        while got < sent:
            got += len(await received(transport))


async def test_very_many_small_messages_make_the_peer_wait_too() -> None:
    async with met() as (raw, transport), anyio.create_task_group() as tasks:
        many = 200_000
        tasks.start_soon(raw.stream.send, frame(b"1") * many)
        await until(lambda: bool(peer_of(transport)._deaf))
        assert MOST_MESSAGES <= len(peer_of(transport).inbox.messages) < many
        got = 0
        while got < many:
            got += len(await received(transport))


async def test_a_silent_peer_is_asked_and_let_go() -> None:
    async with met(ping_interval=0.05) as (raw, transport):
        assert await raw.read() == (PING, b"")
        await gone(transport)


async def test_a_silent_peer_that_answers_is_kept() -> None:
    async with met(ping_interval=0.2) as (raw, transport):
        for _ in range(3):
            assert await raw.read() == (PING, b"")
            await raw.send(frame(b"", PONG))
        await raw.send(frame(b"here"))
        assert await received(transport) == [b"here"]


async def test_a_large_message_on_its_way_is_no_silence() -> None:
    whole = frame(b"x" * 1000)
    async with met(ping_interval=0.2) as (raw, transport):
        await raw.send(whole[:500])
        for at in range(500, 503):
            assert await raw.read() == (PING, b"")
            await raw.send(whole[at : at + 1])
        await raw.send(whole[503:])
        assert await received(transport) == [b"x" * 1000]


async def test_a_peer_that_is_kept_waiting_is_not_taken_for_silent() -> None:
    async with met(ping_interval=0.02) as (raw, transport), anyio.create_task_group() as tasks:
        many = 200_000
        tasks.start_soon(raw.stream.send, frame(b"1") * many)
        await until(lambda: bool(peer_of(transport)._deaf))
        await anyio.sleep(0.2)  # ten intervals in which nothing can be heard
        got = 0
        while got < many:
            got += len(await received(transport))


async def deaf(transport: Transport) -> None:
    """An application that has stopped listening to anyone."""
    await anyio.sleep_forever()


@pytest.mark.parametrize("accept", [echo, deaf, writing])
async def test_stopping_takes_bounded_time_whatever_the_peers_do(
    accept: Callable[[Transport], Awaitable[None]],
) -> None:
    before = await Census.taken()
    async with AsyncExitStack() as peers:
        with anyio.fail_after(SECONDS):
            async with listening(accept, close_timeout=0.2) as address:
                raws = [await peers.enter_async_context(dialled(address)) for _ in range(4)]
                _, halfway, refused, silent = raws
                await halfway.send(b"GET / HTTP/1.1\r\n")
                await refused.send(request(target="/nothing"))
                assert (await refused.head()).status == 404
                assert (await silent.upgrade()).status == 101
                await anyio.wait_all_tasks_blocked()
        for raw in raws:
            await raw.ends()
    await before.holds_again()


async def test_closing_takes_bounded_time_when_the_peer_neither_reads_nor_answers() -> None:
    async with met(close_timeout=0.2) as (_, transport), anyio.create_task_group() as tasks:
        tasks.start_soon(fill, transport)
        await stuck(transport)
        with anyio.fail_after(SECONDS):
            await transport.aclose()


async def test_cancelling_the_server_stops_it_as_well() -> None:
    before = await Census.taken()
    desk = Desk()
    with anyio.CancelScope() as scope:
        async with listening(desk.accept, close_timeout=0.2) as address, upgraded(address):
            await desk.next()
            scope.cancel()
            await anyio.sleep_forever()
    await before.holds_again()
    assert desk.left == 1


async def test_an_error_in_one_connection_is_logged_and_ends_that_one(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(transport: Transport) -> None:
        raise RuntimeError("a fault of the application")

    async with listening(broken) as address:
        for _ in range(2):
            async with upgraded(address) as raw:
                assert await raw.read() == closing(1011)
    assert caplog.text.count("RuntimeError: a fault of the application") == 2


async def test_the_address_can_be_had_again_at_once() -> None:
    async with listening() as address, upgraded(address):
        pass
    async with WebSocketListener("localhost", address.port or 0, Gate()).serving(echo) as again:
        assert again.url == f"ws://127.0.0.1:{address.port}"
        with pytest.raises(OSError, match="in use"):
            async with WebSocketListener("127.0.0.1", again.port or 0, Gate()).serving(echo):
                pass


async def test_ipv6() -> None:
    try:
        async with WebSocketListener("::1", 0, Gate()).serving(echo) as address:
            assert address.url == f"ws://[::1]:{address.port}"
            async with connect(address.url, origin=f"http://[::1]:{address.port}", proxy=None) as client:  # type: ignore[arg-type]
                await client.send("six")
                assert await client.recv() == "six"
    except OSError:
        pytest.skip("this machine has no IPv6")
