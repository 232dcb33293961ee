"""Example values made from the schema: small, valid, and the same every time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from threadloom_protocol.codegen.shapes import NULL, REF, Schema

THREAD: Final = "0199b1f0-6a3e-7c51-8d2f-3b9c6f0e1a24"
PARENT: Final = "0199b1ef-91d4-7b06-a7e3-52c8d1f4b690"
TURN: Final = "0199b1f0-7f18-7e02-9b44-c1a7e5d03f86"

# By the name of the member, or by `Type.member` where the name alone says too little.
WORDS: Final[Mapping[str, Any]] = {
    "threadId": THREAD,
    "Thread.id": THREAD,
    "senderThreadId": PARENT,
    "parentThreadId": PARENT,
    "sessionId": THREAD,
    "turnId": TURN,
    "Turn.id": TURN,
    "itemId": "item_1",
    "requestId": "req_1",
    "processId": "proc_1",
    "id": "item_1",
    "cwd": "/home/me/project",
    "path": "/home/me/project/README.md",
    "codexHome": "/home/me/.threadloom",
    "command": "ls -la",
    "url": "https://example.com/",
    "model": "rehearsal",
    "modelProvider": "rehearsal",
    "displayName": "Rehearsal",
    "name": "a name",
    "note": "waiting for review",
    "text": "Hello!",
    "prompt": "Say hello.",
    "delta": "Hel",
    "message": "what happened",
    "version": "0.1.0",
    "cliVersion": "0.1.0",
    "userAgent": "demo/0.166.0 (Linux; x86_64) (threadloom 0.1.0)",
    "platformFamily": "unix",
    "platformOs": "linux",
    "ClientInfo.name": "demo",
    "ServerInfo.name": "threadloom",
    "SandboxInfo.kind": "bubblewrap",
    "reasoningEffort": "medium",
    "exitCode": 0,
    "itemsView": "full",
    "preview": "Say hello.",
    "searchTerm": "hello",
    "objective": "All tests pass.",
    "session": "before the rewrite",
    "processHandle": "proc_1",
    "keyPath": "model",
    "uri": "file:///home/me/project/README.md",
    "diff": "@@ -1 +1 @@\n-old\n+new\n",
    "description": "what it is",
    "approvalPolicy": "on-request",
    "source": "vscode",
    "historyMode": "paginated",
    "sandbox": "workspace-write",
    "Thread.turns": [],
    "Thread.savedAs": [],
}
LIKELY: Final = {"IdleThreadStatus", "WorkspaceWriteSandboxPolicy"}  # of several kinds, the one that a reader will meet

SECONDS: Final = 1760000000
DEEP: Final = 5  # below this, lists are empty: an example shows a shape, not a whole tree
SHOWN: Final = {"cwd", "model"}  # optional, and yet what a reader expects in an example of params


class Examples:
    """Makes a value for any type of a schema document."""

    def __init__(self, types: Mapping[str, Schema]) -> None:
        self._types = types

    def of(self, name: str) -> Any:
        """A value of a type."""
        return self._value(self._types[name], name, "", 0)

    def _value(self, schema: Schema, owner: str, member: str, depth: int) -> Any:
        known = WORDS.get(f"{owner}.{member}", WORDS.get(member))
        match schema:
            case {"$ref": str(target)}:
                name = target.removeprefix(REF)
                return self._value(self._types[name], name, member, depth + 1)
            case {"allOf": [part]}:
                return self._value(part, owner, member, depth)
            case {"enum": list(values)}:
                return known if known in values else values[0]
            case {"const": value} | {"default": value}:
                return value
            case {"anyOf": list(arms)} | {"oneOf": list(arms)}:
                return self._choice(arms, owner, member, depth)
            case {"type": "object"}:
                return self._object(schema, owner, depth)
            case {"type": "array"}:
                return known if isinstance(known, list) else self._array(schema, owner, member, depth)
            case {"type": str(kind)}:
                return _plain(kind, schema, known, member)
            case _:
                return {}

    def _choice(self, arms: list[Schema], owner: str, member: str, depth: int) -> Any:
        """Nothing where nothing may be; else the likely one, or the first."""
        if NULL in arms and member not in SHOWN:
            return None
        likely = [arm for arm in arms if arm.get("$ref", "").removeprefix(REF) in LIKELY]
        return self._value((likely or arms)[0], owner, member, depth)

    def _array(self, schema: Schema, owner: str, member: str, depth: int) -> list[Any]:
        """One of its items where that tells something."""
        items = schema.get("items", {})
        if isinstance(items, list):
            return [self._value(item, owner, member, depth) for item in items]
        telling = "$ref" in items or "oneOf" in items or depth == 0
        return [self._value(items, owner, member, depth + 1)] if telling and depth < DEEP else []

    def _object(self, schema: Schema, owner: str, depth: int) -> dict[str, Any]:
        required = schema.get("required", [])
        return {
            name: self._value(member, owner, name, depth)
            for name, member in schema.get("properties", {}).items()
            if name in required or (depth == 0 and name in SHOWN)
        }


def _plain(kind: str, schema: Schema, known: Any, member: str) -> Any:
    match kind:
        case "string":
            return known if isinstance(known, str) else _string(member)
        case "integer":
            return known if isinstance(known, int) else _integer(member, schema)
        case "number":
            return 0.5
        case "boolean":
            return False
        case _:
            return None


def _string(member: str) -> str:
    if member.endswith("ThreadId"):
        return THREAD
    if member.endswith("TurnId"):
        return TURN
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", member).lower().split()
    if words[-1:] == ["id"]:
        return f"{'_'.join(words[:-1]) or 'id'}_1"
    if words[-1:] == ["path"]:
        return str(WORDS["path"])
    return " ".join(words) or "text"


def _integer(member: str, schema: Schema) -> int:
    if member.endswith("AtMs"):
        return SECONDS * 1000
    if member.endswith("At"):
        return SECONDS
    return min(max(1, int(schema.get("minimum", 1))), int(schema.get("maximum", 1)))
