"""Servers that are asked for deeds over a socket, one after the other, each forked from a warm process.

`python -m tests.support.tree_life` is that process: its standard input is the socket of a `Nursery`.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import socket
import sys
import tempfile
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import orjson
from tests.support.tree_cut import Cut
from tests.support.tree_deeds import Deeds

from threadloom.app import App
from threadloom.config import Settings
from threadloom.store import logfile

WIDE = {"agents.max_depth": 50, "agents.max_threads": 500}
PR_SET_CHILD_SUBREAPER = 36
PATIENCE = 20.0  # seconds for a deed; none takes one of them


class Life:
    """One server, until it is killed."""

    def __init__(self, peer: socket.socket) -> None:
        self._peer = peer
        self._cut = Cut()
        logfile.write_all = self._cut.write  # type: ignore[attr-defined]

    async def run(self, home: Path) -> None:
        """Do what is asked for, until nobody asks any more."""
        reader, writer = await asyncio.open_connection(sock=self._peer, limit=1 << 20)
        async with App(Settings(home, WIDE)).running() as app:
            deeds = Deeds(app.threads)
            while line := await reader.readline():
                writer.write(orjson.dumps(await self._done(deeds, *orjson.loads(line))) + b"\n")
                await writer.drain()
            os._exit(0)

    async def _done(self, deeds: Deeds, name: str, wanted: dict[str, Any]) -> dict[str, Any]:
        try:
            with anyio.fail_after(PATIENCE):
                if name == "cut":
                    self._cut.after(**wanted)
                    return {}
                return await getattr(deeds, name)(**wanted) or {}
        except Exception:  # whoever asked hears of it
            return {"fault": traceback.format_exc()}


def _born(order: bytes, descriptor: int) -> int:
    """Fork a server; its process."""
    if child := os.fork():
        os.close(descriptor)
        return child
    try:
        home, errors = map(Path, orjson.loads(order))
        os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
        anyio.run(Life(socket.socket(fileno=descriptor)).run, home)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(1)  # it only ends by itself where something is wrong


def _buried(pid: int) -> int:
    """Return once a server has ended, and whatever it had started; how it did."""
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with suppress(ChildProcessError):  # nobody is left
        while True:
            os.wait()
    return code


def _warm() -> None:
    """A whole life in this process: what it has loaded, those that follow have."""

    async def run() -> None:
        with tempfile.TemporaryDirectory() as room:
            async with App(Settings(Path(room) / "home", WIDE)).running() as app:
                deeds = Deeds(app.threads)
                await deeds.begin()
                top = (await deeds.root(room))["id"]
                await deeds.spawn(top, "say 3 words", abandon=False)
                await deeds.close(top)
                await deeds.resume(top)

    anyio.run(run)


def main() -> None:
    """Fork for a nursery until it goes: a descriptor is a birth, a number is one to be buried."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # who is left behind comes here
    _warm()
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=os.dup(0)) as nursery:
        nursery.send(b"ready")
        while (asked := socket.recv_fds(nursery, 65536, 1))[0]:
            order, descriptors, _, _ = asked
            nursery.send(b"%d" % (_born(order, descriptors[0]) if descriptors else _buried(int(order))))


if __name__ == "__main__":
    main()
