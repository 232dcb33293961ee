"""A program in a terminal that nobody sees: tmux keeps its screen, a test reads it and presses keys."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from shlex import join
from tempfile import TemporaryDirectory
from typing import TypeVar

import anyio

T = TypeVar("T")

POLL = 0.1  # seconds between looks at the screen: a terminal rings no bell when it is painted
SIZE = ("120", "50")

SETTINGS = "set -g status off\nset -g default-terminal tmux-256color\n"

# A program that has ended leaves its last screen behind. (tmux can do that, too, but now and then it misses the end.)
# Where the test itself was killed, nothing of it stays for long.
RUN = "timeout --foreground 600 {command}; echo $? >{code}; exec sleep 60"


class Failed(Exception):
    """The program did not do what it should have; `screen` is what it showed instead."""

    def __init__(self, stage: str, why: str, screen: str) -> None:
        super().__init__(f"FAILED at {stage}: {why}\n{screen}")
        self.stage = stage
        self.why = why
        self.screen = screen


class Terminal:
    """A screen and a keyboard."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        (folder / "tmux.conf").write_text(SETTINGS)
        self._code = folder / "code"
        self._tmux = ["tmux", "-u", "-S", str(folder / "tmux"), "-f", str(folder / "tmux.conf")]
        self._environment = dict(environment)

    async def tmux(self, *words: str) -> str:
        """Run a command of tmux; what it printed."""
        done = await anyio.run_process([*self._tmux, *words], check=False, env=self._environment)
        return done.stdout.decode()

    async def start(self, command: Sequence[str], cwd: Path) -> None:
        """Run a program."""
        columns, rows = SIZE
        at = ("-x", columns, "-y", rows, "-c", str(cwd))
        await self.tmux("new-session", "-d", "-s", "0", *at, RUN.format(command=join(command), code=self._code))

    async def screen(self) -> str:
        """What is shown, without what is blank."""
        shown = await self.tmux("capture-pane", "-p", "-t", "0")
        return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in shown.splitlines())).strip("\n")

    async def title(self) -> str:
        """The title of the window."""
        return (await self.tmux("display-message", "-p", "-t", "0", "#{pane_title}")).rstrip("\n")

    async def press(self, *keys: str) -> None:
        """Press keys, by the names that tmux has for them."""
        await self.tmux("send-keys", "-t", "0", *keys)

    async def type(self, text: str) -> None:
        """Type a text."""
        await self.tmux("send-keys", "-t", "0", "-l", text)

    @property
    def code(self) -> int | None:
        """How the program ended; None while it runs."""
        written = self._code.read_text() if self._code.exists() else ""
        return int(written) if written.endswith("\n") else None

    async def until(self, look: Callable[[str], T | None], seconds: float, stage: str, what: str) -> T:
        """Wait for something to be on the screen; a program that ends meanwhile has failed."""
        with anyio.move_on_after(seconds):
            while True:
                if found := look(await self.screen()):
                    return found
                if (code := self.code) is not None:
                    raise Failed(stage, f"the program ended with status {code}", await self.screen())
                await anyio.sleep(POLL)
        raise Failed(stage, f"waited {seconds:g} s for {what}", await self.screen())

    async def ended(self, seconds: float) -> int:
        """Wait for the program to end; its exit code."""
        with anyio.move_on_after(seconds):
            while (code := self.code) is None:  # noqa: ASYNC110 (nor does the shell, when it writes a file)
                await anyio.sleep(POLL)
            return code
        raise Failed("quit", f"it still runs after {seconds:g} s", await self.screen())


@asynccontextmanager
async def terminal(command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> AsyncIterator[Terminal]:
    """A program in a terminal of its own; both are gone at the end."""
    if shutil.which("tmux") is None:
        raise Failed("start", "tmux is not installed: `make test` does that", "")
    basics = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "TERM": "xterm-256color"}
    with TemporaryDirectory(prefix="tui-") as folder:  # with a short name, for a socket is in it
        it = Terminal(Path(folder), basics | dict(environment))
        try:
            await it.start(command, cwd)
            yield it
        finally:
            with anyio.CancelScope(shield=True):
                await it.tmux("kill-server")
