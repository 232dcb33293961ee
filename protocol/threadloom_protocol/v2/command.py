"""Commands that a client runs itself, outside every thread, inside the sandbox."""

from __future__ import annotations

from typing import Annotated, Literal

from typing_extensions import TypeAliasType

from threadloom_protocol.model import EXPERIMENTAL, Event, Params, Result, UInt, UInt16, Value
from threadloom_protocol.spec import ClientRequest, ServerNotification
from threadloom_protocol.v2.values.policy import SandboxPolicy


class CommandExecTerminalSize(Value):
    """The size of a terminal, in characters."""

    rows: UInt16
    cols: UInt16


class CommandExecParams(Params):
    """Run a command in the sandbox, without a thread.

    The answer comes when the process has ended. `command` is a list of arguments, no shell in between. With a
    `processId` of the client's choosing it can be written to, resized and ended meanwhile; `tty`, `streamStdin` and
    `streamStdoutStderr` need one. What was streamed is not repeated in the answer. A null in `env` unsets a
    variable.
    """

    command: list[str]
    process_id: str | None = None
    tty: bool = False
    stream_stdin: bool = False
    stream_stdout_stderr: bool = False
    output_bytes_cap: UInt | None = None
    disable_output_cap: bool = False
    disable_timeout: bool = False
    timeout_ms: int | None = None
    cwd: str | None = None
    env: dict[str, str | None] | None = None
    size: CommandExecTerminalSize | None = None
    sandbox_policy: SandboxPolicy | None = None
    permission_profile: Annotated[str | None, EXPERIMENTAL] = None


class CommandExecResponse(Result):
    """How the command ended, and what it wrote."""

    exit_code: int
    stdout: str
    stderr: str


class CommandExecWriteParams(Params):
    """Write to the standard input of a running `command/exec`, close it, or both."""

    process_id: str
    delta_base64: str | None = None
    close_stdin: bool = False


class CommandExecWriteResponse(Result):
    """Done."""


class CommandExecTerminateParams(Params):
    """End a running `command/exec` and everything it started."""

    process_id: str


class CommandExecTerminateResponse(Result):
    """Done; how it ended is in the answer to `command/exec`."""


class CommandExecResizeParams(Params):
    """Change the size of the terminal of a running `command/exec`."""

    process_id: str
    size: CommandExecTerminalSize


class CommandExecResizeResponse(Result):
    """Done."""


CommandExecOutputStream = TypeAliasType("CommandExecOutputStream", Literal["stdout", "stderr"])


class CommandExecOutputDeltaNotification(Event):
    """A command wrote something. With `capReached` the rest of this stream is dropped."""

    process_id: str
    stream: CommandExecOutputStream
    delta_base64: str
    cap_reached: bool


EXEC = ClientRequest("command/exec", CommandExecParams, CommandExecResponse)
WRITE = ClientRequest("command/exec/write", CommandExecWriteParams, CommandExecWriteResponse)
TERMINATE = ClientRequest("command/exec/terminate", CommandExecTerminateParams, CommandExecTerminateResponse)
RESIZE = ClientRequest("command/exec/resize", CommandExecResizeParams, CommandExecResizeResponse)
OUTPUT_DELTA = ServerNotification("command/exec/outputDelta", CommandExecOutputDeltaNotification)
