"""Random input, and peers that come and go as they please: nothing falls, nothing is left unanswered, nothing stays."""

from __future__ import annotations

import socket
from collections import Counter
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest
from tests.support.conformance import Conformance
from tests.support.counts import count
from tests.support.frames import MOST, Noise, in_order, left_open, noises
from tests.support.junk import Answers, answered, expected, lines
from tests.support.places import KINDS, SocketPlace, StdioPlace, running
from tests.support.sockets import dialled, frame
from tests.support.vitals import descriptors, memory
from tests.support.wire import HELLO, Wire

from threadloom.connection import MAX_OPEN
from threadloom.transports.base import MAX_MESSAGE
from threadloom.transports.listener import Address
from threadloom_client import Closed

MIB = 1024 * 1024
SEEDS = [20261, 4711]


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


# ── random lines ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def put_through(wire: Wire, texts: list[bytes]) -> None:
    """Send all, and read until every id has its answers: as many as it must have, and not one more."""
    due = sum((expected(text, most=MAX_OPEN) for text in texts), Counter())
    got: Answers = Counter()

    async def send_all() -> None:
        for at in range(0, len(texts), 50):
            await wire.send(*texts[at : at + 50])

    with anyio.fail_after(120):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send_all)
            while got.total() < due.total():
                got += answered(await wire.read(timeout=30))
    assert got == due, {
        identity: (got[identity], due[identity]) for identity in got | due if got[identity] != due[identity]
    }
    await wire.is_alive()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
async def test_random_lines_are_answered_and_leave_no_trace(
    kind: str, seed: int, home: Path, conformance: Conformance
) -> None:
    texts = list(lines(seed, count(20_000) // len(SEEDS)))
    async with running(kind, home, conformance, probing=True) as place, place.wire() as wire:
        warm = len(texts) // 3
        await put_through(wire, texts[:warm])
        before = place.pid and memory(place.pid)
        await put_through(wire, texts[warm:])
        if place.pid and before:
            assert memory(place.pid) - before < 4 * MIB
        async with place.wire() as another:
            await another.is_alive()


def test_the_random_lines_are_worth_their_name() -> None:
    texts = list(lines(SEEDS[0], 2000))
    assert texts == list(lines(SEEDS[0], 2000))
    assert texts != list(lines(SEEDS[1], 2000))
    due = [expected(text, most=MAX_OPEN) for text in texts]
    unreadable = sum(1 for it in due if it == Counter(["null"]))
    silent = sum(1 for it in due if not it)
    assert min(unreadable, silent, len(texts) - unreadable - silent) > 150


# ── random frames ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["websocket", "unix"])
async def test_random_frames_end_their_connection_or_leave_it_in_order(
    kind: str, home: Path, conformance: Conformance
) -> None:
    wild = noises(SEEDS[0], count(4000) // MOST)
    tame = [in_order(it) for it in noises(SEEDS[1], count(16_000) // MOST)]
    async with running(kind, home, conformance, probing=True) as place, place.wire() as bystander:
        assert isinstance(place, SocketPlace)
        assert place.pid is not None
        address = Address(place.url, urlsplit(place.url).port if kind == "websocket" else None)
        outcomes = Counter([await outcome(address, frames) for frames in (*wild, *tame[: len(tame) // 2])])
        files, before = await at_rest(place.pid, bystander), memory(place.pid)
        outcomes += Counter([await outcome(address, frames) for frames in tame[len(tame) // 2 :]])
        assert min(outcomes["open"], outcomes["ended"]) > len(wild) // 10
        assert await at_rest(place.pid, bystander, at_most=files) <= files
        assert memory(place.pid) - before < 6 * MIB
        await bystander.is_alive()


async def outcome(address: Address, frames: list[Noise]) -> str:
    """Send them over a connection of their own; one that broke no law still answers, any other is closed."""
    async with dialled(address) as raw:
        assert (await raw.upgrade()).status == 101
        rest = left_open(frames)
        with suppress(anyio.BrokenResourceError):  # it may be closed before all is said
            await raw.send(b"".join(it.bytes() for it in frames))
        if rest is None:
            await raw.ends()
            return "ended"
        await raw.send(rest + frame(b'{"id":"the last","method":"probe/echo"}'))
        while b'"the last"' not in (await raw.read())[1]:
            pass
        return "open"


# ── too much ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["stdio", "websocket", "unix"])
async def test_an_oversized_message_gets_its_error_and_the_next_is_read(
    kind: str, home: Path, conformance: Conformance
) -> None:
    async with running(kind, home, conformance, probing=True) as place, place.wire() as wire:
        assert place.pid is not None
        before = memory(place.pid)
        for _ in range(2):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wire.send, b'{"id":1,"method":"' + b"x" * MAX_MESSAGE + b'"}')
                refused = await wire.read(timeout=60)
            assert (refused["id"], refused["error"]["code"]) == (None, -32600)
            await wire.is_alive()
        # Beside the message itself, the rooms of the house may still have been opening when `before` was read.
        assert memory(place.pid) - before < MAX_MESSAGE + 48 * MIB


@pytest.mark.parametrize("kind", ["memory", "stdio", "websocket", "unix"])
async def test_a_message_of_20_mb_makes_the_round(kind: str, home: Path, conformance: Conformance) -> None:
    async with running(kind, home, conformance, probing=True) as place, place.client() as client:
        text = "é" * (10 * MIB)
        assert (await client.call("probe/echo", {"text": text}))["text"] == text


# ── half gone, and gone ───────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_peer_that_has_stopped_talking_still_hears_its_answers(home: Path, conformance: Conformance) -> None:
    async with running("stdio", home, conformance, probing=True) as place:
        assert isinstance(place, StdioPlace)
        wire = Wire(await place.tapped(), "probe/echo")
        await wire.initialize()
        await wire.send(*({"id": number, "method": "probe/echo"} for number in range(500)))
        child = place.newest
        assert child.process.stdin is not None
        await child.process.stdin.aclose()
        assert [(await wire.read())["id"] for _ in range(500)] == list(range(500))
        with pytest.raises(Closed, match="exited with code 0"):
            await wire.read()


@pytest.mark.parametrize("kind", ["websocket", "unix"])
async def test_peers_that_come_and_go_leave_nothing_behind(kind: str, home: Path, conformance: Conformance) -> None:
    async with running(kind, home, conformance, probing=True) as place, place.wire() as bystander:
        assert isinstance(place, SocketPlace)
        assert place.pid is not None
        for how in WAYS:
            await how(place)
        await bystander.is_alive()
        files, bytes_before = await at_rest(place.pid, bystander), memory(place.pid)
        for number in range(count(1000)):
            await WAYS[number % len(WAYS)](place)
        assert await at_rest(place.pid, bystander, at_most=files) <= files
        assert memory(place.pid) - bytes_before < 6 * MIB


async def at_rest(pid: int, wire: Wire, at_most: int = 0) -> int:
    """The open files of a server once it has seen its visitors off; each look is a round trip, so it has the time."""
    fewest = descriptors(pid)
    deadline = anyio.current_time() + (10 if at_most else 2)
    while fewest > at_most and anyio.current_time() < deadline:
        await wire.is_alive()
        fewest = min(fewest, descriptors(pid))
    return fewest


async def drop_unsaid(place: SocketPlace) -> None:
    (await plug(place)).close()


async def drop_in_mid_handshake(place: SocketPlace) -> None:
    with await plug(place) as raw:
        await anyio.to_thread.run_sync(raw.sendall, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgr")


async def hang_up_after_noise(place: SocketPlace) -> None:
    with await plug(place) as raw:
        await anyio.to_thread.run_sync(raw.sendall, b"\x16\x03\x01\x02\x00\x01" * 20)
        raw.shutdown(socket.SHUT_WR)


async def leave_politely(place: SocketPlace) -> None:
    async with place.wire() as wire:
        await wire.is_alive()


async def vanish_after_the_handshake(place: SocketPlace) -> None:
    wire = Wire(await place.tapped(), "probe/echo")
    await wire.initialize()
    await vanish(wire)


async def vanish_with_open_requests(place: SocketPlace) -> None:
    wire = Wire(await place.tapped(), "probe/echo")
    await wire.initialize()
    await wire.send(*({"id": number, "method": "probe/hold", "params": {"gate": "late"}} for number in range(20)))
    await wire.is_alive()
    await vanish(wire)
    async with place.wire() as another:  # the handlers go on without their client, and end in their own time
        await another.ask("probe/open", {"gate": "late"})


async def vanish_while_talking(place: SocketPlace) -> None:
    wire = Wire(await place.tapped(), "probe/echo")
    await wire.send({"id": 1, "method": "initialize", "params": HELLO}, *([b'{"id":1,"method":"probe/echo"}'] * 50))
    await vanish(wire)


async def vanish(wire: Wire) -> None:
    """No close frame, no goodbye: the connection is reset."""
    peer = wire.transport.inner.socket  # type: ignore[attr-defined]
    peer.transport.abort()
    await peer.wait_closed()


async def plug(place: SocketPlace) -> socket.socket:
    """A bare socket."""
    url = urlsplit(place.url)
    raw = socket.socket(socket.AF_UNIX if url.scheme == "unix" else socket.AF_INET)
    address = place.url.removeprefix("unix://") if url.scheme == "unix" else (url.hostname, url.port)
    await anyio.to_thread.run_sync(raw.connect, address)
    return raw


WAYS = [
    drop_unsaid,
    drop_in_mid_handshake,
    hang_up_after_noise,
    leave_politely,
    vanish_after_the_handshake,
    vanish_with_open_requests,
    vanish_while_talking,
]
