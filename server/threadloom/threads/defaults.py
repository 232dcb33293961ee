"""Where the settings of a thread come from: what is asked for, then the command line, then what is sensible."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Final

from threadloom.agent.sampling import ModelError
from threadloom_protocol.errors import InvalidParams, InvalidRequest
from threadloom_protocol.v2.settings import ThreadSettings
from threadloom_protocol.v2.values.common import CollaborationMode
from threadloom_protocol.v2.values.common import Settings as Preset
from threadloom_protocol.v2.values.policy import (
    ActivePermissionProfile,
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
PROFILES: Final[dict[str, SandboxMode]] = {  # sets of permissions that are built in
    ":read-only": "read-only",
    ":workspace": "workspace-write",
    ":danger-full-access": "danger-full-access",
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
# What a key of the configuration stands for in the settings: to name it is to want it, also where it is so by default.
_NAMED: Final[Mapping[str, tuple[str, ...]]] = {
    "approval_policy": ("approval_policy",),
    "approvals_reviewer": ("approvals_reviewer",),
    "model": ("model",),
    "model_provider": ("model_provider", "model"),  # a model of another one would mean nothing to it
    "model_reasoning_effort": ("effort",),
    "model_reasoning_summary": ("summary",),
    "personality": ("personality",),
    "sandbox_mode": ("sandbox_policy",),
    "service_tier": ("service_tier",),
}


Start = Callable[[str | None, Mapping[str, Any] | None], ThreadSettings]  # of a directory, with overrides
Vouch = Callable[[str], None]  # for a model provider; raises `ModelError` where there is none of that name


class Defaults:
    """The settings that threads of this server start from; `start` says what is configured."""

    def __init__(self, start: Start, vouch: Vouch = lambda provider: None) -> None:
        self._start = start
        self._vouch = vouch

    def settings(self, params: Any) -> ThreadSettings:
        """For a new thread: what is asked for, over what is configured for its directory."""
        asked = _placed(params, None)
        overrides = _overrides(asked)
        configured = self._start(asked.cwd, overrides)
        new = changed(configured, asked) or configured
        if "model_provider" in overrides:
            self._check(new.model_provider)
        return aligned(new)

    def changed(self, settings: ThreadSettings, params: Any) -> ThreadSettings | None:
        """For a thread that goes on: what is asked for, by name or as configuration; none where nothing changes."""
        asked = _placed(params, settings.cwd)
        overrides = _overrides(asked, settings.model_provider)
        configured = settings.model_copy(update=self._configured(asked.cwd or settings.cwd, overrides))
        new = changed(configured, asked) or configured
        if new.model_provider != settings.model_provider:
            self._check(new.model_provider)
        return None if new == settings else aligned(new)

    def _check(self, provider: str) -> None:
        """A provider that is asked for by name: better refused now than by the first turn."""
        try:
            self._vouch(provider)
        except ModelError as fault:
            raise InvalidRequest(str(fault)) from None

    def _configured(self, cwd: str, overrides: Mapping[str, Any]) -> dict[str, Any]:
        """What of the settings some configuration names, or makes different."""
        if not overrides:
            return {}
        without, over = self._start(cwd, None), self._start(cwd, overrides)
        named = {name for key in overrides for name in _NAMED.get(key, ())}
        values = {name: getattr(over, name) for name in ThreadSettings.model_fields if name != "cwd"}
        found = {name: value for name, value in values.items() if name in named or value != getattr(without, name)}
        return found | ({"active_permission_profile": None} if "sandbox_policy" in found else {})


def plain(
    model: str = "rehearsal", provider: str = "rehearsal", cwd: str | None = None, **other: Any
) -> ThreadSettings:
    """Settings where nothing is configured but the model."""
    given = {"approval_policy": "on-request", "approvals_reviewer": "user", "sandbox_policy": fence("workspace-write")}
    return ThreadSettings(
        cwd=absolute(cwd or "."),
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
    update |= _fenced(params)
    if (mode := getattr(params, "collaboration_mode", None)) is not None:  # it goes before what is asked for by itself
        update |= {"collaboration_mode": mode, "model": mode.settings.model, "effort": mode.settings.reasoning_effort}
    if not update:  # as nearly always
        return None
    new = settings.model_copy(update=update)
    return None if new == settings else aligned(new)


def aligned(settings: ThreadSettings) -> ThreadSettings:
    """The same, with a preset that says of model and effort what the settings do: clients show it."""
    mode = settings.collaboration_mode
    said = mode.settings.model_copy(update={"model": settings.model, "reasoning_effort": settings.effort})
    return settings.model_copy(update={"collaboration_mode": mode.model_copy(update={"settings": said})})


def _fenced(params: Any) -> dict[str, Any]:
    """The sandbox that is asked for: as a policy, by the name of a mode, or by that of a set of permissions."""
    policy, mode = getattr(params, "sandbox_policy", None), getattr(params, "sandbox", None)
    profile = getattr(params, "permissions", None)
    if profile is None:
        policy = policy if mode is None else fence(mode)
        return {} if policy is None else {"sandbox_policy": policy, "active_permission_profile": None}
    if policy is not None or mode is not None:
        other = "sandboxPolicy" if mode is None else "sandbox"
        raise InvalidRequest(f"`permissions` cannot be combined with `{other}`")
    return {"sandbox_policy": permitted(profile), "active_permission_profile": ActivePermissionProfile(id=profile)}


def permitted(profile: str) -> SandboxPolicy:
    """The policy behind the name of a set of permissions."""
    if profile not in PROFILES:
        raise InvalidRequest(f"unknown permission profile `{profile}`; there are {', '.join(PROFILES)}")
    return fence(PROFILES[profile])


def fence(mode: SandboxMode) -> SandboxPolicy:
    """The policy behind the name of a sandbox."""
    if mode not in _FENCES:
        raise InvalidParams(f"unknown sandbox mode {mode!r}; there are {', '.join(_FENCES)}")
    policy: SandboxPolicy = _FENCES[mode]()
    return policy


def _overrides(asked: Any, provider: str | None = None) -> Mapping[str, Any]:
    """What is asked for as configuration; another provider by its name is, too, for it may have a model of its own."""
    given: Mapping[str, Any] = asked.config or {}
    return {**given, "model_provider": asked.model_provider} if asked.model_provider not in (None, provider) else given


def _placed(params: Any, base: str | None) -> Any:
    """What is asked for, with its directory made absolute: once, for the configuration and the thread alike."""
    return params.model_copy(update={"cwd": absolute(params.cwd, base)}) if params.cwd else params


def absolute(path: str, base: str | None = None) -> str:
    """A working directory: absolute, and free of `..`; from where the server works, if from nowhere else."""
    if "\0" in path:
        raise InvalidRequest("cwd must not contain a NUL character")
    whole = os.path.expanduser(path)
    if not os.path.isabs(whole):
        whole = os.path.join(here() if base is None else base, whole)
    return os.path.normpath(whole)


def here() -> str:
    """Where the server works, as long as that is there."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise InvalidRequest("the folder that this server was started in is gone: name another as cwd") from None
