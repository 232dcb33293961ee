"""What a request gets before it is a connection: health, a cookie for a link, a page, a refusal, or a welcome."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from threadloom.transports.auth import Answer, Gate, Headers, Welcome
from threadloom.transports.links import set_cookie
from threadloom.transports.page import page

HEALTH: Final = frozenset({"/healthz", "/readyz"})
DOORS: Final = frozenset({"/", "/rpc"})  # Codex's own client knocks at the second one where it uses a socket file


@dataclass(frozen=True, slots=True)
class Request:
    """The head of an HTTP request."""

    method: str
    target: str
    headers: Headers


def gathered(items: Iterable[tuple[str, str]]) -> Headers:
    """Header lines, by name in lower case."""
    headers: dict[str, list[str]] = {}
    for name, value in items:
        headers.setdefault(name.lower(), []).append(value)
    return headers


def answer(gate: Gate, request: Request) -> Welcome | Answer:
    """What this request gets here."""
    path, _, query = request.target.partition("?")
    refusal = gate.check_origin(request.headers)
    # A probe calls the machine by whatever name it knows; it learns nothing but that the server runs.
    if refusal is None and path not in HEALTH:
        refusal = gate.check_host(request.headers)
    if refusal is not None:
        return refusal
    if request.method != "GET":
        return Answer(405, "Only GET.", (("Allow", "GET"),))
    if path in HEALTH:
        return Answer(200, "ok")
    if path not in DOORS:
        return Answer(404, "Nothing here.")
    if not _upgrades(request.headers):
        seen = _redeemed(gate, query) or page(gate, request.headers)
        return seen or Answer(426, "This is a WebSocket.", (("Upgrade", "websocket"),))
    return gate.judge(request.headers)


def _upgrades(headers: Headers) -> bool:
    return any(value.strip().lower() == "websocket" for value in headers.get("upgrade", ()))


def _redeemed(gate: Gate, query: str) -> Answer | None:
    """The way from a one-time link to the page, with a cookie; None if this is no such link."""
    code = next((pair[5:] for pair in query.split("&") if pair.startswith("link=")), None)
    if code is None:
        return None
    cookie = gate.links.redeem(code)
    if cookie is None:
        return Answer(403, "This link has been used or is too old; ask for a new one.")
    # The code must not stay in the address bar, in a cache or in the next page's Referer.
    private = (("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"))
    return Answer(303, "Welcome.", (("Location", "/"), ("Set-Cookie", set_cookie(cookie)), *private))
