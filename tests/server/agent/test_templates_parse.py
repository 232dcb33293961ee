"""The text of a template: what it says, and why it is skipped."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadloom.agent.templates.base import Fault, Persona, Template, UnknownPersona
from threadloom.agent.templates.parse import MAX_BRACKETS, MAX_MATTER, MAX_NAME, Broken, parse

FULL = """\
---
description: Grows things.
model: m
model_provider: p
reasoning_effort: high
read_only: true
allow_list: [shell, "mcp__*", shell]
deny_list:
  - "*_agent"
agent_names:
  - name: rose
    description: Grows roses.
    model: m2
    reasoning_effort: low
  - name: oak
---

Grow it.

<!-- agent_name: rose -->
Grow a rose.

--- not the end ---
<!-- agent_name: oak -->
"""


def test_a_template_says_all_that_it_can() -> None:
    template, faults = parse("gardener", FULL, "/g.md", "user")
    assert template == Template(
        name="gardener",
        description="Grows things.",
        model="m",
        model_provider="p",
        reasoning_effort="high",
        read_only=True,
        allow_list=("shell", "mcp__*"),
        deny_list=("*_agent",),
        personas=(
            Persona("rose", "Grows roses.", "m2", "low", "Grow a rose.\n\n--- not the end ---"),
            Persona("oak"),
        ),
        prompt="Grow it.",
        source="user",
        path="/g.md",
    )
    assert faults == []
    assert template.policy.permits("mcp__docs__search")
    assert not template.policy.permits("apply_patch")


@pytest.mark.parametrize(
    "text",
    [
        "---\ndescription: d\n---\n",
        "---\ndescription: d\n---",
        "\ufeff---\r\ndescription: d\r\n---\r\n",
        "--- \ndescription: ' d '\nmodel: null\nallow_list:\nagent_names: ~\n---\t\n \n",
    ],
)
def test_a_description_is_enough(text: str) -> None:
    assert parse("t", text) == (Template("t", "d"), [])


def test_an_empty_allow_list_is_not_the_same_as_none() -> None:
    template, _ = parse("t", "---\ndescription: d\nallow_list: []\n---\n")
    assert template.allow_list == ()
    assert not template.policy.permits("shell")


def test_what_is_unknown_is_passed_over_and_named() -> None:
    text = (
        "---\ndescription: d\ntools: [shell]\n7: x\nagent_names: [{name: a, mood: good}]\n---\n"
        "P\n<!-- agent_name: b -->\nB\n"
    )
    template, faults = parse("t", text, "/t.md")
    assert template == Template("t", "d", personas=(Persona("a"),), prompt="P", path="/t.md")
    assert faults == [
        Fault("/t.md", "unknown key `tools` is passed over", skipped=False),
        Fault("/t.md", "unknown key `7` is passed over", skipped=False),
        Fault("/t.md", "unknown key `agent_names.mood` is passed over", skipped=False),
        Fault("/t.md", "the prompt of `b` is passed over: agent_names has no such name", skipped=False),
    ]
    assert str(faults[0]) == "/t.md: unknown key `tools` is passed over"


def test_a_project_does_not_say_where_prompts_go() -> None:
    text = "---\ndescription: d\nmodel_provider: p\n---\n"
    template, faults = parse("t", text, "/t.md", "project")
    assert template.model_provider is None
    assert faults == [Fault("/t.md", "`model_provider` is passed over: a project may not set it", skipped=False)]
    assert parse("t", text, "/t.md", "user")[0].model_provider == "p"


def matter(*lines: str) -> str:
    return "\n".join(["---", "description: d", *lines, "---", ""])


BROKEN = [
    ("", "no front matter"),
    ("description: d\n", "no front matter"),
    ("\n---\ndescription: d\n---\n", "no front matter"),
    ("---\ndescription: d\n", "no front matter"),
    ("---\n---\n", "`description` is missing"),
    ("---\nmodel: m\n---\n", "`description` is missing"),
    ("---\ndescription: '  '\n---\n", "`description` must be text"),
    ("---\ndescription: 5\n---\n", "`description` must be text"),
    ("---\n- a\n---\n", "the front matter must be a table"),
    ("---\ntext\n---\n", "the front matter must be a table"),
    (matter("model: [a]"), "`model` must be text"),
    (matter("model_provider: 1"), "`model_provider` must be text"),
    (matter("reasoning_effort: {}"), "`reasoning_effort` must be text"),
    (matter("read_only: 'true'"), "`read_only` must be true or false"),
    (matter("read_only: 1"), "`read_only` must be true or false"),
    (matter("allow_list: shell"), "`allow_list` must be a list of tool names"),
    (matter("deny_list: [1]"), "`deny_list` must be a list of tool names"),
    (matter("deny_list: ['']"), "`deny_list` must be a list of tool names"),
    (matter("deny_list: [a]", "deny_list: []"), "`deny_list` is there twice"),
    (matter("agent_names: [{name: a, model: x, model: y}]"), "`model` is there twice"),
    (matter("deny_list: [*]"), "line 3: the front matter is not YAML"),
    (matter("deny_list: [*]"), "quote a pattern that begins with `*`"),
    (matter("a: b: c"), "line 3: the front matter is not YAML: mapping values are not allowed here"),
    (matter("a: !!python/object:os.system x"), "the front matter is not YAML"),
    (matter("a: 2024-99-99"), "the front matter is not YAML"),
    (matter("a: \x01"), "the front matter is not YAML"),
    (matter("a: " + "[" * MAX_BRACKETS), "the front matter is not YAML"),
    (matter("a: " + "{" * MAX_BRACKETS + "["), f"the front matter has more than {MAX_BRACKETS} brackets"),
    (matter("? [a]", ": b"), "the front matter is not YAML"),
    (matter("a: &a [*a]", "deny_list: *a"), "`deny_list` must be a list of tool names"),
    (matter("a: " + "x" * MAX_MATTER), f"the front matter has more than {MAX_MATTER} characters"),
    (matter("agent_names: rose"), "`agent_names` must be a list of tables"),
    (matter("agent_names: [rose]"), "`agent_names` must be a list of tables"),
    (matter("agent_names: [{description: x}]"), "an entry of `agent_names` has no name"),
    (matter("agent_names: [{name: no}]"), "`agent_names.name` must be text"),
    (matter("agent_names: [{name: a, description: 1}]"), "`agent_names.description` must be text"),
    (matter("agent_names: [{name: a, model: 1}]"), "`agent_names.model` must be text"),
    (matter("agent_names: [{name: a}, {name: a}]"), "`agent_names` has `a` twice"),
    (matter(f"agent_names: [{{name: {'a' * (MAX_NAME + 1)}}}]"), f"has more than {MAX_NAME} characters"),
    (matter() + "<!-- agent_name: a -->\n<!-- agent_name: a -->\n", "`a` has two prompts"),
]


@pytest.mark.parametrize(("text", "why"), BROKEN)
def test_a_broken_template_says_why(text: str, why: str) -> None:
    with pytest.raises(Broken) as caught:
        parse("t", text)
    assert why in str(caught.value)


@pytest.mark.parametrize("name", ["", " ", "a ", "a\nb", "a" * (MAX_NAME + 1)])
def test_a_template_has_a_name_that_can_be_written(name: str) -> None:
    with pytest.raises(Broken):
        parse(name, matter())


@given(st.text("-:[]{}*&!|>'\"# \n\tabc", max_size=60))
def test_whatever_the_text_it_is_a_template_or_broken(text: str) -> None:
    with suppress(Broken):  # and nothing else: one file must not take the others along
        template, _ = parse("t", f"---\ndescription: d\n{text}\n---\n{text}")
        assert template.description


MARKERS = [
    ("<!-- agent_name: a -->\nA\n", None, "A"),
    ("D\n<!--agent_name:a-->\nA\n", "D", "A"),
    ("D\n  <!--  agent_name:  a  -->  \n\n A\n\n", "D", "A"),
    ("D <!-- agent_name: a -->\nA\n", "D <!-- agent_name: a -->\nA", None),  # in the middle of a line it is text
    (
        "D\n<!-- a remark -->\n<!-- agent_name: a -->\nA\n<!-- a remark -->\n",
        "D\n<!-- a remark -->",
        "A\n<!-- a remark -->",
    ),
    ("D\n<!-- agent_name: a -->\n \n", "D", None),
]


@pytest.mark.parametrize(("body", "prompt", "own"), MARKERS)
def test_a_persona_has_the_block_under_its_marker(body: str, prompt: str | None, own: str | None) -> None:
    template, faults = parse("t", matter("agent_names: [{name: a}]") + body)
    assert (template.prompt, template.persona("a").prompt, faults) == (prompt, own, [])


def test_an_unknown_persona_is_told_who_there_is() -> None:
    template, _ = parse("gardener", FULL)
    with pytest.raises(UnknownPersona) as caught:
        template.persona("Rose")
    assert str(caught.value) == (
        "Unknown agent_name `Rose` for agent_type `gardener`. Available agent names: rose, oak."
    )
    with pytest.raises(UnknownPersona, match="Available agent names: none"):
        Template("t", "d").persona("rose")
