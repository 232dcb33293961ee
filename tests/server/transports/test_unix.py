"""WebSocket over a unix socket: a file for its owner alone, and one server to a file."""

# ruff: noqa: ASYNC240 (a look at a file in a temporary folder blocks nobody)

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from tests.support.sockets import TEXT, UPGRADE, dialled, frame, request
from tests.support.vitals import open_files
from websockets.asyncio.client import unix_connect

from threadloom.transports import unix
from threadloom.transports.auth import Gate
from threadloom.transports.base import Closed, Transport
from threadloom.transports.tokens import CapabilityToken, ConfigurationError
from threadloom.transports.unix import UnixListener, socket_path


@pytest.fixture(params=["asyncio", "uvloop"], scope="module")
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """Both loops that the server may run on."""
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where to listen."""
    return tmp_path / "server.sock"


async def echo(transport: Transport) -> None:
    try:
        while True:
            await transport.send([frame for frame in await transport.receive() if isinstance(frame, bytes)])
    except Closed:
        pass


def stale(path: Path) -> None:
    """The file that a server leaves behind when it is killed."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))


async def answers(path: Path) -> None:
    async with unix_connect(str(path)) as client:
        await client.send("hello")
        assert await client.recv() == "hello"


async def test_messages_go_both_ways(path: Path) -> None:
    names = []

    async def accept(transport: Transport) -> None:
        names.append(transport.name)
        await echo(transport)

    async with UnixListener(path).serving(accept) as address:
        assert address.url == f"unix://{path}"
        await answers(path)
    assert names == ["unix"]


async def test_any_host_will_do_but_not_any_origin(path: Path) -> None:
    async with UnixListener(path).serving(echo) as address:
        for headers, host, status in [
            ((), "whatever", 101),
            ((), None, 101),
            ((("Origin", "https://evil.example"),), "localhost", 403),
        ]:
            async with dialled(address) as raw:
                assert (await raw.upgrade(*headers, host=host)).status == status


async def test_health_is_answered_here_too(path: Path) -> None:
    async with UnixListener(path).serving(echo) as address, dialled(address) as raw:
        await raw.send(request(target="/readyz"))
        assert (await raw.head()).status == 200


async def test_a_gate_may_ask_for_a_token_here_too(path: Path) -> None:
    gate = Gate(CapabilityToken(bytes(32)))
    async with UnixListener(path, gate).serving(echo) as address, dialled(address) as raw:
        await raw.send(request(*UPGRADE) + frame(b"hello"))
        assert (await raw.head()).status == 401


async def test_the_file_is_its_owners_alone_whatever_the_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        async with UnixListener(path).serving(echo):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert stat.S_IMODE(Path(f"{path}.lock").stat().st_mode) == 0o600
            assert os.umask(0) == 0
    finally:
        os.umask(before)


async def test_at_no_moment_may_anyone_else_open_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modes = []

    class Watched(socket.socket):
        def bind(self, address: Any) -> None:
            super().bind(address)
            modes.append(stat.S_IMODE(os.stat(address).st_mode))

    monkeypatch.setattr(unix.socket, "socket", Watched)
    before = os.umask(0)
    try:
        async with UnixListener(path).serving(echo):
            await answers(path)
    finally:
        os.umask(before)
    assert [mode & 0o077 for mode in modes] == [0]


async def test_a_folder_that_is_missing_is_made_for_its_owner_alone(path: Path) -> None:
    nested = path.parent / "run" / "server.sock"
    async with UnixListener(nested).serving(echo):
        assert stat.S_IMODE(nested.parent.stat().st_mode) == 0o700
        await answers(nested)


async def test_the_file_of_a_dead_server_is_replaced(path: Path) -> None:
    stale(path)
    async with UnixListener(path).serving(echo):
        await answers(path)


async def test_a_live_server_is_left_alone(path: Path) -> None:
    async with UnixListener(path).serving(echo):
        with pytest.raises(ConfigurationError, match="listening here already") as caught:
            async with UnixListener(path).serving(echo):
                pass
        assert str(path) in str(caught.value)
        await answers(path)


async def test_a_server_that_answers_nobody_is_alive_too(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as other, socket.socket(socket.AF_UNIX) as waiting:
        other.bind(str(path))
        other.listen(0)
        waiting.connect(str(path))
        with pytest.raises(ConfigurationError, match="listening here already"):
            async with UnixListener(path).serving(echo):
                pass
    assert path.exists()


async def test_what_is_no_socket_is_never_removed(path: Path) -> None:
    path.write_text("precious")
    with pytest.raises(ConfigurationError, match="not a socket"):
        async with UnixListener(path).serving(echo):
            pass
    assert path.read_text() == "precious"


async def test_a_link_to_a_socket_is_no_socket(path: Path) -> None:
    target = path.parent / "target"
    stale(target)
    path.symlink_to(target)
    with pytest.raises(ConfigurationError, match="not a socket"):
        async with UnixListener(path).serving(echo):
            pass
    assert target.exists()


async def test_a_path_that_is_too_long_is_refused(path: Path) -> None:
    long = path.parent / ("x" * 120)
    with pytest.raises(ConfigurationError, match="too long"):
        async with UnixListener(long).serving(echo):
            pass


async def test_at_the_end_the_file_is_removed(path: Path) -> None:
    before = open_files()
    async with UnixListener(path).serving(echo):
        assert path.exists()
    assert not path.exists()
    assert (open_files() - before).total() <= 1  # libuv keeps one file of its own
    async with UnixListener(path).serving(echo):
        await answers(path)


async def test_the_file_of_a_successor_is_left_alone(path: Path) -> None:
    async with UnixListener(path).serving(echo):
        path.unlink()
        stale(path)
    assert path.exists()


def test_a_successor_may_have_got_the_same_inode() -> None:
    ours, theirs = (
        SimpleNamespace(lstat=lambda at=at: SimpleNamespace(st_dev=1, st_ino=2, st_ctime_ns=at)) for at in (3, 4)
    )
    assert unix._identity(ours) != unix._identity(theirs)  # type: ignore[arg-type]


async def test_a_file_that_is_gone_already_is_no_trouble(path: Path) -> None:
    async with UnixListener(path).serving(echo):
        path.unlink()
    assert not path.exists()


async def test_of_many_that_start_at_once_one_wins(path: Path) -> None:
    stale(path)
    started, refused = [], []
    enough = anyio.Event()

    async def start(number: int) -> None:
        try:
            async with UnixListener(path).serving(echo):
                started.append(number)
                await enough.wait()
        except ConfigurationError:
            refused.append(number)
            if len(refused) == 9:
                enough.set()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            for number in range(10):
                tasks.start_soon(start, number)
    assert (len(started), len(refused)) == (1, 9)


async def test_a_lock_that_is_never_released_is_reported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unix, "LOCK_SECONDS", 0.05)
    async with unix._locked(path):
        with pytest.raises(ConfigurationError, match="another server has been starting here"):
            async with UnixListener(path).serving(echo):
                pass
    async with UnixListener(path).serving(echo):
        await answers(path)


async def test_large_messages(path: Path) -> None:
    async with UnixListener(path).serving(echo), unix_connect(str(path), max_size=None) as client:
        with anyio.fail_after(30):
            await client.send("x" * 20_000_000)
            assert len(await client.recv()) == 20_000_000


async def test_a_raw_peer(path: Path) -> None:
    async with UnixListener(path).serving(echo) as address, dialled(address) as raw:
        await raw.upgrade()
        await raw.send(frame(b"hello"))
        assert await raw.read() == (TEXT, b"hello")


@pytest.mark.parametrize(
    ("url", "expected"),
    [("unix://", "/default"), ("unix:///tmp/a.sock", "/tmp/a.sock"), ("unix://run/a.sock", "run/a.sock")],
)
def test_the_path_in_a_url(url: str, expected: str) -> None:
    assert socket_path(url, Path("/default")) == Path(expected)
