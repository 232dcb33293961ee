"""A server reduced to its commands: it starts stubborn ones, says so, and waits for what becomes of it.

`python -m tests.support.exec_host KIND FOLDER COUNT`: prints a line when all run; SIGTERM ends it in order.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Final

import anyio

from threadloom.exec.base import Fence, Mode, Order, Process
from threadloom.exec.launch import FORCE, Host

# One in the background, one in a session of its own, two whose parents are gone: all ignore TERM.
STUBBORN: Final = """
trap '' TERM HUP INT
sleep {mark} &
setsid sleep {mark} &
(sh -c 'setsid sh -c "sleep {mark} & sleep {mark}" &' &)
until test $(pgrep -cfx "sleep {mark}") -eq 4; do sleep 0.01; done
echo ready
wait
"""
PIECES: Final = 4  # sleeping processes of one such command
# With each sandbox, and without one.
WAYS: Final[dict[str, tuple[str, Mode]]] = {
    "bubblewrap": ("bubblewrap", "workspace-write"),
    "landlock": ("landlock", "workspace-write"),
    "landlock-only": ("landlock-only", "workspace-write"),
    "bare": ("none", "danger-full-access"),
}


def stubborn(way: str, folder: str, mark: str) -> Order:
    """A command that wants to stay; its processes can be told by the mark, which has to be a number."""
    script = STUBBORN.format(mark=mark)
    fence = Fence(WAYS[way][1], (folder,))
    return Order(["sh", "-c", script], folder, {"PATH": os.environ["PATH"]}, fence)


async def ready(process: Process) -> None:
    """Returns when all of it runs."""
    said = b""
    async for _, data in process.output():
        said += data
        if b"ready" in said:
            return
    raise AssertionError(f"the command ended: {said!r}")


async def serve(way: str, folder: str, marks: list[str]) -> None:
    """Start them all, and end in order when told."""
    host = Host({FORCE: WAYS[way][0]})
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        async with anyio.create_task_group() as tasks:
            for mark in marks:
                tasks.start_soon(_start, host, way, folder, mark)
        sys.stdout.write("running\n")
        sys.stdout.flush()
        async for _ in signals:
            break
        await host.close(0.05)


async def _start(host: Host, way: str, folder: str, mark: str) -> None:
    await ready(await host.launch(stubborn(way, folder, mark)))


if __name__ == "__main__":
    anyio.run(serve, sys.argv[1], sys.argv[2], sys.argv[3:], backend_options={"use_uvloop": True})
