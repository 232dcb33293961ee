"""The first exchange of a connection, read by hand.

A client waits for this answer before it shows anything, so it must not wait for pydantic: what is read and said
here is what `threadloom_protocol.v2.lifecycle` declares, and a test holds the two together.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from threadloom import __version__
from threadloom_protocol.errors import InvalidParams

# The release of Codex whose protocol this is; clients read it after the first slash of the user agent.
CODEX_VERSION: Final = "0.166.0"


@dataclass(frozen=True, slots=True)
class Client:
    """Who is at the other end, and what it asked for."""

    name: str
    version: str
    title: str | None = None
    experimental: bool = False
    muted: frozenset[str] = frozenset()


def read(params: Any) -> Client:
    """The client behind the params of `initialize`."""
    info = _member(_object(params, "params"), "clientInfo", dict)
    name = _member(info, "name", str, "clientInfo.")
    if not name.isprintable():
        raise InvalidParams("Invalid params: clientInfo.name must not hold control characters")
    capabilities = _optional(params, "capabilities", dict) or {}
    muted = _optional(capabilities, "optOutNotificationMethods", list) or []
    if not all(type(method) is str for method in muted):
        raise InvalidParams("Invalid params: capabilities.optOutNotificationMethods must hold strings")
    return Client(
        name=name,
        version=_member(info, "version", str, "clientInfo."),
        title=_optional(info, "title", str),
        experimental=_optional(capabilities, "experimentalApi", bool) or False,
        muted=frozenset(muted),
    )


def greet(client: Client, home: Path, sandbox: str) -> dict[str, Any]:
    """The answer to `initialize`."""
    system = os.uname()
    return {
        "userAgent": (
            f"{client.name}/{CODEX_VERSION} ({system.sysname} {system.release}; {system.machine}) "
            f"{os.environ.get('TERM_PROGRAM') or 'unknown'} (threadloom {__version__})"
        ),
        "codexHome": str(home),
        "platformFamily": "windows" if sys.platform == "win32" else "unix",
        "platformOs": {"darwin": "macos", "win32": "windows"}.get(sys.platform, sys.platform),
        "server": {"name": "threadloom", "version": __version__},
        "sandbox": {"kind": sandbox},
    }


def _object(value: Any, name: str) -> dict[str, Any]:
    if type(value) is not dict:
        raise InvalidParams(f"Invalid params: {name} must be an object")
    return value


def _member(owner: dict[str, Any], name: str, kind: type, prefix: str = "") -> Any:
    if name not in owner:
        raise InvalidParams(f"Invalid params: {prefix}{name} is missing")
    if type(owner[name]) is not kind:
        raise InvalidParams(f"Invalid params: {prefix}{name} must be {_NAMES[kind]}")
    return owner[name]


def _optional(owner: dict[str, Any], name: str, kind: type) -> Any:
    return None if owner.get(name) is None else _member(owner, name, kind)


_NAMES: Final = {dict: "an object", str: "a string", list: "an array", bool: "true or false"}
