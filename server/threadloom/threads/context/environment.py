"""Where a thread works: the facts, and how the model is told of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from xml.sax.saxutils import escape

from threadloom.exec.lookup import login_shell
from threadloom_protocol.v2.settings import ThreadSettings
from threadloom_protocol.v2.values.policy import (
    DangerFullAccessSandboxPolicy,
    ExternalSandboxSandboxPolicy,
    ReadOnlySandboxPolicy,
    SandboxPolicy,
    WorkspaceWriteSandboxPolicy,
)

# What each word means to the model, which cannot look it up.
_ASKING: Final = {
    "untrusted": "the person is asked before any command that is not known to be harmless",
    "on-request": "you may ask the person for leave to do what the sandbox forbids",
    "never": "nobody is asked: what the sandbox forbids fails, and you go on without it",
}
_FENCES: Final = {
    "read-only": "files can be read, and none written",
    "workspace-write": "files can be read everywhere, and written in the working directory and the writable roots",
    "danger-full-access": "nothing is forbidden",
    "external": "somebody else sees to it",
}


def shell() -> str:
    """The shell that runs the model's lines, by its name: whoever uses another one has to be understood by this."""
    return os.path.basename(login_shell())


def facts(settings: ThreadSettings, shell: str, at: int) -> dict[str, Any]:
    """The facts, in plain JSON: where two are alike, nothing has changed. `at` is in milliseconds."""
    today = datetime.fromtimestamp(at / 1000).astimezone()
    policy = settings.approval_policy
    return {
        "cwd": settings.cwd,
        "approval_policy": policy if isinstance(policy, str) else "granular",
        **_fence(settings.sandbox_policy),
        "shell": shell,
        "current_date": today.date().isoformat(),
        "timezone": today.tzname(),
    }


def _fence(policy: SandboxPolicy) -> dict[str, Any]:
    match policy:
        case DangerFullAccessSandboxPolicy():
            return {"sandbox_mode": "danger-full-access", "network_access": True}
        case ReadOnlySandboxPolicy():
            return {"sandbox_mode": "read-only", "network_access": policy.network_access}
        case WorkspaceWriteSandboxPolicy():
            roots = {"writable_roots": list(policy.writable_roots)} if policy.writable_roots else {}
            return {"sandbox_mode": "workspace-write", "network_access": policy.network_access, **roots}
        case ExternalSandboxSandboxPolicy():
            return {"sandbox_mode": "external", "network_access": policy.network_access == "enabled"}


def text(known: Mapping[str, Any]) -> str:
    """The facts as the model reads them."""
    lines = [f"  <{name}>{_value(name, value)}</{name}>" for name, value in known.items()]
    return "\n".join(["<environment_context>", *lines, "</environment_context>"])


def _value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "enabled" if value else "restricted"
    if isinstance(value, list):
        return "".join(f"<root>{escape(it)}</root>" for it in value)
    meaning = {"approval_policy": _ASKING, "sandbox_mode": _FENCES}.get(name, {}).get(value)
    return f"{escape(str(value))} ({meaning})" if meaning else escape(str(value))
