"""What a warden is told to run, as it crosses the socket."""

from __future__ import annotations

import json
import struct
from typing import Any, NamedTuple

LENGTH = struct.Struct("=I")


class Bubble(NamedTuple):
    """Run it inside bubblewrap, with these options."""

    program: str
    options: list[str]
    network: bool


class Cage(NamedTuple):
    """Run it under Landlock and seccomp, with namespaces where `namespaces` says that they work."""

    writable: list[str]
    guards: list[str]
    network: bool
    namespaces: bool


class Plan(NamedTuple):
    """A command, and its fence if it has one."""

    argv: list[str]
    cwd: str
    env: dict[str, str]
    tty: bool
    jail: Bubble | Cage | None


def encode(plan: Plan) -> bytes:
    """For the socket: a length, then that many bytes."""
    kind = "" if plan.jail is None else type(plan.jail).__name__
    text = json.dumps([plan.argv, plan.cwd, plan.env, plan.tty, kind, plan.jail]).encode()
    return LENGTH.pack(len(text)) + text


def decode(text: bytes) -> Plan:
    """From the bytes after the length."""
    argv, cwd, env, tty, kind, words = json.loads(text)
    return Plan(argv, cwd, env, tty, _jail(kind, words))


def _jail(kind: str, words: list[Any]) -> Bubble | Cage | None:
    if not kind:
        return None
    return Bubble(*words) if kind == "Bubble" else Cage(*words)
