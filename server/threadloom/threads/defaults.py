"""Where the settings of a thread come from: what is asked for, then the command line, then what is sensible."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from threadloom_protocol.errors import InvalidParams
from threadloom_protocol.v2.settings import ThreadSettings
from threadloom_protocol.v2.values.common import CollaborationMode
from threadloom_protocol.v2.values.common import Settings as Preset
from threadloom_protocol.v2.values.policy import (
    DangerFullAccessSandboxPolicy,
    ReadOnlySandboxPolicy,
    SandboxMode,
    SandboxPolicy,
    WorkspaceWriteSandboxPolicy,
)

_FENCES: Final[dict[SandboxMode, type]] = {
    "read-only": ReadOnlySandboxPolicy,
    "workspace-write": WorkspaceWriteSandboxPolicy,
    "danger-full-access": DangerFullAccessSandboxPolicy,
}
_SHARED: Final = (
    "approval_policy",
    "approvals_reviewer",
    "model",
    "model_provider",
    "personality",
    "service_tier",
    "summary",
    "effort",
)


Start = Callable[[str | None, Mapping[str, Any] | None], ThreadSettings]  # of a directory, with overrides


class Defaults:
    """The settings that threads of this server start from; `start` says what is configured."""

    def __init__(self, start: Start) -> None:
        self._start = start

    def settings(self, params: Any) -> ThreadSettings:
        """For a new thread: what is asked for, over what is configured for its directory."""
        configured = self._start(params.cwd, params.config)
        return changed(configured, params) or configured

    def changed(self, settings: ThreadSettings, params: Any) -> ThreadSettings | None:
        """For a thread that goes on: what is asked for, by name or as configuration; none where nothing changes."""
        configured = settings.model_copy(update=self._configured(params.cwd or settings.cwd, params.config))
        new = changed(configured, params) or configured
        return None if new == settings else new

    def _configured(self, cwd: str, overrides: Mapping[str, Any] | None) -> dict[str, Any]:
        """What of the settings some configuration makes different."""
        if not overrides:
            return {}
        without, over = self._start(cwd, None), self._start(cwd, overrides)
        values = {name: getattr(over, name) for name in ThreadSettings.model_fields if name != "cwd"}
        return {name: value for name, value in values.items() if value != getattr(without, name)}


def plain(
    model: str = "rehearsal", provider: str = "rehearsal", cwd: str | None = None, **other: Any
) -> ThreadSettings:
    """Settings where nothing is configured but the model."""
    given = {"approval_policy": "on-request", "approvals_reviewer": "user", "sandbox_policy": fence("workspace-write")}
    return ThreadSettings(
        cwd=absolute(cwd or ".", os.getcwd()),
        model=model,
        model_provider=provider,
        collaboration_mode=CollaborationMode(mode="default", settings=Preset(model=model)),
        **(given | other),
    )


def changed(settings: ThreadSettings, params: Any) -> ThreadSettings | None:
    """The settings with what a request overrides; none where nothing changes."""
    given = params.model_fields_set
    update = {
        name: getattr(params, name)
        for name in _SHARED
        if name in given and (getattr(params, name) is not None or name == "service_tier")
    }
    if getattr(params, "cwd", None) is not None:
        update["cwd"] = absolute(params.cwd, settings.cwd)
    if getattr(params, "sandbox_policy", None) is not None:
        update["sandbox_policy"] = params.sandbox_policy
    elif getattr(params, "sandbox", None) is not None:
        update["sandbox_policy"] = fence(params.sandbox)
    if getattr(params, "collaboration_mode", None) is not None:
        update["collaboration_mode"] = params.collaboration_mode
    new = settings.model_copy(update=update)
    return None if new == settings else new


def fence(mode: SandboxMode) -> SandboxPolicy:
    """The policy behind the name of a sandbox."""
    if mode not in _FENCES:
        raise InvalidParams(f"unknown sandbox mode {mode!r}; there are {', '.join(_FENCES)}")
    policy: SandboxPolicy = _FENCES[mode]()
    return policy


def absolute(path: str, base: str) -> str:
    """A working directory: absolute, and free of `..`."""
    return os.path.normpath(Path(base) / Path(path).expanduser())
