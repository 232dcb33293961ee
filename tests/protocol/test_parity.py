"""Every client method of Codex has its place, and the list of them is Codex's own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.codex import VERSION, codex_methods

from threadloom_protocol.codegen import ignored, parity
from threadloom_protocol.spec import Origin, Stage, Surface
from threadloom_protocol.v2 import V2

ROOT = Path(__file__).parents[2]


def test_the_list_of_methods_is_what_codex_prints() -> None:
    assert parity.CODEX_VERSION == VERSION
    assert set(parity.CODEX_METHODS) == codex_methods()["ClientRequest"]
    assert len(parity.CODEX_METHODS) == 182


def test_every_method_of_codex_is_in_exactly_one_state() -> None:
    assert parity.unplaced(V2) == []


@pytest.mark.parametrize(
    ("methods", "complaint"),
    [
        ([*parity.CODEX_METHODS, "thread/dance"], "thread/dance: neither declared nor refused"),
        (
            [it for it in parity.CODEX_METHODS if it != "thread/sample"],
            "thread/sample: refused, but no method of Codex",
        ),
        ([it for it in parity.CODEX_METHODS if it != "turn/start"], "turn/start: declared as Codex's, but is not"),
    ],
)
def test_a_method_out_of_place_is_named(methods: list[str], complaint: str) -> None:
    assert parity.unplaced(V2, methods) == [complaint]


def test_a_method_that_is_declared_and_refused_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parity, "REFUSED", {**parity.REFUSED, "turn/start": "No turns.", "thread/sample*": "Twice."})
    assert parity.unplaced(V2) == [
        "turn/start: declared and refused",
        "thread/sample: refused twice",
        "thread/sample/cancel: refused twice",
    ]


def test_an_empty_surface_places_nothing_but_what_is_refused() -> None:
    unplaced = parity.unplaced(Surface(2, []))
    assert len(unplaced) == sum(it.origin is Origin.CODEX for it in V2.requests.values())


def test_the_table_in_the_repository_is_fresh() -> None:
    assert (ROOT / "schemas" / "parity.md").read_text(encoding="utf-8") == parity.render(V2)


def test_what_is_accepted_without_effect_is_declared() -> None:
    assert ignored.undeclared(V2) == []


def test_a_member_that_the_server_never_reads_is_said_to_have_no_effect() -> None:
    server = "".join(it.read_text(encoding="utf-8") for it in (ROOT / "server").rglob("*.py"))
    words = set(re.findall(r"\w+", server))
    unread = {
        (method, str(field.alias))
        for method, it in V2.requests.items()
        for name, field in it.params.model_fields.items()
        if it.stage is Stage.READY and words.isdisjoint({name, str(field.alias)})
    }
    assert unread <= {(method, member) for method, members in ignored.IGNORED.items() for member in members}


def test_what_is_answered_empty_can_be_answered() -> None:
    for request in V2.requests.values():
        if request.stage is Stage.EMPTY:
            assert request.result().to_json().startswith(b"{")


def test_experimental_methods_are_codexs_experimental_ones() -> None:
    stable, everything = codex_methods(experimental=False), codex_methods()
    declared = [("ClientRequest", V2.requests), ("ServerRequest", V2.server_requests)]
    declared.append(("ServerNotification", V2.notifications))
    for kind, ours in declared:
        for method, it in ours.items():
            assert (method in everything[kind]) == (it.origin is Origin.CODEX), method
            assert it.experimental == (it.origin is Origin.CODEX and method not in stable[kind]), method
