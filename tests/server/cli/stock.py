"""A home with something in it, and commands run in it: as processes, or right here."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from tests.support.flow import Flow
from tests.support.plugin import CONFORMANCE
from tests.support.processes import THREADLOOM, environment, server_home
from tests.support.tap import Tap

from threadloom.app import App
from threadloom.cli.parser import parse
from threadloom.config import Settings
from threadloom.transports.memory import pair
from threadloom_client import Client, connect
from threadloom_protocol.v2 import session, thread, turn
from threadloom_protocol.v2.values.content import TextUserInput

TIMEOUT = 60  # seconds; a command takes one
TALK = "spawn as worker echo I am below\nwait for agents\necho The loom is ready."


def process(room: Path, *words: str, stdin: str | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a process, in a pipe."""
    return subprocess.run(
        [*THREADLOOM, *words],
        env=environment(room) | variables,
        cwd=room,
        input=stdin if stdin is not None else "",
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )


@dataclass
class Ran:
    """How a command went."""

    code: int
    out: str
    err: str


class _Stream(io.TextIOWrapper):
    """Standard output or error, for a person or for a program."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    def text(self) -> str:
        self.flush()
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode()


@contextmanager
def _streams(*, terminal: bool) -> Iterator[tuple[_Stream, _Stream]]:
    before = sys.stdin, sys.stdout, sys.stderr
    out, err = _Stream(terminal=terminal), _Stream(terminal=terminal)
    sys.stdin, sys.stdout, sys.stderr = io.StringIO(""), out, err
    try:
        yield out, err
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


def here(monkeypatch: pytest.MonkeyPatch, room: Path, *words: str, terminal: bool = False, **variables: str) -> Ran:
    """Run a command in this process: the same code, without the second that Python needs to start."""
    for name, value in (environment(room) | {"COLUMNS": "120"} | variables).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(room)
    with _streams(terminal=terminal) as (out, err):
        try:
            arguments = parse([*words])
            code = arguments.run(arguments)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        return Ran(code, out.text(), err.text())


@dataclass
class Stock:
    """A home with a tree of two threads, saved as `ready`."""

    room: Path
    root: str
    child: str


def stocked(room: Path) -> Stock:
    """Make it."""

    async def make() -> Stock:
        async with App(Settings(server_home(room))).running() as app, anyio.create_task_group() as tasks:
            ours, theirs = pair()
            tasks.start_soon(app.serve, theirs)
            async with connect(Tap(ours, Flow(CONFORMANCE.load())), experimental=True) as client:
                root, child = await _talk(client, room)
                await client.request(session.SAVE, session.SessionSaveParams(thread_id=root, name="ready"))
            return Stock(room, root, child)

    return anyio.run(make)


async def _talk(client: Client, room: Path) -> tuple[str, str]:
    with client.notifications() as events, anyio.fail_after(TIMEOUT):
        root = (await client.request(thread.START, thread.ThreadStartParams(cwd=str(room)))).thread.id
        said = turn.TurnStartParams(thread_id=root, input=[TextUserInput(text=TALK)])
        await client.request(turn.START, said)
        child = ""
        async for event in events:
            if isinstance(event.params, thread.ThreadStartedNotification) and event.params.thread.id != root:
                child = event.params.thread.id
            if isinstance(event.params, turn.TurnCompletedNotification) and event.params.thread_id == root:
                break
    return root, child
