"""Servers by the dozen, each a process of its own: asked for deeds, killed, and born again on the same home."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
from tests.support.processes import environment

PATIENCE = 90.0  # seconds: a server says by itself, and earlier, that a deed has not come to its end


class Nursery:
    """The warm process that they are forked from. See `tree_life`."""

    def __init__(self, peer: socket.socket) -> None:
        self._peer = peer
        assert self._peer.recv(65536) == b"ready"

    def born(self, room: Path) -> Server:
        """A server on the home of this room, as the last one left it."""
        ours, theirs = socket.socketpair()
        with theirs:
            order = orjson.dumps([str(room / "home"), str(room / "stderr.log")])
            socket.send_fds(self._peer, [order], [theirs.fileno()])
        ours.settimeout(PATIENCE)
        return Server(self, ours, int(self._peer.recv(65536)))

    def bury(self, pid: int) -> int:
        """Return once a server has ended, with all that it had started; how it did."""
        self._peer.send(b"%d" % pid)
        return int(self._peer.recv(65536))


class Server:
    """One of them."""

    def __init__(self, nursery: Nursery, peer: socket.socket, pid: int) -> None:
        self._nursery = nursery
        self._peer = peer
        self._answers = peer.makefile("rb")
        self._pid = pid
        self._code: int | None = None  # once it is buried

    def ask(self, deed: str, wanted: dict[str, Any]) -> dict[str, Any] | None:
        """What came of a deed; none where the server was gone before it could say so."""
        with suppress(BrokenPipeError):
            self._peer.sendall(orjson.dumps([deed, wanted]) + b"\n")
        try:
            answer = self._answers.readline()
        except ConnectionResetError:
            return None
        return orjson.loads(answer) if answer else None

    def kill(self) -> None:
        """From outside, whatever it does. Once it is buried, its number may be somebody else's."""
        if self._code is None:
            os.kill(self._pid, signal.SIGKILL)

    def buried(self) -> int:
        """Return once it has ended; its exit code, as often as one asks."""
        if self._code is None:
            self._code = self._nursery.bury(self._pid)
            self._answers.close()
            self._peer.close()
        return self._code


@contextmanager
def nursing(room: Path) -> Iterator[Nursery]:
    """A nursery, until no server is wanted any more."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(PATIENCE)
    words = [sys.executable, "-m", "tests.support.tree_life"]
    with theirs:
        process = subprocess.Popen(words, stdin=theirs, env=environment(room), cwd=room)
    try:
        with ours:
            yield Nursery(ours)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
