"""The person's own commands in a thread, and processes that outlived their turn."""

from __future__ import annotations

from threadloom_protocol.model import Params, Result, UInt, Value
from threadloom_protocol.spec import ClientRequest


class ThreadShellCommandParams(Params):
    """Run the person's own command line in a thread, through a shell and outside the sandbox.

    The model sees command and output.
    """

    thread_id: str
    command: str
    timeout_ms: int | None = None


class ThreadShellCommandResponse(Result):
    """Under way; the item tells the rest."""


class ThreadBackgroundTerminalsListParams(Params):
    """List commands of a thread that still run though their call has returned."""

    thread_id: str
    cursor: str | None = None
    limit: UInt | None = None


class ThreadBackgroundTerminal(Value):
    """A command that still runs."""

    item_id: str
    process_id: str
    command: str
    cwd: str
    os_pid: UInt | None = None
    cpu_percent: float | None = None
    rss_kb: UInt | None = None


class ThreadBackgroundTerminalsListResponse(Result):
    """A page of them."""

    data: list[ThreadBackgroundTerminal]
    next_cursor: str | None = None


class ThreadBackgroundTerminalsTerminateParams(Params):
    """End one of them and everything it started."""

    thread_id: str
    process_id: str


class ThreadBackgroundTerminalsTerminateResponse(Result):
    """Whether there was something to end."""

    terminated: bool


class ThreadBackgroundTerminalsCleanParams(Params):
    """End all of them."""

    thread_id: str


class ThreadBackgroundTerminalsCleanResponse(Result):
    """Done."""


SHELL_COMMAND = ClientRequest("thread/shellCommand", ThreadShellCommandParams, ThreadShellCommandResponse)
LIST = ClientRequest(
    "thread/backgroundTerminals/list",
    ThreadBackgroundTerminalsListParams,
    ThreadBackgroundTerminalsListResponse,
    experimental=True,
)
TERMINATE = ClientRequest(
    "thread/backgroundTerminals/terminate",
    ThreadBackgroundTerminalsTerminateParams,
    ThreadBackgroundTerminalsTerminateResponse,
    experimental=True,
)
CLEAN = ClientRequest(
    "thread/backgroundTerminals/clean",
    ThreadBackgroundTerminalsCleanParams,
    ThreadBackgroundTerminalsCleanResponse,
    experimental=True,
)
