"""Who may connect: the policy that every handshake is judged by."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urlsplit

from threadloom.transports.links import COOKIE, Links
from threadloom.transports.tokens import ConfigurationError, Flags, Verifier

# Names in lower case; a header that came twice has two values.
Headers = Mapping[str, Sequence[str]]

# A page offers this beside `bearer.TOKEN`, so that the answer need not repeat the token.
SUBPROTOCOL: Final = "threadloom.v2"
_BEARER: Final = "bearer."


@dataclass(frozen=True, slots=True)
class Welcome:
    """The peer may come in, with this subprotocol if it offered any we speak."""

    subprotocol: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """A plain HTTP answer instead of a connection."""

    status: int
    text: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Gate:
    """The policy. As it stands it asks for no token and knows no page; `from_flags` makes a stricter one."""

    verifier: Verifier | None = None
    origins: frozenset[str] = frozenset()
    # The Host headers that are ours; None: any, as on a unix socket, which no browser reaches.
    hosts: frozenset[str] | None = None
    links: Links = field(default_factory=Links, repr=False, compare=False)
    clock: Callable[[], float] = field(default=time.time, repr=False, compare=False)

    @classmethod
    def from_flags(cls, flags: Flags, allow_origin: Iterable[str] = ()) -> Gate:
        """The policy that the flags of `app-server` ask for. Raises `ConfigurationError`."""
        return cls(flags.verifier(), frozenset(map(_origin, allow_origin)))

    def check_listen(self, host: str) -> None:
        """Refuse to let the network in without a token. Raises `ConfigurationError`."""
        if self.verifier is None and not is_loopback(host):
            raise ConfigurationError(
                f"{host} can be reached from other machines: set --ws-auth, or listen on 127.0.0.1."
            )

    def at(self, host: str, port: int) -> Gate:
        """This policy where the server is bound: its own page is welcome, and on loopback only its own name is good."""
        if not is_loopback(host):
            return replace(self, origins=self.origins | {_origin(f"http://{_bracketed(host)}:{port}")})
        names = {"localhost", "127.0.0.1", "[::1]", _bracketed(host)}
        own = {_origin(f"http://{name}:{port}") for name in names}
        # A proxy or a forwarded port has a name of its own: the user says so by allowing its origin.
        allowed = {urlsplit(origin).netloc for origin in self.origins | own}
        return replace(
            self, origins=self.origins | own, hosts=frozenset(names | allowed | {f"{n}:{port}" for n in names})
        )

    def check_origin(self, headers: Headers) -> Answer | None:
        """Refuse pages that are not ours: a browser sends `Origin`, and no page can forge it."""
        origin = headers.get("origin", ())
        if len(origin) > 1:
            return Answer(400, "More than one Origin.")
        if origin and origin[0] not in self.origins:
            return Answer(403, "This origin is not allowed; --allow-origin ORIGIN allows it.")
        return None

    def check_host(self, headers: Headers) -> Answer | None:
        """Refuse foreign names for a loopback address: that is how DNS rebinding looks."""
        host = headers.get("host", ())
        if len(host) > 1:
            return Answer(400, "More than one Host.")
        if self.hosts is not None and (not host or host[0].lower() not in self.hosts):
            return Answer(403, "This Host is not the server's; --allow-origin ORIGIN allows the host of ORIGIN.")
        return None

    def judge(self, headers: Headers) -> Welcome | Answer:
        """Whether the bearer of these headers may come in. Origin and Host have been looked at before."""
        offered = [name.strip() for value in headers.get("sec-websocket-protocol", ()) for name in value.split(",")]
        bearers = [name for name in offered if name.startswith(_BEARER)]
        # A browser that offered something gives up unless one of its offers comes back.
        welcome = Welcome(SUBPROTOCOL if SUBPROTOCOL in offered else next(iter(bearers), None))
        authorization = headers.get("authorization", ())
        if len(authorization) > 1 or len(bearers) > 1:
            return Answer(400, "More than one token.")
        if self.verifier is None:
            return welcome
        # What the client says by itself goes before what its browser adds.
        if authorization or bearers:
            token = _bearer(authorization[0]) if authorization else bearers[0].removeprefix(_BEARER)
            good = self.verifier.admits(token.encode("latin-1", "replace"), self.clock())
            return welcome if good else _unauthorized("The token is not valid.")
        return self._judge_cookie(headers) or welcome

    def knows(self, headers: Headers) -> bool:
        """Whether a browser has come by a link that was good: then it may be told so. That alone lets nobody in."""
        cookies = _cookies(headers)
        return len(cookies) == 1 and self.links.knows(cookies[0])

    def _judge_cookie(self, headers: Headers) -> Answer | None:
        """Refuse a cookie that is not ours, or that another site may have made the browser send."""
        cookies = _cookies(headers)
        if not cookies:
            return _unauthorized("A token is needed.")
        if not headers.get("origin"):
            return Answer(403, "A cookie counts only together with an allowed Origin.")
        # Another server on this machine can plant a second one: browsers do not keep ports apart.
        if not self.knows(headers):
            return _unauthorized("The cookie is not valid; ask for a new link.")
        return None


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches this address. Names other than localhost may lead anywhere."""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _origin(text: str) -> str:
    """An origin as browsers write it: scheme, host, and the port unless it is the usual one."""
    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError:
        raise ConfigurationError(f"--allow-origin {text}: not an origin.") from None
    more = parts.path not in ("", "/") or parts.query or parts.fragment or "@" in parts.netloc or "*" in text
    if not parts.scheme or not parts.hostname or more:
        raise ConfigurationError(f"--allow-origin {text}: write scheme://host or scheme://host:port, nothing more.")
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    suffix = "" if port is None or port == usual else f":{port}"
    return f"{parts.scheme}://{_bracketed(parts.hostname)}{suffix}"


def _bearer(authorization: str) -> str:
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _cookies(headers: Headers) -> list[str]:
    pairs = (pair.strip().partition("=") for value in headers.get("cookie", ()) for pair in value.split(";"))
    return [value for name, _, value in pairs if name == COOKIE]


def _unauthorized(text: str) -> Answer:
    return Answer(401, text, (("WWW-Authenticate", "Bearer"),))
