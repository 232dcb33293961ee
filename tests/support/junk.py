"""Random input that can be had again: messages with damage, and noise; and what each must be answered with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import orjson

from threadloom_protocol.jsonrpc import Malformed, Request, classify

# Methods that change nothing, whatever their params turn into.
METHODS = [
    "probe/echo",
    "probe/echo",
    "probe/plan",
    "probe/secret",
    "initialize",
    "model/list",
    "no/such",
    "",
    "é\u2028",
]
MEMBERS = ["id", "method", "params", "jsonrpc", "result", "error", "text", "number", "shapes", "type", "", "\u2028"]

Answers = Counter[str]
NO_ID = "null"


def lines(seed: int, count: int) -> Iterator[bytes]:
    """Messages and noise; the same for the same seed. No line ends in them, and no blank ones."""
    random = Random(seed)
    for number in range(count):
        text = _line(random, number).replace(b"\n", b" ")
        yield text if text.strip() else b"blank"


def expected(line: bytes, *, most: int) -> Answers:
    """How often each id must be answered for a line; `most` is the largest batch that is taken."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return Counter([NO_ID])
    if isinstance(value, list) and 0 < len(value) <= most:
        return sum((_expected(element) for element in value), Counter())
    return Counter([NO_ID]) if isinstance(value, list) else _expected(value)


def _expected(value: Any) -> Answers:
    message = classify(value)
    return Counter([key(message.id)]) if isinstance(message, Request | Malformed) else Counter()


def answered(value: Any) -> Answers:
    """The ids that a message of the server answers."""
    messages = value if isinstance(value, list) else [value]
    return Counter(key(message["id"]) for message in messages if "method" not in message)


def key(identity: Any) -> str:
    """An id as text, so that 1 and "1" are two."""
    return orjson.dumps(identity).decode()


def _line(random: Random, number: int) -> bytes:
    text = _noise(random) if random.random() < 0.1 else orjson.dumps(_message(random, number))
    for _ in range(random.choice([0, 0, 0, 0, 0, 0, 1, 1, 2, 5])):
        text = random.choice(DAMAGE)(random, text)
    return text


def _message(random: Random, number: int) -> Any:
    roll = random.random()
    if roll < 0.1:
        return [_message(random, number * 100 + at) for at in range(random.randrange(6))]
    message: dict[str, Any] = {"id": random.choice([number, f"s{number}", number, -number])}
    if roll < 0.7:
        message |= {"method": random.choice(METHODS), "params": _value(random, 3)}
    elif roll < 0.8:
        message = {"method": random.choice(METHODS), "params": _value(random, 3)}
    elif roll < 0.9:
        message |= random.choice([{"result": _value(random, 2)}, {"error": _value(random, 2)}])
    else:
        message = {random.choice(MEMBERS): _value(random, 2) for _ in range(4)}
    if random.random() < 0.2:
        message["jsonrpc"] = random.choice(["2.0", "2.0", "1.0", 2, None])
    return message


def _value(random: Random, depth: int) -> Any:
    if depth == 0 or random.random() < 0.4:
        return random.choice([None, True, False, 0, -1, 2**53, 1.5, "", "text", "é\u2028𝄞", "x" * 300, 10**18])
    if random.random() < 0.3:
        return [_value(random, depth - 1) for _ in range(random.randrange(4))]
    return {random.choice(MEMBERS): _value(random, depth - 1) for _ in range(random.randrange(4))}


def _noise(random: Random) -> bytes:
    return random.choice(
        [
            lambda: random.randbytes(random.randrange(1, 200)),
            lambda: bytes(random.choices(b'{}[]":,\\ 0123456789eE+-.tfnul', k=random.randrange(1, 120))),
            lambda: b"[" * random.randrange(1, 3000),
            lambda: b'{"a":' * random.randrange(1, 1500),
            lambda: b"\xef\xbb\xbf{}",
            lambda: "\u2028\u0085\x0b".encode() * random.randrange(1, 9),
        ]
    )()


def _cut(random: Random, text: bytes) -> bytes:
    return text[: random.randrange(len(text) + 1)]


def _drop(random: Random, text: bytes) -> bytes:
    at = random.randrange(len(text) + 1)
    return text[:at] + text[at + random.randrange(1, 8) :]


def _flip(random: Random, text: bytes) -> bytes:
    if not text:
        return text
    at = random.randrange(len(text))
    return text[:at] + bytes([text[at] ^ (1 << random.randrange(8))]) + text[at + 1 :]


def _insert(random: Random, text: bytes) -> bytes:
    at = random.randrange(len(text) + 1)
    what = random.choice(
        [b"\x00", b"\xff", b'"', b",", b"{", b"}", b"[", b"]", b"\\ud800", b"1e999", b"null", b"\r", b"  "]
    )
    return text[:at] + what + text[at:]


def _repeat(random: Random, text: bytes) -> bytes:
    start, end = sorted(random.randrange(len(text) + 1) for _ in range(2))
    return text[:end] + text[start:end] + text[end:]


DAMAGE: list[Callable[[Random, bytes], bytes]] = [_cut, _drop, _flip, _insert, _repeat]
