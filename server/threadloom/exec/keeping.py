"""The server's end of the keeper: the small process beside it that forks for it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import anyio

from threadloom.exec.base import LaunchError, Order
from threadloom.exec.process import WardedProcess
from threadloom.exec.streams import Streams, open_streams
from threadloom.exec.tree.plan import Plan, encode

PACKAGES: Final = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM: Final = "import sys; sys.path.insert(0, sys.argv[1]); from threadloom.exec.tree.main import main; main()"
SERVER_FD: Final = 3
LAUNCH: Final = b"L"
# It ends by itself when its socket does; this is for a machine that is busy with something else.
GOODBYE: Final = 5.0  # seconds


class Keeper:
    """Started with the first command, and again should it be killed."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._pid = 0

    def start(self) -> None:
        """Start it ahead of the first command."""
        if self._socket is None:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            try:
                self._pid = _spawn(theirs.fileno())
            except OSError:
                ours.close()
                raise
            finally:
                theirs.close()
            ours.setblocking(False)
            self._socket = ours

    async def launch(
        self, order: Order, plan: Plan, live: set[WardedProcess], gone: Callable[[], None]
    ) -> WardedProcess:
        """Have it fork a warden for a command; raises `LaunchError`. `gone` hears when nothing of it is left."""

        def forget(process: WardedProcess) -> None:
            live.discard(process)
            gone()

        try:
            ours, wardens, streams, theirs = _opened(order)
        except OSError as fault:
            raise LaunchError(f"no pipe or terminal for the command: {fault.strerror}") from fault
        process: WardedProcess | None = None
        try:
            try:
                await self._send([wardens.fileno(), *theirs])
            finally:
                wardens.close()
                for descriptor in set(theirs):
                    os.close(descriptor)
            await _send_plan(ours, plan)
            process = WardedProcess(ours, streams, forget)
            live.add(process)
            await process.started()
        except BaseException as fault:
            streams.close()
            if process is None:
                ours.close()
            else:
                process.abort()
            if isinstance(fault, OSError):
                raise LaunchError(f"nobody to start the command: {fault.strerror}") from fault
            raise
        return process

    async def close(self) -> None:
        """Let it end; returns when it has."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            await _reap(self._pid)

    async def _send(self, descriptors: Sequence[int]) -> None:
        for _ in range(2):
            self.start()
            assert self._socket is not None
            try:
                await _send_descriptors(self._socket, descriptors)
                return
            except (BrokenPipeError, ConnectionResetError):
                await self.close()
        raise LaunchError("the process that starts commands ends as soon as it is started")


def _opened(order: Order) -> tuple[socket.socket, socket.socket, Streams, list[int]]:
    """Both ends of a way to a warden, and of the command's streams, or none of them. Raises `OSError`."""
    ours, wardens = socket.socketpair()
    ours.setblocking(False)
    try:
        return ours, wardens, *open_streams(order)
    except OSError:
        ours.close()
        wardens.close()
        raise


async def _send_descriptors(peer: socket.socket, descriptors: Sequence[int]) -> None:
    while True:
        try:
            socket.send_fds(peer, [LAUNCH], list(descriptors), socket.MSG_NOSIGNAL)
            return
        except BlockingIOError:
            await anyio.wait_writable(peer)


async def _send_plan(peer: socket.socket, plan: Plan) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):  # who has gone may have said why, which is yet to be read
        await asyncio.get_running_loop().sock_sendall(peer, encode(plan))


def _spawn(descriptor: int) -> int:
    """Start it in a session of its own: what is typed at the server's terminal is not meant for it."""
    null = [(os.POSIX_SPAWN_OPEN, target, os.devnull, os.O_RDWR, 0) for target in (0, 1)]
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-S", "-c", PROGRAM, PACKAGES],
        {},
        file_actions=[(os.POSIX_SPAWN_DUP2, descriptor, SERVER_FD), *null],
        setsid=True,
        setsigmask=[],
        setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
    )


async def _reap(pid: int) -> None:
    with suppress(ChildProcessError, ProcessLookupError):
        ended = os.pidfd_open(pid)
        try:
            with anyio.move_on_after(GOODBYE, shield=True):
                await anyio.wait_readable(ended)
            os.waitpid(pid, os.WNOHANG)  # noqa: ASYNC222 - it does not wait
        finally:
            os.close(ended)
