"""What a person sees who opens the server's address in a browser: words, as long as there is no page of ours."""

from __future__ import annotations

from typing import Final

from threadloom.transports.auth import Answer, Gate, Headers
from threadloom.transports.links import SESSION_SECONDS

WELCOME: Final = f"This browser has been let in: for {SESSION_SECONDS / 3600:.0f} hours a page may connect from it."
STRANGER: Final = "A browser is let in by the link that the server prints when it starts; it works once."
OPEN: Final = "No token is asked for here."
WORDS: Final = """Threadloom is running here.

{}

There is nothing to look at yet: this is a WebSocket, for clients that speak its protocol.
In a terminal, `threadloom chat --connect ws://HOST:PORT` is one of them; HOST:PORT is what the address bar shows.
"""
# What is told depends on who asks.
_HEADERS: Final = (("Cache-Control", "no-store"), ("Vary", "Accept, Cookie"), ("X-Content-Type-Options", "nosniff"))


def page(gate: Gate, headers: Headers) -> Answer | None:
    """The words for a browser; None for what asks for no page."""
    if not any("text/html" in value.lower() for value in headers.get("accept", ())):
        return None
    known = OPEN if gate.verifier is None else WELCOME if gate.knows(headers) else STRANGER
    return Answer(200, WORDS.format(known).strip(), _HEADERS)
