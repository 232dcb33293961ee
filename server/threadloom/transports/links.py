"""One-time links: how a browser, which cannot send a header, comes by a cookie."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from typing import Final

COOKIE: Final = "threadloom_token"

# Long enough to copy a link from a terminal into a browser.
LINK_SECONDS: Final = 120.0

# A working day; then the user asks for a new link.
SESSION_SECONDS: Final = 12 * 3600.0

# Far more links and browsers than one person opens; beyond it the oldest is forgotten.
MOST: Final = 256


class Links:
    """Codes that work once, and the browser sessions that came of them.

    Held are hashes, not secrets: looking one up takes the same time however much of a guess is right.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._codes: dict[bytes, float] = {}
        self._sessions: dict[bytes, float] = {}

    def mint(self) -> str:
        """A new code, good once and for `LINK_SECONDS`."""
        return self._add(self._codes, LINK_SECONDS)

    def redeem(self, code: str) -> str | None:
        """A cookie's value for a code that is good; the code is spent."""
        ends = self._codes.pop(_hashed(code), None)
        if ends is None or self._clock() >= ends:
            return None
        return self._add(self._sessions, SESSION_SECONDS)

    def knows(self, cookie: str) -> bool:
        """Whether this is the cookie of a session that goes on."""
        ends = self._sessions.get(_hashed(cookie))
        return ends is not None and self._clock() < ends

    def _add(self, secrets_of: dict[bytes, float], seconds: float) -> str:
        while len(secrets_of) >= MOST:
            del secrets_of[next(iter(secrets_of))]
        secret = secrets.token_urlsafe(32)
        secrets_of[_hashed(secret)] = self._clock() + seconds
        return secret


def _hashed(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="replace")).digest()


def set_cookie(value: str) -> str:
    """The `Set-Cookie` that gives a browser this value: out of reach of scripts, and of pages of other sites."""
    return f"{COOKIE}={value}; Path=/; Max-Age={int(SESSION_SECONDS)}; HttpOnly; SameSite=Strict"
