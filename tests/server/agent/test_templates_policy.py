"""Tool policy: what a glob names, what wins, and that a child never has more rights than its parent."""

from __future__ import annotations

import re
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadloom.agent.templates.policy import EVERYTHING, NOTHING, Policy, matches, narrow
from threadloom_protocol.v2.values.policy import (
    DangerFullAccessSandboxPolicy,
    ExternalSandboxSandboxPolicy,
    ReadOnlySandboxPolicy,
    WorkspaceWriteSandboxPolicy,
)

NAMES = st.text("ab_A[*", max_size=8)
GLOBS = st.text("ab_A[*?", max_size=8)
POLICIES = st.builds(
    Policy.of,
    st.none() | st.lists(GLOBS, max_size=3),
    st.lists(GLOBS, max_size=2),
    read_only=st.booleans(),
)
TOOLS = NAMES | st.sampled_from(["apply_patch", "shell", "mcp__docs__search"])


GLOB = [
    ("shell", "shell", True),
    ("shell", "shell2", False),
    ("shell", "Shell", False),  # case-sensitive
    ("*", "anything", True),
    ("*", "", True),
    ("", "", True),
    ("", "a", False),
    ("mcp__docs__*", "mcp__docs__search", True),
    ("mcp__docs__*", "mcp__other__search", False),
    ("*_agent", "spawn_agent", True),
    ("*_agent", "list_agents", False),
    ("?", "a", True),
    ("?", "", False),
    ("?", "ab", False),
    ("a?c*e", "abcde", True),
    ("[ab]", "a", False),  # only * and ? have a meaning
    ("[ab]", "[ab]", True),
    ("a.c", "abc", False),
    ("{a,b}", "a", False),
    ("*", "line\nbreak", True),
]


@pytest.mark.parametrize(("glob", "name", "expected"), GLOB)
def test_a_glob_names_whole_names(glob: str, name: str, expected: bool) -> None:
    assert matches(glob, name) is expected


@given(GLOBS, NAMES)
def test_a_glob_means_what_its_expression_means(glob: str, name: str) -> None:
    parts = {"*": ".*", "?": "."}
    expression = "".join(parts.get(it) or re.escape(it) for it in glob)
    assert matches(glob, name) is (re.fullmatch(expression, name, re.DOTALL) is not None)


def test_no_glob_takes_long() -> None:
    class Counting(str):
        looks = 0

        def __getitem__(self, at: Any) -> str:
            Counting.looks += 1
            return str.__getitem__(self, at)

    glob, name = Counting("a*" * 50 + "b"), "a" * 200
    assert not matches(glob, name)
    assert 0 < Counting.looks <= 4 * len(glob) * len(name)


PERMITS = [
    # no allow list = all tools, MCP tools included
    (Policy.of(), "shell", True),
    (Policy.of(), "mcp__docs__search", True),
    (Policy.of(["shell"]), "shell", True),
    (Policy.of(["shell"]), "mcp__docs__search", False),
    (Policy.of([]), "shell", False),
    (Policy.of(None, ["mcp__*"]), "mcp__docs__search", False),
    (Policy.of(None, ["mcp__*"]), "shell", True),
    # deny wins
    (Policy.of(["shell"], ["shell"]), "shell", False),
    (Policy.of(["*"], ["sh*"]), "shell", False),
    (Policy.of(["SHELL"]), "shell", False),
    # read_only takes the writing tools away, whatever the list says
    (Policy.of(read_only=True), "apply_patch", False),
    (Policy.of(["apply_patch"], read_only=True), "apply_patch", False),
    (Policy.of(read_only=True), "exec_command", True),
    (EVERYTHING, "apply_patch", True),
    (NOTHING, "shell", False),
]


@pytest.mark.parametrize(("policy", "tool", "expected"), PERMITS)
def test_a_policy_permits(policy: Policy, tool: str, expected: bool) -> None:
    assert policy.permits(tool) is expected


@given(POLICIES, POLICIES, TOOLS)
def test_a_narrowed_policy_permits_what_both_permit(parent: Policy, child: Policy, tool: str) -> None:
    assert narrow(parent, child).permits(tool) is (parent.permits(tool) and child.permits(tool))


@given(st.lists(POLICIES, max_size=6), TOOLS)
def test_rights_only_shrink_on_the_way_down(line: list[Policy], tool: str) -> None:
    rights = EVERYTHING
    for child in line:
        narrowed = narrow(rights, child)
        assert rights.permits(tool) or not narrowed.permits(tool)
        assert narrowed.read_only >= rights.read_only
        rights = narrowed


@given(POLICIES, POLICIES)
def test_the_same_template_at_every_depth_adds_nothing(parent: Policy, child: Policy) -> None:
    once = narrow(parent, child)
    assert narrow(once, child) == once
    assert narrow(EVERYTHING, child) == child


@given(POLICIES, POLICIES)
def test_a_policy_comes_back_from_the_log_as_it_was(parent: Policy, child: Policy) -> None:
    policy = narrow(parent, child)
    assert Policy.from_json(orjson.loads(orjson.dumps(policy.to_json()))) == policy


def test_a_header_without_a_policy_restricts_nothing() -> None:
    assert Policy.from_json(None) == EVERYTHING


@pytest.mark.parametrize(
    "stored",
    [
        {},
        [],
        "all",
        {"allow": [], "deny": []},
        {"allow": ["shell"], "deny": [], "readOnly": False},
        {"allow": None, "deny": [], "readOnly": False},
        {"allow": [], "deny": "shell", "readOnly": False},
        {"allow": [[1]], "deny": [], "readOnly": False},
        {"allow": [], "deny": [], "readOnly": "no"},
        {"allow": [], "deny": [], "readOnly": False, "more": 1},
    ],
)
def test_a_damaged_policy_is_an_error_and_not_a_right(stored: Any) -> None:
    with pytest.raises(ValueError, match="a tool policy has"):
        Policy.from_json(stored)


@pytest.mark.parametrize(
    "parents",
    [
        DangerFullAccessSandboxPolicy(),
        WorkspaceWriteSandboxPolicy(network_access=True),
        ExternalSandboxSandboxPolicy(network_access="enabled"),
        ReadOnlySandboxPolicy(),
    ],
)
def test_a_reader_runs_in_a_read_only_sandbox_and_others_in_their_parents(parents: Any) -> None:
    assert Policy.of(read_only=True).sandbox(parents) == ReadOnlySandboxPolicy(network_access=False)
    assert EVERYTHING.sandbox(parents) == parents
