"""Whatever a peer sends, over every transport: it gets the exact error, and its next request is answered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import orjson
import pytest
from tests.support.conformance import Conformance
from tests.support.places import KINDS, Place, running
from tests.support.tap import Tap
from tests.support.wire import HELLO, Wire

PARSE, SHAPE, METHOD, PARAMS, BUSY = -32700, -32600, -32601, -32602, -32001

SOCKETS = ("websocket", "unix")


@dataclass(frozen=True)
class Answer:
    """What a message is answered with: an error of this code, or a result."""

    id: Any
    code: int | None = None

    def fits(self, message: Any) -> bool:
        if message.get("id") != self.id or type(message["id"]) is not type(self.id):
            return False
        return "result" in message if self.code is None else message.get("error", {}).get("code") == self.code


@dataclass(frozen=True)
class Case:
    """A message and its answer: one, a batch of them, or silence."""

    name: str
    text: bytes
    answer: Answer | list[Answer] | None
    kinds: tuple[str, ...] = KINDS


def bad(name: str, text: bytes | str, code: int, identity: Any = None, **more: Any) -> Case:
    return Case(name, text if isinstance(text, bytes) else text.encode(), Answer(identity, code), **more)


def good(name: str, text: bytes | str, identity: Any = 1, **more: Any) -> Case:
    return Case(name, text if isinstance(text, bytes) else text.encode(), Answer(identity), **more)


def silent(name: str, text: bytes | str, **more: Any) -> Case:
    return Case(name, text if isinstance(text, bytes) else text.encode(), None, **more)


def batch(name: str, text: str, *answers: Answer) -> Case:
    return Case(name, text.encode(), list(answers))


def echo(params: str) -> str:
    return f'{{"id":1,"method":"probe/echo","params":{params}}}'


NOT_JSON = [
    bad("words", "hello", PARSE),
    bad("an opening brace", "{", PARSE),
    bad("a cut-off request", '{"id":1,"method":"probe/echo"', PARSE),
    bad("a cut-off text", '{"id":1,"method":"probe', PARSE),
    bad("a cut-off escape", r'{"id":1,"method":"\u12"}', PARSE),
    bad("an unknown escape", r'{"id":1,"method":"\x"}', PARSE),
    bad("a comma too many", '{"id":1,"method":"probe/echo",}', PARSE),
    bad("a colon too few", '{"id" 1,"method":"probe/echo"}', PARSE),
    bad("single quotes", "{'id':1,'method':'probe/echo'}", PARSE),
    bad("bare names", "{id:1}", PARSE),
    bad("a comment", '{"id":1/* one */}', PARSE),
    bad("two messages at once", '{"id":1,"method":"a"} {"id":2,"method":"b"}', PARSE),
    bad("something behind it", '{"id":1,"method":"probe/echo"}!', PARSE),
    bad("a byte order mark", b"\xef\xbb\xbf" + echo("{}").encode(), PARSE),
    bad("UTF-16", echo("{}").replace("\n", "").encode("utf-16-be"), PARSE),
    bad("one NUL", b"\x00", PARSE),
    bad("a NUL in a text", b'{"id":1,"method":"a\x00b"}', PARSE),
    bad("a tab in a text", b'{"id":1,"method":"a\tb"}', PARSE),
    bad("a byte that no text has", b'{"id":1,"method":"\xff"}', PARSE),
    bad("half a letter", b'{"id":1,"method":"\xc3"}', PARSE),
    bad("a long way to write a slash", b'{"id":1,"method":"\xc0\xaf"}', PARSE),
    bad("half a pair in UTF-8", b'{"id":1,"method":"\xed\xa0\x80"}', PARSE),
    bad("half a pair escaped", r'{"id":1,"method":"\ud800"}', PARSE),
    bad("the other half escaped", r'{"id":1,"method":"\udc00"}', PARSE),
    bad("NaN", echo('{"number":NaN}'), PARSE),
    bad("infinity", echo('{"number":Infinity}'), PARSE),
    bad("less than everything", echo('{"number":-Infinity}'), PARSE),
    bad("undefined", "undefined", PARSE),
    bad("a leading zero", echo('{"number":01}'), PARSE),
    bad("a leading plus", echo('{"number":+1}'), PARSE),
    bad("a leading point", echo('{"number":.5}'), PARSE),
    bad("a base of sixteen", echo('{"number":0x10}'), PARSE),
    bad("a number beyond all", echo('{"number":1e999}'), PARSE),
    bad("a number of 400 digits", echo('{"number":%s}' % ("9" * 400)), PARSE),
    bad("a lone minus", echo('{"number":-}'), PARSE),
    bad("arrays, 100,000 deep", "[" * 100_000, PARSE),
    bad("arrays, 5,000 deep and closed", "[" * 5_000 + "]" * 5_000, PARSE),
    bad("objects, 5,000 deep", echo('{"text":' * 5_000 + "1" + "}" * 5_000), PARSE),
    bad("an empty frame", b"", PARSE, kinds=("memory", *SOCKETS)),
    bad("a blank frame", b" \t ", PARSE, kinds=("memory", *SOCKETS)),
    silent("an empty line", b"", kinds=("stdio",)),
    silent("blank lines", b" \t \n\n\r\n", kinds=("stdio",)),
]

NO_MESSAGE = [
    bad("null", "null", SHAPE),
    bad("true", "true", SHAPE),
    bad("a number", "5", SHAPE),
    bad("a fraction", "1.5", SHAPE),
    bad("a text", '"probe/echo"', SHAPE),
    bad("an empty object", "{}", SHAPE),
    bad("an object of something else", '{"hello":"world"}', SHAPE),
    bad("no method", '{"id":1}', SHAPE, 1),
    bad("params without a method", '{"id":"a","params":{}}', SHAPE, "a"),
    bad("method null", '{"id":1,"method":null}', SHAPE, 1),
    bad("method a number", '{"id":1,"method":5}', SHAPE, 1),
    bad("method true", '{"id":1,"method":true}', SHAPE, 1),
    bad("method an array", '{"id":1,"method":["probe/echo"]}', SHAPE, 1),
    bad("method an object", '{"id":1,"method":{}}', SHAPE, 1),
    bad("method a number, no id", '{"method":5}', SHAPE),
    bad("another version", '{"jsonrpc":"1.0","id":1,"method":"probe/echo"}', SHAPE, 1),
    bad("the version as a number", '{"jsonrpc":2.0,"id":1,"method":"probe/echo"}', SHAPE, 1),
    bad("the version as null", '{"jsonrpc":null,"id":1,"method":"probe/echo"}', SHAPE, 1),
    bad("half the version", '{"jsonrpc":"2","id":"x","method":"probe/echo"}', SHAPE, "x"),
    bad("another version, no id", '{"jsonrpc":"3.0","method":"probe/echo"}', SHAPE),
    bad("id null", '{"id":null,"method":"probe/echo"}', SHAPE),
    bad("id a fraction", '{"id":1.5,"method":"probe/echo"}', SHAPE),
    bad("id a round fraction", '{"id":1.0,"method":"probe/echo"}', SHAPE),
    bad("id true", '{"id":true,"method":"probe/echo"}', SHAPE),
    bad("id an object", '{"id":{},"method":"probe/echo"}', SHAPE),
    bad("id an array", '{"id":[1],"method":"probe/echo"}', SHAPE),
    bad("id beyond 64 bits", '{"id":18446744073709551616,"method":"probe/echo"}', SHAPE),
    bad("id of 400 digits", '{"id":1%s,"method":"probe/echo"}' % ("0" * 400), PARSE),  # no number of any machine
]

NO_METHOD = [
    bad("a method of no letters", '{"id":1,"method":""}', METHOD, 1),
    bad("a method nobody knows", '{"id":1,"method":"no/such"}', METHOD, 1),
    bad("a planned method", '{"id":1,"method":"probe/plan"}', METHOD, 1),
    bad("a method in capitals", '{"id":1,"method":"Probe/Echo"}', METHOD, 1),
    bad("a method and a blank", '{"id":1,"method":"probe/echo "}', METHOD, 1),
    bad("a method of 100,000 letters", '{"id":1,"method":"%s"}' % ("m" * 100_000), METHOD, 1),
    bad("a method of odd letters", '{"id":1,"method":"../../\\u0000\\u2028"}', METHOD, 1),
    bad("a notification of the server", '{"id":1,"method":"probe/ticked","params":{"number":1}}', METHOD, 1),
    bad("a request of the server", '{"id":1,"method":"probe/question","params":{"question":""}}', METHOD, 1),
    bad("a notification of clients, with an id", '{"id":1,"method":"initialized"}', METHOD, 1),
    bad("a name from the inside", '{"id":1,"method":"__class__"}', METHOD, 1),
]

NO_PARAMS = [
    bad("params an empty array", echo("[]"), PARAMS, 1),
    bad("params an array", echo('["hi"]'), PARAMS, 1),
    bad("params a text", echo('"hi"'), PARAMS, 1),
    bad("params a number", echo("5"), PARAMS, 1),
    bad("params zero", echo("0"), PARAMS, 1),
    bad("params false", echo("false"), PARAMS, 1),
    bad("a number for a text", echo('{"text":5}'), PARAMS, 1),
    bad("null for a text", echo('{"text":null}'), PARAMS, 1),
    bad("a text for a number", echo('{"number":"5"}'), PARAMS, 1),
    bad("true for a number", echo('{"number":true}'), PARAMS, 1),
    bad("a fraction for a number", echo('{"number":1.5}'), PARAMS, 1),
    bad("a number beyond 64 bits", echo('{"number":18446744073709551616}'), PARAMS, 1),
    bad("an object for an array", echo('{"shapes":{}}'), PARAMS, 1),
    bad("an arm that the union has not", echo('{"shapes":[{"type":"hexagon"}]}'), PARAMS, 1),
    bad("an arm without its tag", echo('{"shapes":[{"radius":1}]}'), PARAMS, 1),
    bad("an arm without its member", echo('{"shapes":[{"type":"circle"}]}'), PARAMS, 1),
    bad("a missing member", '{"id":1,"method":"probe/hold","params":{}}', PARAMS, 1),
    bad("no params where one is needed", '{"id":1,"method":"probe/hold"}', PARAMS, 1),
    bad("params deep, but not too deep", echo('{"text":' * 900 + "1" + "}" * 900), PARAMS, 1),
    bad("params too deep to be written down", echo('{"text":"x","more":' * 300 + "1" + "}" * 300), PARAMS, 1),
    good("params that are not", echo('{"text":"x","more":' + "[[]," * 120 + "1" + "]" * 120 + "}")),
    good("many values beside each other", echo('{"text":"x","more":[' + "[{}]," * 5_000 + "1]}")),
]

NOT_NOW = [
    bad("a second handshake", orjson.dumps({"id": 1, "method": "initialize", "params": HELLO}), SHAPE, 1),
    bad("a second handshake without params", '{"id":1,"method":"initialize"}', SHAPE, 1),
    bad("an experimental method", '{"id":1,"method":"probe/secret","params":{}}', SHAPE, 1),
    bad("an experimental method with bad params", '{"id":1,"method":"probe/secret","params":[]}', SHAPE, 1),
    bad("an experimental member", echo('{"hidden":"x"}'), SHAPE, 1),
    good("an experimental member that says nothing", echo('{"hidden":null}')),
]

ANSWERS = [
    silent("an answer to nothing", '{"id":99,"result":{}}'),
    silent("a refusal of nothing", '{"id":"nobody","error":{"code":1,"message":"no"}}'),
    silent("an answer that says null", '{"id":99,"result":null}'),
    silent("an answer without an error", '{"id":99,"error":null}'),
    silent("both a result and an error", '{"id":99,"result":1,"error":{"code":1,"message":"no"}}'),
    bad("an answer with no id", '{"result":1}', SHAPE),
    bad("an answer with id null", '{"id":null,"result":1}', SHAPE),
    bad("an answer with id true", '{"id":true,"result":1}', SHAPE),
    bad("an answer of another version", '{"jsonrpc":"1.0","id":99,"result":1}', SHAPE),
    bad("an error that is a text", '{"id":99,"error":"no"}', SHAPE),
    bad("an error without a code", '{"id":99,"error":{"message":"no"}}', SHAPE),
    bad("an error without a message", '{"id":99,"error":{"code":1}}', SHAPE),
    bad("an error whose code is a text", '{"id":99,"error":{"code":"1","message":"no"}}', SHAPE),
]

NOTIFICATIONS = [
    silent("an unknown notification", '{"method":"no/such"}'),
    silent("an unknown notification with odd params", '{"method":"no/such","params":7}'),
    silent("a notification without a name", '{"method":""}'),
    silent("a request without an id", '{"method":"probe/echo","params":{}}'),
    silent("a request without an id, with bad params", '{"method":"probe/echo","params":[1]}'),
    silent("a handshake without an id", '{"method":"initialize","params":{}}'),
    silent("initialized once more", '{"method":"initialized"}'),
    silent("initialized with params", '{"jsonrpc":"2.0","method":"initialized","params":{"x":1}}'),
]

BATCHES = [
    bad("an empty batch", "[]", SHAPE),
    bad("an empty batch with a blank", "[ ]", SHAPE),
    batch("a batch of a number", "[1]", Answer(None, SHAPE)),
    batch("a batch of numbers", "[1,2,3]", *[Answer(None, SHAPE)] * 3),
    batch("a batch in a batch", "[[]]", Answer(None, SHAPE)),
    batch("a request in a batch in a batch", f"[[{echo('{}')}]]", Answer(None, SHAPE)),
    batch("a batch of an empty object", "[{}]", Answer(None, SHAPE)),
    batch(
        "a batch of everything",
        '[{"id":1,"method":"probe/echo"},7,{"method":"no/such"},{"id":"b","method":"no/such"},{"id":99,"result":1},'
        '{"id":3},{"id":4,"method":"probe/echo","params":[]},{"id":5,"method":"initialize"},{"id":null,"method":"x"}]',
        Answer(1),
        Answer(None, SHAPE),
        Answer("b", METHOD),
        Answer(3, SHAPE),
        Answer(4, PARAMS),
        Answer(5, SHAPE),
        Answer(None, SHAPE),
    ),
    batch("one id twice in a batch", f"[{echo('{}')},{echo('[]')}]", Answer(1), Answer(1, PARAMS)),
    batch(
        "a fault in a batch",
        '[{"id":1,"method":"probe/fail"},{"id":2,"method":"probe/echo"}]',
        Answer(1, -32603),
        Answer(2),
    ),
    silent("a batch of notifications", '[{"method":"initialized"},{"method":"no/such"}]'),
    silent("a batch of answers", '[{"id":98,"result":1},{"id":99,"error":{"code":1,"message":"no"}}]'),
    bad("a batch that never ends", "[" + ",".join(['{"id":1,"method":"probe/echo"}'] * 5000) + "]", BUSY),
    bad("a batch that is cut off", f"[{echo('{}')},", PARSE),
]

ODD_BUT_GOOD = [
    good("params null", echo("null")),
    good("no params", '{"id":1,"method":"probe/echo"}'),
    good("members that nobody knows", '{"id":1,"method":"probe/echo","params":{"new":1},"trace":{"a":[]}}'),
    good("a name that other languages trip over", echo('{"__proto__":{"text":5},"constructor":1}')),
    good("the tag of another kind than in the handshake", '{"jsonrpc":"2.0","id":1,"method":"probe/echo"}'),
    good("a result beside the method", '{"id":1,"method":"probe/echo","result":5}'),
    good("an id twice, the last counts", '{"id":9,"id":1,"method":"probe/echo"}'),
    good("a method twice, the last counts", '{"id":1,"method":"no/such","method":"probe/echo"}'),
    good("members in another order", '{"params":{},"method":"probe/echo","id":1}'),
    good("blanks around", b' \t{ "id" : 1 , "method" : "probe/echo" } \t'),
    good("a carriage return behind", echo("{}").encode() + b"\r"),
    good("an escaped method", r'{"id":1,"method":"\u0070robe\/echo"}'),
    good("every escape", echo(r'{"text":"\u0000\"\\\/\b\f\n\r\t\u2028\ud834\udd1e"}')),
    good("an empty id", '{"id":"","method":"probe/echo"}', ""),
    good("an id of odd letters", '{"id":"\\u2028\\u0000𝄞","method":"probe/echo"}', "\u2028\x00𝄞"),
    good("an id of 10,000 letters", '{"id":"%s","method":"probe/echo"}' % ("i" * 10_000), "i" * 10_000),
    good("a negative id", '{"id":-9223372036854775808,"method":"probe/echo"}', -(2**63)),
    good("the largest id", '{"id":18446744073709551615,"method":"probe/echo"}', 2**64 - 1),
    bad("a fault of the server", '{"id":1,"method":"probe/fail"}', -32603, 1),
]

CASES = [
    *NOT_JSON,
    *NO_MESSAGE,
    *NO_METHOD,
    *NO_PARAMS,
    *NOT_NOW,
    *ANSWERS,
    *NOTIFICATIONS,
    *BATCHES,
    *ODD_BUT_GOOD,
]


def hello(params: str) -> str:
    return f'{{"id":1,"method":"initialize","params":{params}}}'


def info(**members: Any) -> str:
    return orjson.dumps({"clientInfo": {"name": "n", "version": "1"} | members}).decode()


def able(value: str) -> str:
    return hello(f'{{"clientInfo":{{"name":"n","version":"1"}},"capabilities":{value}}}')


TOO_EARLY = [
    bad("a request", '{"id":1,"method":"probe/echo"}', SHAPE, 1),
    bad("a request with bad params", echo("[]"), SHAPE, 1),
    bad("an unknown request", '{"id":"x","method":"no/such"}', SHAPE, "x"),
    bad("words", "hello", PARSE),
    bad("a number", "5", SHAPE),
    silent("a notification", '{"method":"initialized"}'),
    silent("an answer", '{"id":1,"result":{}}'),
    batch(
        "a batch", '[{"id":1,"method":"probe/echo"},{"id":2,"method":"no/such"}]', Answer(1, SHAPE), Answer(2, SHAPE)
    ),
    bad("an empty batch", "[]", SHAPE),
    bad("a handshake without params", '{"id":1,"method":"initialize"}', PARAMS, 1),
    bad("a handshake with an array", hello("[]"), PARAMS, 1),
    bad("a handshake with a text", hello('"me"'), PARAMS, 1),
    bad("a handshake of nobody", hello("{}"), PARAMS, 1),
    bad("clientInfo null", hello('{"clientInfo":null}'), PARAMS, 1),
    bad("clientInfo a text", hello('{"clientInfo":"me"}'), PARAMS, 1),
    bad("clientInfo empty", hello('{"clientInfo":{}}'), PARAMS, 1),
    bad("no name", hello('{"clientInfo":{"version":"1"}}'), PARAMS, 1),
    bad("no version", hello('{"clientInfo":{"name":"n"}}'), PARAMS, 1),
    bad("a name of another type", hello(info(name=5)), PARAMS, 1),
    bad("a name of control characters", hello(info(name="a\r\nb: c")), PARAMS, 1),
    bad("a version of another type", hello(info(version=None)), PARAMS, 1),
    bad("a title of another type", hello(info(title=5)), PARAMS, 1),
    bad("capabilities a text", able('"all"'), PARAMS, 1),
    bad("capabilities an array", able("[]"), PARAMS, 1),
    bad("capabilities false", able("false"), PARAMS, 1),
    bad("experimentalApi a text", able('{"experimentalApi":"yes"}'), PARAMS, 1),
    bad("experimentalApi a number", able('{"experimentalApi":1}'), PARAMS, 1),
    bad("opt-outs a text", able('{"optOutNotificationMethods":"all"}'), PARAMS, 1),
    bad("opt-outs of numbers", able('{"optOutNotificationMethods":[1]}'), PARAMS, 1),
]


class Shared:
    """One connection for many cases: a case that fails keeps it, and the next gets a new one."""

    def __init__(self, place: Place, stack: AsyncExitStack, *, initialize: bool) -> None:
        self._place = place
        self._stack = stack
        self._initialize = initialize
        self._wire: Wire | None = None

    async def take(self) -> Wire:
        wire, self._wire = self._wire, None
        return wire or await self._stack.enter_async_context(self._place.wire(initialize=self._initialize))

    def give_back(self, wire: Wire) -> None:
        self._wire = wire


@pytest.fixture(scope="module", params=KINDS)
async def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, conformance: Conformance
) -> AsyncIterator[Place]:
    async with running(request.param, tmp_path_factory.mktemp("home"), conformance, probing=True) as place:
        yield place


@pytest.fixture(scope="module")
async def ready(place: Place) -> AsyncIterator[Shared]:
    async with AsyncExitStack() as stack:
        yield Shared(place, stack, initialize=True)


@pytest.fixture(scope="module")
async def fresh(place: Place) -> AsyncIterator[Shared]:
    async with AsyncExitStack() as stack:
        yield Shared(place, stack, initialize=False)


async def put(wire: Wire, case: Case) -> None:
    """Send it and look at the answer. Silence shows when the next thing said answers a later request."""
    await wire.send(case.text)
    if isinstance(case.answer, Answer):
        answer = await wire.read()
        assert isinstance(answer, dict), answer
        assert case.answer.fits(answer), answer
    elif case.answer is not None:
        answers = await wire.read()
        assert isinstance(answers, list), answers
        assert len(answers) == len(case.answer), answers
        for expected, answer in zip(case.answer, answers, strict=True):
            assert expected.fits(answer), answer


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_bad_input(case: Case, place: Place, ready: Shared) -> None:
    if place.kind not in case.kinds:
        return  # the same bytes are another message there, with a case of its own
    wire = await ready.take()
    await put(wire, case)
    await wire.is_alive()
    ready.give_back(wire)


@pytest.mark.parametrize("case", TOO_EARLY, ids=lambda case: case.name)
async def test_before_the_handshake(case: Case, place: Place, fresh: Shared) -> None:
    wire = await fresh.take()
    await put(wire, case)
    refused = await wire.ask("probe/echo")
    assert refused["error"] == {"code": SHAPE, "message": "Not initialized"}
    fresh.give_back(wire)


async def test_after_all_of_that_the_handshake_still_works(place: Place, fresh: Shared) -> None:
    wire = await fresh.take()
    for case in TOO_EARLY:
        await put(wire, case)
    await wire.initialize()
    await wire.is_alive()


async def test_a_binary_frame_is_refused_and_the_next_one_read(place: Place, ready: Shared) -> None:
    if place.kind not in SOCKETS:
        return  # pipes and memory have no such thing
    wire = await ready.take()
    assert isinstance(wire.transport, Tap)
    await wire.transport.inner.socket.send(echo("{}").encode(), text=False)  # type: ignore[attr-defined]
    assert Answer(None, SHAPE).fits(await wire.read())
    await wire.is_alive()
    ready.give_back(wire)


async def test_a_flood_of_open_requests_is_told_to_come_again(place: Place, ready: Shared) -> None:
    wire = await ready.take()
    await wire.send(*({"id": number, "method": "probe/hold", "params": {"gate": "flood"}} for number in range(1100)))
    busy = [await wire.read() for _ in range(76)]
    assert {it["id"] for it in busy} == set(range(1024, 1100))
    assert all(it["error"]["code"] == BUSY for it in busy)
    assert all(it["error"]["data"] == {"codexErrorInfo": "server_overloaded"} for it in busy)
    async with place.wire() as other:  # over stdio that is another server: its gate is another one
        if place.kind != "stdio":
            await other.ask("probe/open", {"gate": "flood"})
            answers = [await wire.read() for _ in range(1024)]
            assert {it["id"] for it in answers} == set(range(1024))
            await wire.is_alive()
            ready.give_back(wire)


def test_the_table_is_as_long_as_promised() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    for kind in KINDS:
        assert sum(1 for case in CASES if kind in case.kinds and case.answer != Answer(1)) >= 60
