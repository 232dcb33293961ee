"""Who gets in: every kind of token, by every way, from every origin, under every name."""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import logging
from codecs import BOM_UTF8
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest
from tests.support.sockets import UPGRADE, dialled, frame, request

from threadloom.transports.auth import Answer, Gate, Welcome, is_loopback
from threadloom.transports.base import Closed, Transport
from threadloom.transports.links import COOKIE, LINK_SECONDS, MOST, SESSION_SECONDS, Links
from threadloom.transports.page import OPEN, STRANGER, WELCOME
from threadloom.transports.tokens import CapabilityToken, ConfigurationError, Flags, SignedToken
from threadloom.transports.websocket import Address, WebSocketListener

NOW = 1_800_000_000.0
SECRET = b"0123456789abcdef0123456789abcdef"
PAGE = "https://app.example"
SIGNED = SignedToken(SECRET, issuer="us", audience="threadloom")
CAPABILITY_TOKEN = b"open-sesame.42"
CAPABILITY = CapabilityToken(hashlib.sha256(CAPABILITY_TOKEN).digest())

WHO = ("no token", "wrong", "expired", "tampered", "alg none", "wrong audience", "right")
HOW = ("header", "subprotocol", "cookie")
ORIGINS = {"good": PAGE, "own": "http://127.0.0.1:{port}", "bad": "https://evil.example", "no": None}
HOSTS = {"good": "127.0.0.1:{port}", "rebinding": "evil.example:{port}"}


def part(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def jwt(claims: Any = None, *, header: Any = None, secret: bytes = SECRET, **changed: Any) -> bytes:
    """A token that is good, but for what is changed; `...` leaves a claim out."""
    if claims is None:
        claims = {"exp": NOW + 60, "iss": "us", "aud": "threadloom"} | changed
        claims = {name: value for name, value in claims.items() if value is not ...}
    signed = part(orjson.dumps(header or {"alg": "HS256", "typ": "JWT"})) + b"." + part(orjson.dumps(claims))
    return signed + b"." + part(hmac.digest(secret, signed, "sha256"))


def tampered(token: bytes) -> bytes:
    head, payload, signature = token.split(b".")
    return b".".join([head, part(base64.urlsafe_b64decode(payload + b"==") + b" "), signature])


def alg_none() -> bytes:
    return b".".join([part(b'{"alg":"none"}'), jwt().split(b".")[1], b""])


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def session(links: Links) -> str:
    cookie = links.redeem(links.mint())
    assert cookie is not None
    return cookie


def presented(who: str, how: str, links: Links, clock: Clock) -> str:
    """What this peer shows at the door. A cookie holds no token; one that does is a forgery like any other."""
    if how == "cookie" and who in ("expired", "tampered", "right"):
        cookie = session(links)
        if who == "expired":
            clock.now += SESSION_SECONDS
        return cookie[:-1] + ("A" if cookie[-1] != "A" else "B") if who == "tampered" else cookie
    tokens = {
        "wrong": jwt(secret=bytes(32)),
        "expired": jwt(exp=NOW - 31),
        "tampered": tampered(jwt()),
        "alg none": alg_none(),
        "wrong audience": jwt(aud="someone-else"),
        "right": jwt(),
    }
    return tokens[who].decode()


def carried(how: str, token: str) -> tuple[str, str]:
    return {
        "header": ("Authorization", f"Bearer {token}"),
        "subprotocol": ("Sec-WebSocket-Protocol", f"bearer.{token}"),
        "cookie": ("Cookie", f"theme=dark; {COOKIE}={token}"),
    }[how]


def expected(who: str, how: str, origin: str, host: str) -> int:
    if origin == "bad" or host == "rebinding":
        return 403
    if who == "no token":
        return 401
    if how == "cookie" and origin == "no":
        return 403
    return 101 if who == "right" else 401


class Door:
    """A listener, and what got through it."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.reached: list[object] = []
        self.answered = anyio.Event()

    async def accept(self, transport: Transport) -> None:
        self.reached.append(transport)
        try:
            while True:
                self.reached.extend(await transport.receive())
                self.answered.set()
        except Closed:
            pass

    async def knock(self, *headers: tuple[str, str], origin: str | None = None, host: str | None = None) -> int:
        """Shake hands, with a message right behind that waits for no answer. The status, once all is over."""
        port = self.address.port
        name = (host or HOSTS["good"]).format(port=port)
        lines = [*headers, *([("Origin", origin.format(port=port))] if origin else [])]
        async with dialled(self.address) as raw:
            await raw.send(request(*UPGRADE, *lines, host=name) + frame(b'{"id":1,"method":"initialize"}'))
            head = await raw.head()
            if head.status == 101:
                with anyio.fail_after(5):
                    await self.answered.wait()
            else:
                assert ("www-authenticate" in head.headers) == (head.status == 401)
                await raw.ends()
            return head.status


@asynccontextmanager
async def door(gate: Gate) -> AsyncIterator[Door]:
    async def accept(transport: Transport) -> None:
        await entrance.accept(transport)

    async with WebSocketListener("127.0.0.1", 0, gate).serving(accept) as address:
        entrance = Door(address)
        yield entrance


def got_in(entrance: Door, status: int) -> None:
    """Only with status 101 did anything reach the application: the peer, and its message."""
    assert len(entrance.reached) == (2 if status == 101 else 0), entrance.reached


@pytest.mark.parametrize(("who", "how", "origin", "host"), [*itertools.product(WHO, HOW, ORIGINS, HOSTS)])
async def test_a_signed_token_decides_who_gets_in(who: str, how: str, origin: str, host: str) -> None:
    clock = Clock()
    gate = Gate(SIGNED, frozenset({PAGE}), links=Links(clock), clock=lambda: NOW)
    async with door(gate) as entrance:
        shown = [] if who == "no token" else [carried(how, presented(who, how, gate.links, clock))]
        status = await entrance.knock(*shown, origin=ORIGINS[origin], host=HOSTS[host])
    assert status == expected(who, how, origin, host)
    got_in(entrance, status)


@pytest.mark.parametrize(
    ("who", "how", "origin", "host"), [*itertools.product(("no token", "wrong", "right"), HOW, ORIGINS, HOSTS)]
)
async def test_a_capability_token_decides_who_gets_in(who: str, how: str, origin: str, host: str) -> None:
    gate = Gate(CAPABILITY, frozenset({PAGE}))
    right = session(gate.links) if how == "cookie" else CAPABILITY_TOKEN.decode()
    async with door(gate) as entrance:
        shown = {"no token": [], "wrong": [carried(how, "guess")], "right": [carried(how, right)]}[who]
        status = await entrance.knock(*shown, origin=ORIGINS[origin], host=HOSTS[host])
    assert status == expected(who, how, origin, host)
    got_in(entrance, status)


@pytest.mark.parametrize(("origin", "host"), [*itertools.product(ORIGINS, HOSTS)])
async def test_without_a_token_to_show_origin_and_host_still_count(origin: str, host: str) -> None:
    async with door(Gate(None, frozenset({PAGE}))) as entrance:
        status = await entrance.knock(origin=ORIGINS[origin], host=HOSTS[host])
    assert status == (403 if origin == "bad" or host == "rebinding" else 101)
    got_in(entrance, status)


RIGHT = carried("header", CAPABILITY_TOKEN.decode())
ODDITIES: dict[str, tuple[list[tuple[str, str]], int]] = {
    "the token twice": ([RIGHT, RIGHT], 400),
    "two tokens as subprotocols": (
        [("Sec-WebSocket-Protocol", "bearer.a"), ("Sec-WebSocket-Protocol", f"bearer.{CAPABILITY_TOKEN.decode()}")],
        400,
    ),
    "two origins": ([RIGHT, ("Origin", PAGE), ("Origin", PAGE)], 400),
    "two hosts": ([RIGHT, ("Host", "127.0.0.1")], 400),
    "an opaque origin": ([RIGHT, ("Origin", "null")], 403),
    "an empty origin": ([RIGHT, ("Origin", "")], 403),
    "an origin that begins like ours": ([RIGHT, ("Origin", PAGE + ".evil.example")], 403),
    "our origin by another scheme": ([RIGHT, ("Origin", PAGE.replace("https", "http"))], 403),
    "our origin at another port": ([RIGHT, ("Origin", PAGE + ":8443")], 403),
    "another scheme": ([("Authorization", f"Basic {CAPABILITY_TOKEN.decode()}")], 401),
    "no token after the scheme": ([("Authorization", "Bearer ")], 401),
    "a scheme in small letters": ([("Authorization", f"bearer {CAPABILITY_TOKEN.decode()}")], 101),
    "a good subprotocol behind a bad header": (
        [("Authorization", "Bearer guess"), carried("subprotocol", CAPABILITY_TOKEN.decode())],
        401,
    ),
    "a token in a cookie": ([carried("cookie", CAPABILITY_TOKEN.decode()), ("Origin", PAGE)], 401),
    "a token in the address": ([("X-Token", CAPABILITY_TOKEN.decode())], 401),
}


@pytest.mark.parametrize("oddity", ODDITIES)
async def test_oddities(oddity: str) -> None:
    headers, status = ODDITIES[oddity]
    async with door(Gate(CAPABILITY, frozenset({PAGE}))) as entrance:
        assert await entrance.knock(*headers) == status
    got_in(entrance, status)


async def test_two_cookies_are_one_too_many() -> None:
    gate = Gate(CAPABILITY, frozenset({PAGE}))
    own, planted = f"{COOKIE}={session(gate.links)}", f"{COOKIE}=planted"
    async with door(gate) as entrance:
        assert await entrance.knock(("Cookie", f"{own}; {planted}"), origin=PAGE) == 401
        assert await entrance.knock(("Cookie", planted), ("Cookie", own), origin=PAGE) == 401
    got_in(entrance, 401)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 101),
        ("localhost", 101),
        ("LOCALHOST:{port}", 101),
        ("[::1]:{port}", 101),
        ("app.example", 101),  # a proxy's name, known by the origin that is allowed
        ("127.0.0.1:1", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example:{port}", 403),
        ("evil.example", 403),
    ],
)
async def test_on_loopback_the_server_answers_to_its_own_names(host: str, status: int) -> None:
    async with door(Gate(None, frozenset({PAGE}))) as entrance:
        assert await entrance.knock(host=host) == status
    got_in(entrance, status)


async def test_a_request_without_a_host_is_refused() -> None:
    async with door(Gate()) as entrance, dialled(entrance.address) as raw:
        assert (await raw.upgrade(host=None)).status == 403


async def test_a_link_gives_a_browser_its_cookie_once() -> None:
    gate = Gate(CAPABILITY)
    async with door(gate) as entrance:
        target = f"/?link={gate.links.mint()}"
        async with dialled(entrance.address) as raw:
            await raw.send(request(target=target))
            head = await raw.head()
        assert (head.status, head.headers["location"]) == (303, "/")
        assert head.headers["cache-control"] == "no-store"
        cookie, *attributes = head.headers["set-cookie"].split("; ")
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(attributes)
        assert CAPABILITY_TOKEN.decode() not in cookie
        async with dialled(entrance.address) as raw:
            await raw.send(request(target=target))
            assert (await raw.head()).status == 403
        status = await entrance.knock(("Cookie", cookie), origin=ORIGINS["own"])
    assert status == 101
    got_in(entrance, status)


@pytest.mark.parametrize(
    ("gate", "shown", "words"),
    [
        (Gate(CAPABILITY), "{good}", WELCOME),
        (Gate(CAPABILITY), "guess", STRANGER),
        (Gate(CAPABILITY), "{good}; threadloom_token=planted", STRANGER),
        (Gate(), "", OPEN),
    ],
)
async def test_a_browser_gets_words_where_others_get_an_upgrade(gate: Gate, shown: str, words: str) -> None:
    cookie = ("Cookie", f"{COOKIE}={shown.format(good=session(gate.links))}")
    async with door(gate) as entrance:
        async with dialled(entrance.address) as raw:
            await raw.send(request(cookie, ("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")))
            head = await raw.head()
            body = (await raw.ends()).decode()
        assert (head.status, head.headers["content-type"]) == (200, "text/plain; charset=utf-8")
        assert head.headers["cache-control"] == "no-store"
        assert words in body
        async with dialled(entrance.address) as raw:
            await raw.send(request(cookie, ("Accept", "*/*")))
            assert (await raw.head()).status == 426
        async with dialled(entrance.address) as raw:
            await raw.send(request(("Accept", "text/html"), host="evil.example"))
            assert (await raw.head()).status == 403
    assert entrance.reached == []


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [("/?link=guess", "127.0.0.1", 403), ("/?link=", "127.0.0.1", 403), ("/?link={code}", "evil.example", 403)],
)
async def test_a_link_that_is_not_ours_gives_nothing(target: str, host: str, status: int) -> None:
    gate = Gate(CAPABILITY)
    async with door(gate) as entrance, dialled(entrance.address) as raw:
        await raw.send(request(target=target.format(code=gate.links.mint()), host=host))
        head = await raw.head()
    assert head.status == status
    assert "set-cookie" not in head.headers


def test_a_code_grows_old_and_so_does_a_session() -> None:
    clock = Clock()
    links = Links(clock)
    code, cookie = links.mint(), session(links)
    clock.now = LINK_SECONDS
    assert links.redeem(code) is None
    assert links.knows(cookie)
    clock.now = SESSION_SECONDS
    assert not links.knows(cookie)


def test_the_oldest_session_is_forgotten_when_there_are_too_many() -> None:
    links = Links()
    cookies = [session(links) for _ in range(MOST + 1)]
    assert [links.knows(cookies[0]), links.knows(cookies[1]), links.knows(cookies[-1])] == [False, True, True]


BAD_TOKENS = {
    "no exp": jwt(exp=...),
    "exp as text": jwt(exp=str(NOW + 60)),
    "exp as truth": jwt(exp=True),
    "exp as null": jwt(exp=None),
    "expired, skew and all": jwt(exp=NOW - 30),
    "not yet good": jwt(nbf=NOW + 31),
    "nbf as text": jwt(nbf="0"),
    "nbf as truth": jwt(nbf=True),
    "another issuer": jwt(iss="them"),
    "no issuer": jwt(iss=...),
    "another audience": jwt(aud=["a", "b"]),
    "no audience": jwt(aud=...),
    "audience in an object": jwt(aud={"threadloom": 1}),
    "another secret": jwt(secret=bytes(32)),
    "another algorithm in the header": jwt(header={"alg": "HS512"}),
    "none, signed": jwt(header={"alg": "none"}),
    "none, unsigned": alg_none(),
    "None in other letters": b".".join([part(b'{"alg":"nOnE"}'), jwt().split(b".")[1], b""]),
    "no algorithm": jwt(header={"typ": "JWT"}),
    "a demand that is not understood": jwt(header={"alg": "HS256", "crit": ["exp"], "exp": 1}),
    "a header that is a list": jwt(header=["HS256"]),
    "claims that are a list": jwt([NOW + 60]),
    "tampered": tampered(jwt()),
    "cut": jwt()[:-1],
    "no signature": jwt().rsplit(b".", 1)[0] + b".",
    "two parts": jwt().rsplit(b".", 1)[0],
    "four parts": jwt() + b".x",
    "padded": jwt() + b"=",
    "a signature in ordinary base64": jwt().rsplit(b".", 1)[0] + b".+/+/" + b"A" * 39,
    "a space": b" " + jwt(),
    "not ASCII": "tökén".encode(),
    "empty": b"",
    "huge": jwt(note="x" * 8192),
    "deep": b".".join([part(b"[" * 5000), b"", b""]),
}


@pytest.mark.parametrize("name", BAD_TOKENS)
def test_signed_tokens_that_are_refused(name: str) -> None:
    assert not SIGNED.admits(BAD_TOKENS[name], NOW)


def test_a_signature_has_one_spelling() -> None:
    token = jwt()
    digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    # The last sign of 43 carries two bits that mean nothing.
    others = [token[:-1] + bytes([sign]) for sign in digits if bytes([sign]) != token[-1:]]
    assert not any(SIGNED.admits(other, NOW) for other in others)


GOOD_TOKENS = {
    "plain": jwt(),
    "one of several audiences": jwt(aud=["x", "threadloom"]),
    "expired within the skew": jwt(exp=NOW - 29.5),
    "about to be good": jwt(nbf=NOW + 30),
    "times with fractions": jwt(exp=NOW + 0.5, nbf=NOW - 0.5),
    "more claims": jwt(sub="someone", iat=NOW),
}


@pytest.mark.parametrize("name", GOOD_TOKENS)
def test_signed_tokens_that_are_good(name: str) -> None:
    assert SIGNED.admits(GOOD_TOKENS[name], NOW)


def test_without_issuer_and_audience_asked_for_any_will_do() -> None:
    assert SignedToken(SECRET).admits(jwt(iss=..., aud="other"), NOW)


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_a_token_from_a_file_or_known_by_its_hash(tmp_path: Path) -> None:
    file = write(tmp_path / "token", CAPABILITY_TOKEN + b"\n")
    hashed = hashlib.sha256(CAPABILITY_TOKEN).hexdigest()
    for flags in (
        Flags(ws_auth="capability-token", ws_token_file=file),
        Flags(ws_auth="capability-token", ws_token_sha256=hashed),
        Flags(ws_auth="capability-token", ws_token_sha256=f" {hashed.upper()} "),
    ):
        verifier = flags.verifier()
        assert verifier == CAPABILITY
        assert verifier.admits(CAPABILITY_TOKEN, NOW)
        assert not verifier.admits(CAPABILITY_TOKEN + b"x", NOW)


def test_the_hash_of_nothing_admits_nobody() -> None:
    verifier = Flags(ws_auth="capability-token", ws_token_sha256=hashlib.sha256(b"").hexdigest()).verifier()
    assert verifier is not None
    assert not verifier.admits(b"", NOW)


def test_a_signed_token_has_defaults_and_blank_claims_are_none(tmp_path: Path) -> None:
    file = write(tmp_path / "secret", SECRET + b"\n")
    blank = Flags(ws_auth="signed-bearer-token", ws_shared_secret_file=file, ws_issuer=" ", ws_audience="")
    assert blank.verifier() == SignedToken(SECRET, None, None, 30)
    marked = write(tmp_path / "marked", BOM_UTF8 + SECRET + b"\r\n")
    assert Flags(ws_auth="signed-bearer-token", ws_shared_secret_file=marked).verifier() == SignedToken(SECRET)
    full = Flags(
        ws_auth="signed-bearer-token",
        ws_shared_secret_file=file,
        ws_issuer=" us ",
        ws_audience=" threadloom ",
        ws_max_clock_skew_seconds=5,
    )
    assert full.verifier() == SignedToken(SECRET, "us", "threadloom", 5)


def test_a_secret_that_is_no_text_is_taken_as_it_is(tmp_path: Path) -> None:
    secret = b"\n" + bytes(range(200, 240)) + b"\n"
    file = write(tmp_path / "secret", secret)
    assert Flags(ws_auth="signed-bearer-token", ws_shared_secret_file=file).verifier() == SignedToken(secret)


HASH = "ab" * 32
BAD_FLAGS: dict[str, tuple[dict[str, Any], str]] = {
    "a mode that is none": ({"ws_auth": "password"}, "capability-token or signed-bearer-token"),
    "no token": ({"ws_auth": "capability-token"}, "--ws-token-file or --ws-token-sha256"),
    "two tokens": ({"ws_auth": "capability-token", "ws_token_file": "{token}", "ws_token_sha256": HASH}, "either"),
    "an odd hash": ({"ws_auth": "capability-token", "ws_token_sha256": HASH[:-1]}, "64 hexadecimal digits"),
    "a hash with blanks": ({"ws_auth": "capability-token", "ws_token_sha256": "ab " * 32}, "64 hexadecimal digits"),
    "no hash at all": ({"ws_auth": "capability-token", "ws_token_sha256": "x" * 64}, "64 hexadecimal digits"),
    "an empty token": ({"ws_auth": "capability-token", "ws_token_file": "{empty}"}, "is empty"),
    "a missing token file": ({"ws_auth": "capability-token", "ws_token_file": "{missing}"}, "No such file"),
    "no secret": ({"ws_auth": "signed-bearer-token"}, "--ws-shared-secret-file"),
    "a short secret": ({"ws_auth": "signed-bearer-token", "ws_shared_secret_file": "{short}"}, "at least 32 bytes"),
    "a missing secret": ({"ws_auth": "signed-bearer-token", "ws_shared_secret_file": "{missing}"}, "No such file"),
    "skew below zero": (
        {"ws_auth": "signed-bearer-token", "ws_shared_secret_file": "{secret}", "ws_max_clock_skew_seconds": -1},
        "zero or more",
    ),
    "skew without end": (
        {"ws_auth": "signed-bearer-token", "ws_shared_secret_file": "{secret}", "ws_max_clock_skew_seconds": 1e999},
        "zero or more",
    ),
    "a token without a mode": ({"ws_token_file": "{token}"}, "only together with --ws-auth capability-token"),
    "a hash in the other mode": (
        {"ws_auth": "signed-bearer-token", "ws_shared_secret_file": "{secret}", "ws_token_sha256": HASH},
        "--ws-token-sha256: only together with --ws-auth capability-token",
    ),
    "a secret without a mode": ({"ws_shared_secret_file": "{secret}"}, "only together with --ws-auth signed-bearer"),
    "an issuer without a mode": ({"ws_issuer": "us"}, "--ws-issuer: only together"),
    "an audience in the other mode": (
        {"ws_auth": "capability-token", "ws_token_file": "{token}", "ws_audience": "x"},
        "--ws-audience: only together",
    ),
    "a skew of zero without a mode": ({"ws_max_clock_skew_seconds": 0}, "--ws-max-clock-skew-seconds: only together"),
}


@pytest.mark.parametrize("name", BAD_FLAGS)
def test_flags_that_make_no_sense_are_refused_with_a_hint_and_without_the_secret(name: str, tmp_path: Path) -> None:
    contents = {"token": CAPABILITY_TOKEN, "empty": b"\n", "short": SECRET[:-1] + b"\n", "secret": SECRET}
    files = {key: str(write(tmp_path / key, data)) for key, data in contents.items()}
    files["missing"] = str(tmp_path / "missing")
    flags, hint = BAD_FLAGS[name]
    given = {key: value.format(**files) if isinstance(value, str) else value for key, value in flags.items()}
    with pytest.raises(ConfigurationError) as caught:
        Gate.from_flags(Flags(**given))
    assert hint in str(caught.value)
    assert CAPABILITY_TOKEN.decode() not in str(caught.value)
    assert SECRET[:-1].decode() not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "origin"),
    [
        ("https://App.Example", "https://app.example"),
        ("https://app.example/", "https://app.example"),
        ("https://app.example:443", "https://app.example"),
        ("http://localhost:3000", "http://localhost:3000"),
        ("http://[::1]:80", "http://[::1]"),
        ("vscode-webview://abc", "vscode-webview://abc"),
    ],
)
def test_an_origin_is_kept_as_browsers_write_it(given: str, origin: str) -> None:
    assert Gate.from_flags(Flags(), [given]).origins == {origin}


@pytest.mark.parametrize(
    "given",
    ["*", "null", "", "app.example", "https://*.example", "https://a/b", "https://a?b", "https://u@a", "https://a:x"],
)
def test_what_is_no_origin_is_refused(given: str) -> None:
    with pytest.raises(ConfigurationError, match="--allow-origin"):
        Gate.from_flags(Flags(), [given])


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("localhost.example", False),
        ("127.1", False),
    ],
)
def test_off_loopback_there_is_no_listening_without_a_token(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback
    Gate(CAPABILITY).check_listen(host)
    if loopback:
        Gate().check_listen(host)
    else:
        with pytest.raises(ConfigurationError, match="--ws-auth"):
            Gate().check_listen(host)


async def test_the_listener_refuses_before_it_binds() -> None:
    async def accept(transport: Transport) -> None:
        raise AssertionError

    with pytest.raises(ConfigurationError, match=r"0\.0\.0\.0 can be reached"):
        async with WebSocketListener("0.0.0.0", 0, Gate()).serving(accept):
            pass


def test_an_origin_that_came_twice_is_no_origin() -> None:
    refusal = Gate(origins=frozenset({PAGE})).check_origin({"origin": [PAGE, PAGE]})
    assert refusal is not None
    assert refusal.status == 400


def test_off_loopback_the_name_is_free_and_the_own_page_welcome() -> None:
    gate = Gate(CAPABILITY).at("10.0.0.1", 80)
    assert gate.check_host({"host": ["server.example"]}) is None
    assert gate.check_origin({"origin": ["http://10.0.0.1"]}) is None
    assert isinstance(gate.check_origin({"origin": ["http://localhost"]}), Answer)


@pytest.mark.parametrize(
    ("offered", "echoed"),
    [
        (["bearer.open-sesame.42"], "bearer.open-sesame.42"),
        (["bearer.open-sesame.42, threadloom.v2"], "threadloom.v2"),
        (["threadloom.v2", "bearer.open-sesame.42"], "threadloom.v2"),
        (["graphql , bearer.open-sesame.42"], "bearer.open-sesame.42"),
    ],
)
def test_one_offer_comes_back_and_not_the_token_if_it_can_be_helped(offered: list[str], echoed: str) -> None:
    assert Gate(CAPABILITY).judge({"sec-websocket-protocol": offered}) == Welcome(echoed)


@pytest.mark.parametrize(
    ("offered", "echoed"),
    [([], None), (["graphql"], None), (["threadloom.v2"], "threadloom.v2"), (["bearer.x"], "bearer.x")],
)
def test_an_open_server_echoes_too(offered: list[str], echoed: str | None) -> None:
    assert Gate().judge({"sec-websocket-protocol": offered}) == Welcome(echoed)


async def test_tokens_are_never_written_down(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    token = write(tmp_path / "token", CAPABILITY_TOKEN)
    flags = Flags(ws_auth="capability-token", ws_token_file=token)
    gate = Gate.from_flags(flags, [PAGE])
    cookie = session(gate.links)
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("threadloom.transports.websocket").setLevel(logging.DEBUG)
        async with door(gate) as entrance:
            for how in ("header", "subprotocol"):
                assert await entrance.knock(carried(how, CAPABILITY_TOKEN.decode())) == 101
            assert await entrance.knock(carried("cookie", cookie), origin=PAGE) == 101
            assert await entrance.knock(carried("header", "wrong-" + CAPABILITY_TOKEN.decode())) == 401
    seen = caplog.text + repr(gate) + repr(flags) + repr(SIGNED) + repr(Welcome(f"bearer.{CAPABILITY_TOKEN.decode()}"))
    assert CAPABILITY_TOKEN.decode() not in seen
    assert cookie not in seen
    assert SECRET.decode() not in seen
