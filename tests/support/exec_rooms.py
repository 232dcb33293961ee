"""A place for commands: a workspace inside the fence, and what lies outside of it, watched."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import anyio
from tests.support.exec_attempts import program

from threadloom.exec.base import Fence, Mode, Order, Process
from threadloom.exec.launch import FORCE, Host

SECONDS: Final = 20.0  # a command takes a few hundredths; this is for a machine that is busy with something else
# Our own launcher twice: with namespaces, and as it is where the kernel grants none. A run can hide some of them.
RUNS: Final = {"": ("bubblewrap", "landlock", "landlock-only"), "landlock": ("landlock", "landlock-only"), "none": ()}
KINDS: Final = RUNS.get(os.environ.get(FORCE, ""), (os.environ.get(FORCE, ""),))
PATH: Final = os.environ.get("PATH", os.defpath)


GUARDED: Final = (".git", ".threadloom", ".codex", "home", "store", "tree/.git", "sub/repo/.git")  # in a workspace


def host_of(kind: str) -> Host:
    """A host that uses this sandbox and no other."""
    return Host({FORCE: kind})


class Workplace:
    """A workspace with repositories in it, and beside it the outside with something to break."""

    def __init__(self, room: Path) -> None:
        self.room = room
        self.work = room / "work"
        self.outside = room / "outside"
        self.env = {"PATH": PATH, "HOME": str(room), "LANG": "C.UTF-8", "TMPDIR": str(self.work / "tmp")}
        for folder in ("tmp", "sub/repo/.git/hooks", ".git/hooks", ".threadloom", ".codex", "home", "tree", "store"):
            (self.work / folder).mkdir(parents=True)
        (self.work / ".git/config").write_text("[core]\n")
        (self.work / "tree/.git").write_text("gitdir: ../store\n")
        (self.outside / "folder").mkdir(parents=True)
        (self.outside / "kept").write_text("as it was")

    def order(
        self, argv: Sequence[str], *, mode: Mode = "workspace-write", network: bool = False, **more: object
    ) -> Order:
        """A command in the worktree, which may write to the workspace if the mode says so."""
        roots = (str(self.work),) if mode == "workspace-write" else ()
        fence = Fence(mode, roots, network, kept=(str(self.work / "home"),))
        return Order(argv, str(self.work / "tree"), self.env, fence, **more)  # type: ignore[arg-type]

    def snapshot(self) -> dict[str, tuple[object, ...]]:
        """All that no command may change: names, modes, times and contents."""
        guarded = [self.work / name for name in GUARDED]
        paths = [self.work, *(path for top in (self.outside, *guarded) for path in (top, *sorted(top.rglob("*"))))]
        return {str(path): _state(path) for path in paths if path.exists()} | _names(self.room)


def _names(room: Path) -> dict[str, tuple[object, ...]]:
    return {"names": tuple(sorted(path.name for path in room.iterdir()))}


def _state(path: Path) -> tuple[object, ...]:
    stat = path.lstat()
    content = path.read_bytes() if path.is_file() else b""
    return (
        stat.st_mode,
        stat.st_ino,
        stat.st_nlink if path.is_file() else 0,
        int(path.is_file()) * stat.st_mtime_ns,
        content,
    )


class Witnesses:
    """What an attempt could reach outside: a process and sockets of every kind."""

    def __init__(self, outside: Path, stack: ExitStack) -> None:
        self.victim = stack.enter_context(subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL))
        stack.callback(self.victim.kill)
        self.abstract = f"threadloom-{secrets.token_hex(8)}"
        self.tcp = self._listen(stack, socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self.udp = self._listen(stack, socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        self.stream = self._listen(stack, socket.AF_UNIX, socket.SOCK_STREAM, str(outside / "stream"))
        self.datagram = self._listen(stack, socket.AF_UNIX, socket.SOCK_DGRAM, str(outside / "datagram"))
        self.hidden = self._listen(stack, socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self.abstract}")

    @staticmethod
    def _listen(stack: ExitStack, family: int, kind: int, address: object) -> socket.socket:
        peer = stack.enter_context(socket.socket(family, kind))
        peer.bind(address)  # type: ignore[arg-type]
        if kind == socket.SOCK_STREAM:
            peer.listen()
        peer.setblocking(False)
        return peer

    def words(self) -> list[str]:
        """What an attempt is told of them."""
        ports = [str(peer.getsockname()[1]) for peer in (self.tcp, self.udp)]
        return [str(self.victim.pid), *ports, self.abstract]

    def reached(self) -> list[str]:
        """Who was disturbed."""
        found = ["the process"] if self.victim.poll() is not None else []
        for name, peer in (("tcp", self.tcp), ("stream", self.stream), ("hidden", self.hidden)):
            try:
                peer.accept()[0].close()
                found.append(name)
            except BlockingIOError:
                pass
        for name, peer in (("udp", self.udp), ("datagram", self.datagram)):
            try:
                peer.recv(100)
                found.append(name)
            except BlockingIOError:
                pass
        return found


@contextmanager
def witnesses(outside: Path) -> Iterator[Witnesses]:
    """Victims for one attempt."""
    with ExitStack() as stack:
        yield Witnesses(outside, stack)


def attempt_order(place: Workplace, others: Witnesses, code: str, mode: Mode = "workspace-write") -> Order:
    """The command that makes an attempt."""
    words = [str(place.work), str(place.outside), *others.words()]
    return place.order([sys.executable, "-I", "-S", "-c", program(code), *words], mode=mode, stdin=False)


async def collected(process: Process) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    said = {"stdout": b"", "stderr": b""}
    async for stream, data in process.output():
        said[stream] += data
    return await process.wait(), said["stdout"].decode(), said["stderr"].decode()


async def run(host: Host, order: Order) -> tuple[int, str, str]:
    """Run a command to its end, with all that it started."""
    with anyio.fail_after(SECONDS):
        process = await host.launch(order)
        try:
            return await collected(process)
        finally:
            await process.end(0)
