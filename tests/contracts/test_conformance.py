"""The check of messages is only worth something if it finds fault: what it must not let pass."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.support import tally
from tests.support.codex import codex_methods
from tests.support.conformance import Conformance
from tests.support.contract import Contract, Role, codexs, ours, shape
from tests.support.flow import Flow
from tests.support.probing import SURFACE
from tests.support.processes import ROOT

from threadloom_protocol.codegen.schema import document
from threadloom_protocol.spec import Origin
from threadloom_protocol.v2 import V2

TICKED = {"method": "probe/ticked", "params": {"number": 1, "padding": ""}}
GREETING = {
    "userAgent": "x/0.166.0 (y) z (threadloom 1)",
    "codexHome": "/h",
    "platformFamily": "unix",
    "platformOs": "linux",
    "server": {"name": "threadloom", "version": "1"},
    "sandbox": {"kind": "none"},
}


@pytest.fixture(scope="module")
def contracts(conformance: Conformance) -> tuple[list[Contract], Contract]:
    """Real ones, but counted apart from those of the session."""
    return [ours(document(SURFACE), "ours")], conformance.codex


@pytest.fixture
def flow(contracts: tuple[list[Contract], Contract]) -> Flow:
    return Flow(Conformance(lambda: contracts[0], lambda: contracts[1]))


def hear(flow: Flow, *messages: Any) -> list[str]:
    for message in messages:
        flow.received(message if isinstance(message, bytes) else orjson.dumps(message))
    return flow.to.violations


def say(flow: Flow, **message: Any) -> None:
    flow.sent(orjson.dumps(message))


def test_good_messages_pass(flow: Flow) -> None:
    say(flow, id=1, method="initialize", params={})
    say(flow, id="a", method="probe/echo")
    say(flow, id=2, method="no/such")
    flow.sent(b"not json")
    assert not hear(
        flow,
        {"id": 1, "result": GREETING},
        TICKED,
        {"id": "a", "result": {"text": "", "given": []}},
        {"id": 2, "error": {"code": -32601, "message": "no", "data": {"any": 1}}},
        {"id": None, "error": {"code": -32700, "message": "no"}},
        {"id": "s", "method": "probe/question", "params": {"question": "?"}},
    )
    assert flow.to.seen == {"InitializeResponse": 1}


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b"starting ...", "not JSON"),
        (7, "neither a message"),
        ([], "neither a message"),
        ({}, "no message"),
        ({"id": 1, "error": {"code": "x", "message": ""}}, "no message"),
        ({"id": True, "result": {}}, "an id is"),
        ({"method": "probe/ticked"}, "no message"),
        ({"method": "probe/ticked", "params": {"number": "1"}}, "against ours"),
        ({"method": "probe/ticked", "params": {"number": 1}}, "'padding' is a required property"),
        ({"method": "made/up", "params": {}}, "no such thing"),
        ({**TICKED, "extra": 1}, "members that no message has"),
        ({**TICKED, "jsonrpc": "1.0"}, "members that no message has"),
        ({"id": 5, "result": {}}, "an answer to nothing"),
        ({"id": 5, "error": {"code": 1, "message": "no"}}, "an answer to nothing"),
        ({"id": "s", "method": "probe/question", "params": {}}, "against ours"),
        ([{"id": None, "error": {"code": 1, "message": ""}}, TICKED | {"params": {}}], "against ours"),
    ],
)
def test_bad_messages_do_not(flow: Flow, message: Any, why: str) -> None:
    violations = hear(flow, message)
    assert len(violations) == 1
    assert why in violations[0]


def test_an_answer_is_judged_by_its_question(flow: Flow) -> None:
    say(flow, id=1, method="probe/open")
    say(flow, id=2, method="probe/echo")
    assert not hear(flow, {"id": 1, "result": {}})
    assert "'text' is a required property" in hear(flow, {"id": 2, "result": {}})[0]


def test_an_answer_comes_once(flow: Flow) -> None:
    say(flow, id=1, method="probe/open")
    assert "an answer to nothing" in hear(flow, {"id": 1, "result": {}}, {"id": 1, "result": {}})[0]


@pytest.mark.parametrize("tagged", [False, True])
def test_the_kind_of_the_handshake_holds_for_all(flow: Flow, tagged: bool) -> None:
    tag = {"jsonrpc": "2.0"} if tagged else {}
    say(flow, id=1, method="initialize", params={}, **tag)
    assert not hear(flow, {"id": 1, "result": GREETING, **tag}, {**TICKED, **tag})
    other = {} if tagged else {"jsonrpc": "2.0"}
    assert "not answered in kind" in hear(flow, {**TICKED, **other})[0]


def test_what_was_opted_out_of_must_not_come(flow: Flow) -> None:
    say(flow, id=1, method="initialize", params={"capabilities": {"optOutNotificationMethods": ["probe/ticked"]}})
    assert "opted out" in hear(flow, {"id": 1, "result": GREETING}, TICKED)[0]


def test_what_is_experimental_comes_to_those_who_asked(flow: Flow) -> None:
    whispered = {"method": "probe/whispered", "params": {"number": 1}}
    say(flow, id=1, method="initialize", params={"capabilities": {"experimentalApi": True}})
    assert not hear(flow, {"id": 1, "result": GREETING}, whispered)
    other = Flow(flow.to)
    say(other, id=1, method="initialize", params={})
    assert "is experimental" in hear(other, {"id": 1, "result": GREETING}, whispered)[0]


def test_codex_is_asked_where_a_type_is_shared(contracts: tuple[list[Contract], Contract]) -> None:
    theirs = contracts[1]
    # Only they could object: this is no contract of ours.
    lax = Contract("lax", {"definitions": {"Any": {}}}, dict.fromkeys(theirs.types, "#/definitions/Any"))
    flow = Flow(Conformance(lambda: [lax], lambda: theirs))
    say(flow, id=1, method="initialize")
    found = hear(
        flow,
        {"id": 1, "result": {"userAgent": 5}},
        {"method": "thread/started", "params": {}},
        {"id": "a", "method": "item/commandExecution/requestApproval", "params": {}},
    )
    assert len(found) == 3
    assert all("against Codex 0.166.0" in it for it in found)


# Codex sends these, but its schema leaves them out.
UNWRITTEN = {"rawResponse/completed", "rawResponseItem/completed"}


def test_everything_that_codex_tells_and_asks_can_be_judged(conformance: Conformance) -> None:
    told = {method for role, method in conformance.codex.types if role is Role.NOTIFICATION}
    asked = {method for role, method in conformance.codex.types if role is Role.REQUEST}
    assert codex_methods()["ServerNotification"] - told == UNWRITTEN
    assert asked == codex_methods()["ServerRequest"]


def test_everything_that_we_share_is_judged_by_codex_too(conformance: Conformance) -> None:
    shared = {
        (role, it.method)
        for role, them in (
            (Role.RESULT, V2.requests),
            (Role.NOTIFICATION, V2.notifications),
            (Role.REQUEST, V2.server_requests),
        )
        for it in them.values()
        if it.origin is Origin.CODEX
    }
    assert {method for _, method in shared - conformance.codex.types.keys()} <= UNWRITTEN


def test_the_summary_names_what_was_seen_and_what_never_was() -> None:
    small = Contract("small", {}, {(Role.RESULT, "initialize"): "#/A", (Role.NOTIFICATION, "thread/started"): "#/B"})
    started = {"properties": {"method": {"enum": ["thread/started"]}, "params": {"$ref": "#/definitions/v2/B"}}}
    definitions = {
        "v2": {"A": {}, "B": {}},
        "ServerRequest": {"oneOf": []},
        "ServerNotification": {"oneOf": [started]},
    }
    codex = codexs({"definitions": definitions}, "codex", small.types)
    conformance = Conformance(lambda: [small], lambda: codex)
    conformance.seen["A"] += 3
    assert conformance.summary()[1:] == ["seen on the wire (1): A ×3", "never seen (1): B"]


def test_what_several_runs_have_seen_is_added_up(tmp_path: Path) -> None:
    def run(messages: int, **seen: int) -> Conformance:
        it = Conformance(list, lambda: codexs({"definitions": {}}, "codex", {}))
        it.messages, it.seen = messages, Counter(seen)
        return it

    for it in (run(3, A=2), run(4, A=1, B=1)):
        tally.leave(it, tmp_path)
    together = run(1, C=1)
    tally.add_up(together, tmp_path)
    assert (together.messages, together.seen) == (8, Counter(A=3, B=1, C=1))


def test_a_shape_is_the_same_for_values_that_no_schema_can_tell_apart() -> None:
    words = {"a", "b"}
    assert shape({"a": 1, "b": "one"}, words) == shape({"a": 77, "b": "another"}, words)
    for one, other in [
        (1, -1),
        (0, 1),
        (1, 1.0),
        (True, 1),
        (None, False),
        ("a", "b"),
        ("", "c"),
        ([], [1]),
        ({}, {"a": 1}),
    ]:
        mine, others = shape(one, words), shape(other, words)
        assert mine != others or type(mine) is not type(others)


BREAKS = """
from tests.support.plugin import CONFORMANCE

def test_in_which_a_server_lied():
    CONFORMANCE.violate("made up", {"method": "lie"})

def test_after_it():
    pass
"""


def test_a_violation_fails_the_test_in_which_it_happened(tmp_path: Path) -> None:
    (tmp_path / "test_breaks.py").write_text(BREAKS)
    words = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "-p", "tests.support.plugin"]
    done = subprocess.run([*words, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "the server broke the contract 1 times" in done.stdout
