"""WebSocket over a unix socket: a file that only its owner may open."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

import anyio

from threadloom.transports.auth import Gate
from threadloom.transports.listener import Address, Bound, Limits, Listener
from threadloom.transports.tokens import ConfigurationError

# Binding takes a millisecond; whoever holds the lock for longer is not going to let go.
LOCK_SECONDS: Final = 5.0
_PAUSE: Final = 0.01

# What the kernels in use have room for.
_MAX_PATH: Final = 107 if sys.platform == "linux" else 103


class UnixListener(Listener):
    """Listens at a path. Whoever can open the file is its owner, so no token is asked for unless `gate` wants one."""

    name = "unix"

    def __init__(self, path: str | Path, gate: Gate | None = None, limits: Limits | None = None) -> None:
        super().__init__(gate or Gate(), limits or Limits())
        self._path = Path(path).absolute()

    @asynccontextmanager
    async def bound(self) -> AsyncIterator[Bound]:
        """See `Listener.bound`. Raises `ConfigurationError` if another server listens here, or `OSError`."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with socket.socket(socket.AF_UNIX) as listening:
            async with _locked(self._path):
                _clear(self._path)
                _bind(listening, self._path)
                ours = _identity(self._path)
            try:
                yield Bound(listening, Address(f"unix://{self._path}"), self._gate)
            finally:
                with anyio.CancelScope(shield=True):
                    await self._remove(ours)

    async def _remove(self, ours: object) -> None:
        """Take the file away, unless it is someone else's by now. A file left behind does no harm."""
        with suppress(ConfigurationError, OSError):
            async with _locked(self._path):
                if _identity(self._path) == ours:
                    self._path.unlink()


def socket_path(url: str, default: Path) -> Path:
    """The path in `unix://PATH`; `unix://` alone means the default."""
    path = url.removeprefix("unix://")
    return Path(path) if path else default


@asynccontextmanager
async def _locked(path: Path) -> AsyncIterator[None]:
    """Hold the right to create or remove the file. The lock falls with the process; its own file stays."""
    with _lock_file(path) as descriptor:
        for _ in range(int(LOCK_SECONDS / _PAUSE)):
            if _try_lock(descriptor):
                break
            await anyio.sleep(_PAUSE)
        else:
            raise ConfigurationError(f"{path}: another server has been starting here for {LOCK_SECONDS:.0f} seconds.")
        yield


@contextmanager
def _lock_file(path: Path) -> Iterator[int]:
    descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _clear(path: Path) -> None:
    """Make room: remove the socket of a server that is gone, and nothing else."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise ConfigurationError(f"{path}: there is a file, and it is not a socket; choose another path.")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        # A full backlog (EAGAIN) is a server too.
        if probe.connect_ex(str(path)) != errno.ECONNREFUSED:
            raise ConfigurationError(f"{path}: a server is listening here already; stop it or choose another path.")
    path.unlink()


def _bind(listening: socket.socket, path: Path) -> None:
    """Bind and listen; at no moment may anyone else open the file."""
    if len(os.fsencode(path)) > _MAX_PATH:
        raise ConfigurationError(f"{path}: too long for a socket, which may have {_MAX_PATH} bytes.")
    before = os.umask(0o077)
    try:
        listening.bind(str(path))
    finally:
        os.umask(before)
    path.chmod(0o600)
    listening.listen()


def _identity(path: Path) -> tuple[int, int, int]:
    """Which file this is. The number of a removed file is soon given out again, hence the time."""
    status = path.lstat()
    return status.st_dev, status.st_ino, status.st_ctime_ns
