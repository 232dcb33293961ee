"""The variables that a command gets: what the server has, without secrets, as the configuration says."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Final

from threadloom.config.values import ShellEnvironment

# Names that tell of a secret.
SECRET: Final = ("KEY", "SECRET", "TOKEN", "PASSWORD")
# What a program needs to find its way; `inherit = "core"` hands on these.
CORE: Final = frozenset(
    {"PATH", "SHELL", "HOME", "USER", "LOGNAME", "USERNAME", "TMPDIR", "TEMP", "TMP", "LANG", "LC_ALL", "LC_CTYPE"}
)
# For commands that a model reads: no colours, and no pager that waits for a key.
QUIET: Final[Mapping[str, str]] = MappingProxyType(
    {"NO_COLOR": "1", "TERM": "dumb", "COLORTERM": "", "PAGER": "cat", "GIT_PAGER": "cat", "GH_PAGER": "cat"}
)
OURS: Final = "THREADLOOM_"
NONE: Final[Mapping[str, str]] = MappingProxyType({})


def environment(
    base: Mapping[str, str],
    policy: ShellEnvironment,
    *,
    secrets: Collection[str] = (),
    extra: Mapping[str, str] = NONE,
) -> dict[str, str]:
    """The variables of a command.

    `secrets` are names that are never handed on, whatever the policy says: those that hold the keys of providers. The
    server's own are among them by their names. `extra` comes on top, but for what the policy sets itself.
    """
    kept = {name: value for name, value in base.items() if _inherited(name, policy) and not _ours(name, secrets)}
    if not policy.ignore_default_excludes:
        kept = {name: value for name, value in kept.items() if not is_secret(name)}
    kept = {name: value for name, value in kept.items() if not _matches(name, policy.exclude)}
    kept |= policy.set
    if policy.include_only:
        kept = {name: value for name, value in kept.items() if _matches(name, policy.include_only)}
    return {**kept, **{name: value for name, value in extra.items() if name not in policy.set}}


def is_secret(name: str) -> bool:
    """Whether a name tells of a secret."""
    return any(word in name.upper() for word in SECRET)


def _inherited(name: str, policy: ShellEnvironment) -> bool:
    return policy.inherit == "all" or (policy.inherit == "core" and name.upper() in CORE)


def _ours(name: str, secrets: Collection[str]) -> bool:
    upper = name.upper()
    return (upper.startswith(OURS) and is_secret(name)) or upper in {secret.upper() for secret in secrets}


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name.upper(), pattern.upper()) for pattern in patterns)
