"""The tools for commands, as the model is told of them."""

from __future__ import annotations

from typing import Final

from threadloom.agent.sampling import Item
from threadloom.agent.tools.spec import function, text

_FENCE: Final[Item] = {
    "sandbox_permissions": {
        "type": "string",
        "enum": ["use_default", "require_escalated"],
        "description": "`require_escalated` asks the user to let the command run outside the sandbox.",
    },
    "justification": {
        "type": "string",
        "description": "With `require_escalated`: one sentence that tells the user why it is needed.",
    },
}
_WORKDIR: Final[Item] = text("Where to run it; the thread's folder if not given.")
_TOKENS: Final[Item] = {"type": "integer", "description": "How much output to return; more is cut in the middle."}


EXEC_COMMAND: Final[Item] = function(
    "exec_command",
    "Run a command line in a shell. Returns its output and exit code, or, where it still runs after yield_time_ms, its "
    "output so far and a session_id for write_stdin.",
    {
        "cmd": text("The command line."),
        "workdir": _WORKDIR,
        "shell": text("The shell to use; the user's own if not given."),
        "login": {"type": "boolean", "description": "Whether the shell reads its login files; yes if not given."},
        "tty": {
            "type": "boolean",
            "description": "Give it a terminal: where you want to type into it. Without one it has no input.",
        },
        "yield_time_ms": {"type": "integer", "description": "How long to wait for it before returning (250–30000)."},
        "max_output_tokens": _TOKENS,
        **_FENCE,
    },
    "cmd",
)
WRITE_STDIN: Final[Item] = function(
    "write_stdin",
    "Type into a command that still runs on a terminal and return what it printed since. Empty chars only look.",
    {
        "session_id": {"type": "integer", "description": "Of the command, as exec_command returned it."},
        "chars": text("What to type; \\u0003 interrupts any command."),
        "yield_time_ms": {"type": "integer", "description": "How long to wait for output (250–30000)."},
        "max_output_tokens": _TOKENS,
    },
    "session_id",
)
SHELL: Final[Item] = function(
    "shell",
    "Run a program with its arguments and return its output and exit code once it has ended.",
    {
        "command": {"type": "array", "items": {"type": "string"}, "description": "The program and its arguments."},
        "workdir": _WORKDIR,
        "timeout_ms": {"type": "integer", "description": "After so long it is ended; 10000 if not given."},
        **_FENCE,
    },
    "command",
)
