"""A client that stops reading: it harms nobody but itself, and not even itself for good."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import orjson
import pytest
from tests.support.conformance import Conformance
from tests.support.counts import count
from tests.support.flow import Flow
from tests.support.places import SocketPlace, running
from tests.support.sockets import TEXT, UPGRADE, Raw, frame, request
from tests.support.talk import Message, Talk, of_thread, said, talking, text_of
from tests.support.tap import Recorder
from tests.support.vitals import memory
from tests.support.wire import Wire

DELTAS = 40_000
WORDS = 20  # of a delta: more than most models send at once
TURNS = 4  # that they come in: nobody who reads is as far behind as to be told of a gap
READERS = 5
GROWTH = 16 * 1024 * 1024  # that one who does not read may cost
HELLO = {"clientInfo": {"name": "stalled", "version": "1"}, "capabilities": {"experimentalApi": True}}


class Stalled:
    """A client by hand, so that not a byte is read unless it is told to."""

    def __init__(self, sock: socket.socket, flow: Flow) -> None:
        self._sock = sock
        self._flow = flow
        self._raw = Raw(self)  # type: ignore[arg-type]
        self._next = 0
        self.bytes_read = 0

    async def send(self, data: bytes) -> None:
        """For `Raw`."""
        await asyncio.get_running_loop().sock_sendall(self._sock, data)

    async def receive(self) -> bytes:
        """For `Raw`."""
        data = await asyncio.get_running_loop().sock_recv(self._sock, 65536)
        self.bytes_read += len(data)
        if not data:
            raise anyio.EndOfStream
        return data

    async def upgrade(self) -> None:
        await self._raw.send(request(*UPGRADE))
        assert (await self._raw.head()).status == 101

    async def read(self) -> Message:
        opcode, data = await self._raw.read()
        assert opcode == TEXT, (opcode, data)
        self._flow.received(data)
        return dict(orjson.loads(data))

    async def ask(self, method: str, params: Any) -> tuple[Any, list[Message]]:
        """The result, and what came before it."""
        self._next += 1
        message = orjson.dumps({"id": self._next, "method": method, "params": params})
        self._flow.sent(message)
        await self._raw.send(frame(message))
        before: list[Message] = []
        while (answer := await self.read()).get("id") != self._next:
            before.append(answer)
        return answer["result"], before


@asynccontextmanager
async def stalled(url: str, conformance: Conformance) -> AsyncIterator[Stalled]:
    address = urlsplit(url)
    over_file = address.scheme == "unix"
    with socket.socket(socket.AF_UNIX if over_file else socket.AF_INET) as sock:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # the kernel is to take little for it
        peer = address.path if over_file else (address.hostname, address.port)
        await asyncio.get_running_loop().sock_connect(sock, peer)
        client = Stalled(sock, Flow(conformance))
        await client.upgrade()
        await client.ask("initialize", HELLO)
        yield client


class Hearing:
    """What one client was told of one thread: nothing may be missing, and what is must be named."""

    def __init__(self, thread_id: str, cursor: int) -> None:
        self.thread_id = thread_id
        self.cursor = cursor
        self._pieces: list[str] = []
        self.merged = 0
        self.gap: tuple[int, int] | None = None
        self.ended = 0  # turns

    @property
    def text(self) -> str:
        """What was said."""
        return "".join(self._pieces)

    def take(self, message: Message) -> None:
        """One more."""
        if "method" not in message or of_thread(message) != self.thread_id:
            return
        params = message["params"]
        if message["method"] == "thread/gap":
            assert params["fromSeq"] == self.cursor + 1
            self.gap = params["fromSeq"], params["toSeq"]
            self.cursor = params["toSeq"]
        elif "seq" in params:
            assert params.get("fromSeq", params["seq"]) == self.cursor + 1, message
            self.cursor = params["seq"]
            self.merged += "fromSeq" in params
        self._pieces.append(params.get("delta", ""))
        self.ended += message["method"] == "turn/completed"


def peak(pid: int) -> int:
    """The most memory that a process has had since `forget_peak`."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")


def forget_peak(pid: int) -> None:
    """The most memory so far is what it has now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


@pytest.mark.parametrize("kind", ["unix", "websocket"])
async def test_one_that_stops_reading_harms_nobody(kind: str, tmp_path: Path, conformance: Conformance) -> None:
    """Over a socket file the kernel takes least for one who does not read, and leaves it to the server."""
    deltas = count(DELTAS)
    async with _told(kind, tmp_path / "usual", conformance, deltas) as usual:
        pass
    async with _told(kind, tmp_path / "stalled", conformance, deltas, stalling=True) as told:
        # All five have heard the end, and the sixth has not read a byte: they did not wait for it.
        still, since = told.still
        assert still.bytes_read == since
        assert told.growth - usual.growth <= GROWTH
        await _reads_on(still, Hearing(told.thread_id, told.head), told.text, told.cursor, lagging=kind == "unix")
        assert peak(told.pid) - told.before - usual.growth <= GROWTH


@dataclass
class Told:
    """What came of turns that five have followed to the end, and a sixth perhaps not."""

    thread_id: str
    head: int  # the last seq before them
    cursor: int  # and the last of them
    text: str
    pid: int
    before: int  # bytes of memory
    growth: int  # at its peak
    stalled: tuple[Stalled, int] | None  # the sixth, and how much it had read when they began

    @property
    def still(self) -> tuple[Stalled, int]:
        """The sixth."""
        assert self.stalled is not None
        return self.stalled


@asynccontextmanager
async def _told(
    kind: str, room: Path, conformance: Conformance, deltas: int, *, stalling: bool = False
) -> AsyncIterator[Told]:
    await anyio.Path(room).mkdir()
    async with running(kind, room, conformance) as place, AsyncExitStack() as stack:
        assert isinstance(place, SocketPlace)
        speaker = await stack.enter_async_context(talking(place))
        thread_id, head = await _warm(speaker)
        sixth: tuple[Stalled, int] | None = None
        if stalling:
            still = await stack.enter_async_context(stalled(place.url, conformance))
            await still.ask("thread/resume", {"threadId": thread_id, "sinceSeq": head})
            sixth = still, still.bytes_read
        yield await _followed(place, speaker, thread_id, head, deltas, sixth, conformance)


async def _warm(speaker: Talk) -> tuple[str, int]:
    """A thread with a server that has done all of it before; its last seq."""
    thread_id: str = (await speaker.start())["id"]
    await speaker.turn(thread_id, _script(2000))
    await speaker.ask("thread/unsubscribe", threadId=thread_id)
    return thread_id, (await speaker.ask("thread/read", threadId=thread_id))["thread"]["seq"]


async def _followed(
    place: SocketPlace,
    speaker: Talk,
    thread_id: str,
    head: int,
    deltas: int,
    sixth: tuple[Stalled, int] | None,
    conformance: Conformance,
) -> Told:
    hearings = [Hearing(thread_id, head) for _ in range(READERS)]
    assert place.pid is not None
    before = memory(place.pid)
    forget_peak(place.pid)
    async with AsyncExitStack() as stack:
        wires = [await stack.enter_async_context(_reader(place, it, conformance)) for it in hearings]
        for _ in range(TURNS):
            async with anyio.create_task_group() as tasks:
                for wire, hearing in zip(wires, hearings, strict=True):
                    tasks.start_soon(_hear_out, wire, hearing)
                await speaker.ask("turn/start", threadId=thread_id, input=said(_script(deltas // TURNS)))
    growth = peak(place.pid) - before
    turns = (await speaker.ask("thread/turns/list", threadId=thread_id, limit=TURNS, itemsView="full"))["data"]
    whole = "".join(text_of(it) for it in reversed(turns))
    assert len(whole.split()) >= deltas * (WORDS - 1)  # no space is between turns
    for hearing in hearings:
        assert (hearing.text == whole, hearing.gap) == (True, None)
    return Told(thread_id, head, hearings[0].cursor, whole, place.pid, before, growth, sixth)


def _script(deltas: int) -> str:
    return f"pieces of {WORDS} words\nsay {deltas * WORDS} words"


@asynccontextmanager
async def _reader(place: SocketPlace, hearing: Hearing, conformance: Conformance) -> AsyncIterator[Wire]:
    recorder = Recorder(await place.dial(), Flow(conformance))
    wire = Wire(recorder, "thread/loaded/list")
    try:
        await wire.initialize(experimentalApi=True)
        await wire.ask("thread/resume", {"threadId": hearing.thread_id, "sinceSeq": hearing.cursor})
        yield wire
    finally:
        await wire.transport.aclose()
    recorder.judge()


async def _hear_out(wire: Wire, hearing: Hearing) -> None:
    ended = hearing.ended
    while hearing.ended == ended:
        hearing.take(await wire.read())


async def _reads_on(still: Stalled, hearing: Hearing, whole: str, head: int, *, lagging: bool) -> None:
    """The sixth: byte for byte the same, or it is told exactly what it missed and gets it as a snapshot."""
    while hearing.ended < TURNS and hearing.gap is None:
        hearing.take(await still.read())
    if hearing.gap is None:
        assert hearing.merged or not lagging
        assert (hearing.text, hearing.cursor) == (whole, head)
        return
    assert hearing.gap[1] == head
    assert whole.startswith(hearing.text)
    resume = {"threadId": hearing.thread_id, "sinceSeq": hearing.gap[0] - 1}
    resumed, _ = await still.ask("thread/resume", resume)
    assert (resumed["truncated"], resumed["seq"]) == (True, head)
    assert "".join(text_of(it) for it in resumed["thread"]["turns"][-TURNS:]) == whole
