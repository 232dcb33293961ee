"""The ports of this room: what to run, inside which fence, and the process that comes of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol

Mode = Literal["read-only", "workspace-write", "danger-full-access"]
Kind = Literal["bubblewrap", "landlock", "none"]

# Seconds after KILL until what is still there counts as stuck: a `sudo` is root's, and some things hang in the kernel.
STUCK: Final = 5.0


class LaunchError(Exception):
    """A command could not be started; the text says why."""


class SandboxUnavailable(LaunchError):
    """No sandbox works here, and the fence asks for one; the text says what to do."""


@dataclass(frozen=True)
class Fence:
    """What a command may touch. Roots are absolute; everything may be read."""

    mode: Mode
    writable_roots: tuple[str, ...] = ()
    network: bool = False
    kept: tuple[str, ...] = ()  # what stays as it is, wherever it lies: what the server itself lives on


@dataclass(frozen=True)
class Order:
    """A command to launch. `env` is all of its environment; without `stdin` it reads an empty file."""

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    fence: Fence
    tty: bool = False
    size: tuple[int, int] = (24, 80)  # rows, columns
    stdin: bool = True


class Output(NamedTuple):
    """A piece of what a command wrote; a terminal has one stream, `stdout`."""

    stream: Literal["stdout", "stderr"]
    data: bytes


class Process(Protocol):
    """A command that runs, with every process that it started."""

    @property
    def pid(self) -> int:
        """The number of the process that this server started; the command itself may have another inside."""

    @property
    def returncode(self) -> int | None:
        """What `wait` returned or would return; None while the command runs."""

    @property
    def gone(self) -> bool:
        """Whether nothing of it is left, in the background neither."""

    def output(self) -> AsyncGenerator[Output, None]:
        """What it writes, once and for one reader. Ends with the streams, or shortly after the command has.

        Who does not read holds the command up: nothing is kept beyond what the pipes hold.
        """

    async def write(self, data: bytes) -> None:
        """Send to its stdin or terminal. Raises BrokenPipeError when nobody can read it any more."""

    async def close_stdin(self) -> None:
        """Say that no more comes: end of file, or what means that to a terminal."""

    def resize(self, rows: int, cols: int) -> None:
        """Tell the terminal its new size; without a terminal nothing happens."""

    async def wait(self) -> int:
        """Its exit code, or minus the signal that ended it. What it left in the background may live on."""

    def interrupt(self) -> None:
        """INT to the whole tree, as Ctrl+C at a terminal would send it."""

    async def end(self, grace: float = 2.0) -> None:
        """TERM to the whole tree, KILL after `grace` seconds; returns when nothing of it is left.

        That may be never, where something is stuck.
        """

    def abort(self) -> None:
        """KILL the whole tree now, without waiting."""


@dataclass(frozen=True)
class Diagnosis:
    """Which sandbox works here, and for each that does not, why."""

    kind: Kind
    guards_git: bool
    reasons: Mapping[str, str]  # kind → why it does not work; the kinds that do are absent
