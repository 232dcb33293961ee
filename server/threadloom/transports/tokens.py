"""What a bearer token must be: one known secret, or a signed claim that has not expired."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol, TypeGuard

import orjson

from threadloom.config.files import TEXT

# A header line may be 8 KiB long; nothing longer gets here, and nothing longer is worth hashing.
MAX_TOKEN: Final = 8 * 1024

# The output of SHA-256: a shorter key is easier to guess than the signature it makes.
MIN_SECRET: Final = 32

# How far apart the clocks of the two sides may be, in seconds.
DEFAULT_SKEW: Final = 30.0


class ConfigurationError(ValueError):
    """The settings do not make sense together; the text says what to do."""


class Verifier(Protocol):
    """Says whether a token admits its bearer now."""

    def admits(self, token: bytes, now: float) -> bool:
        """True for a good token. `now` is in seconds since 1970."""
        ...


@dataclass(frozen=True, slots=True)
class CapabilityToken:
    """One secret, known by its SHA-256 alone."""

    digest: bytes = field(repr=False)

    def admits(self, token: bytes, now: float) -> bool:
        """See `Verifier.admits`."""
        return 0 < len(token) <= MAX_TOKEN and hmac.compare_digest(hashlib.sha256(token).digest(), self.digest)


@dataclass(frozen=True, slots=True)
class SignedToken:
    """A JSON Web Token, signed with HS256 and nothing else, that says when it ends."""

    secret: bytes = field(repr=False)
    issuer: str | None = None
    audience: str | None = None
    skew: float = DEFAULT_SKEW

    def admits(self, token: bytes, now: float) -> bool:
        """See `Verifier.admits`."""
        if len(token) > MAX_TOKEN:
            return False
        claims = self._claims(token)
        return claims is not None and self._timely(claims, now) and self._addressed(claims)

    def _claims(self, token: bytes) -> dict[str, Any] | None:
        """What the token says, if its signature is ours. Nothing of the payload is read before that is known."""
        try:
            head, payload, signature = token.split(b".")
            header = orjson.loads(_decoded(head))
            if not isinstance(header, dict) or header.get("alg") != "HS256" or "crit" in header:
                return None
            expected = hmac.digest(self.secret, head + b"." + payload, "sha256")
            if not hmac.compare_digest(_decoded(signature), expected):
                return None
            claims = orjson.loads(_decoded(payload))
        except ValueError:
            return None
        return claims if isinstance(claims, dict) else None

    def _timely(self, claims: dict[str, Any], now: float) -> bool:
        ends, starts = claims.get("exp"), claims.get("nbf", 0)
        return _is_time(ends) and _is_time(starts) and now < ends + self.skew and now >= starts - self.skew

    def _addressed(self, claims: dict[str, Any]) -> bool:
        audiences = claims.get("aud")
        if isinstance(audiences, str):
            audiences = [audiences]
        meant = self.audience is None or (isinstance(audiences, list) and self.audience in audiences)
        return meant and (self.issuer is None or claims.get("iss") == self.issuer)


def _is_time(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _decoded(part: bytes) -> bytes:
    """Base64url as JWT has it: no padding, no foreign signs, and one spelling only."""
    try:
        data = base64.b64decode(part + b"=" * (-len(part) % 4), b"-_", validate=True)
    except binascii.Error:
        raise ValueError from None
    # Unused bits at the end could be anything; two spellings of one signature are one too many.
    if base64.urlsafe_b64encode(data).rstrip(b"=") != part:
        raise ValueError
    return data


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """The flags of `app-server` that say which tokens are good, as they were given."""

    ws_auth: str | None = None
    ws_token_file: str | Path | None = None
    ws_token_sha256: str | None = field(default=None, repr=False)
    ws_shared_secret_file: str | Path | None = None
    ws_issuer: str | None = None
    ws_audience: str | None = None
    ws_max_clock_skew_seconds: float | None = None

    def verifier(self) -> Verifier | None:
        """What these flags ask for; None: no token. Raises `ConfigurationError`."""
        self._belong("capability-token", "ws_token_file", "ws_token_sha256")
        signed = ("ws_shared_secret_file", "ws_issuer", "ws_audience", "ws_max_clock_skew_seconds")
        self._belong("signed-bearer-token", *signed)
        match self.ws_auth:
            case None:
                return None
            case "capability-token":
                return _capability(self.ws_token_file, self.ws_token_sha256)
            case "signed-bearer-token":
                skew = self.ws_max_clock_skew_seconds
                return _signed(self.ws_shared_secret_file, self.ws_issuer, self.ws_audience, skew)
        raise ConfigurationError("--ws-auth: capability-token or signed-bearer-token.")

    def _belong(self, mode: str, *names: str) -> None:
        """Refuse flags that would be without effect: whoever set them believes to be protected by them."""
        stray = [f"--{name.replace('_', '-')}" for name in names if getattr(self, name) is not None]
        if stray and self.ws_auth != mode:
            raise ConfigurationError(f"{', '.join(stray)}: only together with --ws-auth {mode}.")


def _capability(file: str | Path | None, sha256: str | None) -> CapabilityToken:
    if (file is None) == (sha256 is None):
        raise ConfigurationError("--ws-auth capability-token needs either --ws-token-file or --ws-token-sha256.")
    if file is not None:
        token = _secret("--ws-token-file", file)
        if not token:
            raise ConfigurationError(f"--ws-token-file {file}: the file is empty; put a long random token into it.")
        return CapabilityToken(hashlib.sha256(token).digest())
    assert sha256 is not None
    if not re.fullmatch("[0-9a-fA-F]{64}", sha256.strip()):
        raise ConfigurationError("--ws-token-sha256: 64 hexadecimal digits, as printed by sha256sum.")
    return CapabilityToken(bytes.fromhex(sha256.strip()))


def _signed(file: str | Path | None, issuer: str | None, audience: str | None, skew: float | None) -> SignedToken:
    if file is None:
        raise ConfigurationError("--ws-auth signed-bearer-token needs --ws-shared-secret-file.")
    secret = _secret("--ws-shared-secret-file", file)
    if len(secret) < MIN_SECRET:
        raise ConfigurationError(f"--ws-shared-secret-file {file}: the secret must have at least {MIN_SECRET} bytes.")
    skew = DEFAULT_SKEW if skew is None else skew
    if not 0 <= skew < math.inf:
        raise ConfigurationError("--ws-max-clock-skew-seconds: a number, zero or more.")
    return SignedToken(secret, (issuer or "").strip() or None, (audience or "").strip() or None, skew)


def _secret(flag: str, file: str | Path) -> bytes:
    """What a secret file holds: text without the line end that editors add, anything else as it is."""
    try:
        data = Path(file).read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{flag} {file}: {error.strerror}.") from None
    try:
        return data.decode(TEXT).strip().encode()
    except UnicodeDecodeError:
        return data
