"""Whatever we share with Codex has its very shape: names, members, required or not, null or not, enums, arms."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft7Validator
from tests.support.codex import codex_types
from tests.support.schema_shapes import Comparison, Definitions
from tests.support.schema_strategies import Strategies

from threadloom_protocol.codegen.schema import document, references
from threadloom_protocol.model import Wire
from threadloom_protocol.spec import Origin
from threadloom_protocol.v2 import V2

# What we add to types of Codex. `seq` and `fromSeq`, on what is said of a thread, are added by their base class.
ADDITIONS = {
    ("CommandExecutionRequestApprovalParams", "origin"): "the chain of threads a question came up through",
    ("DynamicToolCallParams", "origin"): "the chain of threads a question came up through",
    ("FileChangeRequestApprovalParams", "origin"): "the chain of threads a question came up through",
    ("ToolRequestUserInputParams", "origin"): "the chain of threads a question came up through",
    ("InitializeResponse", "sandbox"): "how commands are fenced in",
    ("InitializeResponse", "server"): "who really answers: the user agent is for programs that look for Codex",
    ("QueuedSubmission", "kind"): "reports of children wait in the same queue as prompts",
    ("QueuedSubmission", "report"): "which child reports",
    ("Thread", "keptReports"): "reports that nobody has taken",
    ("Thread", "note"): "notes",
    ("Thread", "queue"): "how much waits, and what holds it back",
    ("Thread", "savedAs"): "saved sessions",
    ("Thread", "seq"): "lossless events",
    ("Thread", "spawnConfig"): "genealogy",
    ("Thread", "spawnPoint"): "genealogy",
    ("ThreadClosedNotification", "by"): "on which thread a close was called",
    ("ThreadClosedNotification", "reason"): "Codex only unloads; here threads are closed, too",
    ("ThreadDeleteParams", "purge"): "saved sessions outlive their thread",
    ("ThreadDeleteResponse", "keptBy"): "saved sessions outlive their thread",
    ("ThreadItem<type=userMessage>", "report"): "reports of children",
    ("ThreadResumeParams", "descendants"): "lossless events",
    ("ThreadResumeParams", "sinceSeq"): "lossless events",
    ("ThreadResumeResponse", "seq"): "lossless events",
    ("ThreadResumeResponse", "truncated"): "lossless events",
    ("TurnInterruptParams", "cascade"): "ownership of sub-agents",
}

# Members that are passed on unread, so that their type is not ours to say.
OPAQUE = {"ThreadResumeParams.history[]": "items of the model's API, as `thread/inject_items` takes them"}

# Codex has no types for the params of methods that carry nothing.
PARAMLESS = {"account/logout", "configRequirements/read"}

UNIONS = {"ClientRequest", "ClientNotification", "ServerRequest", "ServerNotification"}

FEW = settings(
    max_examples=25,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


@cache
def ours() -> Definitions:
    return {name: it for name, it in document(V2)["definitions"].items() if name not in UNIONS}


@cache
def theirs(*, experimental: bool = True) -> Definitions:
    types = codex_types(experimental=experimental)
    return {name: {key: it[key] for key in it if key != "definitions"} for name, it in types.items()}


def sent() -> set[str]:
    """The types in what clients send."""
    waiting = [it.params.__name__ for it in V2.requests.values()]
    waiting += [it.result.__name__ for it in V2.server_requests.values()]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(references(ours()[name]))
    return found


def shared() -> list[str]:
    return sorted(ours().keys() & theirs().keys())


def test_every_shared_type_is_codexs() -> None:
    comparison = Comparison(ours(), theirs(), sent=sent())
    differences = [line for name in shared() for line in comparison.named(name)]
    unexpected = [line for line in differences if line.split(": ")[0] not in OPAQUE]
    assert unexpected == []
    assert {line.split(": ")[0] for line in differences} == OPAQUE.keys()
    sequenced = {(it.params.__name__, name) for it in V2.notifications.values() for name in ("seq", "fromSeq")}
    assert comparison.additions - sequenced == ADDITIONS.keys()
    assert len(shared()) > 400


def test_types_of_shared_methods_are_named_as_codex_names_them() -> None:
    named = {it.params for it in V2.notifications.values() if it.origin is Origin.CODEX}
    for it in [*V2.requests.values(), *V2.server_requests.values()]:
        if it.origin is Origin.CODEX:
            named |= {it.params, it.result}
    bare = {V2.requests[method].params for method in PARAMLESS}
    assert {it.__name__ for it in named - bare} - theirs().keys() == set()


def test_experimental_members_are_codexs_experimental_ones() -> None:
    stable = theirs(experimental=False)
    for name in shared():
        members = ours()[name].get("properties", {})
        marked = {member for member, schema in members.items() if schema.get("x-experimental")}
        before = stable.get(name, theirs()[name]).get("properties", {}).keys()
        assert marked == theirs()[name].get("properties", {}).keys() - before, name


def test_ours_is_never_experimental() -> None:
    everything = [*V2.requests.values(), *V2.notifications.values(), *V2.server_requests.values()]
    assert [it.method for it in everything if it.origin is Origin.OURS and it.experimental] == []


@cache
def strategies() -> Strategies:
    return Strategies(theirs())


def check(name: str, test: Callable[[Any], None]) -> None:
    """Run a test on values that Codex's schema of a type allows."""
    FEW(given(strategies().of(name))(test))()


def inbound() -> Iterator[type[Wire]]:
    """What clients send."""
    yield from (it.params for it in V2.requests.values() if it.origin is Origin.CODEX and it.method not in PARAMLESS)
    yield from (it.result for it in V2.server_requests.values() if it.origin is Origin.CODEX)


def outbound() -> Iterator[type[Wire]]:
    """What the server sends."""
    yield from (it.result for it in V2.requests.values() if it.origin is Origin.CODEX)
    yield from (it.params for it in V2.notifications.values() if it.origin is Origin.CODEX)
    yield from (it.params for it in V2.server_requests.values() if it.origin is Origin.CODEX)


def by_name(models: Iterable[type[Wire]]) -> list[Any]:
    return [pytest.param(model, id=model.__name__) for model in sorted(set(models), key=lambda it: it.__name__)]


@pytest.mark.parametrize("model", by_name(inbound()))
def test_what_codex_takes_we_take(model: type[Wire]) -> None:
    def test(value: Any) -> None:
        # As it comes off the wire: a large float may come back as another one.
        value = orjson.loads(orjson.dumps(value))
        kept(value, orjson.loads(model.model_validate(value).to_json()))

    check(model.__name__, test)


@pytest.mark.parametrize("model", by_name(outbound()))
def test_what_we_send_codex_understands(model: type[Wire]) -> None:
    validator = Draft7Validator(codex_types()[model.__name__])

    def test(value: Any) -> None:
        value = orjson.loads(orjson.dumps(value))
        written = orjson.loads(model.model_validate(value).to_json())
        validator.validate(written)
        kept(value, written)

    check(model.__name__, test)


def kept(value: Any, written: Any) -> None:
    """Nothing that was read is lost or changed in what is written; defaults may have come in."""
    match value:
        case dict():
            assert value.keys() <= written.keys()
            for name, member in value.items():
                kept(member, written[name])
        case list():
            assert len(value) == len(written)
            for before, after in zip(value, written, strict=True):
                kept(before, after)
        case _:
            assert value == written
            assert type(value) is type(written) or isinstance(written, float)


def test_every_model_can_be_built() -> None:
    for name in V2.names:
        for it in vars(importlib.import_module(name)).values():
            if isinstance(it, type) and issubclass(it, Wire):
                assert it.model_rebuild(force=True) is True, it


def test_every_type_says_what_it_is() -> None:
    for name in V2.names:
        for it in vars(importlib.import_module(name)).values():
            if isinstance(it, type) and issubclass(it, Wire):
                assert it.__dict__.get("__doc__"), it
