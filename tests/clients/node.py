"""The TypeScript package as tests use it: compiled once, run by Node, with a server that does what a test says."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from websockets.asyncio.server import ServerConnection, serve

PACKAGE = Path(__file__).parents[2] / "clients" / "typescript"
TSC = PACKAGE / "node_modules" / ".bin" / "tsc"
SECONDS = 60.0  # a compiler takes one or two; this is for a machine that is busy with something else

Script = Callable[["Peer"], Awaitable[None]]


def compile_project(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the TypeScript compiler."""
    if not TSC.exists():
        pytest.fail("clients/typescript has no compiler: run `make check`, or `npm install` there")
    command = [str(TSC), "--project", str(project), "--pretty", "false", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)


async def run_node(program: Path, *words: str) -> tuple[int, str, str]:
    """Run a program to its end: exit code, what it printed, what it complained about."""
    with anyio.fail_after(SECONDS):
        done = await anyio.run_process(["node", "--experimental-websocket", str(program), *words], check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Peer:
    """The server's end of one connection, in the hands of a test."""

    def __init__(self, connection: ServerConnection) -> None:
        self.connection = connection

    async def hear(self, method: str | None = None) -> dict[str, Any]:
        """The next message; a request or notification of that method, if one is named."""
        message: dict[str, Any] = json.loads(await self.connection.recv())
        assert message.get("method") == method, message
        return message

    async def say(self, **message: Any) -> None:
        """Send a message."""
        await self.connection.send(json.dumps(message))


@asynccontextmanager
async def playing(script: Script, **options: Any) -> AsyncIterator[str]:
    """A server whose first connection follows a script; its address. What goes wrong in the script goes wrong here."""
    faults: list[BaseException] = []
    ended = anyio.Event()

    async def handle(connection: ServerConnection) -> None:
        try:
            with anyio.fail_after(SECONDS):
                await script(Peer(connection))
        except BaseException as fault:  # raised again below, where the test sees it
            faults.append(fault)
        finally:
            ended.set()

    async with serve(handle, "127.0.0.1", 0, **options) as server:
        yield f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"
        with anyio.fail_after(SECONDS):
            await ended.wait()
    if faults:
        raise faults[0]
