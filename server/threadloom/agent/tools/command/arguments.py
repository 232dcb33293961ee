"""What the model writes to run a command."""

from __future__ import annotations

from typing import Final, Literal

from threadloom_protocol.model import Snake

YIELD: Final = 10_000  # milliseconds after which a command is left to itself
TYPED: Final = 250  # milliseconds after which an answer to what was typed is looked at
TIMEOUT: Final = 10_000  # milliseconds that `shell` gives a command


class Fenced(Snake):
    """What all commands have: where they run, and whether the model wants out of the fence."""

    workdir: str | None = None
    sandbox_permissions: Literal["use_default", "require_escalated"] = "use_default"
    justification: str | None = None


class Execute(Fenced):
    """The arguments of `exec_command`."""

    cmd: str
    shell: str | None = None
    login: bool = True
    tty: bool = False
    yield_time_ms: int = YIELD
    max_output_tokens: int | None = None


class WriteStdin(Snake):
    """The arguments of `write_stdin`."""

    session_id: int
    chars: str = ""
    yield_time_ms: int = TYPED
    max_output_tokens: int | None = None


class RunShell(Fenced):
    """The arguments of `shell`."""

    command: list[str]
    timeout_ms: int = TIMEOUT
