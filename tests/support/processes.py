"""Servers as programs: started in a home of their own, heard, and always ended."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from signal import SIGKILL, SIGTERM
from subprocess import DEVNULL, PIPE

import anyio
from anyio.abc import Process

ROOT = Path(__file__).parents[2]
THREADLOOM = [str(Path(sys.executable).with_name("threadloom"))]
PROBING = [sys.executable, "-m", "tests.support.probing"]

# What `probe/fail` raises: the one fault that a server may log in a test.
EXPECTED_FAULT = "KeyError: 'a detail that no client may see'"

START_SECONDS = 20.0  # a start takes a third of one; this is for a machine that is busy with something else
STOP_SECONDS = 10.0

PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE = 1
CAP_DAC_READ_SEARCH = 2

# The logs of the servers of the running test, shown if it fails.
LOGS: list[Log] = []


class Log:
    """What a server wrote to stderr."""

    def __init__(self, command: Sequence[str], path: Path) -> None:
        self.command = " ".join(command)
        self.path = path
        LOGS.append(self)

    @property
    def text(self) -> str:
        """All of it so far."""
        return self.path.read_text(errors="replace") if self.path.exists() else ""

    def assert_clean(self) -> None:
        """No server of a test may fail in silence."""
        text = self.text
        assert text.count("Traceback") == text.count(EXPECTED_FAULT), text
        assert "Warning" not in text, text


def command(*words: str, probing: bool = False) -> list[str]:
    """How to start the server, with the tests' own room or as it is."""
    return [*(PROBING if probing else THREADLOOM), "app-server", *words]


def server_home(room: Path) -> Path:
    """Where a server that was given this folder keeps its files."""
    return room / "threadloom"


def bound_by_modes() -> None:
    """Between fork and exec: have the modes of files hold for this process, also where it is root's."""
    prctl = ctypes.CDLL(None).prctl
    for right in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        prctl(PR_CAPBSET_DROP, right, 0, 0, 0)  # refused to whoever has no such right


def environment(room: Path) -> dict[str, str]:
    """Nothing of the user's: not the home, not the keys, not the proxy."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(room),
        "THREADLOOM_HOME": str(server_home(room)),
        "PYTHONPATH": str(ROOT),
        # All but the one that jsonrpcserver causes when it is imported.
        "PYTHONWARNINGS": "default,ignore::DeprecationWarning:jsonrpcserver.main,"
        "ignore::DeprecationWarning:importlib.resources._legacy",
        "LANG": "C.UTF-8",
        **{name: os.environ[name] for name in ("THREADLOOM_SANDBOX",) if name in os.environ},
    }


class Listener:
    """A server that listens at an address."""

    def __init__(self, process: Process, log: Log) -> None:
        self.process = process
        self.log = log
        self.url = ""
        self.heard = anyio.Event()  # it said where it listens, or ended

    async def listen_to(self) -> None:
        """Keep what it says, and find out where it listens."""
        assert self.process.stderr is not None
        said = b""
        with self.log.path.open("wb", buffering=0) as kept:
            async for chunk in self.process.stderr:
                kept.write(chunk)
                said += chunk if not self.heard.is_set() else b""
                for line in said.splitlines(keepends=True):
                    if b"listening on " in line and line.endswith(b"\n") and not self.heard.is_set():
                        self.url = line.partition(b"listening on ")[2].split()[0].decode()
                        self.heard.set()
        self.heard.set()

    async def stop(self) -> int:
        """Ask it to end, and see that it does; its exit code."""
        for signal in (SIGTERM, SIGKILL):
            if self.process.returncode is None:
                send(self.process, signal)
                with anyio.move_on_after(STOP_SECONDS):
                    await self.process.wait()
        return await self.process.wait()


def send(process: Process, signal: int) -> None:
    """Send a signal, and no more: `Process.send_signal` looks first, and who looks may take the exit code away."""
    with suppress(ProcessLookupError):  # it has just gone
        os.kill(process.pid, signal)


@asynccontextmanager
async def listening(listen: str, room: Path, *options: str, probing: bool = False) -> AsyncIterator[Listener]:
    """A server that listens there (`ws://…` or `unix://…`); it ends cleanly, or the test fails."""
    words = command("--listen", listen, *options, probing=probing)
    process = await anyio.open_process(words, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env=environment(room), cwd=room)
    server = Listener(process, Log(words, room / "stderr.log"))
    async with process, ungrouped(), anyio.create_task_group() as tasks:
        tasks.start_soon(server.listen_to)
        try:
            with anyio.fail_after(START_SECONDS):
                await server.heard.wait()
            assert server.url, f"the server did not start: {server.log.text}"
            yield server
        finally:
            with anyio.CancelScope(shield=True):
                code = await server.stop()
    assert code == 0, f"exit code {code}: {server.log.text}"
    server.log.assert_clean()


@asynccontextmanager
async def ungrouped() -> AsyncIterator[None]:
    """Let a lone exception out of its group, so that a test sees what was raised."""
    try:
        yield
    except BaseExceptionGroup as group:
        if len(group.exceptions) == 1:
            raise group.exceptions[0] from group.exceptions[0].__cause__
        raise
