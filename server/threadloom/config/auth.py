"""The account that models are paid with: a key in `auth.json`, tokens that a client lends, or the environment's key."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import orjson

from threadloom.config import files
from threadloom.log import logger

if TYPE_CHECKING:
    from threadloom.config.values import Provider
    from threadloom_protocol.v2.values.accounts import AuthMode

FILE: Final = "auth.json"
VARIABLE: Final = "OPENAI_API_KEY"  # in the environment, and under the same name in the file

log = logger(__name__)


@dataclass(frozen=True, slots=True)
class Login:
    """Who is logged in. The secret is in no text that is made of it."""

    mode: AuthMode
    secret: str = field(repr=False)
    account_id: str | None = None  # of ChatGPT
    plan: str | None = None

    @property
    def claims(self) -> Mapping[str, Any]:
        """What a token says of itself, unproven; nothing where it says nothing."""
        from base64 import urlsafe_b64decode

        parts = self.secret.split(".")
        try:
            claims = orjson.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        except (IndexError, ValueError):
            return {}
        return claims if isinstance(claims, dict) else {}


Lender = Callable[[Login], Awaitable[Login | None]]  # of tokens: those that hold no longer → fresh ones


class Keyring:
    """The keys of a home."""

    def __init__(self, home: Path, environ: Mapping[str, str] = os.environ) -> None:
        self._file = home / FILE
        self._environ = environ
        self._lent: Login | None = None  # tokens of a client: they are its own, and are never written down
        self._lender: Lender | None = None
        self._renewing = anyio.Lock()
        self._read: tuple[files.Signature | None, Login | None] = (None, None)
        self.lock = anyio.Lock()  # fair: whoever asks after a login sees it

    @property
    def login(self) -> Login | None:
        """Who is logged in; another process may have changed that."""
        if self._lent is not None:
            return self._lent
        mark = files.signature(self._file)
        if mark != self._read[0]:
            self._read = (mark, self._stored())
        return self._read[1] if mark is not None else None

    @property
    def from_environment(self) -> str | None:
        """The key in the environment; an empty one counts as none."""
        return self._environ.get(VARIABLE, "").strip() or None

    @property
    def has_key(self) -> bool:
        """Whether OpenAI can be asked."""
        return self.login is not None or self.from_environment is not None

    def bearer(self, provider: Provider) -> str | None:
        """What to show a provider, if it is to be shown anything: its own key, or else the account's."""
        if provider.env_key and (own := self._environ.get(provider.env_key, "").strip()):
            return own
        if provider.experimental_bearer_token:
            return provider.experimental_bearer_token
        if not provider.requires_openai_auth:
            return None
        login = self.login
        return login.secret if login is not None else self.from_environment

    def headers(self, provider: Provider) -> dict[str, str]:
        """What to show a provider beside it: whose account it is, where the account is ChatGPT's."""
        login = self.login if provider.requires_openai_auth else None  # asked in every turn, and it looks at a file
        if login is None or login.account_id is None or self.bearer(provider) != login.secret:
            return {}
        return {"ChatGPT-Account-Id": login.account_id}

    async def renew(self, stale: str) -> bool:
        """A provider has refused this: whether there is something else to show now. Asks whoever lent it, once."""
        async with self._renewing:
            lent, lender = self._lent, self._lender
            if lent is None or lent.secret != stale:
                return lent is not None
            fresh = await lender(lent) if lender is not None else None
            if fresh is None or fresh.secret == stale:
                return False
            if self._lent is lent:  # nobody has logged in or out meanwhile
                self._lent = fresh
            return True

    def store(self, key: str) -> None:
        """Log in with a key; it is on disk, for its owner's eyes alone, when this returns."""
        body = orjson.dumps({"auth_mode": "apikey", VARIABLE: key}, option=orjson.OPT_INDENT_2)
        files.replace(self._file, body + b"\n", private=True)
        self._lent = None

    def lend(self, tokens: Login, lender: Lender | None = None) -> None:
        """Use a client's tokens for as long as this server runs; the lender has fresh ones when they hold no longer."""
        self._lent, self._lender = tokens, lender

    def forget(self) -> None:
        """Log out."""
        self._lent = None
        self._file.unlink(missing_ok=True)
        if self._file.parent.exists():
            files.sync(self._file.parent)

    def _stored(self) -> Login | None:
        try:
            data = files.read(self._file)
            found = orjson.loads(data.decode(files.TEXT)) if data else {}
            key = found.get(VARIABLE)
        except (OSError, ValueError, AttributeError):  # what it holds is nobody's business, a log's least of all
            log.warning("auth.json cannot be read and counts as absent", path=str(self._file))
            return None
        return Login("apikey", key.strip()) if isinstance(key, str) and key.strip() else None
