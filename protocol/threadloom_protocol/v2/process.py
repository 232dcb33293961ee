"""Processes that a client runs itself, outside every thread and outside the sandbox."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypeAliasType

from threadloom_protocol.model import Event, Params, Result, UInt, UInt16, Value
from threadloom_protocol.spec import ClientRequest, ServerNotification


class ProcessTerminalSize(Value):
    """The size of a terminal, in characters."""

    rows: UInt16
    cols: UInt16


class ProcessSpawnParams(Params):
    """Start a process on the machine of the server, without a thread and without a sandbox.

    The answer comes as soon as it runs; `process/exited` says how it ended. It is known by the handle that the
    client chose, on this connection only. A null in `env` unsets a variable; a null `timeoutMs` or `outputBytesCap`
    means none.
    """

    command: list[str]
    process_handle: str
    cwd: str
    tty: bool = False
    stream_stdin: bool = False
    stream_stdout_stderr: bool = False
    output_bytes_cap: UInt | None = None
    timeout_ms: int | None = None
    env: dict[str, str | None] | None = None
    size: ProcessTerminalSize | None = None


class ProcessSpawnResponse(Result):
    """It runs."""


class ProcessWriteStdinParams(Params):
    """Write to the standard input of a process, close it, or both."""

    process_handle: str
    delta_base64: str | None = None
    close_stdin: bool = False


class ProcessWriteStdinResponse(Result):
    """Done."""


class ProcessKillParams(Params):
    """End a process and everything it started."""

    process_handle: str


class ProcessKillResponse(Result):
    """Asked for; `process/exited` says when it is done."""


class ProcessResizePtyParams(Params):
    """Change the size of the terminal of a process."""

    process_handle: str
    size: ProcessTerminalSize


class ProcessResizePtyResponse(Result):
    """Done."""


ProcessOutputStream = TypeAliasType("ProcessOutputStream", Literal["stdout", "stderr"])


class ProcessOutputDeltaNotification(Event):
    """A process wrote something. With `capReached` the rest of this stream is dropped."""

    process_handle: str
    stream: ProcessOutputStream
    delta_base64: str
    cap_reached: bool


class ProcessExitedNotification(Event):
    """A process ended. What was streamed is not repeated here."""

    process_handle: str
    exit_code: int
    output_drain_timed_out: bool | None = None
    stdout: str
    stdout_cap_reached: bool
    stderr: str
    stderr_cap_reached: bool


SPAWN = ClientRequest("process/spawn", ProcessSpawnParams, ProcessSpawnResponse, experimental=True)
WRITE_STDIN = ClientRequest("process/writeStdin", ProcessWriteStdinParams, ProcessWriteStdinResponse, experimental=True)
KILL = ClientRequest("process/kill", ProcessKillParams, ProcessKillResponse, experimental=True)
RESIZE_PTY = ClientRequest("process/resizePty", ProcessResizePtyParams, ProcessResizePtyResponse, experimental=True)
OUTPUT_DELTA = ServerNotification("process/outputDelta", ProcessOutputDeltaNotification)
EXITED = ServerNotification("process/exited", ProcessExitedNotification)
