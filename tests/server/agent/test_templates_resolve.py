"""What a new agent runs with: whose word holds, which calls are refused, and with which text."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from threadloom.agent.collab.validate import (
    Refused,
    content,
    directory,
    note,
    settled,
    wait_timeout,
    waited_for,
)
from threadloom.agent.models.base import ModelInfo
from threadloom.agent.templates.base import Persona, Template, UnknownPersona, UnknownTemplate
from threadloom.agent.templates.catalog import Catalog
from threadloom.agent.templates.policy import Policy
from threadloom.agent.templates.resolve import Asked, Parent, Spawn, chosen, default_note, resolve
from threadloom_protocol.v2.values.policy import ReadOnlySandboxPolicy, WorkspaceWriteSandboxPolicy

WRITING = WorkspaceWriteSandboxPolicy()
PARENT = Parent("parent", "parent", WRITING, "parent", "parent")
MODELS = (
    ModelInfo("m", "p", "M", "", efforts=("low", "high"), default_effort="low"),
    ModelInfo("plain", "p", "Plain", "", efforts=()),
)


# ── precedence: call → persona → template → parent's turn ─────────────────────────────────────────────────────────────

LAYERS = ("call", "persona", "template")


def resolved(name: str, present: set[str], parent: Parent = PARENT) -> Spawn:
    """Where these layers say `NAME = their own name`."""
    said: dict[str, dict[str, Any]] = {layer: {name: layer} if layer in present else {} for layer in LAYERS}
    return resolve(
        Asked(**said["call"]), Persona("a", **said["persona"]), Template("t", "d", **said["template"]), parent
    )


@pytest.mark.parametrize("name", ["model", "reasoning_effort", "prompt"])
@pytest.mark.parametrize("present", [set(it) for n in range(4) for it in itertools.combinations(LAYERS, n)])
def test_the_first_that_says_something_wins(name: str, present: set[str]) -> None:
    spawn = resolved(name, present)
    winner = next((layer for layer in LAYERS if layer in present), "parent")
    assert getattr(spawn, name) == winner
    assert spawn.origins[name] == winner
    others = {"model", "model_provider", "reasoning_effort", "prompt"} - {name}
    assert {getattr(spawn, it) for it in others} == {"parent"}
    assert spawn.inherits(*others)
    assert spawn.inherits(name, *others) is (not present)


def test_a_provider_comes_from_the_call_the_template_or_the_parent() -> None:
    template = Template("t", "d", model_provider="template")
    assert resolve(Asked(model_provider="call"), None, template, PARENT).model_provider == "call"
    assert resolve(Asked(), Persona("a", model="x"), template, PARENT).model_provider == "template"
    assert resolve(Asked(), None, None, PARENT).model_provider == "parent"


def test_without_a_template_all_is_the_parents() -> None:
    parent = replace(PARENT, policy=Policy.of(["shell"]), reasoning_effort=None, prompt=None)
    spawn = resolve(Asked(), None, None, parent)
    assert spawn == Spawn("parent", "parent", WRITING, policy=parent.policy, origins=spawn.origins)
    assert set(spawn.origins.values()) == {"parent"}


def test_the_sandbox_is_the_parents_unless_the_template_only_reads() -> None:
    """By default it is inherited from the parent's turn; `read_only: true` forces ReadOnly."""
    assert resolve(Asked(), None, Template("t", "d"), PARENT).sandbox == WRITING
    spawn = resolve(Asked(), None, Template("t", "d", read_only=True), PARENT)
    assert spawn.sandbox == ReadOnlySandboxPolicy()
    assert not spawn.policy.permits("apply_patch")


def test_a_child_of_a_reader_only_reads_whatever_its_template_says() -> None:
    reader = replace(PARENT, policy=Policy.of(deny=["shell"], read_only=True), sandbox=ReadOnlySandboxPolicy())
    spawn = resolve(Asked(), None, Template("t", "d", allow_list=("shell", "apply_patch", "update_plan")), reader)
    assert spawn.sandbox == ReadOnlySandboxPolicy()
    assert [it for it in ("shell", "apply_patch", "update_plan", "view_image") if spawn.policy.permits(it)] == [
        "update_plan"
    ]
    # Also where its sandbox was loosened since.
    assert resolve(Asked(), None, None, replace(reader, sandbox=WRITING)).sandbox == ReadOnlySandboxPolicy()


def test_who_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "g.md").write_text("---\ndescription: d\nagent_names: [{name: rose}]\n---\n")
    catalog = Catalog(tmp_path, tmp_path)
    assert chosen(catalog, None, None) == (None, None)
    assert chosen(catalog, "g", None) == (catalog.get("g"), None)
    assert chosen(catalog, "g", "rose") == (catalog.get("g"), Persona("rose"))
    with pytest.raises(UnknownTemplate, match=r"Unknown agent_type `x`\. Available agent types: default, explorer, g,"):
        chosen(catalog, "x", "rose")
    with pytest.raises(
        UnknownPersona, match=r"Unknown agent_name `x` for agent_type `g`\. Available agent names: rose"
    ):
        chosen(catalog, "g", "x")
    with pytest.raises(ValueError, match="give its `agent_type`, too"):
        chosen(catalog, None, "rose")


# ── the default note ──────────────────────────────────────────────────────────────────────────────────────────────────

ROSE = Persona("rose", "Grows roses.")
NOTES = [
    (None, None, None),
    (Template("g", "Grows\n  things."), None, "agent_type=g; agent_description=Grows things."),
    (Template("g", "Grows."), ROSE, "agent_type=g; agent_name=rose; agent_description=Grows roses."),
    (Template("g", "Grows."), Persona("oak"), "agent_type=g; agent_name=oak; agent_description=Grows."),
]


@pytest.mark.parametrize(("template", "persona", "expected"), NOTES)
def test_a_note_says_who_it_is(template: Template | None, persona: Persona | None, expected: str | None) -> None:
    """Not given: `agent_type=...; agent_name=...; agent_description=...` (where there are values)."""
    assert default_note(template, persona) == expected


@pytest.mark.parametrize(("length", "cut"), [(463, False), (464, False), (465, True), (5000, True)])
def test_a_default_note_always_fits(length: int, cut: bool) -> None:
    text = default_note(Template("g" * 5, "x" * length))
    assert text is not None
    assert len(text) == (500 if cut else length + 36)
    assert text.endswith("…") is cut
    assert note(text) == text


# ── validation: sentence of the contract → what fits, and the text where it does not fit ─────────────────────────────

SETTLED: list[tuple[str, dict[str, str], str | None, str | None]] = [
    # sentence, who says what, effort that holds, refusal
    (
        "an unknown `model` is refused before the spawn, with the list of available models",
        {"model": "x"},
        None,
        "Unknown model `x`. Available models: m, plain.",
    ),
    (
        "an unsupported `reasoning_effort` is refused before the spawn, with the list for the chosen model",
        {"model": "m", "reasoning_effort": "medium"},
        None,
        "Model `m` does not support reasoning_effort `medium`. Supported values: low, high.",
    ),
    (
        "the same where the model has no efforts at all",
        {"model": "plain", "reasoning_effort": "low"},
        None,
        "Model `plain` does not support reasoning_effort `low`. Supported values: none.",
    ),
    ("names are taken as they are written", {"model": "M"}, None, "Unknown model `M`. Available models: m, plain."),
    ("what fits is taken", {"model": "m", "reasoning_effort": "high"}, "high", None),
    ("an effort that only the parent's model has becomes the usual one", {"model": "m"}, "low", None),
    ("and none where the new model has none", {"model": "plain"}, None, None),
]


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize(("sentence", "said", "effort", "refusal"), SETTLED)
def test_a_model_and_its_effort(
    layer: str, sentence: str, said: dict[str, str], effort: str | None, refusal: str | None
) -> None:
    asked: dict[str, dict[str, Any]] = {it: said if it == layer else {} for it in LAYERS}
    spawn = resolve(
        Asked(**asked["call"]), Persona("a", **asked["persona"]), Template("t", "d", **asked["template"]), PARENT
    )
    if refusal is None:
        assert settled(spawn, MODELS) == replace(spawn, reasoning_effort=effort), sentence
        return
    with pytest.raises(Refused) as caught:
        settled(spawn, MODELS)
    assert (str(caught.value), caught.value.retryable) == (refusal, False), sentence


def test_while_the_models_are_listed_a_spawn_may_be_tried_again() -> None:
    """The model list is not there for now: a retryable text."""
    with pytest.raises(Refused) as caught:
        settled(resolve(Asked(model="m"), None, None, PARENT), None)
    assert str(caught.value) == "Models are being updated; try spawn_agent again in a moment."
    assert caught.value.retryable


def test_no_models_at_all_are_said_to_be_none() -> None:
    with pytest.raises(Refused, match=r"Unknown model `m`. Available models: none\."):
        settled(resolve(Asked(model="m"), None, None, PARENT), ())


@pytest.mark.parametrize("models", [None, (), MODELS])
def test_what_the_parent_runs_on_is_not_put_to_the_test(models: tuple[ModelInfo, ...] | None) -> None:
    spawn = resolve(Asked(), None, Template("t", "d"), PARENT)
    assert settled(spawn, models) is spawn


def test_an_inherited_model_that_is_listed_still_limits_the_effort() -> None:
    parent = replace(PARENT, model="m")
    with pytest.raises(Refused, match=r"Model `m` does not support reasoning_effort `max`\. Supported values: low"):
        settled(resolve(Asked(reasoning_effort="max"), None, None, parent), MODELS)
    unlisted = resolve(Asked(reasoning_effort="max"), None, None, PARENT)
    assert settled(unlisted, MODELS) is unlisted


def test_another_provider_must_know_the_inherited_model() -> None:
    spawn = resolve(Asked(), None, Template("t", "d", model_provider="other"), PARENT)
    with pytest.raises(Refused, match="Unknown model `parent`"):
        settled(spawn, MODELS)


ITEMS = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
CONTENT: list[tuple[str, str | None, list[Any] | None, list[Any] | str]] = [
    ("`message` or `items`", " hello ", None, [{"type": "text", "text": " hello "}]),
    ("`message` or `items`", None, ITEMS, ITEMS),
    ("not both at once", "a", ITEMS, "Give either `message` or `items`, not both."),
    ("not both at once", "", [], "Give either `message` or `items`, not both."),
    ("one of them", None, None, "Give one of `message` and `items`."),
    ("one of them", " \n", None, "`message` must not be empty."),
    ("one of them", None, [], "`items` must not be empty."),
]


@pytest.mark.parametrize(("sentence", "message", "items", "expected"), CONTENT)
def test_a_message_or_items(
    sentence: str, message: str | None, items: list[Any] | None, expected: list[Any] | str
) -> None:
    if isinstance(expected, list):
        assert content(message, items) == expected, sentence
        return
    with pytest.raises(Refused) as caught:
        content(message, items)
    assert str(caught.value) == expected, sentence


@pytest.mark.parametrize(
    ("asked", "ms"),
    [
        (None, 300_000),  # default 300_000
        (10_000, 10_000),  # clamped to [10_000, 1_800_000]
        (9_999, 10_000),
        (0, 10_000),
        (-1, 10_000),
        (10_001, 10_001),
        (1_800_000, 1_800_000),
        (1_800_001, 1_800_000),
        (10**30, 1_800_000),
    ],
)
def test_how_long_to_wait(asked: int | None, ms: int) -> None:
    assert wait_timeout(asked) == ms


def test_whom_to_wait_for() -> None:
    """`ids` is a list that is not empty."""
    assert waited_for(["b", "a", "b"]) == ["b", "a"]
    with pytest.raises(Refused, match="`ids` must not be empty"):
        waited_for([])


@pytest.mark.parametrize(
    ("text", "kept"),
    [("", None), (" \n\t", None), (" a  b ", "a  b"), ("x" * 500, "x" * 500), (f" {'é' * 500} ", "é" * 500)],
)
def test_a_note_is_trimmed_and_a_blank_one_clears(text: str, kept: str | None) -> None:
    """A blank value clears the note."""
    assert note(text) == kept


def test_a_note_has_a_limit() -> None:
    with pytest.raises(Refused, match="note must have at most 500 characters, not 501"):
        note("x" * 501)


def test_a_working_directory_elsewhere_is_told_apart_from_here(tmp_path: Path) -> None:
    """Given, and other than the turn's cwd once resolved: the user is asked. Not given, or the same: nobody is."""
    here, there = tmp_path / "here", tmp_path / "there"
    (here / "below").mkdir(parents=True)
    there.mkdir()
    (here / "link").symlink_to(there)
    (here / "same").symlink_to(here)
    cwd = str(here)
    for same in (None, ".", cwd, f"{cwd}/", "below/..", "same", "../here"):
        assert directory(same, cwd) is None
    real = Path(tmp_path).resolve()
    assert directory("below", cwd) == str(real / "here" / "below")
    assert directory("..", cwd) == str(real)
    assert directory("link", cwd) == str(real / "there")
    assert directory("link/..", cwd) == str(real)  # where it leads, not what it looks like
    assert directory(str(there), cwd) == str(real / "there")


@pytest.mark.parametrize("asked", ["", " ", "nowhere", "file", "a\0b"])
def test_a_working_directory_must_be_there(tmp_path: Path, asked: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match="`working_directory` must be a directory"):
        directory(asked, str(tmp_path))
