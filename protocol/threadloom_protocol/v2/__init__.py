"""Protocol v2: the v2 of Codex's app-server, and what this product adds to it."""

from __future__ import annotations

from threadloom_protocol.spec import Surface

# Rooms are imported in this order until a method is found: small ones and the most used first.
ROOMS = (
    "lifecycle",
    "model",
    "roster",
    "thread",
    "turn",
    "item",
    "stream",
    "note",
    "tree",
    "settings",
    "search",
    "history",
    "queue",
    "session",
    "agent",
    "approval",
    "auto_review",
    "ask",
    "goal",
    "review",
    "terminal",
    "command",
    "process",
    "fs",
    "account",
    "mode",
    "skill",
    "hook",
    "mcp",
    "plugin",
    "app",
    "shelf",
    "config",
    "requirements",
)

V2 = Surface(2, [f"{__name__}.{room}" for room in ROOMS])
