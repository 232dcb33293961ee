"""The connection to a model's server: which address it takes, and what happens when one side is the slower one."""

from __future__ import annotations

import socket as system
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import anyio
import anyio.abc
import anyio.to_thread
import pytest

from threadloom.agent.models import socket
from threadloom.agent.models.socket import Socket, connect

HOST = "127.0.0.1"
SECONDS = 20.0
LONG = bytes(range(256)) * 100_000  # several times what may wait, here or in the kernel

Serve = Callable[[anyio.abc.SocketStream], Awaitable[None]]


@asynccontextmanager
async def server(serve: Serve) -> AsyncIterator[int]:
    async with await anyio.create_tcp_listener(local_host=HOST) as listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        with anyio.fail_after(SECONDS):
            yield listener.extra(anyio.abc.SocketAttribute.local_port)
        tasks.cancel_scope.cancel()


async def everything(it: Socket) -> bytes:
    pieces = []
    while piece := await it.read(64 << 10, SECONDS):
        pieces.append(piece)
    return b"".join(pieces)


async def test_what_comes_faster_than_it_is_read_comes_whole_and_waits_outside() -> None:
    async def serve(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.send(LONG)

    async with server(serve) as port:
        it = await connect(HOST, port, None)
        first = await it.read(1, SECONDS)
        await anyio.wait_all_tasks_blocked()
        assert len(it._came) <= socket.HIGH + (256 << 10), "one read of the loop may go past it"
        assert first + await everything(it) == LONG


async def test_what_is_sent_to_a_server_that_does_not_read_waits_until_it_does() -> None:
    with system.create_server((HOST, 0)) as listener:  # by hand: a stream would read on by itself

        def take() -> bytes:
            taken, _ = listener.accept()
            with taken:
                return b"".join(iter(lambda: taken.recv(1 << 20, system.MSG_WAITALL), b""))

        it = await connect(HOST, listener.getsockname()[1], None)
        with anyio.fail_after(SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(it.send, LONG)
                await anyio.wait_all_tasks_blocked()
                assert it._writer is not None
                tasks.start_soon(_close_behind, it)
                assert await anyio.to_thread.run_sync(take) == LONG


async def _close_behind(it: Socket) -> None:
    """Say goodbye once all of it has left."""
    while it._writer is not None:  # noqa: ASYNC110 (nobody tells)
        await anyio.sleep(0.01)
    assert it._transport is not None
    it._transport.close()


async def test_a_silent_server_is_waited_for_so_long_and_each_read_anew() -> None:
    go_on = anyio.Event()

    async def serve(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.send(b"a word")
            await go_on.wait()

    async with server(serve) as port:
        it = await connect(HOST, port, None)
        assert await it.read(100, SECONDS) == b"a word"
        with pytest.raises(TimeoutError):  # though the alarm of the first read is far away
            await it.read(100, 0.01)
        go_on.set()
        assert await it.read(100, SECONDS) == b""
        assert not it.quiet


async def answering(stream: anyio.abc.SocketStream) -> None:
    async with stream:
        await stream.send(b"here")


@contextmanager
def mute() -> Iterator[int]:
    """A port where nobody says yes or no: its queue is full."""
    with system.socket() as listener:
        listener.bind((HOST, 0))
        listener.listen(0)
        waiting = []
        try:
            for _ in range(8):
                waiting.append(it := system.socket())
                it.setblocking(False)
                it.connect_ex(listener.getsockname())
            yield listener.getsockname()[1]
        finally:
            for it in waiting:
                it.close()


def closed() -> int:
    """A port where nobody listens."""
    with system.socket() as it:
        it.bind((HOST, 0))
        return int(it.getsockname()[1])


def named(monkeypatch: pytest.MonkeyPatch, *ports: int) -> None:
    async def addresses(*_: object, **__: object) -> list[tuple[object, ...]]:
        return [(system.AF_INET, system.SOCK_STREAM, 0, "", (HOST, port)) for port in ports]

    monkeypatch.setattr(anyio, "getaddrinfo", addresses)


async def test_of_several_addresses_one_that_answers_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "HEAD_START", 0.01)
    with mute() as silent:
        async with server(answering) as port:
            for before in ((closed(),), (silent,), (closed(), silent, closed())):
                named(monkeypatch, *before, port)
                it = await connect("models.test", 1, None)
                assert await everything(it) == b"here"


async def test_where_no_address_answers_the_first_refusal_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    named(monkeypatch, closed(), closed())
    with pytest.raises(ConnectionRefusedError):
        await connect("models.test", 1, None)
    named(monkeypatch)
    with pytest.raises(OSError, match=r"models\.test has no address"):
        await connect("models.test", 1, None)
