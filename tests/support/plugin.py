"""The hooks that make the check of messages part of every test, and show servers' logs where one fails."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import orjson
import pytest
from tests.support import tally
from tests.support.conformance import Conformance
from tests.support.contract import Contract, codexs, ours
from tests.support.processes import LOGS, ROOT


def _ours() -> list[Contract]:
    from tests.support.probing import SURFACE

    from threadloom_protocol.codegen.schema import document
    from threadloom_protocol.spec import Surface

    checked_in = orjson.loads((ROOT / "schemas" / "v2.json").read_bytes())
    # The tests' own rooms are in no file; their schema is made the same way.
    rooms = Surface(SURFACE.version, [*SURFACE.names, "tests.support.crash_room"])
    return [ours(checked_in, "schemas/v2.json"), ours(document(rooms), "the tests' own schema")]


def _codexs() -> Contract:
    from tests.support.codex import VERSION, codex_schema

    our_types = {key: pointer for contract in CONFORMANCE.contracts for key, pointer in contract.types.items()}
    return codexs(codex_schema(), f"Codex {VERSION}", our_types)


CONFORMANCE = Conformance(_ours, _codexs)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """A test in which a server broke the contract has failed."""
    result = yield
    CONFORMANCE.settle()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """Also one that failed for another reason, and one whose servers spoke up while they were ended."""
    result = yield
    CONFORMANCE.settle()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    """A failed test shows what its servers had to say."""
    report = yield
    if report.failed:
        for log in LOGS[-4:]:
            if log.text:
                report.sections.append((f"stderr of {log.command}", log.text[-4000:]))
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker tells the one who sums up what it has seen."""
    told = getattr(session.config, "workeroutput", None)
    if told is not None:
        told["conformance"] = {"messages": CONFORMANCE.messages, "seen": dict(CONFORMANCE.seen)}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Add up what a worker has seen."""
    told = getattr(node, "workeroutput", {}).get("conformance")
    if told is not None and told["messages"]:
        CONFORMANCE.load()
        CONFORMANCE.messages += told["messages"]
        CONFORMANCE.seen.update(told["seen"])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What crossed the wire in this session, and what never did; where sessions are added up, that is said of all."""
    if not CONFORMANCE.judged:
        return
    messages, *types = CONFORMANCE.summary()
    place = tally.folder()
    if place is not None:
        tally.leave(CONFORMANCE, place)
    terminalreporter.section("conformance")
    for line in [messages, *(types if place is None else [])]:
        terminalreporter.line(line)
